"""The parts of complex numbers: COMPLEX joins two, REAL and IMAG take one, CONJ conjugates.

Complex derivatives: a cotangent g and a tangent t pair as Re(Σ g t), without conjugation. So the
cotangent of a C-linear map is its plain transpose, and the gradient of a real function of x + iy is
∂f/∂x - i ∂f/∂y, whose conjugate is the direction of steepest ascent. A function that is real at
both ends has the usual gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.axes import same_axes
from adjoint.ir.batch import same_op
from adjoint.ir.broadcast import elementwise
from adjoint.ir.derivative import Linear
from adjoint.ir.dtype import DType, complex_of, real_of
from adjoint.ir.kernel_kind import HOST
from adjoint.ir.opdef import Bad, define
from adjoint.ir.uop import UOp
from adjoint.ops.indexing import zeros_of
from adjoint.ops.samples import SPECIAL, given, real, rough

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


_Z = real(2, 3) + 1j * real(2, 3, seed=1)


def _joined(re: Any, im: Any) -> Array:
    """Set part by part: `re + 1j * im` would turn an infinity into NaN."""
    re, im = np.broadcast_arrays(re, im)
    wide = np.result_type(re, im, np.float32)
    out = np.empty(re.shape, np.complex128 if wide == np.float64 else np.complex64)
    out.real, out.imag = re, im
    return out


def part_dtype(dtype: DType) -> DType:
    """The float in which a complex number keeps a part of this dtype."""
    return dtype if dtype.is_complex else real_of(complex_of(dtype))


def _complex_tangent(t: Any, y: UOp, re: UOp, im: UOp) -> UOp:
    first, second = (zeros_of(x) if d is None else d for d, x in zip(t, (re, im), strict=True))
    return first.complex(second)


complex_ = elementwise(
    "complex",
    "The complex number with these two parts: `re.complex(im)`.",
    kinds="f",
    cast=part_dtype,
    result=complex_of,
    kernel=HOST,
    ad=Linear(lambda g, re, im: (g.real(), -g.imag()), tangent=_complex_tangent),
    reference=_joined,
    samples=given(
        (real(2, 3), real(2, 3, seed=1)),
        (real(2, 1), real(3, seed=1)),
        (real(), 2.5),
        (real(0, 3), real(3)),
        rough(SPECIAL[:, None], SPECIAL),
    ),
    errors=(
        Bad("E3001", (real(2), real(3)), match="dimension 0"),
        Bad("E2005", (_Z, _Z), match="complex"),
    ),
)


def _real(x: UOp) -> UOp:
    return UOp(real_, (x,)) if x.dtype.is_complex else x


def _imag(x: UOp) -> UOp:
    return UOp(imag, (x,)) if x.dtype.is_complex else zeros_of(x)


def _conj(x: UOp) -> UOp:
    return UOp(conj, (x,)) if x.dtype.is_complex else x


def _real_type(src: tuple[UOp, ...], arg: Any) -> tuple[Shape, DType]:
    return src[0].shape, real_of(src[0].dtype)


_COMPLEX_SAMPLES = given(
    (_Z,),
    (real(2, 3),),
    (real(),),
    (_Z[:0],),
    rough(_joined(SPECIAL[:, None], SPECIAL)),
)
real_ = define(
    "real",
    "The real part.",
    call=_real,
    infer=_real_type,
    batch=same_op,
    axes=same_axes,
    ad=Linear(lambda g, x: g.cast(x.dtype)),
    reference=np.real,
    samples=_COMPLEX_SAMPLES,
    kinds="c",
    views=True,
)
imag = define(
    "imag",
    "The imaginary part; zero of a real tensor.",
    call=_imag,
    infer=_real_type,
    batch=same_op,
    axes=same_axes,
    ad=Linear(lambda g, x: zeros_of(g).complex(-g)),  # Im t = Re(-i t)
    reference=np.imag,
    samples=_COMPLEX_SAMPLES,
    kinds="c",
    views=True,
)
conj = define(
    "conj",
    "The complex conjugate; a real tensor is its own.",
    call=_conj,
    infer=lambda src, arg: (src[0].shape, src[0].dtype),
    batch=same_op,
    axes=same_axes,
    ad=Linear(lambda g, x: g.conj()),
    reference=lambda x: np.conj(x) if np.asarray(x).dtype != np.bool_ else np.asarray(x),
    samples=_COMPLEX_SAMPLES,
)
