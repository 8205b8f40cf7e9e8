"""The standard's linear algebra extension: `adjoint.linalg`.

Matrices are the last two axes; the axes before them are a batch.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from adjoint.errors import ShapeError, TextError
from adjoint.ir.dtype import DType, to_float
from adjoint.tensor.array_api import statistical
from adjoint.tensor.array_api.calls import Axis, apply, at_least, tensor_of
from adjoint.tensor.array_api.dtypes import finfo
from adjoint.tensor.array_api.elementwise import abs as absolute
from adjoint.tensor.array_api.manipulation import concat, expand_dims
from adjoint.tensor.array_api.products import (
    from_the_end,
    matmul,
    matrix_transpose,
    tensordot,
    vecdot,
)
from adjoint.tensor.array_api.searching import count_nonzero
from adjoint.tensor.tensor import Tensor

Order = int | float | Literal["fro", "nuc"] | None


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The triangular factor of a symmetric positive definite matrix."""
    return apply("cholesky", tensor_of("cholesky", x), upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Cross products of vectors of 3 along an axis, counted from the end."""
    return apply("cross", *from_the_end("cross", x1, x2, axis), axis)


def det(x: Tensor, /) -> Tensor:
    """The determinant."""
    return apply("det", tensor_of("det", x))


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices; a positive offset is above the main one."""
    return apply(
        "diagonal", at_least("diagonal", tensor_of("diagonal", x), 2, "matrices"), offset, -2, -1
    )


def eig(x: Tensor, /) -> EigResult:
    """Eigenvalues and eigenvectors, as columns; both complex."""
    return EigResult(*apply("eig", tensor_of("eig", x)))


def eigh(x: Tensor, /) -> EighResult:
    """Eigenvalues, rising, and eigenvectors, as columns, of a symmetric matrix."""
    return EighResult(*apply("eigh", tensor_of("eigh", x)))


def eigvals(x: Tensor, /) -> Tensor:
    """Eigenvalues; complex."""
    return apply("eigvals", tensor_of("eigvals", x))


def eigvalsh(x: Tensor, /) -> Tensor:
    """Eigenvalues, rising, of a symmetric matrix."""
    return apply("eigvalsh", tensor_of("eigvalsh", x))


def inv(x: Tensor, /) -> Tensor:
    """The inverse; a singular matrix is an error."""
    return apply("inv", tensor_of("inv", x))


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Order = "fro") -> Tensor:
    """The norm of matrices: Frobenius, nuclear, or that of order 1, 2 or inf (or minus these)."""
    x = at_least("matrix_norm", tensor_of("matrix_norm", x), 2, "matrices")
    x = apply("cast", x, to_float(x.dtype))
    if ord in ("fro", None):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        values = svdvals(x)
        total = {"nuc": statistical.sum, 2: statistical.max, -2: statistical.min}[ord]
        y = total(values, axis=-1)
        return expand_dims(y, (-2, -1)) if keepdims else y
    if ord not in (1, -1, math.inf, -math.inf):
        problem = f'ord is "fro", "nuc", 1, 2, inf or minus one of these numbers, got {ord!r}'
        raise TextError("E2002", problem, op="matrix_norm")
    inner, outer_axis = (-2, -1) if ord in (1, -1) else (-1, -2)
    sums = statistical.sum(absolute(x), axis=inner, keepdims=True)
    extreme = statistical.max if ord > 0 else statistical.min
    y = extreme(sums, axis=outer_axis, keepdims=True)
    return y if keepdims else y.reshape(*x.shape[:-2])


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """The product of n copies of a square matrix; of its inverse if n is negative."""
    return apply("matrix_power", tensor_of("matrix_power", x), n)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values are above `rtol` times the largest."""
    x = tensor_of("matrix_rank", x)
    values = svdvals(x)
    if 0 in x.shape[-2:]:
        return count_nonzero(values, axis=-1)
    return count_nonzero(values > _cutoff(x, values, rtol), axis=-1)


def _cutoff(x: Tensor, values: Tensor, rtol: float | Tensor | None) -> Tensor:
    """`rtol` times the largest singular value; by default the longer side times epsilon."""
    ratio = max(x.shape[-2:]) * finfo(values.dtype).eps if rtol is None else rtol
    scale = expand_dims(ratio, -1) if isinstance(ratio, Tensor) else ratio
    return statistical.max(values, axis=-1, keepdims=True) * scale


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """All products of an element of the one vector with an element of the other."""
    x1, x2 = tensor_of("outer", x1), tensor_of("outer", x2)
    if x1.ndim != 1 or x2.ndim != 1:
        operands = [("x1", x1), ("x2", x2)]
        raise ShapeError("E3002", "takes two vectors", op="outer", operands=operands)
    return x1.reshape(x1.shape[0], 1) * x2


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The Moore-Penrose inverse; singular values up to `rtol` times the largest count as zero."""
    x = tensor_of("pinv", x)
    if not isinstance(rtol, Tensor):
        return apply("pinv", x, rtol)
    u, s, vh = svd(x, full_matrices=False)
    large = s > _cutoff(x, s, rtol)
    inverse = large.where(1 / large.where(s, 1), 0)
    return matmul(matrix_transpose(vh) * expand_dims(inverse, -2), matrix_transpose(u))


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Q with orthonormal columns and upper triangular R; "complete" makes Q square."""
    if mode not in ("reduced", "complete"):
        raise TextError("E2002", f'mode is "reduced" or "complete", got {mode!r}', op="qr")
    x = tensor_of("qr", x)
    q, r = apply("qr", x)
    *batch, rows, columns = x.shape
    if mode == "reduced" or rows <= columns:
        return QRResult(q, r)
    whole, _ = apply("svd_full", q)  # its last columns are orthogonal to those of Q
    rest = whole.shrink([*((0, n) for n in batch), (0, rows), (columns, rows)])
    below = [0] * len(batch) + [rows - columns, 0]
    return QRResult(concat([q, rest], axis=-1), r.pad_constant([0] * r.ndim, below))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """The sign of the determinant and the logarithm of its absolute value."""
    return SlogdetResult(*apply("slogdet", tensor_of("slogdet", x)))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The x with `x1 @ x = x2`; x2 is a vector if it has one axis, else matrices."""
    return apply("solve", tensor_of("solve", x1), tensor_of("solve", x2))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """Singular values, falling, and vectors: `U`, `S` and `Vh` with `(U * S) @ Vh = x`."""
    return SVDResult(*apply("svd", tensor_of("svd", x), full_matrices))


def svdvals(x: Tensor, /) -> Tensor:
    """Singular values, falling."""
    return apply("svdvals", tensor_of("svdvals", x))


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """The sum of a diagonal, as `sum` sums it."""
    return statistical.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: Tensor, /, *, axis: Axis = None, keepdims: bool = False, ord: int | float = 2
) -> Tensor:
    """The norm of vectors along the axes: of order 2, or of any order, inf and -inf included."""
    return apply("vector_norm", tensor_of("vector_norm", x), ord, axis, keepdims)


__all__ = [
    "EigResult",
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
