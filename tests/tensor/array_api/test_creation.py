"""Creation functions against the oracle."""

import array
import math

import numpy as np
import pytest

import adjoint
import adjoint.tensor.array_api as xp
from adjoint import Tensor
from tests.tensor.array_api.oracle import ALL, COMPLEXES, FLOATS, NUMBERS, agree, dtype_named, same
from tests.tensor.array_api.oracle import array as values


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("shape", [(), 3, (2, 3), (0,), (2, 0)])
def test_zeros_ones_and_full_have_the_dtype_asked_for(dtype, shape):
    kind = dtype_named(dtype)
    same(xp.zeros(shape, dtype=kind), np.zeros(shape, dtype))
    same(xp.ones(shape, dtype=kind), np.ones(shape, dtype))
    same(xp.full(shape, 3, dtype=kind), np.full(shape, 3, dtype))
    assert xp.empty(shape, dtype=kind).shape == np.empty(shape).shape


@pytest.mark.parametrize(
    ("value", "dtype"), [(True, "bool"), (1, "int32"), (1.5, "float32"), (1j, "complex64")]
)
def test_full_infers_the_default_dtype_of_its_value(value, dtype):
    same(xp.full((2,), value), np.full((2,), value, dtype))


def test_zeros_and_ones_are_the_default_float():
    assert xp.zeros(2).dtype is xp.ones(2).dtype is xp.empty(2).dtype is xp.float32


@pytest.mark.parametrize("dtype", ALL)
def test_like_functions_follow_their_operand(dtype):
    x = values((2, 3), dtype)
    for name, fill in (("zeros_like", 0), ("ones_like", 1)):
        same(getattr(xp, name)(Tensor(x)), np.full((2, 3), fill, dtype))
    same(xp.full_like(Tensor(x), 1), np.full((2, 3), 1, dtype))
    assert xp.empty_like(Tensor(x)).dtype is dtype_named(dtype)
    assert xp.zeros_like(Tensor(x), dtype=xp.float64).dtype is xp.float64


@pytest.mark.parametrize(
    "args", [(5,), (0,), (2, 7), (2, 7, 2), (7, 2, -2), (2, 7, -1), (1.0, 2.0, 0.25), (-3,)]
)
def test_arange_agrees_with_the_oracle(args):
    agree("arange", *args)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float64", "float32"])
def test_arange_has_the_dtype_asked_for(dtype):
    same(xp.arange(1, 9, 2, dtype=dtype_named(dtype)), np.arange(1, 9, 2, dtype))


@pytest.mark.parametrize("args", [(3,), (2, 4), (4, 2), (0,), (0, 3)])
@pytest.mark.parametrize("k", [-2, -1, 0, 1, 5])
def test_eye_agrees_with_the_oracle(args, k):
    agree("eye", *args, k=k)
    same(xp.eye(*args, k=k, dtype=xp.int8), np.eye(*args, k=k, dtype="int8"))


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("args", [(0, 1, 5), (1.5, -2.5, 4), (0.0, 1.0, 1), (0, 1, 0), (3, 3, 2)])
def test_linspace_agrees_with_the_oracle(args, endpoint):
    agree("linspace", *args, endpoint=endpoint)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize(
    "args", [(-3, 0, 10), (0.5, 2.0, 4), (1, 1, 1), (0, 1, 0), (0j, 1 + 1j, 3)]
)
@pytest.mark.parametrize("base", [10.0, 2.0])
def test_logspace_has_powers_of_its_base(args, base, endpoint):
    dtype = "complex128" if isinstance(args[1], complex) else "float64"
    ours = xp.logspace(*args, base=base, endpoint=endpoint, dtype=getattr(xp, dtype)).numpy()
    np.testing.assert_allclose(ours, np.logspace(*args, base=base, endpoint=endpoint), rtol=1e-14)
    assert xp.logspace(*args).dtype is (xp.complex64 if dtype == "complex128" else xp.float32)


def test_linspace_ends_exactly_and_may_be_complex():
    x = xp.linspace(0.1, 0.7, 7, dtype=xp.float64).numpy()
    assert x[0] == 0.1
    assert x[-1] == 0.7
    agree("linspace", 1j, 2 + 3j, 4)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sizes", [(), (3,), (3, 2), (3, 2, 4), (0, 2)])
def test_meshgrid_agrees_with_the_oracle(sizes, indexing):
    arrays = [np.arange(n, dtype="float32") for n in sizes]
    agree("meshgrid", *arrays, indexing=indexing)


@pytest.mark.parametrize("k", [-2, 0, 1])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (2, 4, 3), (0, 3)])
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_agree_with_the_oracle(name, shape, k):
    agree(name, values(shape, "float32"), k=k)
    agree(name, values(shape, "int64"), k=k)


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (True, "bool"),
        (3, "int32"),
        (2.5, "float32"),
        (1 + 2j, "complex64"),
        ([1, 2], "int32"),
        ([True, 2], "int32"),
        ([1, 2.5], "float32"),
        ([[1.0], [1j]], "complex64"),
        ([[True, False]], "bool"),
        ([], "float32"),
    ],
)
def test_asarray_gives_python_numbers_the_default_dtypes(data, dtype):
    same(xp.asarray(data), np.asarray(data, dtype))


