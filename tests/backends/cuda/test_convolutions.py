"""Convolutions on a GPU: which are calls of cuDNN, what it is told, and what comes back.

Without a GPU its library is NumPy behind the same C functions; with one it is itself.
"""

from collections import Counter

import ml_dtypes
import numpy as np
import pytest

from adjoint import Tensor, allow_tf32, deterministic, grad, jit, lower, value_and_grad, vmap
from adjoint.backends import cuda
from adjoint.runtime.cuda import problem
from adjoint.runtime.cudnn import CUDNN
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.backends.cuda.convolutions import CASES, DTYPES, check
from tests.support.fake_cublaslt import fake_cublaslt
from tests.support.fake_cudnn import fake_cudnn, installed
from tests.support.fake_gpu import fake_gpu

tools = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
real = pytest.mark.skipif(
    bool(problem()) or CUDNN.loaded is None, reason=problem() or "cuDNN is not installed"
)


@pytest.fixture(scope="module")
def shared():
    with compiled_anew(), fake_cudnn() as library, fake_gpu():
        yield library


@pytest.fixture
def library(shared):
    """A fake cuDNN beside a fake GPU."""
    del shared.calls[:]
    shared.engines.clear()
    return shared


def steps(fn, *arrays):
    """The lines of a schedule that are calls of a library, and those that are kernels."""
    lines = lower(fn)(*[Tensor(a, device="GPU") for a in arrays]).schedule().splitlines()
    return [[line for line in lines if line.startswith(kind)] for kind in ("library", "kernel")]


def floats(*shape, dtype=np.float32):
    return np.random.default_rng(1).standard_normal(shape).astype(dtype)


@tools
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_and_gradients_are_those_of_float64(library, case):
    check(case, "float32")
    assert {"forward", "picture", "weights"} == set(library.calls)


@tools
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
@pytest.mark.parametrize("case", CASES[::4], ids=str)
def test_other_floats_are_taken_as_they_are(library, case, dtype):
    check(case, dtype)
    assert set(library.calls) == {"forward", "picture", "weights"}


@tools
def test_padding_is_told_and_not_written(library):
    calls, kernels = steps(
        lambda x, w: x.conv2d(w, padding=1), floats(4, 8, 15, 15), floats(16, 8, 3, 3)
    )
    assert len(calls) == 1
    assert "forward 4x8x15x15 by 16x8x3x3" in calls[0]
    assert kernels == []


@tools
def test_three_products_of_a_training_step_are_three_calls(library):
    def loss(w, x):
        return (x.conv2d(w, padding=1) ** 2).sum()

    def both(w, x):
        return value_and_grad(loss, argnums=(0, 1))(w, x)

    calls, _ = steps(both, floats(16, 8, 3, 3), floats(4, 8, 15, 15))
    assert Counter(line.split()[3] for line in calls) == {"forward": 1, "picture": 1, "weights": 1}


@tools
def test_weights_of_their_own_for_each_picture_are_groups(library):
    x, w = floats(6, 8, 20, 20), floats(6, 16, 8, 3, 3)
    found = vmap(lambda x, w: x.conv2d(w))(Tensor(x, device="GPU"), Tensor(w, device="GPU"))
    wanted = vmap(lambda x, w: x.conv2d(w))(Tensor(x, device="CPU"), Tensor(w, device="CPU"))
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), atol=1e-4)
    assert library.calls == ["forward"]


@tools
def test_few_products_are_loops(library):
    calls, kernels = steps(lambda x, w: x.conv2d(w), floats(1, 2, 5, 5), floats(2, 2, 3, 3))
    assert calls == []
    assert len(kernels) == 1


@tools
def test_a_call_that_is_jitted_asks_for_a_way_once(library):
    f = jit(lambda x, w: x.conv2d(w).relu())
    x, w = Tensor(floats(4, 8, 15, 15), device="GPU"), Tensor(floats(16, 8, 3, 3), device="GPU")
    f(x, w)
    before = library.plans
    f(x, w)
    f(x, w)
    assert library.plans == before
    assert library.calls == ["forward"] * 3


SETTINGS = {
    "float32 as it is": (np.float32, {}, "plain"),
    "float32 in tf32": (np.float32, {"tf32": True}, "tensor cores"),
    "float32 in any order": (np.float32, {"ordered": False}, "varying"),
    "bfloat16": (ml_dtypes.bfloat16, {}, "tensor cores"),
    "float64": (np.float64, {}, "tensor cores"),
}


@tools
@pytest.mark.parametrize("name", SETTINGS)
def test_engines_are_taken_that_settings_allow(library, name):
    dtype, options, wanted = SETTINGS[name]
    with allow_tf32(options.get("tf32", False)), deterministic(options.get("ordered", True)):
        x, w = (floats(*s, dtype=dtype) for s in ((4, 8, 16, 16), (16, 8, 3, 3)))
        Tensor(x, device="GPU").conv2d(Tensor(w, device="GPU")).numpy()
    assert library.engines == {wanted}


