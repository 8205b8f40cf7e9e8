"""From one sharding to another: the fewest bytes that members must send.

Before: x split along dimension 0 over "dp", wanted split along dimension 1.
After: all_to_all(x), where an all_gather and a slice would have moved as many times the bytes as
there are members.

Pending sums are joined first: into parts if parts are wanted, else whole. Then an axis that moves
from one dimension to another is an all_to_all, new axes are slices, and axes that are no longer
split are gathered. What may live here: local nodes that change a sharding. What may not: ops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjoint.errors import InternalError
from adjoint.ir.dtype import dtypes
from adjoint.ir.mesh import Axes, Mesh, Sharding
from adjoint.ir.uop import UOp
from adjoint.ops.collective import all_gather, all_reduce, all_to_all, axis_index, reduce_scatter
from adjoint.ops.indexing import gathered

Shape = tuple[int, ...]


@dataclass(slots=True)
class Layout:
    """A member's part of a value while its sharding changes: the axes of every dimension, in
    full.
    """

    node: UOp
    shape: Shape  # of the whole value
    mesh: Mesh
    dims: list[Axes]

    def parts(self, dim: int) -> int:
        """In how many parts a dimension is split now."""
        return self.mesh.extent(self.dims[dim])

    def is_even(self, axes: Axes, dim: int) -> bool:
        """Whether so split, all parts of a dimension are full."""
        return self.shape[dim] % self.mesh.extent(axes) == 0


def converted(local: UOp, shape: Shape, old: Sharding, new: Sharding) -> UOp:
    """A member's part of a value in another sharding."""
    if old == new:
        return local
    layout = Layout(local, shape, old.mesh, _dims(old, shape))
    wanted = _dims(new, shape)
    _join(layout, wanted, [pair for pair in old.pending if pair not in new.pending])
    _turn(layout, wanted)
    for dim, axes in enumerate(wanted):
        _slice(layout, dim, axes)
    for dim, axes in enumerate(wanted):
        if layout.dims[dim] != axes:
            _gather(layout, dim, axes)
    for dim, axes in enumerate(wanted):
        _slice(layout, dim, axes)
    if layout.dims != wanted:
        raise InternalError(f"no way from {old} to {new} for a value of {list(shape)}")
    return layout.node


def _dims(layout: Sharding, shape: Shape) -> list[Axes]:
    """The axes of every dimension, except those of one member, which split nothing."""
    mesh = layout.mesh
    return [
        tuple(axis for axis in layout.axes(d) if mesh.extent((axis,)) > 1)
        for d in range(len(shape))
    ]


def _join(layout: Layout, wanted: list[Axes], pending: list[tuple[str, str]]) -> None:
    """Joins pending sums, into parts if parts are wanted. The axis that is written last is joined
    first: so several axes are joined in the order of one axis of as many members.
    """
    for kind in dict.fromkeys(kind for _, kind in pending):
        axes = tuple(axis for axis, own in pending if own == kind)
        while axes:
            count = _scatter(layout, wanted, axes, kind)
            if not count:
                size = layout.mesh.extent(axes)
                if size > 1:
                    layout.node = all_reduce(layout.node, axes, size, kind)
                break
            axes = axes[:-count]


def _scatter(layout: Layout, wanted: list[Axes], axes: Axes, kind: str) -> int:
    """Join along the last of the axes by a reduction that leaves each member the part that it is
    to have, or less: that is gathered. How many axes these are."""
    for start in range(len(axes)):
        last = axes[start:]
        for dim, goal in enumerate(wanted):
            own = layout.dims[dim]
            aimed = goal[: len(own)] == own and 0 < len(goal) - len(own) <= len(last)
            if not aimed or goal[len(own) :] != last[: len(goal) - len(own)]:
                continue
            if layout.is_even((*own, *last), dim):
                size = layout.mesh.extent(last)
                if size > 1:
                    layout.node = reduce_scatter(layout.node, last, size, dim, kind)
                layout.dims[dim] = (*own, *last)
                return len(last)
    return 0


