"""Matrix decompositions: QR, eigenvalues, singular values and what follows from those.

Each is one node with several results, computed whole by the host's LAPACK; PART picks a result.
Signs of vectors are LAPACK's. Where eigenvalues or singular values are equal the vectors are not
unique and have no derivative: it is infinite or NaN there. That of the values alone is finite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import ArgumentError
from adjoint.ir.arg import Arg
from adjoint.ir.axes import last_two
from adjoint.ir.batch import same_op
from adjoint.ir.derivative import Jvp, NotDifferentiable, ZeroGradient
from adjoint.ir.dtype import DType, accumulator, complex_of, dtypes, real_of
from adjoint.ir.opdef import Bad, define, derived
from adjoint.ir.precision import full
from adjoint.ir.uop import UOp
from adjoint.ops.matrix import (
    NOT_SQUARE,
    RANK,
    Array,
    Shape,
    adjoint_of,
    checked_matrix,
    diagonal_of,
    extended,
    guarded,
    identity_mask,
    lower,
    mH,
    of_matrix,
    regular,
    self_adjoint,
    self_adjoint_part,
    system,
    transposed,
    upper,
)
from adjoint.ops.samples import given, real, rough

_NOT_FOUND = "no decomposition was found: is there a NaN or an infinity in the matrix?"
_NAN = Bad("E6006", (np.full((2, 2), np.nan),), match="NaN")
_ANY_MATRIX = given(
    (regular(3, 3),),
    (real(4, 2),),
    (real(2, 4),),
    (real(2, 3, 2),),
    (real(0, 3, 2),),
)


def _qr_type(src: tuple[UOp, ...], arg: Any) -> tuple[Any, Any]:
    (x,) = src
    *batch, m, n = x.shape
    k = min(m, n)
    return ((*batch, m, k), (*batch, k, n)), (x.dtype, x.dtype)


def _qr_jvp(t: Any, y: Any, x: UOp) -> tuple[UOp, UOp]:
    """With C = dA R⁻¹ and Ω the skew matrix that has the lower triangle of QᴴC:
    dQ = Q Ω + (I - Q Qᴴ) C and dR = Qᴴ (dA - dQ R). A wide matrix is ruled by its first columns;
    the diagonal of R stays real.
    """
    q, r = y
    k = q.shape[-1]
    scaled = _columns(r, k).solve_triangular(_columns(t[0], k), True, False)
    inner = mH(q) @ scaled
    below = lower(inner, -1)
    skew = below - mH(below)
    if x.dtype.is_complex:
        skew = skew + _turning(inner)
    dq = q @ skew + scaled - q @ inner
    return dq, upper(mH(q) @ (t[0] - dq @ r))


def _turning(x: UOp) -> UOp:
    """The diagonal's imaginary part, as that of a matrix: what turns vectors of complex numbers."""
    on_diagonal = identity_mask(x.shape[-1], x.device).where(x.imag(), 0)
    return (on_diagonal * 0).complex(on_diagonal)


def _columns(x: UOp, k: int) -> UOp:
    """The first k columns."""
    return x.shrink([*((0, n) for n in x.shape[:-1]), (0, k)])


qr = of_matrix(
    "qr",
    "Q with orthonormal columns and upper triangular R, `q @ r = x`. A matrix of m × n gives "
    "m × k and k × n, where k is the shorter side.",
    square=False,
    infer=_qr_type,
    ad=Jvp(_qr_jvp),
    reference=guarded(_NOT_FOUND, lambda x: tuple(np.linalg.qr(x))),
    uses_blas=True,
    samples=_ANY_MATRIX,
)


def _inverse_gap(x: UOp) -> UOp:
    """1 / (x[j] - x[i]) in row i and column j, 0 on the diagonal."""
    *batch, n = x.shape
    return _inverse_beside_diagonal(x.reshape(*batch, 1, n) - x.reshape(*batch, n, 1))


def _inverse_beside_diagonal(gap: UOp) -> UOp:
    """1 / gap, 0 on the diagonal; equal values in other places divide by zero, as they should."""
    diagonal = identity_mask(gap.shape[-1], gap.device)
    return diagonal.where(0, 1 / diagonal.where(1, gap))


def _eigh_jvp(t: Any, y: Any, x: UOp) -> tuple[UOp, UOp]:
    w, v = y
    inner = mH(v) @ self_adjoint_part(t[0]) @ v
    return diagonal_of(inner).real(), v @ (_inverse_gap(w) * inner)


