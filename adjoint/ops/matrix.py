"""What the matrix ops share: checks of their operands, triangles, and matrices to try them on.

A matrix is the last two axes of a tensor; the axes before them are a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, LinAlgError, MatrixError, ShapeError
from adjoint.ir.axes import last_two
from adjoint.ir.batch import same_op
from adjoint.ir.dtype import DType, promote, to_float
from adjoint.ir.opdef import Bad, OpDef, define
from adjoint.ir.precision import full
from adjoint.ir.uop import UOp
from adjoint.ops.indexing import positions
from adjoint.ops.samples import real

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
RANK = Bad("E3002", (real(3),), match="two axes")
NOT_SQUARE = Bad("E3003", (real(2, 3),), match="not square")


def extended(bad: Bad, *more: Any) -> Bad:
    """The same bad call with further arguments."""
    return Bad(bad.code, (*bad.args, *more), match=bad.match)


def checked_matrix(op: str, x: UOp, square: bool = False) -> UOp:
    """The operand as floats; it has two axes or more, the last two equal where asked."""
    if not isinstance(x, UOp):
        raise ArgumentError("E2001", f"expected a tensor, got {type(x).__name__}", op=op)
    if len(x.shape) < 2:
        raise MatrixError("E3002", f"a matrix has two axes or more, not {len(x.shape)}", op=op, x=x)
    if square and x.shape[-1] != x.shape[-2]:
        problem = f"the matrix is {x.shape[-2]} × {x.shape[-1]}, not square"
        raise MatrixError("E3003", problem, op=op, x=x)
    return x.cast(to_float(x.dtype))


def of_matrix(
    name: str, doc: str, square: bool = True, errors: tuple[Bad, ...] = (), **rest: Any
) -> OpDef:
    """A primitive of one matrix, square or not; several results are a tuple."""
    refused = (RANK, NOT_SQUARE, *errors) if square else (RANK, *errors)
    record: OpDef = define(
        name,
        doc,
        call=lambda x: parts(UOp(record, (checked_matrix(name, x, square),))),
        batch=same_op,
        axes=last_two,
        errors=refused,
        kinds="fc",
        precision=full,
        **rest,
    )
    return record


def batched(op: str, a: UOp, b: UOp) -> tuple[UOp, UOp]:
    """Two matrices with one batch shape."""
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        problem = f"Broadcasting failed: batches {list(a.shape[:-2])} and {list(b.shape[:-2])}"
        raise ShapeError("E3001", problem, op=op, a=a, b=b) from None
    return a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:])


def system(op: str, x: UOp, b: UOp, square: bool = True, rows: int = -2) -> tuple[UOp, UOp]:
    """A matrix and its right-hand side in one dtype: a vector if it has one axis, else matrices.

    `rows` is the axis of the right-hand side that must be as long as the matrix has rows.
    """
    a = checked_matrix(op, x, square)
    if not isinstance(b, UOp):
        raise ArgumentError("E2001", f"expected a tensor, got {type(b).__name__}", op=op)
    if not b.shape:
        raise ShapeError("E3002", "the right-hand side is a scalar", op=op, a=a, b=b)
    found = b.shape[rows] if len(b.shape) > 1 else b.shape[0]
    if found != a.shape[-2]:
        problem = f"the matrix has {a.shape[-2]} rows, the right-hand side has {found}"
        raise ShapeError("E3003", problem, op=op, a=a, b=b)
    dtype = to_float(promote(x.dtype, b.dtype))
    return a.cast(dtype), b.cast(dtype)


def mT(x: UOp) -> UOp:
    """The transposed matrix."""
    rank = len(x.shape)
    return x.permute(*range(rank - 2), rank - 1, rank - 2)


def mH(x: UOp) -> UOp:
    """The conjugate of the transposed matrix."""
    return mT(x).conj()


def trace_of_product(a: UOp, b: UOp) -> UOp:
    """tr(a b), without forming the product."""
    return (a * mT(b)).reduce_sum((-2, -1))


def diagonal_of(x: UOp) -> UOp:
    """The main diagonal of a square matrix."""
    n = x.shape[-1]
    return identity_mask(n, x.device).where(x, 0).reduce_sum(-1)


def self_adjoint_part(x: UOp) -> UOp:
    """The symmetric (Hermitian) part; exact where the matrix is symmetric already."""
    return x * 0.5 + mH(x) * 0.5


def identity_mask(n: int, device: str | tuple[str, ...] | None) -> UOp:
    """True on the diagonal."""
    return positions(n, 0, 2, device).eq(positions(n, 1, 2, device))


def identity(n: int, dtype: DType, device: str | tuple[str, ...] | None) -> UOp:
    """The n × n identity."""
    return identity_mask(n, device).cast(dtype)


def lower(x: UOp, offset: int = 0) -> UOp:
    """The triangle on and below the diagonal `offset`, zeros above."""
    rows, columns = x.shape[-2:]
    mask = positions(columns, 1, 2, x.device) <= positions(rows, 0, 2, x.device) + offset
    return mask.where(x, 0)


def upper(x: UOp, offset: int = 0) -> UOp:
    """The triangle on and above the diagonal `offset`, zeros below."""
    return mT(lower(mT(x), -offset))


def parts(node: UOp) -> Any:
    """The result of a node, or a tuple if there are several."""
    several = isinstance(node.dtype, tuple)
    return tuple(node.part(i) for i in range(len(node.shape))) if several else node


def guarded(reason: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy routine whose failure is an error of ours, with this reason."""

    def run(*args: Any, **attrs: Any) -> Any:
        try:
            return fn(*args, **attrs)
        except np.linalg.LinAlgError as error:
            raise LinAlgError("E6006", f"{reason} (LAPACK: {error})") from None

    return run


def adjoint_of(x: Any) -> Array:
    """The conjugate of the transposed matrix, of arrays."""
    return np.conj(transposed(x))


def transposed(x: Any) -> Array:
    """The transposed matrix, of arrays."""
    return np.swapaxes(x, -1, -2)


def regular(*shape: int, seed: int = 0) -> Array:
    """A well-conditioned square matrix, or a batch of them."""
    return real(*shape, lo=-1, hi=1, seed=seed) + 3 * np.eye(shape[-1])


def self_adjoint(*shape: int, seed: int = 0) -> Array:
    """A symmetric matrix whose eigenvalues lie well apart."""
    x = real(*shape, lo=-0.5, hi=0.5, seed=seed)
    return x + transposed(x) + np.diag(2.0 * np.arange(shape[-1]))


def definite(*shape: int, seed: int = 0) -> Array:
    """A symmetric positive definite matrix."""
    x = real(*shape, lo=-1, hi=1, seed=seed)
    return x @ transposed(x) + np.eye(shape[-1])
