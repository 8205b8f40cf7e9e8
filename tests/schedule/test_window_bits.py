"""The gradient of a maximum over windows where teams compute: truth values are bits, folds are
elementwise, and what one kernel hands to the next is narrow."""

import re

import numpy as np
import pytest

from adjoint import Tensor, checkpoint, grad, lower
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.support.fake_gpu import fake_gpu

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with compiled_anew(), fake_gpu():
        yield


def eighths(*shape, seed=0):
    """Numbers of which many are equal."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32) / 8


def pooled(x, g, last, **options):
    """The gradient of pools; `last`: x has its channels last."""

    def total(x):
        x = x.permute(0, x.ndim - 1, *range(1, x.ndim - 1)) if last else x
        return (x.max_pool(**options).cast("float32") * g).sum()

    return grad(total)(x)


def stored(fn, *arrays):
    """The dtypes and shapes of what a program holds in memory, and the names of its kernels."""
    lines = lower(fn)(*[Tensor(a, device="GPU") for a in arrays]).schedule().splitlines()
    slots = dict(re.match(r"s\d+ : (\w+)\[(.*?)\]", s).groups() for s in lines if s[0] == "s")
    return slots, [line.split("(")[0].split()[1] for line in lines if line.startswith("kernel")]


POOLS = {
    "3 by 3": ((3, 4, 13, 12), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "2 by 2": ((3, 4, 12, 12), {"kernel_size": 2}),
    "side by side": ((3, 4, 13, 12), {"kernel_size": 3, "stride": 1}),
    "a part": ((3, 4, 13, 12), {"kernel_size": (3, 2), "stride": (2, 3), "padding": (1, 0)}),
    "gaps": ((3, 4, 14, 15), {"kernel_size": (3, 2), "stride": (2, 3), "dilation": 2}),
    "32 bits": ((2, 3, 11, 12), {"kernel_size": 5, "stride": 2, "padding": 2}),
    "more than bits": ((2, 3, 13, 14), {"kernel_size": 6}),
    "turns of five": ((2, 2, 30), {"kernel_size": (10,), "stride": 2}),
    "a line": ((3, 4, 21), {"kernel_size": (3,), "stride": 2, "padding": 1}),
    "a body": ((2, 2, 7, 6, 8), {"kernel_size": (2, 3, 2), "stride": (2, 2, 1), "ceil_mode": True}),
}


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", POOLS)
def test_gradients_of_pools_have_the_bits_of_the_cpu(name, dtype, last):
    shape, options = POOLS[name]
    x = eighths(*shape)
    x[(1, 0, *[2] * (len(shape) - 2))], x[(0, 1, *[3] * (len(shape) - 2))] = np.nan, np.inf
    g = eighths(*Tensor(x, device="CPU").max_pool(**options).shape, seed=1)
    given = np.moveaxis(x, 1, -1).copy() if last else x
    found, wanted = (
        pooled(Tensor(given, device=device).cast(dtype), Tensor(g, device=device), last, **options)
        .cast("float32")
        .numpy()
        for device in ("GPU", "CPU")
    )
    assert np.array_equal(found, wanted, equal_nan=True)


@pytest.mark.parametrize(("taps", "dtype"), [(2, "u8"), (3, "u16"), (5, "i32")])
def test_the_truth_values_of_a_window_are_one_number(taps, dtype):
    x, g = eighths(2, 3, 40, 40), eighths(2, 3, 40 // taps, 40 // taps)
    slots, _ = stored(lambda x, g: pooled(x, g, False, kernel_size=taps), x, g)
    side = 40 // taps
    assert slots[dtype] == f"2, 3, {side}, {side}, 1, 1"
    assert "bool" not in slots


def test_truth_values_of_windows_of_many_taps_are_not_packed():
    x, g = eighths(2, 3, 36, 36), eighths(2, 3, 6, 6)
    slots, _ = stored(lambda x, g: pooled(x, g, False, kernel_size=6), x, g)
    assert set(slots) == {"f32"}


def test_the_fold_is_in_the_kernel_of_its_neighbour():
    def step(x, g):
        return grad(lambda x: (x.relu().max_pool2d(3, 2, padding=1) * g).sum())(x)

    _, kernels = stored(step, eighths(4, 8, 40, 40), eighths(4, 8, 20, 20))
    assert len(kernels) == 3  # the bits; the quotients; what is folded and masked


def test_a_short_sum_of_truth_values_is_a_count():
    x, g = eighths(2, 3, 40, 40), eighths(2, 3, 20, 20)
    options = {"kernel_size": 3, "stride": 2, "padding": 1}
    found = lower(lambda x, g: pooled(x, g, False, **options))(
        *[Tensor(a, device="GPU") for a in (x, g)]
    )
    (quotients,) = [text for text in found.kernels() if "true_div" in text]
    assert "define_acc(0)" in quotients
    assert "define_acc(0.0)" not in quotients


def test_what_windows_repeat_is_stored_as_they_read_it():
    def step(x, g):
        wide = x.cast("bfloat16")
        return grad(lambda x: (x.max_pool2d(3, 2, padding=1).cast("float32") * g).sum())(wide)

    slots, _ = stored(step, eighths(4, 8, 40, 40), eighths(4, 8, 20, 20))
    assert slots["bf16"] in ("4, 8, 20, 20", "4, 8, 40, 40")
    assert slots["f32"] == "4, 8, 20, 20"  # the cotangent, which is given


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_folds_in_turns_have_the_bits_of_folds(dtype):
    x = (eighths(2, 5, 9, 3, 3) * 8).astype(np.float32)
    found, wanted = (
        Tensor(x, device=device).cast(dtype).fold((2, 11, 19), (1, 2), 3, 2).cast("float32").numpy()
        for device in ("GPU", "REF")
    )
    assert np.array_equal(found, wanted)
    assert not np.signbit(found[found == 0]).any()


def test_a_check_of_padding_does_not_gate_numbers_of_a_channel():
    def pool(x, scale):
        return (x * scale.reshape(1, 16, 1, 1)).max_pool2d(3, 2, padding=1)

    given = eighths(2, 16, 20, 20), eighths(16)
    (text,) = lower(pool)(*[Tensor(a, device="GPU") for a in given]).kernels()
    loads = re.findall(r"load\((b\d), (.*)\)", text)
    assert {buffer: at.count(",") for buffer, at in loads} == {"b1": 2, "b2": 0}
    found, wanted = (
        pool(*[Tensor(a, device=device) for a in given]).numpy() for device in ("GPU", "CPU")
    )
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("shape", [(), (3, 5), (1, 0, 2)])
def test_values_that_wait_for_others_are_cast_as_they_are(shape):
    """A recomputed value is a view of two operands: itself, and what it waits for."""
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    fn = grad(lambda x: checkpoint(lambda z: z.softmax(-1).tanh())(x).float().sum())
    one, other = (fn(Tensor(x, device=d).cast("bfloat16")) for d in ("CPU", "GPU"))
    np.testing.assert_array_equal(one.float().numpy(), other.float().numpy())