eigh = of_matrix(
    "eigh",
    "Eigenvalues, rising, and eigenvectors, as columns, of the symmetric (Hermitian) part of a "
    "matrix. The values are real.",
    infer=lambda src, arg: (
        (src[0].shape[:-1], src[0].shape),
        (real_of(src[0].dtype), src[0].dtype),
    ),
    ad=Jvp(_eigh_jvp),
    reference=guarded(_NOT_FOUND, lambda x: tuple(np.linalg.eigh((x + adjoint_of(x)) / 2))),
    uses_blas=True,
    samples=given(
        (self_adjoint(3, 3),),
        (self_adjoint(2, 3, 3, seed=1),),
        (self_adjoint(1, 1),),
        (self_adjoint(0, 3, 3),),
    ),
)


@derived(
    reference=lambda x: np.linalg.eigvalsh((x + adjoint_of(x)) / 2),
    samples=eigh.samples,
    errors=(RANK, NOT_SQUARE),
    kinds="fc",
    precision=full,
)
def eigvalsh(x: UOp) -> UOp:
    """Eigenvalues, rising, of the symmetric part of a matrix."""
    return x.eigh()[0]


def _svd_type(src: tuple[UOp, ...], arg: Any) -> tuple[Any, Any]:
    (x,) = src
    *batch, m, n = x.shape
    k = min(m, n)
    return ((*batch, m, k), (*batch, k), (*batch, k, n)), (x.dtype, real_of(x.dtype), x.dtype)


def _svd_jvp(t: Any, y: Any, x: UOp) -> tuple[UOp, UOp, UOp]:
    """With P = Uᴴ dA V and F = 1 / (s[j]² - s[i]²): dS is the diagonal of P,
    dU = U (F ∘ (P S + S Pᴴ)) + (I - U Uᴴ) dA V S⁻¹, and dV likewise with dAᴴ. What turns a pair of
    complex vectors is given to U.
    """
    u, s, vt = y
    *batch, k = s.shape
    row, column = s.reshape(*batch, 1, k), s.reshape(*batch, k, 1)
    v = mH(vt)
    inner = mH(u) @ t[0] @ v
    gaps = _inverse_beside_diagonal((row - column) * (row + column))
    du = u @ (gaps * (inner * row + column * mH(inner)))
    if x.dtype.is_complex:
        du = du + u @ (_turning(inner) / row)
    dv = v @ (gaps * (column * inner + mH(inner) * row))
    if x.shape[-2] > k:
        du = du + _outside(u, t[0] @ v) / row
    if x.shape[-1] > k:
        dv = dv + _outside(v, mH(t[0]) @ u) / row
    return du, diagonal_of(inner).real(), mH(dv)


def _outside(basis: UOp, x: UOp) -> UOp:
    """What of x is orthogonal to the basis."""
    return x - basis @ (mH(basis) @ x)


svd_reduced = of_matrix(
    "svd_reduced",
    "U, S and Vᵀ with `(u * s) @ vt = x`: as many vectors as the shorter side is long.",
    square=False,
    infer=_svd_type,
    ad=Jvp(_svd_jvp),
    reference=guarded(_NOT_FOUND, lambda x: tuple(np.linalg.svd(x, full_matrices=False))),
    uses_blas=True,
    samples=_ANY_MATRIX,
    errors=(_NAN,),
)


def _full_type(src: tuple[UOp, ...], arg: Any) -> tuple[Any, Any]:
    (x,) = src
    *batch, m, n = x.shape
    return ((*batch, m, m), (*batch, n, n)), (x.dtype,) * 2


svd_full = of_matrix(
    "svd_full",
    "All left and all right singular vectors, as columns and as rows.",
    square=False,
    infer=_full_type,
    ad=NotDifferentiable(
        "the vectors beyond the shorter side are not unique; use svd(full_matrices=False)"
    ),
    reference=guarded(_NOT_FOUND, lambda x: tuple(np.linalg.svd(x)[::2])),
    uses_blas=True,
    samples=_ANY_MATRIX,
    errors=(_NAN,),
)


@derived(
    reference=lambda x, full_matrices=True: tuple(np.linalg.svd(x, full_matrices)),
    samples=given(
        (regular(3, 3),),
        (real(4, 2), False),
        (real(2, 4), {"full_matrices": False}),
        (real(2, 3, 2), False),
        (real(0, 3, 2), False),
        rough(real(2, 3)),
    ),
    errors=(RANK, _NAN, Bad("E2008", (real(2, 2), "reduced"), match="full_matrices")),
    kinds="fc",
    precision=full,
)
def svd(x: UOp, full_matrices: bool = True) -> tuple[UOp, UOp, UOp]:
    """Singular values S, falling, with the vectors U and Vᵀ: `(u * s) @ vt = x`.

    With full_matrices U and Vᵀ are square; of a matrix that is not, these have no derivative.
    """
    if full_matrices not in (True, False):
        problem = f"full_matrices is True or False, not {full_matrices!r}"
        raise ArgumentError("E2008", problem, op="svd")
    a = checked_matrix("svd", x)
    u, s, vt = a.svd_reduced()
    if full_matrices and a.shape[-1] != a.shape[-2]:
        u, vt = a.svd_full()
    return u, s, vt