@tools
def test_a_convolution_is_recorded_with_the_kernels_around_it(library):
    f = jit(lambda x, w: ((x * 2).sum(0, keepdim=True) + x).conv2d(w, padding=1).softmax(1))
    arrays = floats(4, 8, 15, 15), floats(16, 8, 3, 3)
    x, w = (Tensor(a, device="GPU") for a in arrays)
    first, *others = [f(x, w).numpy() for _ in range(4)]
    assert "graph" in cuda.BACKEND.gpu.calls
    assert all(np.array_equal(first, other) for other in others)
    assert library.calls == ["forward"] * 4


# ---- the order of channels


def block(w, x):
    """Convolutions with batch norm, a maximum of windows, a residual and a mean between."""
    h = x.conv2d(w[0], stride=2, padding=1)
    wide = h.cast("float32")
    mean = wide.mean((0, 2, 3), keepdim=True)
    spread = ((wide - mean) ** 2).mean((0, 2, 3), keepdim=True)
    h = ((wide - mean) * (spread + 1e-5).rsqrt()).cast(x.dtype).relu().max_pool2d(3, 2, padding=1)
    h = (h.conv2d(w[1], padding=1).relu().conv2d(w[2], padding=1) + h).relu()
    return (h.mean((2, 3)).cast("float32") ** 2).sum()


SHAPES = ((16, 3, 3, 3), (16, 16, 3, 3), (16, 16, 3, 3))


def gradients(device, dtype=ml_dtypes.bfloat16):
    w = [Tensor(floats(*shape, dtype=dtype), device=device) for shape in SHAPES]
    value, found = value_and_grad(block)(
        w, Tensor(floats(4, 3, 32, 32, dtype=dtype), device=device)
    )
    return [t.numpy().astype(np.float64) for t in (value, *found)]


@tools
def test_between_convolutions_of_narrow_floats_nothing_is_turned_around(library):
    def step(x, *w):
        return value_and_grad(block)(list(w), x)

    arrays = [floats(*shape, dtype=ml_dtypes.bfloat16) for shape in ((4, 3, 32, 32), *SHAPES)]
    calls, kernels = steps(step, *arrays)
    turned = [line for line in kernels if line.startswith("kernel permute")]
    assert all("channels last" in line for line in calls)
    assert len(calls) == 8
    assert (
        len(turned) == 7
    )  # the picture, three weights and their gradients: what is given or asked


@tools
def test_the_order_of_channels_changes_no_value(library):
    for found, wanted in zip(gradients("GPU"), gradients("CPU"), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=0.02 * np.abs(wanted).max())


@tools
def test_float32_keeps_its_channels_in_front(library):
    calls, _ = steps(lambda x, w: x.conv2d(w), floats(4, 8, 15, 15), floats(16, 8, 3, 3))
    assert "channels last" not in calls[0]


# ---- few channels

STEM = ((8, 3, 64, 64), (64, 3, 7, 7))


def stem(w, x):
    """The first convolution of a network of pictures, of 16-bit operands."""
    w, x = w.cast("bfloat16"), x.cast("bfloat16")
    return x.conv2d(w, stride=2, padding=3).cast("float32")


def stem_gradient(w, x, g):
    """What the first convolution gives, and its gradient by the weights."""
    return value_and_grad(lambda w: (stem(w, x) * g).sum())(w)[1], stem(w, x)


@tools
def test_taps_of_a_row_are_channels_where_a_picture_has_few(library):
    x, w = STEM
    calls, kernels = steps(stem_gradient, floats(*w), floats(*x), floats(8, 64, 32, 32))
    assert [" ".join(line.split()[3:8]) for line in sorted(calls)] == [
        "forward 8x32x64x32 by 64x32x7x1 channels",
        "weights 8x32x64x32 by 64x32x7x1 channels",
    ]
    assert len(kernels) == 5  # picture, weights, cotangent; both results: no copy is made


FEW = {
    "a picture": ((8, 3, 64, 64), (64, 3, 7, 7), {"stride": 2, "padding": 3}),
    "grey": ((8, 1, 64, 64), (64, 1, 5, 5), {"padding": 2}),
    "dilated": ((8, 2, 65, 63), (64, 2, 3, 5), {"dilation": (1, 2), "stride": (1, 3)}),
    "a line": ((8, 3, 20000), (64, 3, 9), {"padding": 4}),
    "a body": ((4, 2, 9, 40, 41), (64, 2, 3, 3, 3), {"padding": (1, 0, 1), "stride": (2, 1, 1)}),
}


def few(w, x, g, options):
    """A convolution of 16-bit operands, and its gradient by the weights."""

    def run(w):
        return x.conv2d(w, **options).cast("float32")

    w, x = w.cast("bfloat16"), x.cast("bfloat16")
    return run(w), value_and_grad(lambda w: (run(w) * g).sum())(w)[1].cast("float32")


