"""Every op of the records at constants, fills, views of fills and partly constant tensors.

Random data never meets what the compiler knows of constants. CPU agrees with REF, in values and in
gradients; where the reference refuses (a singular matrix), so does the CPU.
"""

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, grad, jit
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import Sample
from adjoint.tensor.tensor import lift
from tests.ops.cases import RECORDS, _mapped, adapted, outputs
from tests.support.devices import SUMMED, on, same

SAMPLES = 3  # of every op: as many as differ in shape


def full(shape, value, dtype):
    return Tensor.full(shape, value, dtype=dtype)


def number_spread(shape, value, dtype):
    return Tensor(value, dtype=dtype).expand(*shape) if shape else Tensor(value, dtype=dtype)


def part_of_a_fill(shape, value, dtype):
    large = Tensor.full(tuple(n + 2 for n in shape), value, dtype=dtype)
    return large[tuple(slice(1, n + 1) for n in shape)].flip(*range(len(shape)))


def written_over(shape, value, dtype):
    x = Tensor.zeros(*shape, dtype=dtype)
    x[...] = value
    return x


def written_in_part(shape, value, dtype):
    x = Tensor.full(shape, value, dtype=dtype)
    if shape and shape[0]:
        x[:1] = x[:1] + 1
    return x


FORMS = [full, number_spread, part_of_a_fill, written_over, written_in_part]


def tensors(sample, form, dtype):
    """The sample with every array of the dtype made by a form, of the array's first element."""

    def made(value):
        if not isinstance(value, np.ndarray):
            return value
        if value.dtype != dtype.np or not value.size:
            return Tensor(value)
        return form(value.shape, value.flat[0].item(), dtype.name)

    return Sample(_mapped(sample.args, made), _mapped(sample.kwargs, made))


def answer(make):
    """Arrays, or the code of the error that a singular operand is."""
    try:
        with np.errstate(all="ignore"):
            return [t.numpy() for t in make() if isinstance(t, Tensor)]
    except AdjointError as error:
        return error.code


def cases(record, dtype):
    """(where, sample, form, chosen): one sample of each form is chosen. Which, takes turns."""
    samples = record.samples()[:SAMPLES]
    turn = RECORDS.index(record) + (dtype is dtypes.int32)
    for number, raw in enumerate(samples):
        for place, form in enumerate(FORMS):
            where = f"{record.name} of {form.__name__}, sample {number}"
            chosen = (number + place + turn) % len(samples) == 0
            yield where, adapted(raw, dtype), form, chosen


def compared(where, sample, form, dtype, compute, ulps):
    found = []
    for device in ("REF", "CPU"):
        with on(device):
            found.append(answer(lambda: compute(tensors(sample, form, dtype))))
    wanted, got = found
    if isinstance(wanted, str) or isinstance(got, str):
        assert wanted == got, where
        return
    for w, g in zip(wanted, got, strict=True):
        same(w, g, where, ulps)


VALUES = [
    pytest.param(r, d, id=f"{r.name}-{d.short}")
    for r in RECORDS
    for d in (dtypes.float32, dtypes.int32)
    if d.kind in r.kinds
]
CHOSEN = [
    "cumsum",
    "cumprod",
    "cummax",
    "sum",
    "mean",
    "var",
    "softmax",
    "sort",
    "pow",
    "logsumexp",
]


def values_compared(record, dtype, chosen):
    for where, sample, form, is_chosen in cases(record, dtype):
        if is_chosen == chosen:
            compute = lambda s: outputs(lift(record, s.args, s.kwargs))  # noqa: E731
            compared(where, sample, form, dtype, compute, 16)


@pytest.mark.parametrize(("record", "dtype"), VALUES)
def test_an_op_of_constants_is_that_of_the_reference(record, dtype):
    values_compared(record, dtype, chosen=True)


