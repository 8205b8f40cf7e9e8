"""The Fourier transform extension against NumPy."""

import numpy as np
import pytest

import adjoint
import adjoint.tensor.array_api as xp
from adjoint import Tensor
from tests.tensor.array_api.oracle import FLOATS, array

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")
REAL_IN = {"rfft", "rfftn", "ihfft"}
REAL_OUT = {"irfft", "irfftn", "hfft"}
WIDTH = {"float32": ("complex64", 1e-5), "float64": ("complex128", 1e-12)}


def _check(name, x, dtype, **options):
    wide, tolerance = WIDTH[dtype]
    got = getattr(xp.fft, name)(Tensor(x), **options)
    wanted = getattr(np.fft, name)(x, **options)
    assert got.dtype.name == (dtype if name in REAL_OUT else wide)
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got.numpy(), wanted, tolerance, tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ONE)
def test_transforms_along_one_axis_agree_with_numpy(name, norm, dtype):
    x = array((4, 5), dtype if name in REAL_IN else WIDTH[dtype][0])
    for options in ({}, {"axis": 0}, {"n": 3}, {"n": 8, "axis": 0}):
        _check(name, x, dtype, norm=norm, **options)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", SEVERAL)
def test_transforms_along_several_axes_agree_with_numpy(name, norm, dtype):
    x = array((3, 4, 5), dtype if name in REAL_IN else WIDTH[dtype][0])
    for options in ({}, {"axes": (0, 2)}, {"s": (2, 6), "axes": (1, 2)}, {"axes": (-1,)}):
        _check(name, x, dtype, norm=norm, **options)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_agree_with_numpy(name, n):
    for d in (1.0, 0.25):
        got = getattr(xp.fft, name)(n, d=d)
        assert got.dtype is xp.float32
        np.testing.assert_allclose(got.numpy(), getattr(np.fft, name)(n, d), 1e-6)
    assert getattr(xp.fft, name)(n, dtype=xp.float64).dtype is xp.float64


@pytest.mark.parametrize("axes", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts_agree_with_numpy(name, axes):
    for dtype in ("float32", "complex64"):
        x = array((4, 5), dtype)
        got = getattr(xp.fft, name)(Tensor(x), axes=axes)
        np.testing.assert_array_equal(got.numpy(), getattr(np.fft, name)(x, axes))


def test_the_inverse_undoes_the_transform():
    x = array((3, 6), "float64")
    back = xp.fft.irfft(xp.fft.rfft(Tensor(x)), n=6)
    np.testing.assert_allclose(back.numpy(), x, 1e-12, 1e-12)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: xp.fft.fft(Tensor([1.0]), axis=1), ValueError),
        (lambda: xp.fft.fft(Tensor([1.0]), n=0), ValueError),
        (lambda: xp.fft.fft(Tensor([1.0]), norm="unit"), TypeError),
        (lambda: xp.fft.rfft(Tensor([1j])), TypeError),
        (lambda: xp.fft.fftfreq(0), ValueError),
        (lambda: xp.fft.fftfreq(4, dtype=xp.int32), TypeError),
        (lambda: xp.fft.fft([1.0]), TypeError),
    ],
)
def test_calls_that_cannot_work_are_errors_at_once(call, kind):
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, adjoint.AdjointError)
