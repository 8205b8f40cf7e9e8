"""Matrix inverses, determinants, solutions of linear systems; decompositions: `factorisations.py`.

Each is computed whole by the host's LAPACK. Matrices are the last two axes, the axes before them a
batch; integers are computed as the default float. A singular matrix is E6006 when it runs. Every
derivative is written with products and further solutions, so it can be differentiated again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, ShapeError
from adjoint.ir.arg import Arg
from adjoint.ir.axes import last_two
from adjoint.ir.batch import same_op
from adjoint.ir.derivative import Jvp, Linear
from adjoint.ir.dtype import DType, accumulator, real_of, to_float
from adjoint.ir.opdef import Bad, Sample, define, derived
from adjoint.ir.precision import full
from adjoint.ir.uop import UOp
from adjoint.ops import factorisations  # noqa: F401 (its records)
from adjoint.ops.matrix import (
    NOT_SQUARE,
    RANK,
    Array,
    Shape,
    adjoint_of,
    batched,
    checked_matrix,
    definite,
    extended,
    guarded,
    identity,
    identity_mask,
    lower,
    mH,
    mT,
    of_matrix,
    regular,
    self_adjoint_part,
    system,
    trace_of_product,
    transposed,
    upper,
)
from adjoint.ops.samples import given, real, rough

_SINGULAR = "the matrix is singular"


_SQUARES = given(
    (regular(3, 3),),
    (regular(2, 3, 3, seed=1),),
    (regular(1, 1),),
    (regular(0, 3, 3),),
    (regular(0, 0),),
)


def _same(src: tuple[UOp, ...], arg: Any) -> tuple[Shape, DType]:
    return src[0].shape, src[0].dtype


inv = of_matrix(
    "inv",
    "The inverse of a square matrix.",
    infer=_same,
    ad=Jvp(lambda t, y, x: -(y @ t[0] @ y)),
    reference=guarded(_SINGULAR, np.linalg.inv),
    uses_blas=True,
    samples=_SQUARES,
    errors=(Bad("E6006", (np.ones((2, 2)),), match="singular"),),
)


def _adjugate_reference(x: Any) -> Array:
    """From the singular values, the product of all others in the place of each inverse."""
    u, s, vt = np.linalg.svd(x)
    n = s.shape[-1]
    grid = np.where(np.eye(n, dtype=bool), 1, s[..., None, :])
    sign = np.linalg.det(u) * np.linalg.det(vt)
    scaled = adjoint_of(vt) * np.prod(grid, axis=-1)[..., None, :]
    return np.asarray(sign)[..., None, None] * (scaled @ adjoint_of(u))


adjugate = of_matrix(
    "adjugate",
    "`det(x) * inv(x)`, which exists for a singular matrix too. Its derivative needs the inverse.",
    infer=_same,
    ad=Jvp(
        lambda t, y, x: (
            trace_of_product(x.inv(), t[0]).reshape(*x.shape[:-2], 1, 1) * y - y @ t[0] @ x.inv()
        )
    ),
    reference=guarded("no singular value decomposition was found", _adjugate_reference),
    uses_blas=True,
    samples=lambda: [*_SQUARES(), rough(np.ones((2, 2)))],
)
det = of_matrix(
    "det",
    "The determinant of a square matrix; its gradient is right for a singular one too.",
    infer=lambda src, arg: (src[0].shape[:-2], src[0].dtype),
    ad=Jvp(lambda t, y, x: trace_of_product(x.adjugate(), t[0])),
    reference=np.linalg.det,
    uses_blas=True,
    samples=lambda: [*_SQUARES(), Sample((np.arange(9.0).reshape(3, 3) % 4,))],
)


def _slogdet_jvp(t: Any, y: Any, x: UOp) -> tuple[UOp, UOp]:
    """The sign of a real determinant is piecewise constant, that of a complex one turns."""
    change = trace_of_product(x.inv(), t[0])
    if not x.dtype.is_complex:
        return y[0] * 0, change
    angle = change.imag()
    return y[0] * (angle * 0).complex(angle), change.real()


slogdet = of_matrix(
    "slogdet",
    "The sign of the determinant and the logarithm of its absolute value, as two tensors.",
    infer=lambda src, arg: ((src[0].shape[:-2],) * 2, (src[0].dtype, real_of(src[0].dtype))),
    ad=Jvp(_slogdet_jvp),
    reference=lambda x: tuple(np.linalg.slogdet(x)),
    uses_blas=True,
    samples=lambda: [*_SQUARES(), rough(np.ones((2, 2)))],
)


def _solve(x: UOp, b: UOp) -> UOp:
    a, rhs = system("solve", x, b)
    if len(b.shape) == 1:
        return _solve(a, rhs.reshape(*b.shape, 1)).reshape(a.shape[:-1])
    return UOp(solve, batched("solve", a, rhs))


def _solve_type(src: tuple[UOp, ...], arg: Any) -> tuple[Shape, DType]:
    return src[1].shape, src[1].dtype


def _solve_tangent(t: Any, y: UOp, a: UOp, b: UOp) -> UOp:
    """a dy = db - da y."""
    change = -(t[0] @ y) if t[0] is not None else None
    if t[1] is None:
        return a.solve(change)
    return a.solve(t[1] if change is None else t[1] + change)


def _solve_transpose(g: UOp, a: UOp, b: UOp) -> tuple[UOp, UOp]:
    back = mT(a).solve(g)
    return -(back @ mT(a.solve(b))), back


solve = define(
    "solve",
    "The x with `a @ x = b`: `a.solve(b)`. b is a vector if it has one axis, else matrices.",
    call=_solve,
    infer=_solve_type,
    batch=same_op,
    # Linear in b, which a transposed tangent relies on; both directions say how a enters.
    ad=Linear(_solve_transpose, tangent=_solve_tangent),
    reference=guarded(_SINGULAR, np.linalg.solve),
    uses_blas=True,
    samples=given(
        (regular(3, 3), real(3, 2, seed=1)),
        (regular(3, 3), real(3, seed=1)),
        (regular(2, 3, 3), real(3, seed=1)),
        (regular(2, 3, 3), real(2, 3, 1, seed=1)),
        (regular(2, 1, 3, 3), real(2, 3, 2, seed=1)),
        (regular(0, 3, 3), real(3, 2, seed=1)),
        (regular(3, 3), real(3, 0)),
    ),
    errors=(
        Bad("E3002", (real(3), real(3)), match="two axes"),
        Bad("E3002", (real(3, 3), real()), match="scalar"),
        Bad("E3003", (real(2, 3), real(2)), match="not square"),
        Bad("E3003", (real(3, 3), real(2, 3)), match="3 rows"),
        Bad("E3001", (real(2, 3, 3), real(4, 3, 3)), match="batches"),
        Bad("E6006", (np.ones((2, 2)), real(2)), match="singular"),
    ),
    kinds="fc",
    precision=full,
)


class TriangleArg(Arg):
    upper: bool
    left: bool = True
    unitriangular: bool = False


def _solve_triangular(
    x: UOp, b: UOp, upper: bool, left: bool = True, unitriangular: bool = False
) -> UOp:
    a, rhs = system("solve_triangular", x, b, rows=-2 if left else -1)
    if len(b.shape) == 1:
        problem = "the right-hand side has two axes or more"
        fix = "add an axis: b.unsqueeze(-1)"
        raise ShapeError("E3002", problem, op="solve_triangular", a=a, b=b, help=fix)
    src = batched("solve_triangular", a, rhs)
    return UOp(solve_triangular, src, TriangleArg(bool(upper), bool(left), bool(unitriangular)))


def _substitute(a: Any, b: Any, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """Forward substitution; the other cases are reversed or transposed into it."""
    if not left:
        y = _substitute(transposed(a), transposed(b), not upper, True, unitriangular)
        return transposed(y)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    y = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])))
    n = a.shape[-1]
    for i in range(n - 1, -1, -1) if upper else range(n):
        known = slice(i + 1, None) if upper else slice(i)
        y[..., i, :] -= (a[..., i, None, known] @ y[..., known, :])[..., 0, :]
        if not unitriangular:
            y[..., i, :] /= a[..., i, i, None]
    return y


def _triangle(x: UOp, is_upper: bool, unitriangular: bool) -> UOp:
    """The part of the matrix that is read, or of its cotangent that is written."""
    offset = 1 if unitriangular else 0
    return upper(x, offset) if is_upper else lower(x, -offset)


def _substitute_tangent(
    t: Any, y: UOp, a: UOp, b: UOp, upper: bool, left: bool, unitriangular: bool
) -> UOp:
    total = t[1]
    if t[0] is not None:
        moved = _triangle(t[0], upper, unitriangular)
        change = -(moved @ y if left else y @ moved)
        total = change if total is None else total + change
    return a.solve_triangular(total, upper, left, unitriangular)


def _substitute_transpose(
    g: UOp, a: UOp, b: UOp, upper: bool, left: bool, unitriangular: bool
) -> tuple[UOp, UOp]:
    y = a.solve_triangular(b, upper, left, unitriangular)
    back = mT(a).solve_triangular(g, not upper, left, unitriangular)
    outer = back @ mT(y) if left else mT(y) @ back
    return -_triangle(outer, upper, unitriangular), back


solve_triangular = define(
    "solve_triangular",
    "The x with `a @ x = b` (or `x @ a = b` with left=False) for a triangular a, of which only "
    "that triangle is read. A zero on its diagonal is a division by zero.",
    arg=TriangleArg,
    call=_solve_triangular,
    infer=_solve_type,
    batch=same_op,
    axes=last_two,
    ad=Linear(_substitute_transpose, tangent=_substitute_tangent),  # as for solve
    reference=_substitute,
    uses_blas=True,
    samples=given(
        (regular(3, 3), real(3, 2, seed=1), True),
        (regular(3, 3), real(3, 2, seed=1), False),
        (regular(2, 3, 3), real(4, 3, seed=1), False, False),
        (regular(3, 3), real(2, 2, 3, seed=1), True, False, True),
        (regular(3, 3), real(3, 2, seed=1), {"upper": False, "unitriangular": True}),
        (regular(0, 3, 3), real(3, 2, seed=1), True),
        (regular(3, 3), real(3, 0), True),
    ),
    errors=(
        Bad("E3002", (real(3, 3), real(3), True), match="unsqueeze"),
        Bad("E3003", (real(2, 3), real(2, 2), True), match="not square"),
        Bad("E3003", (real(3, 3), real(3, 2), True, False), match="3 rows"),
    ),
    kinds="fc",
    precision=full,
)


class CholeskyArg(Arg):
    upper: bool = False


def _cholesky(x: UOp, upper: bool = False) -> UOp:
    a = checked_matrix("cholesky", x, square=True)
    return UOp(cholesky, (a,), CholeskyArg(bool(upper)))


def _cholesky_reference(x: Any, upper: bool = False) -> Array:
    factor = np.linalg.cholesky((x + adjoint_of(x)) / 2)
    return adjoint_of(factor) if upper else factor


def _cholesky_jvp(t: Any, y: UOp, x: UOp, upper: bool) -> UOp:
    """dL = L Φ(L⁻¹ dA L⁻ᴴ), where Φ takes the lower triangle and half of the diagonal."""
    factor = mH(y) if upper else y
    half = factor.solve_triangular(self_adjoint_part(t[0]), False)
    inner = factor.solve_triangular(mH(half), False)
    halved = identity_mask(x.shape[-1], x.device).where(inner * 0.5, inner)
    change = factor @ lower(halved)
    return mH(change) if upper else change


cholesky = define(
    "cholesky",
    "The lower triangular L with `L @ L.mH` equal to the symmetric (Hermitian) part of a positive "
    "definite matrix, or with upper=True its adjoint.",
    arg=CholeskyArg,
    call=_cholesky,
    infer=_same,
    batch=same_op,
    axes=last_two,
    ad=Jvp(_cholesky_jvp),
    reference=guarded("the matrix is not positive definite", _cholesky_reference),
    uses_blas=True,
    samples=given(
        (definite(3, 3),),
        (definite(2, 3, 3, seed=1), True),
        (definite(1, 1), {"upper": True}),
        (definite(0, 3, 3),),
    ),
    errors=(RANK, NOT_SQUARE, Bad("E6006", (-np.eye(2),), match="positive definite")),
    kinds="fc",
    precision=full,
)


@derived(
    reference=np.linalg.matrix_power,
    samples=given(
        (regular(3, 3), 2),
        (regular(2, 3, 3), 5),
        (regular(3, 3), 1),
        (regular(2, 3, 3), 0),
        (regular(3, 3), -3),
        (regular(0, 3, 3), 3),
    ),
    errors=(
        extended(RANK, 2),
        extended(NOT_SQUARE, 2),
        Bad("E2001", (real(2, 2), 0.5), match="int"),
        Bad("E6006", (np.ones((2, 2)), -1), match="singular"),
    ),
    kinds="fc",
    precision=full,
)
def matrix_power(x: UOp, n: int) -> UOp:
    """The product of n copies of a square matrix; of its inverse if n is negative."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise ArgumentError("E2001", f"the power is an int, got {n!r}", op="matrix_power")
    base = checked_matrix("matrix_power", x, square=True)
    base = base.cast(accumulator(base.dtype))
    result = _repeated(base.inv() if n < 0 else base, abs(n))
    return result.cast(to_float(x.dtype))


def _repeated(base: UOp, n: int) -> UOp:
    """The power by repeated squaring."""
    if n == 0:
        return identity(base.shape[-1], base.dtype, base.device).expand(base.shape)
    result: UOp | None = None
    while n:
        if n & 1:
            result = base if result is None else result @ base
        n >>= 1
        base = base @ base if n else base
    assert result is not None
    return result
