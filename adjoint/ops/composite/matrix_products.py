"""Products of vectors and matrices under their usual names, and EINSUM.

All are spelled with CONTRACT or with elementwise products.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, AxisError, DTypeError, ShapeError
from adjoint.ir.axes import LETTERS
from adjoint.ir.broadcast import broadcast_shapes
from adjoint.ir.dtype import accumulator, as_dtype, promote, to_float, total_dtype
from adjoint.ir.opdef import Bad, composite, derived
from adjoint.ir.precision import full, low, widest
from adjoint.ir.uop import UOp
from adjoint.ops.composite.einsum import einsum, einsum_nodes
from adjoint.ops.matrix import batched
from adjoint.ops.movement import checked_axis
from adjoint.ops.samples import given, real, rough

__all__ = ["einsum", "einsum_nodes"]


def _two(op: str, x: UOp, other: UOp) -> list[tuple[str, UOp]]:
    if not isinstance(x, UOp) or not isinstance(other, UOp):
        raise ArgumentError("E2001", "multiplies two tensors", op=op)
    return [("x", x), ("other", other)]


def _ranks(op: str, x: UOp, other: UOp, first: int, second: int) -> None:
    operands = _two(op, x, other)
    if (len(x.shape), len(other.shape)) != (first, second):
        problem = f"takes operands of rank {first} and {second}"
        fix = "matmul takes vectors, matrices and batches of them"
        raise ShapeError("E3002", problem, op=op, operands=operands, help=fix)


def _contracted(op: str, x: UOp, other: UOp, spec: str) -> UOp:
    """CONTRACT, with the sizes checked under the name of the op that was called."""
    left, right = spec.partition("->")[0].split(",")
    sizes = dict(zip(left, x.shape, strict=True))
    for letter, extent in zip(right, other.shape, strict=True):
        if sizes.get(letter, extent) != extent:
            problem = f"sizes differ: {sizes[letter]} and {extent}"
            raise ShapeError("E3003", problem, op=op, operands=_two(op, x, other))
    return x.contract(other, spec)


def _dot_reference(x: Any, w: Any, dtype: Any = None) -> Any:
    y = np.matmul(x, w)
    return y if dtype is None else y.astype(as_dtype(dtype).np)


@derived(
    reference=_dot_reference,
    samples=given(
        (real(2, 3), real(3, 4, seed=1)),
        (real(3), real(3, seed=1)),
        (real(5, 2, 3), real(3, 4, seed=1)),
    ),
    errors=(Bad("E3003", (real(2, 3), real(4, 5)), match="inner dimensions differ"),),
    precision=widest,
)
def dot(x: UOp, w: UOp, dtype: Any = None) -> UOp:
    """The matrix product, as matmul; with `dtype`, computed at least in it and returned in it."""
    _two("dot", x, w)
    if dtype is None:
        return x @ w
    kind = as_dtype(dtype)
    return (x.cast(promote(x.dtype, kind)) @ w.cast(promote(w.dtype, kind))).cast(kind)


@derived(
    reference=np.outer,
    samples=given((real(2), real(3, seed=1)), (real(0), real(3)), (real(1), real(1, seed=1))),
    errors=(Bad("E3002", (real(2, 3), real(3)), match="rank 1 and 1"),),
)
def outer(x: UOp, other: UOp) -> UOp:
    """Every element of one vector times every element of another."""
    _ranks("outer", x, other, 1, 1)
    return x.contract(other, "m,n->mn")


@derived(
    reference=np.inner,
    samples=given(
        (real(3), real(3, seed=1)),
        (real(2, 3), real(4, 3, seed=1)),
        (real(2, 1, 3), real(3, seed=1)),
        (real(), real(2, seed=1)),
        (real(2, 0), real(0)),
    ),
    errors=(Bad("E3003", (real(2, 3), real(2)), match="3 and 2"),),
    precision=widest,
)
def inner(x: UOp, other: UOp) -> UOp:
    """The sum of products over the last axis of both; a scalar scales."""
    _two("inner", x, other)
    if not x.shape or not other.shape:
        return x * other
    return _over(x, other, [len(x.shape) - 1], [len(other.shape) - 1], "inner")


def _over(x: UOp, other: UOp, left: Sequence[int], right: Sequence[int], op: str) -> UOp:
    """The sum of products over pairs of axes; what is left of x comes first."""
    a = LETTERS[: len(x.shape)]
    b = list(LETTERS[len(x.shape) : len(x.shape) + len(other.shape)])
    for i, j in zip(left, right, strict=True):
        b[j] = a[i]
    summed = {a[i] for i in left}
    out = "".join(c for c in (*a, *b) if c not in summed)
    return _contracted(op, x, other, f"{a},{''.join(b)}->{out}")


def _pairs(x: UOp, other: UOp, dims: Any) -> tuple[list[int], list[int]]:
    """The axes to sum over: the last `dims` of x with the first of other, or two lists."""
    ranks = len(x.shape), len(other.shape)
    operands = _two("tensordot", x, other)
    if isinstance(dims, int):
        if not 0 <= dims <= min(ranks):
            problem = f"dims {dims} is not between 0 and {min(ranks)}"
            raise ShapeError("E3002", problem, op="tensordot", operands=operands)
        return list(range(ranks[0] - dims, ranks[0])), list(range(dims))
    if not isinstance(dims, (tuple, list)) or len(dims) != 2:
        problem = f"dims is an int or a pair of lists of axes, not {dims!r}"
        raise ArgumentError("E2001", problem, op="tensordot")
    left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(left) != len(right):
        problem = f"{len(left)} axes face {len(right)}"
        raise ShapeError("E3002", problem, op="tensordot", operands=operands)
    first = [checked_axis("tensordot", d, ranks[0], x) for d in left]
    second = [checked_axis("tensordot", d, ranks[1], other) for d in right]
    if len(set(first)) != len(first) or len(set(second)) != len(second):
        raise AxisError("E3005", f"duplicate axis in {dims!r}", op="tensordot", operands=operands)
    return first, second


@derived(
    reference=lambda x, other, dims=2: np.tensordot(x, other, dims),
    samples=given(
        (real(2, 3, 4), real(3, 4, 2, seed=1)),
        (real(2, 3), real(3, 2, seed=1), 1),
        (real(2), real(3, seed=1), 0),
        (real(2, 3, 4), real(4, 2, seed=1), ([0, 2], [1, 0])),
        (real(2, 3), real(2, 2, seed=1), ((0,), (-1,))),
        (real(2, 3), real(4, 3, seed=1), (1, 1)),
        (real(0, 3), real(3, 2, seed=1), 1),
    ),
    errors=(
        Bad("E3003", (real(2, 3), real(2, 3), 1), match="3 and 2"),
        Bad("E3002", (real(2, 3), real(3), 2), match="dims 2"),
        Bad("E3002", (real(2, 3), real(3, 2), ([0, 1], [0])), match="2 axes face 1"),
        Bad("E3004", (real(2, 3), real(3, 2), ([2], [0])), match="axis 2"),
        Bad("E3005", (real(2, 2), real(2, 2), ([0, 0], [0, 1])), match="duplicate"),
        Bad("E2001", (real(2, 2), real(2, 2), "ij"), match="pair of lists"),
    ),
    precision=widest,
)
def tensordot(x: UOp, other: UOp, dims: Any = 2) -> UOp:
    """The sum of products over axes: the last `dims` of x and the first of other, or two lists."""
    _two("tensordot", x, other)
    left, right = _pairs(x, other, dims)
    return _over(x, other, left, right, "tensordot")


@derived(
    reference=np.kron,
    samples=given(
        (real(2, 3), real(2, 2, seed=1)),
        (real(2), real(2, 3, seed=1)),
        (real(2, 1, 2), real(2, seed=1)),
        (real(), real(3, seed=1)),
        (real(0, 2), real(2, 2)),
    ),
)
def kron(x: UOp, other: UOp) -> UOp:
    """The Kronecker product: every element of x times the whole of other, in blocks."""
    _two("kron", x, other)
    rank = max(len(x.shape), len(other.shape))
    a = (1,) * (rank - len(x.shape)) + x.shape
    b = (1,) * (rank - len(other.shape)) + other.shape
    rows = [n for extent in a for n in (extent, 1)]
    blocks = [n for extent in b for n in (1, extent)]
    product = x.reshape(rows) * other.reshape(blocks)
    return product.reshape([m * n for m, n in zip(a, b, strict=True)])


@derived(
    reference=lambda x, other, dim=-1: np.cross(x, other, axis=dim),
    samples=given(
        (real(3), real(3, seed=1)),
        (real(2, 3), real(2, 3, seed=1)),
        (real(3, 2), real(3, 2, seed=1), 0),
        (real(2, 1, 3), real(4, 3, seed=1)),
        (real(0, 3), real(3, seed=1)),
    ),
    errors=(
        Bad("E3003", (real(2, 3), real(2, 3), 0), match="size 3"),
        Bad("E3003", (real(2, 3), real(2, 1)), match="size 3"),
        Bad("E3004", (real(2, 3), real(2, 3), 2), match="axis 2"),
        Bad("E3001", (real(2, 3), real(4, 3)), match="dimension 0"),
    ),
    kinds="iufc",
    precision=widest,
)
def cross(x: UOp, other: UOp, dim: int = -1) -> UOp:
    """The vector product along an axis of size 3."""
    operands = _two("cross", x, other)
    shape = broadcast_shapes("cross", x, other)
    _check_vectors("cross", shape, operands)
    axis = checked_axis("cross", dim, len(shape), x) - len(shape)
    if any(-axis > len(n.shape) or n.shape[axis] != 3 for n in (x, other)):
        problem = f"axis {dim} of both operands has size 3"
        raise ShapeError("E3003", problem, op="cross", operands=operands)
    a, b = x.expand(shape), other.expand(shape)
    return (a * b.roll(-1, axis) - a.roll(-1, axis) * b).roll(-1, axis)


def _check_vectors(op: str, shape: tuple[int, ...], operands: Any) -> None:
    if not shape:
        raise ShapeError("E3002", "two scalars are no vectors", op=op, operands=operands)


@derived(
    reference=lambda x, offset=0, dim1=0, dim2=1: np.trace(x, offset, dim1, dim2),
    samples=given(
        (real(3, 3),),
        (real(2, 3), 1),
        (real(2, 3), -1),
        (real(2, 3, 3), 0, -2, -1),
        (real(0, 0),),
        (real(3, 2, 3), {"dim1": 0, "dim2": 2}),
    ),
    errors=(
        Bad("E3002", (real(3),), match=""),
        Bad("E3004", (real(2, 3), 0, 0, 2), match="axis 2"),
    ),
    precision=full,
)
def trace(x: UOp, offset: int = 0, dim1: int = 0, dim2: int = 1) -> UOp:
    """The sum of a diagonal of the matrices in two axes."""
    return x.diagonal(offset, dim1, dim2).cast(total_dtype(x.dtype)).reduce_sum(-1)


@derived(
    reference=np.matmul,
    samples=given((real(2, 3), real(3, 4, seed=1)), (real(0, 3), real(3, 2, seed=1))),
    errors=(
        Bad("E3002", (real(3), real(3, 2)), match="rank 2 and 2"),
        Bad("E3003", (real(2, 3), real(2, 3)), match="3 and 2"),
    ),
    precision=low,
)
def mm(x: UOp, other: UOp) -> UOp:
    """The product of two matrices."""
    _ranks("mm", x, other, 2, 2)
    return _contracted("mm", x, other, "mk,kn->mn")


@derived(
    reference=np.matmul,
    samples=given((real(2, 3), real(3, seed=1)), (real(2, 0), real(0))),
    errors=(
        Bad("E3002", (real(2, 3), real(3, 1)), match="rank 2 and 1"),
        Bad("E3003", (real(2, 3), real(2)), match="3 and 2"),
    ),
    precision=low,
)
def mv(x: UOp, vec: UOp) -> UOp:
    """The product of a matrix and a vector."""
    _ranks("mv", x, vec, 2, 1)
    return _contracted("mv", x, vec, "mk,k->m")


@derived(
    reference=np.matmul,
    samples=given(
        (real(2, 2, 3), real(2, 3, 2, seed=1)),
        (real(1, 2, 3), real(1, 3, 1, seed=1)),
        (real(0, 2, 3), real(0, 3, 2)),
    ),
    errors=(
        Bad("E3002", (real(2, 3), real(3, 2)), match="rank 3 and 3"),
        Bad("E3003", (real(1, 2, 3), real(2, 3, 2)), match="1 and 2"),
    ),
    precision=low,
)
def bmm(x: UOp, other: UOp) -> UOp:
    """The products of two batches of matrices, one by one."""
    _ranks("bmm", x, other, 3, 3)
    return _contracted("bmm", x, other, "bmk,bkn->bmn")


@derived(
    reference=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b),
    samples=given(
        (real(2, 4), real(2, 3, seed=1), real(3, 4, seed=2)),
        (real(4), real(2, 3, seed=1), real(3, 4, seed=2), 0.5, 2.0),
        (real(), real(2, 3, seed=1), real(3, 4, seed=2), {"alpha": 3}),
    ),
    errors=(
        Bad("E3001", (real(3), real(2, 3), real(3, 4)), match="cannot be expanded"),
        Bad("E3003", (real(2, 4), real(2, 3), real(2, 4)), match="3 and 2"),
    ),
    kinds="f",
    precision=low,
)
def addmm(x: UOp, a: UOp, b: UOp, beta: float = 1, alpha: float = 1) -> UOp:
    """`beta * x + alpha * (a @ b)` for two matrices; x is broadcast to their product."""
    product = a.mm(b)
    return x.expand(product.shape) * beta + product * alpha


@derived(
    reference=np.vdot,
    samples=given(
        (real(3), real(3, seed=1)),
        (real(3) + 1j * real(3, seed=2), real(3, seed=1) - 1j * real(3, seed=3)),
        (real(0), real(0)),
    ),
    errors=(
        Bad("E3002", (real(2, 3), real(3)), match="rank 1 and 1"),
        Bad("E3003", (real(2), real(3)), match="2 and 3"),
    ),
    precision=widest,
)
def vdot(x: UOp, other: UOp) -> UOp:
    """The scalar product of two vectors; the first is conjugated."""
    _ranks("vdot", x, other, 1, 1)
    return _contracted("vdot", x.conj(), other, "k,k->")


@derived(
    reference=lambda x, other, dim=-1: np.einsum(
        "...k,...k", *(np.moveaxis(v, dim, -1) for v in np.broadcast_arrays(np.conj(x), other))
    ),
    samples=given(
        (real(2, 3), real(2, 3, seed=1)),
        (real(3, 2), real(3, 1, seed=1), 0),
        (real(2, 1, 3), real(4, 3, seed=1), {"dim": -1}),
        (real(2, 3) + 1j * real(2, 3, seed=2), real(3, seed=1) - 1j * real(3, seed=3)),
        (real(0, 3), real(3, seed=1)),
        (real(2, 0), real(2, 0)),
    ),
    errors=(
        Bad("E3004", (real(3), real(3), 1), match="axis 1"),
        Bad("E3003", (real(2, 3), real(2, 1)), match="3 and 1"),
        Bad("E3001", (real(2, 3), real(4, 3)), match="dimension 0"),
    ),
    kinds="iufc",
    precision=low,
)
def vecdot(x: UOp, other: UOp, dim: int = -1) -> UOp:
    """The scalar products of vectors along an axis; the first operand is conjugated."""
    operands = _two("vecdot", x, other)
    shape = broadcast_shapes("vecdot", x, other)
    _check_vectors("vecdot", shape, operands)
    axis = checked_axis("vecdot", dim, len(shape), x) - len(shape)
    sizes = [n.shape[axis] if -axis <= len(n.shape) else 1 for n in (x, other)]
    if sizes[0] != sizes[1]:
        problem = f"sizes differ: {sizes[0]} and {sizes[1]}"
        raise ShapeError("E3003", problem, op="vecdot", operands=operands)
    product = x.conj() * other
    return product.reduce_sum(axis).cast(product.dtype)


def _distance_reference(x: Any, other: Any, p: float = 2.0) -> Any:
    gap = np.abs(x[..., :, None, :] - other[..., None, :, :])
    if gap.shape[-1] == 0:
        return np.zeros(gap.shape[:-1])
    return np.linalg.norm(gap, ord=p, axis=-1)


def _check_points(x: UOp, other: UOp, p: float) -> None:
    operands = _two("cdist", x, other)
    if len(x.shape) < 2 or len(other.shape) < 2:
        problem = "points are rows: both operands have rank 2 or more"
        raise ShapeError("E3002", problem, op="cdist", operands=operands)
    if x.shape[-1] != other.shape[-1]:
        problem = f"points have {x.shape[-1]} and {other.shape[-1]} coordinates"
        raise ShapeError("E3003", problem, op="cdist", operands=operands)
    if x.dtype.is_complex or other.dtype.is_complex:
        raise DTypeError("E2005", "points are real", op="cdist", operands=operands)
    if not p >= 0:
        raise ArgumentError("E2006", f"p is 0 or more, not {p!r}", op="cdist", operands=operands)


@composite(
    reference=_distance_reference,
    samples=given(
        (real(2, 3), real(4, 3, seed=1)),
        (real(2, 2, 3), real(4, 3, seed=1), 1.0),
        (real(1, 2, 2), real(3, 2, 2, seed=1), 3.0),
        (real(2, 3), real(4, 3, seed=1), inf),
        (real(2, 3), real(4, 3, seed=1), 0.5),
        rough(real(2, 3), real(2, 3)),
        rough(np.array([[1.0, 2.0]]), np.array([[1.0, 3.0], [1.0, 2.0]]), 0.0),
        (real(0, 3), real(2, 3)),
        (real(2, 0), real(3, 0)),
    ),
    errors=(
        Bad("E3002", (real(3), real(2, 3)), match="rank 2"),
        Bad("E3003", (real(2, 3), real(2, 4)), match="3 and 4 coordinates"),
        Bad("E3001", (real(2, 2, 3), real(3, 2, 3)), match="cdist"),
        Bad("E2006", (real(2, 3), real(2, 3), -1.0), match="p is"),
    ),
    kinds="f",
    precision=full,
)
def cdist(x: UOp, other: UOp, p: float = 2.0) -> UOp:
    """Distances in the p-norm between all rows of x and all rows of other.

    The gradient of a distance that is 0 is 0.
    """
    _check_points(x, other, p)
    kind = to_float(promote(x.dtype, other.dtype))
    wide = accumulator(kind)  # squares of 16 bits leave their range at 256
    a, b = batched("cdist", x.cast(wide), other.cast(wide))
    rows = a.reshape(*a.shape[:-1], 1, a.shape[-1])
    apart = rows - b.reshape(*b.shape[:-2], 1, *b.shape[-2:])
    return _length(apart, float(p)).cast(kind)  # an attribute compares by bits: 2 is not 2.0


def _length(apart: UOp, p: float) -> UOp:
    """The p-norms along the last axis."""
    gap = apart.abs()
    if p == inf and gap.shape[-1]:
        return gap.max(-1)
    if p == 0:
        return gap.ne(0).cast(gap.dtype).reduce_sum(-1)
    if p in (1, inf) or not gap.shape[-1]:
        return gap.reduce_sum(-1)
    powers = apart * apart if p == 2 else _power(gap, p)
    return powers.reduce_sum(-1).smooth_root(p)


def _power(x: UOp, p: float) -> UOp:
    """x ** p for x ≥ 0, with the derivative 0 at 0 for every p."""
    zero = x.eq(0)
    return zero.where(0, zero.where(1, x) ** p)
