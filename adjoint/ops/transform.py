"""TRANSFORM: Fourier transforms of the last axes without normalisation, as a library computes them.

What may live here: the op. `schedule/transforms.py` alone creates its nodes, from nodes of
`fourier.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.arg import Arg
from adjoint.ir.derivative import NotDifferentiable
from adjoint.ir.dtype import DType, complex_of, real_of
from adjoint.ir.kernel_kind import Routine
from adjoint.ir.opdef import OpDef, internal
from adjoint.ir.uop import UOp

Shape = tuple[int, ...]
COMPLEX, FROM_REAL, TO_REAL = "complex", "from real", "to real"


class TransformArg(Arg):
    form: str  # one of these three
    lengths: Shape  # of the last axes, which are transformed, as real numbers have them
    inverse: bool = False


def _type(src: tuple[UOp, ...], arg: TransformArg) -> tuple[Shape, DType]:
    (x,) = src
    if arg.form == COMPLEX:
        return x.shape, x.dtype
    lead, last = x.shape[:-1], arg.lengths[-1]
    if arg.form == FROM_REAL:
        return (*lead, last // 2 + 1), complex_of(x.dtype)
    return (*lead, last), real_of(x.dtype)


def _reference(x: Any, form: str, lengths: Shape, inverse: bool) -> Any:
    """Half a spectrum is that of one axis."""
    if form == FROM_REAL:
        return np.fft.rfft(x)
    if form == TO_REAL:
        return np.fft.irfft(x, lengths[-1], norm="forward")
    axes = tuple(range(-len(lengths), 0))
    return np.fft.ifftn(x, axes=axes, norm="forward") if inverse else np.fft.fftn(x, axes=axes)


transform: OpDef = internal(
    "transform",
    "A Fourier transform of the last axes, or its inverse, not divided by their lengths.",
    "primitive",
    call=lambda x, *values: UOp(transform, (x,), TransformArg(*values)),
    infer=_type,
    arg=TransformArg,
    ad=NotDifferentiable("made when a program is compiled, behind all derivatives"),
    reference=_reference,
    opcode=False,
    kernel=Routine(),
)
