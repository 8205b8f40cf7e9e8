"""Fourier transforms on a GPU: by cuFFT where it is installed, by the host where it is not.

Without a GPU the library is NumPy behind the same C functions.
"""

import numpy as np
import pytest

from adjoint import Tensor, lower
from adjoint.runtime.cuda import problem
from adjoint.runtime.cufft import CUFFT
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.support.fake_cudnn import installed
from tests.support.fake_cufft import fake_cufft
from tests.support.fake_gpu import fake_gpu

tools = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
real = pytest.mark.skipif(
    bool(problem()) or CUFFT.loaded is None, reason=problem() or "cuFFT is not installed"
)
FORWARD = {
    "fft": lambda x: x.fft(),
    "fft of the first axis": lambda x: x.fft(dim=0),
    "fft of an axis between, ortho": lambda x: x.fft(dim=1, norm="ortho"),
    "ifft": lambda x: x.ifft(dim=1),
    "fft2": lambda x: x.fft2(),
    "ifftn": lambda x: x.ifftn(),
    "fft of two axes apart": lambda x: x.fftn(dim=(0, 2), norm="forward"),
    "rfft": lambda x: x.rfft(norm="ortho"),
    "rfft of the first axis": lambda x: x.rfft(dim=0),
    "rfft2": lambda x: x.rfft2(),
    "irfft": lambda x: x.fft().irfft(9),
    "irfft of an axis between": lambda x: x.rfft(dim=1).irfft(6, dim=1, norm="forward"),
}


@pytest.fixture(scope="module")
def shared():
    with compiled_anew(), fake_cufft() as library, fake_gpu():
        yield library


@pytest.fixture
def library(shared):
    """A fake cuFFT beside a fake GPU."""
    del shared.calls[:]
    return shared


def numbers(*shape, dtype=np.float32):
    rng = np.random.default_rng(3)
    made = rng.standard_normal(shape)
    return (made + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else made).astype(
        dtype
    )


def computed(fn, array, device):
    """The value, and the gradient of the sum of its squares."""
    x = Tensor(array, device=device)
    x.requires_grad = True
    y = fn(x)
    (dx,) = (y.abs() ** 2).sum().gradient(x)
    assert y.device == dx.device == device
    return y.numpy(), dx.numpy()


def check(name, dtype):
    array = numbers(4, 6, 8, dtype=dtype)
    tolerance = 1e-5 if np.dtype(dtype).itemsize in (4, 8) and dtype != np.float64 else 1e-13
    wanted = computed(FORWARD[name], array, "REF")
    for found, right in zip(computed(FORWARD[name], array, "GPU"), wanted, strict=True):
        assert found.dtype == right.dtype
        np.testing.assert_allclose(found, right, rtol=0, atol=tolerance * np.abs(right).max())


@tools
@pytest.mark.parametrize("name", FORWARD)
def test_a_transform_and_its_gradient_are_those_of_the_host(library, name):
    check(name, np.float32)
    assert library.calls


@tools
@pytest.mark.parametrize("dtype", [np.float64, np.complex64, np.complex128])
def test_transforms_of_all_dtypes_are_those_of_the_host(library, dtype):
    check("fft of two axes apart", dtype)
    check("ifftn", dtype)
    assert {len(lengths) for _, lengths, _ in library.calls} == {2, 3}


@tools
def test_three_axes_are_transformed_at_once(library):
    Tensor(numbers(4, 6, 8, dtype=np.complex64), device="GPU").fftn().numpy()
    assert library.calls == [("C2C", (4, 6, 8), 1)]


@tools
def test_the_last_axis_is_transformed_where_it_lies(library):
    lines = lower(lambda x: x.fft())(Tensor(numbers(4, 8, dtype=np.complex64), device="GPU"))
    steps = [line for line in lines.schedule().splitlines() if "(" in line]
    assert [line.split("(")[0] for line in steps] == [
        "library fourier transform c64 complex 4 of 8 "
    ]


@tools
def test_without_the_library_the_host_transforms_and_results_are_on_the_gpu():
    with compiled_anew(), installed(CUFFT, None), fake_gpu():
        check("rfft2", np.float32)
        x = Tensor(numbers(4, 8), device="GPU")
        assert "host rdft" in lower(lambda x: x.rfft())(x).schedule()


@real
@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("name", FORWARD)
def test_on_a_gpu_transforms_are_those_of_the_host(name, dtype):
    if "rfft" in name and np.dtype(dtype).kind == "c":
        pytest.skip("transforms of reals")
    check(name, dtype)