def _turn(layout: Layout, wanted: list[Axes]) -> None:
    """An axis that leaves one dimension for another."""
    for source, old in enumerate(layout.dims):
        if not old or old == wanted[source] or old[:-1] != wanted[source][: len(old) - 1]:
            continue
        axis = old[-1]
        for target, axes in enumerate(wanted):
            grown = (*layout.dims[target], axis)
            if target == source or axes[: len(grown)] != grown:
                continue
            if layout.is_even(old, source) and layout.is_even(grown, target):
                size = layout.mesh.extent((axis,))
                if size > 1:
                    layout.node = all_to_all(layout.node, (axis,), size, target, source)
                layout.dims[source], layout.dims[target] = old[:-1], grown
                break


def _slice(layout: Layout, dim: int, axes: Axes) -> None:
    """The part of a dimension that a member is to have more narrowly."""
    now = layout.dims[dim]
    others = {a for d, own in enumerate(layout.dims) if d != dim for a in own}
    more = axes[len(now) :]
    if not more or axes[: len(now)] != now or others.intersection(more):
        return
    if now and not layout.is_even(axes, dim):
        return  # parts of parts that are filled up lie elsewhere: it is gathered first
    layout.node = sliced_part(layout.node, dim, more, layout.mesh.extent(more))
    layout.dims[dim] = axes


def sliced_part(local: UOp, dim: int, axes: Axes, parts: int) -> UOp:
    """The part of a dimension that belongs to a member's place along axes; filled up with zeros."""
    if parts == 1:
        return local
    extent = -(-local.shape[dim] // parts)
    filled = filled_up(local, dim, extent * parts)
    shape = filled.shape
    rows = filled.reshape(*shape[:dim], parts, extent, *shape[dim + 1 :])
    return gathered(rows, (axis_index(axes, parts),), (dim,))


def filled_up(local: UOp, dim: int, extent: int) -> UOp:
    """A dimension with zeros behind its elements."""
    missing = extent - local.shape[dim]
    if not missing:
        return local
    zeros = [0] * len(local.shape)
    return local.pad_constant(zeros, [missing * (d == dim) for d in range(len(zeros))])


def _gather(layout: Layout, dim: int, axes: Axes) -> None:
    """A dimension with fewer axes: a common prefix of axes may stay."""
    now = layout.dims[dim]
    common = 0
    while common < min(len(now), len(axes)) and now[common] == axes[common]:
        common += 1
    if not layout.is_even(now, dim) or not layout.is_even(axes, dim):
        common = 0  # parts that are filled up are no parts of one another
    gone = now[common:]
    size = layout.mesh.extent(gone)
    if size > 1:
        layout.node = all_gather(layout.node, gone, size, dim)
    layout.dims[dim] = now[:common]
    layout.node = cut_to(layout.node, dim, -(-layout.shape[dim] // layout.parts(dim)))


def cut_to(local: UOp, dim: int, extent: int) -> UOp:
    """A dimension without its padding."""
    if local.shape[dim] == extent:
        return local
    return local.shrink([(0, extent if d == dim else n) for d, n in enumerate(local.shape)])


def places(local: UOp, dim: int, axes: Axes, parts: int) -> UOp:
    """The positions of a member's elements in the whole dimension, in a shape that broadcasts."""
    extent = local.shape[dim]
    ones = UOp._apply("const", 1, dtypes.int64, (extent,), None)
    shape = [extent if d == dim else 1 for d in range(len(local.shape))]
    return (ones.scan_sum(0) - 1 + axis_index(axes, parts) * extent).reshape(shape)


def masked(local: UOp, dim: int, extent: int, axes: Axes, parts: int, neutral: Any) -> UOp:
    """A value whose padding along a dimension is a reduction's neutral element."""
    inside = places(local, dim, axes, parts) < extent
    return inside.expand(local.shape).where(local, neutral)
