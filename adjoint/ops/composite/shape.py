"""Shapes: the same elements under other axes, and the parts of matrices.

Views, axis orders, diagonals, triangles, rotations, sliding windows. What splits, joins and repeats
is in `concatenate.py`, what pads in `padding.py`, einops formulas in `rearrange.py`.
All are made of movement ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, AxisError, ShapeError
from adjoint.ir.opdef import Bad, alias, derived
from adjoint.ir.uop import UOp
from adjoint.ops.composite import concatenate, padding, rearrange  # noqa: F401 (their records)
from adjoint.ops.indexing import positions
from adjoint.ops.movement import checked_axes, checked_axis, expand, padded, reshape, sliced
from adjoint.ops.samples import given, real, rough

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
_MATRIX, _VECTOR, _SCALAR = np.ones((2, 3)), np.ones(3), np.ones(())

alias(reshape, "view")
alias(expand, "broadcast_to")


def _needs_rank(op: str, x: UOp, rank: int) -> None:
    if len(x.shape) < rank:
        raise ShapeError("E3002", f"needs rank {rank} or more, got {len(x.shape)}", op=op, x=x)


# ---- axes of size 1, merged and divided axes


def _squeeze_reference(x: Array, dim: Any = None) -> Array:
    axes = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    gone = tuple(a for a in axes if x.ndim and x.shape[a] == 1)
    return np.squeeze(x, gone)


@derived(
    reference=_squeeze_reference,
    samples=lambda: [
        (real(1, 2, 1),),
        (real(1, 2, 1), 0),
        (real(1, 2, 1), 1),
        (real(1, 2, 1), (0, -1)),
        (real(), -1),
        (real(0, 1), 1),
    ],
    errors=(Bad("E3004", (_MATRIX, 2), match="axis 2"),),
    views=True,
)
def squeeze(x: UOp, dim: Any = None) -> UOp:
    """Without its axes of size 1, or without those of `dim` that have size 1."""
    axes = checked_axes("squeeze", dim, x)
    return x.reshape([n for i, n in enumerate(x.shape) if n != 1 or i not in axes])


@derived(
    reference=lambda x, dim: np.expand_dims(x, dim),
    samples=lambda: [(real(2, 3), 0), (real(2, 3), -1), (real(), 0), (real(0, 3), 1)],
    errors=(Bad("E3004", (_MATRIX, 3), match="axis 3"), Bad("E2001", (_MATRIX, 0.5), match="int")),
    views=True,
)
def unsqueeze(x: UOp, dim: int) -> UOp:
    """Adds an axis of size 1 at `dim`."""
    axis = checked_axis("unsqueeze", dim, len(x.shape) + 1, x)
    return x.reshape(*x.shape[:axis], 1, *x.shape[axis:])


def _flatten_reference(x: Array, start_dim: int = 0, end_dim: int = -1) -> Array:
    if x.ndim == 0:
        return np.reshape(x, (1,))
    first, last = start_dim % x.ndim, end_dim % x.ndim
    merged = int(np.prod(x.shape[first : last + 1], dtype=int))
    return np.reshape(x, (*x.shape[:first], merged, *x.shape[last + 1 :]))


@derived(
    reference=_flatten_reference,
    samples=lambda: [
        (real(2, 3, 2),),
        (real(2, 3, 2), 1),
        (real(2, 3, 2), 0, 1),
        (real(2, 3, 2), -2, -2),
        (real(),),
        (real(0, 3),),
    ],
    errors=(
        Bad("E3004", (_MATRIX, 1, 0), match="starts after it ends"),
        Bad("E3004", (_MATRIX, 2), match="axis 2"),
    ),
    views=True,
)
def flatten(x: UOp, start_dim: int = 0, end_dim: int = -1) -> UOp:
    """Merges the axes from `start_dim` to `end_dim`, inclusive; a scalar becomes a vector."""
    rank = len(x.shape)
    first, last = (checked_axis("flatten", d, rank, x) for d in (start_dim, end_dim))
    if first > last:
        problem = f"the range of axes {start_dim} to {end_dim} starts after it ends"
        raise AxisError("E3004", problem, op="flatten", x=x)
    return x.reshape(*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


@derived(
    reference=lambda x, dim, sizes: np.reshape(
        x, x.shape[: dim % x.ndim] + tuple(sizes) + x.shape[dim % x.ndim + 1 :]
    ),
    samples=lambda: [
        (real(3, 4), 1, (2, 2)),
        (real(3, 4), 1, (-1, 2)),
        (real(6, 2), -2, [3, 2, 1]),
        (real(0, 4), 0, (0, 2)),
    ],
    errors=(
        Bad("E3007", (_MATRIX, 1, (2, 2)), match="3 elements"),
        Bad("E3007", (_MATRIX, 1, (-1, 2)), match="3 elements"),
        Bad("E3006", (_MATRIX, 1, (-1, -1)), match="only one size"),
        Bad("E3002", (_SCALAR, 0, (1,)), match="scalar"),
    ),
    views=True,
)
def unflatten(x: UOp, dim: int, sizes: Sequence[int]) -> UOp:
    """The axis `dim` divided into axes of these sizes, one of which may be -1."""
    axis = concatenate.own_axis("unflatten", dim, x)
    name = "the size of an axis"
    n, parts = (
        x.shape[axis],
        [concatenate.whole_number("unflatten", name, s, -1) for s in concatenate.listed(sizes)],
    )
    known = prod(s for s in parts if s != -1)
    if parts.count(-1) == 1 and known > 0:
        parts[parts.index(-1)], known = n // known, n // known * known
    if parts.count(-1) < 2 and known != n:
        problem = f"{n} elements of axis {axis} do not fill {concatenate.listed(sizes)}"
        raise ShapeError("E3007", problem, op="unflatten", x=x)
    return x.reshape(*x.shape[:axis], *parts, *x.shape[axis + 1 :])


_AT_LEAST = given((real(),), (real(3),), (real(2, 3),), (real(2, 0, 3),))


@derived(reference=np.atleast_1d, samples=_AT_LEAST, views=True)
def atleast_1d(x: UOp) -> UOp:
    """A scalar becomes a vector of one element; other tensors stay as they are."""
    return x if x.shape else x.reshape(1)


@derived(reference=np.atleast_2d, samples=_AT_LEAST, views=True)
def atleast_2d(x: UOp) -> UOp:
    """A scalar or a vector becomes a matrix of one row; other tensors stay as they are."""
    return x if len(x.shape) > 1 else x.reshape(1, x.size)


@derived(reference=np.atleast_3d, samples=_AT_LEAST, views=True)
def atleast_3d(x: UOp) -> UOp:
    """A vector becomes (1, n, 1), a matrix (m, n, 1); other tensors stay as they are."""
    if len(x.shape) > 2:
        return x
    return x.reshape(*(x.shape if len(x.shape) == 2 else (1, x.size)), 1)


def _shape_of(op: str, other: Any) -> Shape:
    if not isinstance(other, UOp):
        raise ArgumentError("E2001", f"other is a tensor, got {other!r}", op=op)
    return other.shape


@derived(
    reference=lambda x, other: np.reshape(x, other.shape),
    samples=lambda: [(real(2, 3), real(3, 2)), (real(0, 3), real(0))],
    errors=(
        Bad("E3007", (_MATRIX, _VECTOR), match="6 elements"),
        Bad("E2001", (_MATRIX, 6), match="is a tensor"),
    ),
    views=True,
)
def reshape_as(x: UOp, other: UOp) -> UOp:
    """Reshaped to the shape of another tensor."""
    return x.reshape(_shape_of("reshape_as", other))


alias(reshape_as, "view_as")


@derived(
    reference=lambda x, other: np.broadcast_to(x, other.shape),
    samples=lambda: [(real(1, 3), real(2, 3)), (real(), real(0, 3))],
    errors=(Bad("E3001", (_MATRIX, _VECTOR), match="cannot be expanded"),),
    views=True,
)
def expand_as(x: UOp, other: UOp) -> UOp:
    """Expanded to the shape of another tensor."""
    return x.expand(_shape_of("expand_as", other))


# ---- axes in another order


def _swapped(op: str, x: UOp, dim0: Any, dim1: Any) -> UOp:
    a, b = (checked_axis(op, d, len(x.shape), x) for d in (dim0, dim1))
    order = list(range(len(x.shape)))
    if order:
        order[a], order[b] = b, a
    return x.permute(order)


_SWAPS = given((real(2, 3, 4), 0, 2), (real(2, 3), -1, 0), (real(), 0, -1), (real(0, 3), 1, 1))


@derived(
    reference=lambda x, dim0=1, dim1=0: np.swapaxes(x, dim0, dim1) if x.ndim else x,
    samples=lambda: [(real(2, 3),), *_SWAPS()],
    errors=(Bad("E3004", (_VECTOR,), match="axis 1"),),
    views=True,
)
def transpose(x: UOp, dim0: int = 1, dim1: int = 0) -> UOp:
    """Two axes exchanged, by default the first two."""
    return _swapped("transpose", x, dim0, dim1)


@derived(
    reference=lambda x, axis0, axis1: np.swapaxes(x, axis0, axis1) if x.ndim else x,
    samples=_SWAPS,
    errors=(Bad("E3004", (_MATRIX, 0, 2), match="axis 2"),),
    views=True,
)
def swapaxes(x: UOp, axis0: int, axis1: int) -> UOp:
    """Two axes exchanged."""
    return _swapped("swapaxes", x, axis0, axis1)


alias(swapaxes, "swapdims")


@derived(
    reference=np.moveaxis,
    samples=lambda: [
        (real(2, 3, 4), 0, -1),
        (real(2, 3, 4), (0, 1), (-1, 0)),
        (real(0, 3), [1], [0]),
        (real(2, 3), (), ()),
    ],
    errors=(
        Bad("E2007", (_MATRIX, (0, 1), 0), match="as many axes"),
        Bad("E3005", (_MATRIX, (0, 0), (0, 1)), match="duplicate"),
        Bad("E3004", (_MATRIX, 0, 2), match="axis 2"),
    ),
    views=True,
)
def movedim(x: UOp, source: Any, destination: Any) -> UOp:
    """Axes moved to other positions; the others keep their order."""
    old, new = (checked_axes("movedim", a, x) for a in (source, destination))
    if len(old) != len(new):
        problem = f"moves {len(old)} axes to {len(new)} places; as many axes as places are needed"
        raise ArgumentError("E2007", problem, op="movedim", x=x)
    order = [a for a in range(len(x.shape)) if a not in old]
    for place, axis in sorted(zip(new, old, strict=True)):
        order.insert(place, axis)
    return x.permute(order)


@derived(
    reference=lambda x, k=1, dims=(0, 1): np.rot90(x, k, dims),
    samples=lambda: [
        (real(2, 3),),
        (real(2, 3), 2),
        (real(2, 3), -1),
        (real(2, 3, 2), 3, (2, 0)),
        (real(2, 3), 4),
        (real(0, 3), 1),
    ],
    errors=(
        Bad("E2007", (_MATRIX, 1, (0,)), match="two axes"),
        Bad("E3005", (_MATRIX, 1, (0, 0)), match="duplicate"),
        Bad("E3004", (_VECTOR,), match="axis 1"),
    ),
    views=True,
)
def rot90(x: UOp, k: int = 1, dims: Sequence[int] = (0, 1)) -> UOp:
    """Rotated by k · 90 degrees in the plane of two axes, from the first towards the second."""
    axes = checked_axes("rot90", dims, x)
    if len(axes) != 2:
        raise ArgumentError("E2007", f"turns in a plane of two axes, got {dims!r}", op="rot90")
    first, second = axes
    turns = concatenate.whole_number("rot90", "k", k) % 4
    if turns == 2:
        return x.flip(axes)
    if turns == 1:
        return x.flip(second).swapaxes(first, second)
    return x.swapaxes(first, second).flip(second) if turns else x


@derived(
    reference=np.fliplr,
    samples=lambda: [(real(2, 3),), (real(2, 3, 2),), (real(2, 0),)],
    errors=(Bad("E3002", (_VECTOR,), match="rank 2"),),
    views=True,
)
def fliplr(x: UOp) -> UOp:
    """Reversed along the second axis."""
    _needs_rank("fliplr", x, 2)
    return x.flip(1)


@derived(
    reference=np.flipud,
    samples=lambda: [(real(3),), (real(2, 3),), (real(0, 2),)],
    errors=(Bad("E3002", (_SCALAR,), match="rank 1"),),
    views=True,
)
def flipud(x: UOp) -> UOp:
    """Reversed along the first axis."""
    _needs_rank("flipud", x, 1)
    return x.flip(0)


# ---- diagonals and triangles


@derived(
    reference=np.diagonal,
    samples=lambda: [
        (real(3, 3),),
        (real(3, 4), 1),
        (real(4, 3), -2),
        (real(3, 4), 5),
        (real(2, 3, 4), 0, 2, 1),
        (real(2, 3, 4), -1, -1, 0),
        (real(0, 3),),
    ],
    errors=(
        Bad("E3002", (_VECTOR,), match="rank 2"),
        Bad("E3005", (_MATRIX, 0, 1, 1), match="duplicate"),
        Bad("E3004", (_MATRIX, 0, 0, 2), match="axis 2"),
    ),
    views=True,
)
def diagonal(x: UOp, offset: int = 0, dim1: int = 0, dim2: int = 1) -> UOp:
    """The diagonal of the matrices in two axes, as a new last axis; a positive offset is above."""
    _needs_rank("diagonal", x, 2)
    rows, columns = checked_axes("diagonal", (dim1, dim2), x)
    shift = concatenate.whole_number("diagonal", "offset", offset)
    rest = [a for a in range(len(x.shape)) if a not in (rows, columns)]
    m, n = x.shape[rows], x.shape[columns]
    count = max(0, min(m, n - shift) if shift >= 0 else min(m + shift, n))
    # In the flattened matrix the diagonal is every (n + 1)-th element.
    start = (shift if shift >= 0 else -shift * n) if count else 0
    stop = start + (count - 1) * (n + 1) + 1 if count else 0
    batch = [x.shape[a] for a in rest]
    flat = x.permute(*rest, rows, columns).reshape(*batch, m * n)
    return sliced(flat, [0] * len(batch) + [start], [*batch, stop], [1] * len(batch) + [n + 1])


@derived(
    reference=lambda x, diagonal=0: np.diag(x, diagonal),
    samples=lambda: [
        (real(3),),
        (real(2), 2),
        (real(2), -1),
        (real(3, 4),),
        (real(3, 4), -1),
        (real(0),),
        (real(0), 2),
        (real(1),),
    ],
    errors=(
        Bad("E3002", (_SCALAR,), match="vector or a matrix"),
        Bad("E3002", (np.ones((2, 2, 2)),), match="vector or a matrix"),
    ),
)
def diag(x: UOp, diagonal: int = 0) -> UOp:
    """The matrix with this vector as its diagonal, zero elsewhere; of a matrix, its diagonal."""
    if len(x.shape) == 2:
        return x.diagonal(diagonal)
    if len(x.shape) != 1:
        raise ShapeError("E3002", "takes a vector or a matrix", op="diag", x=x)
    shift = concatenate.whole_number("diag", "diagonal", diagonal)
    n, m = x.size, x.size + abs(shift)
    start = shift if shift >= 0 else -shift * m
    span = (n - 1) * (m + 1) + 1 if n else 0
    return padded(x, [start], [m * m - start - span], [m]).reshape(m, m)


def _triangle(op: str, x: UOp, diagonal: int, upper: bool) -> UOp:
    _needs_rank(op, x, 2)
    m, n = x.shape[-2:]
    shift = max(-m, min(n, concatenate.whole_number(op, "diagonal", diagonal)))
    row = positions(m, 0, 2, x.device) + shift
    column = positions(n, 1, 2, x.device)
    zero = UOp._apply("const", 0, x.dtype, (), x.device)
    return (row <= column if upper else row >= column).where(x, zero)


_TRIANGLES = given(
    (real(3, 3),),
    (real(3, 4), 1),
    (real(4, 3), -2),
    (real(2, 3, 3), -1),
    (real(2, 3), 10),
    (real(2, 3), -10),
    (real(0, 3),),
    rough(np.full((2, 2), np.nan)),
)
_TOO_FLAT = (Bad("E3002", (_VECTOR,), match="rank 2"),)


@derived(reference=lambda x, diagonal=0: np.triu(x, diagonal), samples=_TRIANGLES, errors=_TOO_FLAT)
def triu(x: UOp, diagonal: int = 0) -> UOp:
    """The upper triangle of the matrices in the last two axes, zero below the diagonal."""
    return _triangle("triu", x, diagonal, True)


@derived(reference=lambda x, diagonal=0: np.tril(x, diagonal), samples=_TRIANGLES, errors=_TOO_FLAT)
def tril(x: UOp, diagonal: int = 0) -> UOp:
    """The lower triangle of the matrices in the last two axes, zero above the diagonal."""
    return _triangle("tril", x, diagonal, False)


# ---- windows


def _unfold_reference(x: Array, dim: int, size: int, step: int) -> Array:
    starts = range(0, x.shape[dim] - size + 1, step)
    parts = [np.take(x, np.arange(s, s + size), axis=dim) for s in starts]
    return np.stack([np.moveaxis(p, dim, -1) for p in parts], dim % x.ndim)


@derived(
    reference=_unfold_reference,
    samples=lambda: [
        (real(7), 0, 3, 2),
        (real(4, 3), 0, 2, 1),
        (real(2, 3, 4), 1, 2, 3),
        (real(2, 5), -1, 5, 1),
        (real(0, 3), 1, 2, 1),
        (real(3), 0, 0, 2),
    ],
    errors=(
        Bad("E3003", (_MATRIX, 1, 4, 1), match="does not fit"),
        Bad("E3006", (_MATRIX, 1, 2, 0), match="step is at least 1"),
        Bad("E3006", (_MATRIX, 1, -1, 1), match="size is at least 0"),
        Bad("E3002", (_SCALAR, 0, 1, 1), match="scalar"),
    ),
    views=True,
)
def unfold(x: UOp, dim: int, size: int, step: int) -> UOp:
    """Windows of `size` elements every `step` along `dim`; a new last axis runs inside a window."""
    axis = concatenate.own_axis("unfold", dim, x)
    extent = concatenate.whole_number("unfold", "size", size, 0)
    stride = concatenate.whole_number("unfold", "step", step, 1)
    if extent:
        return x.window((axis,), extent, stride)
    shape = list(x.shape)
    shape[axis] = shape[axis] // stride + 1
    return UOp._apply("const", 0, x.dtype, (*shape, 0), x.device)
