"""Indexing along a split dimension: each member handles the rows that it owns.

Before: gather(table, index), the table split along its rows: all_gather(table), then gather.
After: each member gathers its own rows, and -0.0 for those of others, which changes no sum;
pending. A scatter writes the updates of a member's own rows, and those of others to a row that is
cut off.

An index that is out of range of the whole is out of range for every member. What may live here:
GATHER and SCATTER by owner. What may not: their letters (`indexing.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjoint.ir.dtype import dtypes
from adjoint.ir.mesh import Axes, Mesh, Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ops.collective import axis_index
from adjoint.sharding.neighbours import cut

_GATHER, _SCATTERS = OPS["gather"], (OPS["scatter_add"], OPS["scatter"])


@dataclass(frozen=True, slots=True)
class Owned:
    """The indexed axis of an operand that is split."""

    axis: int
    axes: Axes
    parts: int


def owned_axis(
    node: UOp, given: Sequence[Sharding], operands: Sequence[Sharding], result: Sharding, mesh: Mesh
) -> Owned | None:
    """The axis, if members that do their own rows send fewer bytes than a gather of all. It does
    not depend on the number of members: an only one has an axis too."""
    if (node.op is not _GATHER and node.op not in _SCATTERS) or len(node.arg.axes) != 1:
        return None
    axis, x = node.arg.axes[0], node.src[0]
    axes = given[0].axes(axis)
    used = {a for layout in (*operands, result) for a in (*layout.used, *dict(layout.pending))}
    if not axes or operands[0].axes(axis) or operands[0].pending or used.intersection(axes):
        return None
    if not int(node.size) or not int(x.size):
        return None
    if node.op is _GATHER and 2 * int(node.size) >= int(x.size):
        return None
    return Owned(axis, axes, mesh.extent(axes))


def scattered_rows(node: UOp, layout: Sharding) -> Owned | None:
    """The indexed axis of a scatter that is split in the layout, if it is the only one indexed."""
    if node.op not in _SCATTERS or len(node.arg.axes) != 1:
        return None
    axis = node.arg.axes[0]
    axes = layout.axes(axis)
    return Owned(axis, axes, layout.parts(axis)) if axes and layout.parts(axis) > 1 else None


def with_axis(layout: Sharding, owned: Owned) -> Sharding:
    """A layout with the axis split too."""
    dims = [layout.axes(d) for d in range(max(len(layout.dims), owned.axis + 1))]
    dims[owned.axis] = owned.axes
    return Sharding(layout.mesh, dims)


def owner_result(node: UOp, result: Sharding, owned: Owned) -> Sharding:
    """The sharding of the result: for a gather each member has its own rows, the others are
    pending.
    """
    if node.op in _SCATTERS:
        return with_axis(result, owned)
    kind = "max" if node.dtype.is_bool else "sum"
    pending = tuple((axis, kind) for axis in owned.axes)
    return Sharding(result.mesh, result.dims, (*result.pending, *pending))


def made_by_owners(node: UOp, owned: Owned, local: list[UOp]) -> UOp:
    """The node on the rows that a member has."""
    if owned.parts == 1:
        return UOp(node.op, tuple(local), node.arg)
    x, index = local[0], local[1].cast(dtypes.int64)
    extent, rows = int(node.src[0].shape[owned.axis]), int(x.shape[owned.axis])
    here = index - axis_index(owned.axes, owned.parts) * rows
    own = (here >= 0).logical_and(here < rows).logical_and(index < extent)
    inside = (index >= 0).logical_and(index < extent)
    if node.op is not _GATHER:
        outside = (index < 0).where(index, index + 1)  # of the longer rows too
        return _scattered(node, owned, local, own.where(here, inside.where(rows, outside)))
    found = UOp(node.op, (x, own.where(here, inside.where(0, index))), node.arg)
    mask = own.reshape(*own.shape, *[1] * (len(found.shape) - len(own.shape)))
    nothing = False if node.dtype.is_bool else -0.0 if node.dtype.is_inexact else 0
    return mask.expand(found.shape).where(found, nothing)


def _scattered(node: UOp, owned: Owned, local: list[UOp], index: UOp) -> UOp:
    """A scatter with a row for the updates of others, which is cut off."""
    x, updates = local[0], local[2]
    rank = range(len(x.shape))
    longer = x.pad_constant([0 for _ in rank], [int(d == owned.axis) for d in rank])
    made = UOp(node.op, (longer, index, updates), node.arg)
    return cut(made, owned.axis, 0, x.shape[owned.axis])