@pytest.mark.slow
@pytest.mark.parametrize(("record", "dtype"), VALUES)
def test_every_sample_of_constants_in_every_form_gives_what_the_reference_does(record, dtype):
    values_compared(record, dtype, chosen=False)


@pytest.mark.parametrize("name", CHOSEN)
def test_gradients_at_constants_are_those_of_the_reference(name):
    (record,) = [r for r in RECORDS if r.name == name]

    def gradients(sample):
        x, *rest = sample.args
        f = lambda x: sum((y.float() * y.float()).sum() for y in _floats(record, x, rest, sample))  # noqa: E731
        return [grad(f)(x)]

    for where, sample, form, _ in cases(record, dtypes.float32):
        compared(where, sample, form, dtypes.float32, gradients, SUMMED)


def _floats(record, x, rest, sample):
    found = outputs(lift(record, (x, *rest), sample.kwargs))
    return [y for y in found if y.dtype.is_float]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("value", [1.5, 0.25, -0.0, 0.1, float("inf"), float("nan"), 1e30])
def test_a_running_sum_of_one_number_is_that_of_its_copies(value, dtype, compiled):
    with np.errstate(all="ignore"):
        copies = np.full(7, value, dtype)
        wanted = np.cumsum(copies.astype(np.float64)).astype(dtype)
    f = lambda: Tensor.full((7,), value, dtype=dtype).cumsum(0)  # noqa: E731
    got = (jit(f) if compiled else f)().numpy()
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


def test_a_number_beyond_a_narrow_float_is_an_infinity_without_a_warning():
    x = Tensor([1.0, 2.0], dtype="float16")
    assert (Tensor.full((2,), 1e30, dtype="float16") * x).sum().item() == np.inf


def test_a_number_s_running_sum_is_the_number():
    assert Tensor(1.5).cumsum().item() == 1.5


def test_a_tensor_written_over_has_the_running_sum_of_what_was_written():
    x = Tensor([1.0, 2.0, 3.0])
    x[:] = 1.5
    np.testing.assert_array_equal(x.cumsum(0).numpy(), [1.5, 3.0, 4.5])


def test_the_gradient_of_a_running_sum_counts_what_follows_in_its_weight():
    found = grad(lambda x: (x.cumsum(0) * 0.5).sum())(Tensor.full((3,), 1.5))
    np.testing.assert_array_equal(found.numpy(), [1.5, 1.0, 0.5])


@pytest.mark.parametrize("value", [2**31 - 1, -(2**31), 2**62, -(2**63)])
def test_a_running_sum_of_large_integers_wraps_as_on_the_reference(value):
    dtype = "int32" if abs(value) <= 2**31 else "int64"
    found = [
        Tensor.full((5,), value, dtype=dtype, device=device).cumsum(0).numpy()
        for device in ("REF", "CPU")
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("narrow", ["int8", "bool", "uint8", "float16"])
def test_a_counter_cast_to_a_narrow_dtype_is_no_counter_any_more(narrow):
    """Positions 0, 1, 2, … that wrapped around or became truth values select other elements."""
    found = []
    for device in ("REF", "CPU"):
        rows = Tensor.arange(300, device=device).cast(narrow).cast("int32")
        columns = Tensor([1] * 300, device=device)
        x = Tensor.arange(300 * 3, device=device).reshape(300, 3).float()
        weights = Tensor.arange(300, device=device).float()
        added = grad(lambda x: (x[rows, columns] * weights).sum())(x)  # noqa: B023
        found.append([x[rows, columns].numpy(), added.numpy()])
    for wanted, got in zip(*found, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("size", [256, 300])
def test_an_index_that_wraps_around_in_its_dtype_reads_where_the_reference_does(size):
    found = []
    for device in ("REF", "CPU"):
        at = Tensor.full((2,), 100, dtype="int8", device=device) + 100
        found.append(Tensor.arange(size, device=device)[at].numpy())
    np.testing.assert_array_equal(*found)
