"""Splitting, joining and repeating: shapes that come apart, come together, or grow.

All are derived: they build SHRINK, CAT and EXPAND nodes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, groupby, pairwise
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, BoundsError, ShapeError
from adjoint.ir.opdef import Bad, derived
from adjoint.ir.precision import widest
from adjoint.ir.sizes import Size
from adjoint.ir.uop import UOp
from adjoint.ops.movement import checked_axis, unpacked
from adjoint.ops.samples import given, real

Array = np.ndarray[Any, Any]
_MATRIX, _VECTOR, _SCALAR = np.ones((2, 3)), np.ones(3), np.ones(())


def own_axis(op: str, dim: Any, x: UOp) -> int:
    """An axis the operand really has: a scalar has none."""
    if not x.shape:
        raise ShapeError("E3002", "a scalar has no axes", op=op, x=x)
    return checked_axis(op, dim, len(x.shape), x)


def whole_number(op: str, name: str, value: Any, least: int | None = None) -> int:
    """A Python int from anything that is one, no smaller than `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError("E2001", f"{name} is an int, got {value!r}", op=op)
    number = value if type(value) is Size else int(value.__index__())
    if least is not None and number < least:
        raise ShapeError("E3006", f"{name} is at least {least}, got {number}", op=op)
    return number


def part_of(x: UOp, axis: int, start: int, stop: int) -> UOp:
    """The slice [start, stop) along one axis."""
    bounds: list[Any] = [None] * len(x.shape)
    bounds[axis] = (start, stop)
    return x.shrink(bounds)


def joined(nodes: Sequence[UOp], axis: int) -> UOp:
    """CAT of a list."""
    return nodes[0].cat(*nodes[1:], dim=axis)


# ---- coming apart


@derived(
    reference=lambda x, dim, start, length: np.take(x, start + np.arange(length), axis=dim),
    samples=lambda: [
        (real(4, 3), 0, 1, 2),
        (real(4, 3), -1, -2, 2),
        (real(4, 3), 1, 3, 0),
        (real(0, 3), 0, 0, 0),
    ],
    errors=(
        Bad("E6001", (_MATRIX, 1, 2, 2), match="[2:4] is outside an axis of size 3"),
        Bad("E6001", (_MATRIX, 1, -4, 1), match="outside"),
        Bad("E3006", (_MATRIX, 1, 0, -1), match="length is at least 0"),
        Bad("E3002", (_SCALAR, 0, 0, 1), match="scalar"),
    ),
    views=True,
)
def narrow(x: UOp, dim: int, start: int, length: int) -> UOp:
    """`length` elements from `start` on along `dim`; a negative start counts from the end."""
    axis = own_axis("narrow", dim, x)
    first, count = (
        whole_number("narrow", "start", start),
        whole_number("narrow", "length", length, 0),
    )
    n = x.shape[axis]
    at = first + n if first < 0 else first
    if not 0 <= at <= at + count <= n:
        problem = f"[{first}:{first + count}] is outside an axis of size {n}"
        raise BoundsError("E6001", problem, op="narrow", x=x)
    return part_of(x, axis, at, at + count)


def _split_reference(x: Array, sizes: Any, dim: int = 0) -> list[Array]:
    n = x.shape[dim]
    cuts = list(range(sizes, n, sizes)) if isinstance(sizes, int) else np.cumsum(sizes)[:-1]
    return np.split(x, cuts, dim)


@derived(
    reference=_split_reference,
    samples=lambda: [
        (real(5, 2), 2),
        (real(5, 2), [1, 4]),
        (real(2, 5), (2, 0, 3), 1),
        (real(2, 4), 2, {"dim": -1}),
        (real(0, 3), 2),
        (real(3), 7),
    ],
    errors=(
        Bad("E3003", (_MATRIX, [1, 3]), match="sizes add up to 4, not to 2"),
        Bad("E3006", (_MATRIX, 0), match="at least 1"),
        Bad("E3006", (_MATRIX, [3, -1]), match="at least 0"),
        Bad("E3004", (_MATRIX, 1, 2), match="axis 2"),
    ),
    views=True,
)
def split(x: UOp, sizes: int | Sequence[int], dim: int = 0) -> tuple[UOp, ...]:
    """Parts along `dim`: of one size (the last may be smaller), or of the sizes listed."""
    axis = own_axis("split", dim, x)
    n = x.shape[axis]
    if not isinstance(sizes, (tuple, list)):
        size = whole_number("split", "the size of a part", sizes, 1)
        return _cut(x, axis, [*range(0, max(n, 1), size), n])
    parts = [whole_number("split", "the size of a part", s, 0) for s in sizes]
    if sum(parts) != n:
        raise ShapeError("E3003", f"the sizes add up to {sum(parts)}, not to {n}", op="split", x=x)
    return _cut(x, axis, [0, *accumulate(parts)])


def _cut(x: UOp, axis: int, places: Sequence[int]) -> tuple[UOp, ...]:
    return tuple(part_of(x, axis, a, b) for a, b in pairwise(places))


def _chunk_reference(x: Array, chunks: int, dim: int = 0) -> list[Array]:
    n = x.shape[dim]
    if n == 0:
        return [x] * chunks
    return np.split(x, range(-(-n // chunks), n, -(-n // chunks)), dim)


@derived(
    reference=_chunk_reference,
    samples=lambda: [
        (real(11), 6),
        (real(2, 6), 3, 1),
        (real(3), 5),
        (real(0, 3), 2),
        (real(13), 6),
    ],
    errors=(Bad("E3006", (_MATRIX, 0), match="chunks is at least 1"),),
    views=True,
)
def chunk(x: UOp, chunks: int, dim: int = 0) -> list[UOp]:
    """At most `chunks` parts of equal size along `dim`; the last may be smaller."""
    axis = own_axis("chunk", dim, x)
    count, n = whole_number("chunk", "chunks", chunks, 1), x.shape[axis]
    return list(x.split(-(-n // count), axis) if n else [x] * count)


@derived(
    reference=lambda x, indices_or_sections, dim=0: np.array_split(x, indices_or_sections, dim),
    samples=lambda: [
        (real(7), 3),
        (real(2, 7), [2, 5], 1),
        (real(7), (3, 2, -1, 20)),
        (real(2), 4),
        (real(4, 0), 2, -1),
    ],
    errors=(Bad("E3006", (_MATRIX, 0), match="sections is at least 1"),),
    views=True,
)
def tensor_split(x: UOp, indices_or_sections: int | Sequence[int], dim: int = 0) -> tuple[UOp, ...]:
    """A number of parts whose sizes differ by at most one, or parts split at the listed indices."""
    axis = own_axis("tensor_split", dim, x)
    n = x.shape[axis]
    if isinstance(indices_or_sections, (tuple, list)):
        cuts = [whole_number("tensor_split", "a place", i) for i in indices_or_sections]
        spans = [slice(a, b).indices(n) for a, b in zip([0, *cuts], [*cuts, n], strict=True)]
        return tuple(part_of(x, axis, a, max(a, b)) for a, b, _ in spans)
    count = whole_number("tensor_split", "sections", indices_or_sections, 1)
    small, larger = divmod(n, count)
    return _cut(x, axis, [i * small + min(i, larger) for i in range(count + 1)])


def _equal_parts(op: str, x: UOp, where: Any, axis: int) -> tuple[UOp, ...]:
    """Cut along an axis; a number of parts divides its size."""
    if len(x.shape) <= axis:
        raise ShapeError("E3002", f"axis {axis} is cut, and the rank is {len(x.shape)}", op=op, x=x)
    if isinstance(where, int) and where > 0 and x.shape[axis] % where:
        problem = f"{x.shape[axis]} elements do not divide into {where} equal parts"
        fix = "tensor_split makes parts that differ by one"
        raise ShapeError("E3003", problem, op=op, x=x, help=fix)
    return tensor_split(x, where, axis)


@derived(
    reference=np.hsplit,
    samples=lambda: [(real(2, 6), 3), (real(6), 2), (real(2, 5, 2), [1, 3]), (real(4), (2,))],
    errors=(
        Bad("E3002", (_SCALAR, 1), match="rank"),
        Bad("E3003", (_MATRIX, 2), match="equal parts"),
    ),
)
def hsplit(x: UOp, indices_or_sections: int | Sequence[int]) -> tuple[UOp, ...]:
    """Equal parts, or parts split at listed indices, along axis 1 (of a vector, along axis 0)."""
    return _equal_parts("hsplit", x, indices_or_sections, 1 if len(x.shape) > 1 else 0)


@derived(
    reference=np.vsplit,
    samples=lambda: [(real(6, 2), 3), (real(5, 2, 2), [1, 3]), (real(4, 1), (2,))],
    errors=(
        Bad("E3002", (_VECTOR, 1), match="rank"),
        Bad("E3003", (np.ones((3, 2)), 2), match="equal parts"),
    ),
)
def vsplit(x: UOp, indices_or_sections: int | Sequence[int]) -> tuple[UOp, ...]:
    """Equal parts, or parts split at listed indices, along axis 0 of a matrix or more."""
    axis = 0 if len(x.shape) > 1 else 1
    return _equal_parts("vsplit", x, indices_or_sections, axis)


@derived(
    reference=np.dsplit,
    samples=lambda: [(real(2, 1, 6), 3), (real(2, 2, 5), [1, 3]), (real(1, 1, 4, 2), 2)],
    errors=(
        Bad("E3002", (_MATRIX, 1), match="rank"),
        Bad("E3003", (np.ones((1, 1, 3)), 2), match="equal parts"),
    ),
)
def dsplit(x: UOp, indices_or_sections: int | Sequence[int]) -> tuple[UOp, ...]:
    """Equal parts, or parts split at listed indices, along axis 2."""
    return _equal_parts("dsplit", x, indices_or_sections, 2)


@derived(
    reference=lambda x, dim=0: list(np.moveaxis(x, dim, 0)),
    samples=lambda: [(real(3, 2),), (real(3, 2), -1), (real(2),), (real(2, 0),)],
    errors=(Bad("E3002", (_SCALAR,), match="scalar"),),
    views=True,
)
def unbind(x: UOp, dim: int = 0) -> tuple[UOp, ...]:
    """Every slice along `dim`, without that axis."""
    axis = own_axis("unbind", dim, x)
    rest = x.shape[:axis] + x.shape[axis + 1 :]
    return tuple(part_of(x, axis, i, i + 1).reshape(rest) for i in range(x.shape[axis]))


# ---- coming together


def _together(op: str, x: Any, others: tuple[Any, ...]) -> list[UOp]:
    """`x.f(y, z)`, `x.f([y, z])`, `f([x, y], z)` and `f([x, y, z])` mean the same."""
    nodes = listed(x, *others)
    if not nodes or any(not isinstance(n, UOp) for n in nodes):
        fix = "name the axis: dim=" if any(isinstance(n, int) for n in nodes) else ""
        raise ArgumentError("E2001", "joins tensors only, and at least one", op=op, help=fix)
    return nodes


def listed(*x: Any) -> list[Any]:
    """The arguments, with those that are sequences spread out."""
    return [a for v in x for a in (v if isinstance(v, (tuple, list)) else [v])]


@derived(
    reference=lambda *x, dim=0: np.stack(listed(*x), dim),
    samples=lambda: [
        (real(2, 3), real(2, 3, seed=1)),
        (real(2, 3), [real(2, 3, seed=1), real(2, 3, seed=2)], {"dim": -1}),
        ([real(3), real(3, seed=1)], {"dim": 1}),
        (real(), real(seed=1)),
        (real(0, 3), real(0, 3), {"dim": 1}),
        (real(2),),
    ],
    errors=(
        Bad("E3003", (_MATRIX, _VECTOR), match="shapes differ"),
        Bad("E3004", (_MATRIX, _MATRIX), {"dim": 3}, match="axis 3"),
        Bad("E2001", (_MATRIX, 1.0), match="tensors only"),
    ),
    precision=widest,
)
def stack(x: UOp | Sequence[UOp], *others: Any, dim: int = 0) -> UOp:
    """Tensors of one shape joined along a new axis."""
    nodes = _together("stack", x, others)
    first = nodes[0]
    axis = checked_axis("stack", dim, len(first.shape) + 1, first)
    if any(n.shape != first.shape for n in nodes):
        operands = [(f"operand {i}", n) for i, n in enumerate(nodes)]
        fix = "expand them to one shape, or join along an axis they have with cat"
        raise ShapeError("E3003", "shapes differ", op="stack", operands=operands, help=fix)
    return joined([n.unsqueeze(axis) for n in nodes], axis)


_JOINED = given(
    (real(2, 3), real(2, 3, seed=1)),
    (real(3), [real(3, seed=1), real(3, seed=2)]),
    ([real(), real(seed=1)],),
    (real(2, 0, 2), real(2, 0, 2)),
    (real(3),),
)
_UNEQUAL = (Bad("E3003", (_MATRIX, np.ones((4, 5))), match="outside axis"),)


@derived(reference=lambda *x: np.vstack(listed(*x)), samples=_JOINED, errors=_UNEQUAL)
def vstack(x: UOp | Sequence[UOp], *others: Any) -> UOp:
    """Tensors joined along the first axis; a vector counts as one row."""
    nodes = [n.atleast_2d() for n in _together("vstack", x, others)]
    return joined(nodes, 0)


@derived(reference=lambda *x: np.hstack(listed(*x)), samples=_JOINED, errors=_UNEQUAL)
def hstack(x: UOp | Sequence[UOp], *others: Any) -> UOp:
    """Tensors joined along the second axis, vectors along their only one."""
    nodes = [n.atleast_1d() for n in _together("hstack", x, others)]
    return joined(nodes, min(len(nodes[0].shape) - 1, 1))


@derived(reference=lambda *x: np.dstack(listed(*x)), samples=_JOINED, errors=_UNEQUAL)
def dstack(x: UOp | Sequence[UOp], *others: Any) -> UOp:
    """Tensors joined along the third axis."""
    nodes = [n.atleast_3d() for n in _together("dstack", x, others)]
    return joined(nodes, 2)


@derived(
    reference=lambda *x: np.column_stack(listed(*x)),
    samples=lambda: [
        (real(3), real(3, 2, seed=1)),
        (real(3), [real(3, seed=1)]),
        (real(), real(seed=1)),
        (real(0), real(0)),
    ],
    errors=_UNEQUAL,
)
def column_stack(x: UOp | Sequence[UOp], *others: Any) -> UOp:
    """Tensors joined along the second axis; a vector counts as one column."""
    nodes = _together("column_stack", x, others)
    columns = [n if len(n.shape) > 1 else n.reshape(n.size, 1) for n in nodes]
    return joined(columns, 1)


@derived(
    reference=lambda *x, indexing="ij": np.meshgrid(*listed(*x), indexing=indexing),
    samples=lambda: [
        (real(2), real(3, seed=1)),
        (real(2), real(3, seed=1), {"indexing": "xy"}),
        (real(2), real(3, seed=1), real(4, seed=2), {"indexing": "xy"}),
        (real(2), real()),
        (real(2),),
        (real(), {"indexing": "xy"}),
        (real(0), real(3)),
    ],
    errors=(
        Bad("E2008", (_VECTOR, _VECTOR), {"indexing": "ji"}, match="'ij' or 'xy'"),
        Bad("E3002", (_MATRIX, _VECTOR), match="vectors"),
    ),
)
def meshgrid(x: UOp | Sequence[UOp], *others: Any, indexing: str = "ij") -> tuple[UOp, ...]:
    """Coordinate grids from coordinate vectors, with matrix ("ij") or Cartesian ("xy") indexing."""
    nodes = _together("meshgrid", x, others)
    if indexing not in ("ij", "xy"):
        raise ArgumentError("E2008", f"indexing is 'ij' or 'xy', got {indexing!r}", op="meshgrid")
    if any(len(n.shape) > 1 for n in nodes):
        operands = [(f"operand {i}", n) for i, n in enumerate(nodes)]
        raise ShapeError("E3002", "takes vectors and scalars", op="meshgrid", operands=operands)
    rank = len(nodes)
    places = [1, 0, *range(2, rank)] if indexing == "xy" and rank > 1 else list(range(rank))
    grid = [0] * rank
    for place, node in zip(places, nodes, strict=True):
        grid[place] = node.size
    return tuple(
        n.reshape([-1 if i == place else 1 for i in range(rank)]).expand(grid)
        for place, n in zip(places, nodes, strict=True)
    )


# ---- repeating


def _counts(op: str, values: tuple[Any, ...]) -> list[int]:
    return [whole_number(op, "a count of repeats", v, 0) for v in unpacked(values)]


@derived(
    reference=lambda x, *repeats: np.tile(x, listed(*repeats)),
    samples=lambda: [
        (real(2, 3), 2, 1),
        (real(3), (4, 2)),
        (real(), 3),
        (real(2, 3), 0, 2),
        (real(0, 3), 2, 2),
        (real(),),
    ],
    errors=(
        Bad("E3006", (_VECTOR, -1), match="a count of repeats is at least 0, got -1"),
        Bad("E3002", (_MATRIX, 2), match="one count per axis"),
        Bad("E2001", (_VECTOR, 1.5), match="is an int"),
    ),
)
def repeat(x: UOp, *repeats: Any) -> UOp:
    """Repeats the tensor along each axis; more counts than axes add leading axes."""
    counts = _counts("repeat", repeats)
    extra = len(counts) - len(x.shape)
    if extra < 0:
        problem = f"takes at least one count per axis: {len(x.shape)}, got {len(counts)}"
        fix = "tile fills in missing counts with 1"
        raise ShapeError("E3002", problem, op="repeat", x=x, help=fix)
    shape = (1,) * extra + x.shape
    pairs = list(zip(shape, counts, strict=True))
    apart = x.reshape([e for n, r in pairs for e in ((n,) if r == 1 else (1, n))])
    spread = apart.expand([e for n, r in pairs for e in ((n,) if r == 1 else (r, n))])
    return spread.reshape([n * r for n, r in pairs])


@derived(
    reference=lambda x, *dims: np.tile(x, listed(*dims)),
    samples=lambda: [(real(2, 3), 2), (real(2, 3), (2, 1, 2)), (real(2),), (real(0, 2), 3)],
    errors=(Bad("E3006", (_VECTOR, -1), match="at least 0"),),
)
def tile(x: UOp, *dims: Any) -> UOp:
    """As `repeat`, with counts for the last axes only if there are fewer than axes."""
    counts = _counts("tile", dims)
    return x.repeat([1] * (len(x.shape) - len(counts)) + counts)


@derived(
    reference=lambda x, repeats, dim=None: np.repeat(x, repeats, dim),
    samples=lambda: [
        (real(2, 3), 2),
        (real(2, 3), 2, 1),
        (real(2, 3), [2, 0], 0),
        (real(2, 3), (1, 1, 3), -1),
        (real(4), [2, 2, 0, 1]),
        (real(3), [2]),
        (real(2, 3), [0, 0], 0),
        (real(2, 3), 0, 0),
        (real(0, 3), 2, 0),
        (real(0), []),
        (real(), 3),
    ],
    errors=(
        Bad("E3006", (_VECTOR, -1), match="at least 0"),
        Bad("E3003", (_VECTOR, [1, 2]), match="one count per element: 3, got 2"),
        Bad("E3004", (_VECTOR, 2, 1), match="axis 1"),
    ),
)
def repeat_interleave(x: UOp, repeats: int | Sequence[int], dim: int | None = None) -> UOp:
    """Repeats each element, all equally often or by a list of counts; None flattens first."""
    op = "repeat_interleave"
    x, axis = (x.reshape(-1), 0) if dim is None else (x, own_axis(op, dim, x))
    n = x.shape[axis]
    if not isinstance(repeats, (tuple, list)):
        return interleaved(x, axis, whole_number(op, "a count of repeats", repeats, 0))
    counts = _counts(op, (repeats,))
    if len(counts) not in (1, n):
        problem = f"takes one count per element: {n}, got {len(counts)}"
        raise ShapeError("E3003", problem, op=op, x=x)
    return _interleaved_by_list(x, axis, counts if len(counts) == n else counts * n)


def interleaved(x: UOp, axis: int, count: int) -> UOp:
    """Each slice along the axis, `count` times."""
    head, n, tail = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    spread = x.reshape(*head, n, 1, *tail).expand(*head, n, count, *tail)
    return spread.reshape(*head, n * count, *tail)


def _interleaved_by_list(x: UOp, axis: int, counts: list[int]) -> UOp:
    """One piece per run of equal counts."""
    pieces, at = [], 0
    for count, run in groupby(counts):
        length = len(list(run))
        if count:
            pieces.append(interleaved(part_of(x, axis, at, at + length), axis, count))
        at += length
    return joined(pieces, axis) if pieces else part_of(x, axis, 0, 0)


@derived(
    reference=lambda x, shifts, dims=None: np.roll(x, shifts, dims),
    samples=lambda: [
        (real(2, 3), 1),
        (real(2, 3), -1, 1),
        (real(4, 3), (5, -2), (0, -1)),
        (real(4), (1, 2), (0, 0)),
        (real(0, 3), 2, 0),
        (real(), 1),
    ],
    errors=(
        Bad("E2007", (_MATRIX, (1, 2), (0,)), match="one shift per axis"),
        Bad("E2007", (_MATRIX, (1, 2)), match="one shift"),
        Bad("E3004", (_MATRIX, 1, 2), match="axis 2"),
    ),
)
def roll(x: UOp, shifts: Any, dims: Any = None) -> UOp:
    """Shifts elements along axes; elements that leave at one end come in at the other.

    Without `dims` the flattened tensor is rolled.
    """
    moves = [whole_number("roll", "a shift", s) for s in listed(shifts)]
    axes = [0] if dims is None else [own_axis("roll", d, x) for d in listed(dims)]
    if len(moves) != len(axes):
        problem = f"takes one shift per axis: {len(axes)}, got {len(moves)}"
        raise ArgumentError("E2007", problem, op="roll", x=x)
    y = x.reshape(-1) if dims is None else x
    for move, axis in zip(moves, axes, strict=True):
        n = y.shape[axis]
        cut = n - move % n if n else 0
        if cut != n:
            y = part_of(y, axis, cut, n).cat(part_of(y, axis, 0, cut), dim=axis)
    return y.reshape(x.shape)