@pytest.mark.parametrize("dtype", ALL)
def test_asarray_keeps_the_dtype_of_arrays_and_tensors(dtype):
    x = values((2, 3), dtype)
    same(xp.asarray(x), x)
    same(xp.asarray(Tensor(x)), x)


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEXES])
def test_asarray_casts_to_the_dtype_asked_for(dtype):
    kind = dtype_named(dtype)
    for data in ([1, 2], np.array([1, 2], "int8"), Tensor([1, 2])):
        same(xp.asarray(data, dtype=kind), np.array([1, 2], dtype))


def test_asarray_keeps_the_dtype_of_numpy_scalars():
    for scalar in (np.float64(1.5), np.float32(1.5), np.int8(3), np.complex128(1j), np.True_):
        same(xp.asarray(scalar), np.asarray(scalar))


def test_asarray_reads_buffers():
    same(xp.asarray(array.array("h", [1, 2])), np.array([1, 2], "int16"))
    same(xp.asarray(memoryview(np.array([1.5, 2.5]))), np.array([1.5, 2.5]))
    same(xp.asarray(b"\x01\x02"), np.array([1, 2], "uint8"))


def test_asarray_returns_a_tensor_as_it_is_unless_a_copy_is_asked_for():
    x = Tensor([1.0, 2.0])
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=False) is x
    y = xp.asarray(x, copy=True)
    assert y is not x
    assert y.tolist() == x.tolist()


def test_asarray_copies_foreign_memory_unless_told_not_to():
    source = np.array([1.0, 2.0])
    copied, shared = xp.asarray(source), xp.asarray(source, copy=False)
    assert not np.shares_memory(copied.numpy(), source)
    assert np.shares_memory(shared.numpy(), source)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ([1, 2], {}),
        (1.5, {}),
        (np.array([1.0]), {"dtype": xp.int8}),
        (np.arange(6.0)[::2], {}),
        (Tensor([1.0]), {"dtype": xp.int32}),
    ],
)
def test_asarray_refuses_copy_false_where_it_must_copy(data, options):
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray(data, copy=False, **options)


def test_constants_have_their_values():
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(xp.nan)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: xp.zeros((-1,)), ValueError),
        (lambda: xp.zeros(1.5), TypeError),
        (lambda: xp.linspace(0, 1, -1), ValueError),
        (lambda: xp.arange(0, 1, 0), adjoint.AdjointError),
        (lambda: xp.eye(-1), ValueError),
        (lambda: xp.tril(Tensor([1.0])), ValueError),
        (lambda: xp.meshgrid(Tensor([[1.0]])), ValueError),
        (lambda: xp.asarray(object()), TypeError),
        (lambda: xp.full((2,), "a"), TypeError),
    ],
)
def test_calls_that_cannot_work_are_errors_at_once(call, kind):
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, adjoint.AdjointError)


NAMES_OF_FLOAT64 = ["float64", np.float64, np.dtype("float64"), xp.float64]


@pytest.mark.parametrize("dtype", NAMES_OF_FLOAT64, ids=["name", "class", "dtype", "own"])
@pytest.mark.parametrize(
    "make",
    [
        lambda dtype: xp.linspace(0, 1, 3, dtype=dtype),
        lambda dtype: xp.logspace(0, 1, 3, dtype=dtype),
        lambda dtype: xp.fft.fftfreq(4, dtype=dtype),
        lambda dtype: xp.fft.rfftfreq(4, dtype=dtype),
    ],
    ids=["linspace", "logspace", "fftfreq", "rfftfreq"],
)
def test_a_dtype_has_every_name_that_it_has_elsewhere(make, dtype):
    assert make(dtype).dtype is xp.float64
    with pytest.raises(adjoint.DTypeError, match="E2001"):
        make("float63")


@pytest.mark.parametrize("linspace", [xp.linspace, Tensor.linspace])
def test_numbers_of_numpy_do_not_wrap_around(linspace):
    assert linspace(np.uint8(5), np.uint8(1), np.int64(3)).tolist() == [5, 3, 1]
    assert linspace(np.float16(0), np.float16(6e4), 3).tolist() == [0, 3e4, 6e4]


@pytest.mark.parametrize("arange", [xp.arange, Tensor.arange])
class TestRangesOf:
    def test_numbers_of_numpy_are_those_of_python(self, arange):
        assert arange(np.uint8(3), np.uint8(0), -1).tolist() == [3, 2, 1]
        assert arange(0, 1, np.float32(0.25)).tolist() == [0, 0.25, 0.5, 0.75]
        assert arange(np.float32(3)).dtype is arange(3.0).dtype

    def test_large_ints_have_as_many_as_in_python(self, arange):
        for bounds in [(0, 2**60, 2**60 - 1), (2**62, 2**62 - 3, -1), (0, 10**18, 10**17 + 1)]:
            assert arange(*bounds).tolist() == list(range(*bounds))

    @pytest.mark.parametrize("bounds", [(np.nan,), (0, np.inf), (0, 1, np.nan), (0, 1, 1e-320)])
    def test_no_finite_number_of_steps_is_an_error(self, arange, bounds):
        with pytest.raises(adjoint.AdjointError, match="E2006: arange: no finite number"):
            arange(*bounds)


def test_a_tensor_is_filled_with_an_array_of_one_number():
    assert Tensor.full((2,), np.array(1.5)).tolist() == [1.5, 1.5]


def test_none_is_no_dtype_to_cast_to():
    with pytest.raises(adjoint.DTypeError, match="E2001: None is not a dtype"):
        Tensor([1]).cast(None)
