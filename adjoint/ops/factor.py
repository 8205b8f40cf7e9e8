"""FACTOR: factorisations of matrices and systems of equations, as a library computes them.

Matrices are column-major, as `what` describes; an unrequested triangle has any contents. What may
live here: the op. `schedule/factorisations.py` alone creates its nodes, from nodes of `linalg.py`
and `factorisations.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.ir.arg import Arg
from adjoint.ir.derivative import NotDifferentiable
from adjoint.ir.dtype import real_of
from adjoint.ir.kernel_kind import Routine
from adjoint.ir.opdef import OPS, OpDef, internal
from adjoint.ir.uop import UOp

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
CHOLESKY, SOLVE, TRIANGULAR, QR, EIGH, SVD = (
    "cholesky",  # a → Lᴴ in the upper triangle
    "solve",  # a, bᵀ → xᵀ
    "triangular",  # a, b → x
    "qr",  # xᵀ → Qᵀ, and Rᵀ in the lower triangle of a matrix like xᵀ
    "eigh",  # a, which is self-adjoint → values, vectors as rows, conjugate
    "svd",  # x, at least as wide as high → U, S, Vᴴ
)


class FactorArg(Arg):
    what: str
    upper: bool = False  # of a triangle,
    left: bool = True  # on which side of x it stands,
    unit: bool = False  # whether its diagonal is ones


def _type(src: tuple[UOp, ...], arg: FactorArg) -> tuple[Any, Any]:
    x, last = src[0], src[-1]
    *batch, m, n = x.shape
    if arg.what == QR:
        return ((*batch, min(m, n), n), x.shape), (x.dtype, x.dtype)
    if arg.what == EIGH:
        return ((*batch, n), x.shape), (real_of(x.dtype), x.dtype)
    if arg.what == SVD:
        shapes = ((*batch, m, m), (*batch, m), (*batch, m, n))
        return shapes, (x.dtype, real_of(x.dtype), x.dtype)
    return last.shape, last.dtype


def _mt(x: Any) -> Array:
    return np.swapaxes(x, -1, -2)


def _qr(x: Any) -> Any:
    q, r = np.linalg.qr(_mt(x))
    whole = np.zeros_like(x)
    whole[..., :, : r.shape[-2]] = _mt(r)
    return _mt(q), whole


def _eigh(x: Any) -> Any:
    values, vectors = np.linalg.eigh(x)
    return values, np.conj(_mt(vectors))


def _triangular(a: Any, b: Any, **how: bool) -> Any:
    names = {"upper": how["upper"], "left": how["left"], "unitriangular": how["unit"]}
    return OPS["solve_triangular"].reference(a, b, **names)


_REFERENCES: dict[str, Callable[..., Any]] = {
    CHOLESKY: lambda a: np.conj(_mt(np.linalg.cholesky(a))),
    SOLVE: lambda a, b: _mt(np.linalg.solve(a, _mt(b))),
    QR: _qr,
    EIGH: _eigh,
    SVD: lambda x: tuple(np.linalg.svd(x, full_matrices=False)),
}


def _reference(*operands: Any, what: str, **how: bool) -> Any:
    if what == TRIANGULAR:
        return _triangular(*operands, **how)
    return _REFERENCES[what](*operands)


factor: OpDef = internal(
    "factor",
    "A factorisation of matrices, or the solution of equations, as a library computes it.",
    "primitive",
    call=lambda *given: UOp(factor, given[:-1], given[-1]),
    infer=_type,
    arg=FactorArg,
    ad=NotDifferentiable("made when a program is compiled, behind all derivatives"),
    reference=_reference,
    uses_blas=True,
    opcode=False,
    kernel=Routine(),
)