@derived(
    reference=lambda x: np.linalg.svd(x, compute_uv=False),
    samples=_ANY_MATRIX,
    errors=(RANK,),
    kinds="fc",
    precision=full,
)
def svdvals(x: UOp) -> UOp:
    """Singular values, falling."""
    return x.svd_reduced()[1]


def _eig_type(src: tuple[UOp, ...], arg: Any) -> tuple[Any, Any]:
    (x,) = src
    return (x.shape[:-1], x.shape), (x.dtype if x.dtype.is_complex else complex_of(x.dtype),) * 2


def _eig_reference(x: Any) -> Any:
    """NumPy answers in reals where it can; ours are always complex."""
    kind = np.result_type(x, np.complex64)
    return tuple(part.astype(kind) for part in np.linalg.eig(x))


eig = of_matrix(
    "eig",
    "Eigenvalues and eigenvectors, as columns, of a square matrix; complex, in LAPACK's order.",
    infer=_eig_type,
    ad=NotDifferentiable("complex eigenvectors are not unique; use eigh for a symmetric matrix"),
    reference=guarded(_NOT_FOUND, _eig_reference),
    uses_blas=True,
    samples=given(
        (np.array([[1.0, 2.0], [-3.0, 1.0]]),),
        (np.array([[1.0, 2.0, 0.5], [0.25, 5.0, 1.0], [1.0, 0.5, 9.0]]),),
        (np.array([[[1.0, 2.0], [0.5, 4.0]], [[0.0, 1.0], [-1.0, 0.0]]]),),
        (real(0, 3, 3),),
    ),
    errors=(_NAN,),
)


@derived(
    reference=lambda x: _eig_reference(x)[0],
    samples=eig.samples,
    errors=(RANK, NOT_SQUARE),
    kinds="fc",
    precision=full,
)
def eigvals(x: UOp) -> UOp:
    """Eigenvalues of a square matrix; complex, in LAPACK's order."""
    return x.eig()[0]


class PinvArg(Arg):
    rcond: float | None = None


def _pinv(x: UOp, rcond: float | None = None) -> UOp:
    return UOp(pinv, (checked_matrix("pinv", x),), PinvArg(None if rcond is None else float(rcond)))