@tools
@pytest.mark.parametrize("name", FEW)
def test_taps_as_channels_change_no_value(library, name):
    (x, w, options), rng = FEW[name], np.random.default_rng(2)
    arrays = [rng.integers(-8, 9, shape).astype(np.float32) / 8 for shape in (w, x)]
    shape = few(*[Tensor(a, device="GPU") for a in arrays], 1.0, options)[0].shape
    arrays.append(rng.integers(-8, 9, shape).astype(np.float32) / 8)
    arrays[1][(0, 0, *[5] * (len(x) - 2))], arrays[2][(3, 4, *[1] * (len(x) - 2))] = np.nan, np.inf
    found, wanted = (
        [t.numpy() for t in few(*[Tensor(a, device=device) for a in arrays], options)]
        for device in ("GPU", "CPU")
    )
    assert library.calls
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.shape == theirs.shape
        assert np.array_equal(np.isnan(ours), np.isnan(theirs))
        kept = np.isfinite(theirs)
        np.testing.assert_allclose(ours[kept], theirs[kept], rtol=0.01, atol=0.1)


@tools
def test_an_infinite_weight_makes_nan_beside_a_picture_of_few_channels(library):
    x, w = floats(8, 3, 64, 64), floats(64, 3, 7, 7)
    w[5, 1, 3, 0] = np.inf
    wide = [Tensor(a, device="GPU").cast("bfloat16") for a in (x, w)]
    found = wide[0].conv2d(wide[1], stride=2, padding=3).cast("float32").numpy()
    assert np.isnan(found[:, 5, :, :2]).all()
    assert np.isinf(found[:, 5, :, 2:]).all()


@tools
@pytest.mark.parametrize(
    ("x", "w", "options"),
    [
        ((8, 3, 8, 8), (64, 3, 7, 7), {"padding": 3}),  # few products
        ((8, 8, 64, 64), (64, 8, 7, 7), {"padding": 3}),  # places of 16 bytes
        ((8, 8, 64, 64), (64, 4, 7, 7), {"padding": 3, "groups": 2}),
        ((8, 3, 64, 64), (64, 3, 7, 1), {"padding": 3}),
        ((8, 5, 64, 64), (64, 5, 1, 15), {"padding": 3}),  # more channels of a tap
    ],
)
def test_taps_of_other_convolutions_stay(library, x, w, options):
    narrow = [floats(*shape, dtype=ml_dtypes.bfloat16) for shape in (x, w)]
    (call,), _ = steps(lambda x, w: x.conv2d(w, **options), *narrow)
    shapes = " by ".join("x".join(map(str, shape)) for shape in (x, w))
    assert f"forward {shapes} channels last" in call


# ---- without the library, and with the real one


@tools
def test_without_the_library_convolutions_are_right():
    with compiled_anew(), installed(CUDNN, None), fake_gpu():
        check(CASES[0], "float32")
        check(CASES[3], "bfloat16")


@real
@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_on_a_gpu_values_and_gradients_are_those_of_float64(case, dtype):
    check(case, dtype)


@real
@pytest.mark.gpu
def test_on_a_gpu_runs_have_equal_bits():
    first = gradients("GPU")
    for _ in range(3):
        assert all(np.array_equal(a, b) for a, b in zip(first, gradients("GPU"), strict=True))


SMALL = {  # picture, weights, options: fewer products than are worth a library
    "one by one": ((2, 2, 3, 4), (1, 2, 1, 1), {"padding": 1}),
    "three by three": ((2, 3, 5, 4), (2, 3, 3, 3), {"padding": 1}),
    "steps": ((1, 2, 6, 5), (3, 2, 2, 2), {"stride": 2}),
}


@tools
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", SMALL)
def test_small_ones_of_16_bits_are_rounded_where_the_cpu_rounds(library, name, dtype, transposed):
    picture, weights, options = SMALL[name]
    rng, found = np.random.default_rng(0), []
    arrays = [(rng.standard_normal(s) * 2).astype(np.float32) for s in (picture, weights)]
    if transposed:
        arrays[1] = arrays[1].swapaxes(0, 1).copy()
    with fake_cublaslt():
        for device in ("CPU", "GPU"):
            x, w = (Tensor(a, device=device).cast(dtype) for a in arrays)
            call = x.conv_transpose2d if transposed else x.conv2d
            out = call(w, **options).shape
            g = Tensor(np.arange(np.prod(out), dtype=np.float32).reshape(out) % 7, device=device)

            def loss(x, w, g=g, name=call.__name__):
                return (getattr(x, name)(w, **options).float() * g).sum()

            made = [call(w, **options), *grad(loss, argnums=(0, 1))(x, w)]
            found.append([t.float().numpy() for t in made])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
