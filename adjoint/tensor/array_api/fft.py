"""The standard's Fourier transform extension: `adjoint.fft`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from adjoint.errors import DTypeError
from adjoint.ir.dtype import DType, as_dtype, dtypes
from adjoint.ir.opdef import OPS
from adjoint.runtime.device import Device
from adjoint.tensor.array_api.calls import apply, named, tensor_of
from adjoint.tensor.tensor import Tensor
from adjoint.tensor.types import DeviceLike

Norm = Literal["backward", "ortho", "forward"]


def _along_one(name: str) -> Callable[..., Tensor]:
    def function(
        x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
    ) -> Tensor:
        return apply(name, tensor_of(name, x), n, axis, norm)

    return named(function, name, OPS[name].doc, __name__)


def _along_several(name: str) -> Callable[..., Tensor]:
    def function(
        x: Tensor,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: Norm = "backward",
    ) -> Tensor:
        return apply(name, tensor_of(name, x), s, axes, norm)

    return named(function, name, OPS[name].doc, __name__)


fft = _along_one("fft")
fftn = _along_several("fftn")
hfft = _along_one("hfft")
ifft = _along_one("ifft")
ifftn = _along_several("ifftn")
ihfft = _along_one("ihfft")
irfft = _along_one("irfft")
irfftn = _along_several("irfftn")
rfft = _along_one("rfft")
rfftn = _along_several("rfftn")


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: DeviceLike = None
) -> Tensor:
    """The frequencies of the terms of a transform of n samples, `d` apart."""
    return _frequencies("fftfreq", n, d, dtype, device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: DeviceLike = None
) -> Tensor:
    """The frequencies of the terms of a real transform of n samples, `d` apart."""
    return _frequencies("rfftfreq", n, d, dtype, device)


def _frequencies(op: str, n: int, d: float, dtype: DType | None, device: DeviceLike) -> Tensor:
    kind = dtypes.default_float if dtype is None else as_dtype(dtype)
    if not kind.is_float:
        raise DTypeError("E2005", f"takes a float dtype, not {kind.name}", op=op)
    return apply(op, n, d, kind, Device.canonicalize(device))


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The zero frequency moved to the middle of the axes."""
    return apply("fftshift", tensor_of("fftshift", x), axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """`fftshift` undone."""
    return apply("ifftshift", tensor_of("ifftshift", x), axes)