def _pinv_type(src: tuple[UOp, ...], arg: PinvArg) -> tuple[Shape, DType]:
    (x,) = src
    return (*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype


def _pinv_reference(x: Any, rcond: float | None = None) -> Array:
    x = np.asarray(x)
    if x.size == 0:
        return np.zeros(transposed(x).shape, x.dtype)
    return np.linalg.pinv(x, max(x.shape[-2:]) * np.finfo(x.dtype).eps if rcond is None else rcond)


def _pinv_jvp(t: Any, y: UOp, x: UOp, rcond: float | None) -> UOp:
    """Golub and Pereyra (1973): right wherever the rank does not change nearby, and where no value
    is left out that is not zero."""
    if rcond is not None and 0 not in x.shape[-2:]:  # without singular values none is left out
        return _truncated_jvp(t[0], x, rcond)
    turned = mH(t[0])
    rows = y @ mH(y) @ turned
    columns = turned @ mH(y) @ y
    return rows - rows @ x @ y + columns - y @ x @ columns - y @ t[0] @ y


def _truncated_jvp(t: UOp, x: UOp, rcond: float) -> UOp:
    """With P = Uᴴ dA V, what is between two values that are kept is -P / (s[i] s[j]); between one
    that is kept and one that is not, P and Pᴴ over the difference of their squares; beyond the
    shorter side, dAᴴ over the square of those that are kept."""
    u, s, vt = x.svd_reduced()
    *batch, k = s.shape
    kept = s > s.max(-1, keepdim=True) * rcond
    f = kept.where(1 / kept.where(s, 1), 0)
    si, sj = s.reshape(*batch, k, 1), s.reshape(*batch, 1, k)
    fi, fj = f.reshape(*batch, k, 1), f.reshape(*batch, 1, k)
    mixed = kept.reshape(*batch, k, 1).ne(kept.reshape(*batch, 1, k))
    gap = 1 / mixed.where((sj - si) * (sj + si), 1)
    straight = mixed.where((si * fj - sj * fi) * gap, -fi * fj)
    turned = mixed.where((sj * fj - si * fi) * gap, 0)
    v, inner = mH(vt), mH(u) @ t @ mH(vt)
    change = v @ (straight * inner + turned * mH(inner)) @ mH(u)
    if x.shape[-2] > k:
        change = change + (v * (fj * fj)) @ mH(_outside(u, t @ v))
    if x.shape[-1] > k:
        change = change + _outside(v, mH(t) @ u) @ mH(u * (fj * fj))
    return change


pinv = define(
    "pinv",
    "The Moore-Penrose inverse; singular values up to `rcond` times the largest count as zero "
    "(None: the longer side times the dtype's epsilon).",
    arg=PinvArg,
    call=_pinv,
    infer=_pinv_type,
    batch=same_op,
    axes=last_two,
    ad=Jvp(_pinv_jvp),
    reference=guarded(_NOT_FOUND, _pinv_reference),
    uses_blas=True,
    samples=given(
        (regular(3, 3),),
        (real(4, 2),),
        (real(2, 2, 3), 1e-3),
        (real(0, 3, 2),),
        (real(3, 0),),
        (real(2, 0, 3), 0.5),
        rough(np.ones((3, 2))),
        (np.array([[1.0, 0.3], [0.2, 0.1]]), 0.2),
        (real(4, 3, lo=-1, hi=1), 0.3),
        (real(2, 3, lo=-1, hi=1, seed=2), 0.5),
    ),
    errors=(RANK, Bad("E6006", (np.full((2, 2), np.nan),), match="NaN")),
    kinds="fc",
    precision=full,
)


class RankArg(Arg):
    tol: float | None = None


def _matrix_rank(x: UOp, tol: float | None = None) -> UOp:
    operand = checked_matrix("matrix_rank", x)
    return UOp(matrix_rank, (operand,), RankArg(None if tol is None else float(tol)))


matrix_rank = define(
    "matrix_rank",
    "How many singular values are above `tol` (None: the largest times the longer side times the "
    "dtype's epsilon).",
    arg=RankArg,
    call=_matrix_rank,
    infer=lambda src, arg: (src[0].shape[:-2], dtypes.index),
    batch=same_op,
    axes=last_two,
    ad=ZeroGradient("a rank is piecewise constant"),
    reference=guarded(
        _NOT_FOUND,
        lambda x, tol=None: np.asarray(np.linalg.matrix_rank(x, tol)).astype(np.int64),
    ),
    uses_blas=True,
    samples=given(
        (regular(3, 3),),
        (real(2, 4, 3),),
        (np.ones((3, 2)),),
        (np.zeros((2, 2)),),
        (np.diag([1.0, 0.25]), 0.5),
        (real(0, 3, 2),),
    ),
    errors=(RANK,),
    kinds="fc",
    precision=full,
)


def _lstsq_reference(x: Any, b: Any, rcond: float | None = None) -> Any:
    column = b[:, None] if b.ndim == 1 else b
    batch = np.broadcast_shapes(x.shape[:-2], column.shape[:-2])
    a = np.broadcast_to(x, (*batch, *x.shape[-2:]))
    rhs = np.broadcast_to(column, (*batch, *column.shape[-2:]))
    y = np.zeros((*batch, x.shape[-1], column.shape[-1]), np.result_type(x, b, np.float64))
    for at in np.ndindex(*batch):
        y[at] = np.linalg.lstsq(a[at], rhs[at], rcond)[0]
    return y[..., 0] if b.ndim == 1 else y


@derived(
    reference=_lstsq_reference,
    samples=given(
        (real(4, 2), real(4, seed=1)),
        (real(4, 2), real(4, 3, seed=1)),
        (real(2, 3), real(2, 1, seed=1)),
        (real(2, 4, 2), real(4, 1, seed=1)),
        (real(2, 4, 2), real(4, seed=1)),
        (real(0, 4, 2), real(4, 1, seed=1)),
        rough(np.ones((3, 2)), real(3, seed=1)),
    ),
    errors=(extended(RANK, real(3)), Bad("E3003", (real(4, 2), real(3)), match="4 rows")),
    kinds="fc",
    precision=full,
)
def lstsq(x: UOp, b: UOp, rcond: float | None = None) -> UOp:
    """The y that minimises `|x @ y - b|`, of several that of least norm; b is as for solve."""
    a, rhs = system("lstsq", x, b, square=False)
    wide = accumulator(a.dtype)
    return (a.cast(wide).pinv(rcond) @ rhs.cast(wide)).cast(a.dtype)
