"""Single nodes as one member computes them: constants, counts, indices and attributes for its part.

What may live here: one node at a time. What may not: shardings, or the graph (`partition.py`).
"""

from __future__ import annotations

from adjoint.ir.mesh import Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ops.collective import axis_index
from adjoint.sharding.indexing import counted_axis
from adjoint.sharding.propagate import Plan

_EXPAND, _RESHAPE, _SHRINK, _FOLD, _CONST = (
    OPS[name] for name in ("expand", "reshape", "shrink", "fold", "const")
)


def placeless(node: UOp) -> UOp:
    """A constant on no device: the program has one."""
    if node.op is _CONST and node.arg.device is not None:
        made: UOp = _CONST(node.arg.value, node.arg.dtype, node.arg.shape)
        return made
    return node


def constant(node: UOp, layout: Sharding) -> UOp:
    """A constant of the extents that a part has."""
    made: UOp = _CONST(node.arg.value, node.arg.dtype, layout.local(node.shape))
    return made


def counted(local: UOp, layout: Sharding) -> UOp | None:
    """A part of a running count: it begins where the part does."""
    axis, reverse = local.arg.axis, local.arg.reverse
    if reverse or len(layout.used) == 0 or layout.dims[:axis] != ((),) * axis:
        return None
    if len(layout.dims) != axis + 1 or not local.shape[axis]:
        return None
    axes, parts = layout.axes(axis), layout.parts(axis)
    extent = -(-local.shape[axis] // parts)
    one = local.src[0]
    bounds = [(0, extent if d == axis else n) for d, n in enumerate(one.shape)]
    step = one.shrink([(0, 1) if d == axis else (0, n) for d, n in enumerate(one.shape)])
    count = UOp(local.op, (one.shrink(bounds),), local.arg)
    before = (axis_index(axes, parts) * extent).cast(local.dtype)
    return count + before * step.cast(local.dtype)


def own_rows(node: UOp, local: list[UOp], plan: Plan) -> list[UOp]:
    """Indices that count along a split axis count a member's own rows."""
    found = list(local)
    for number, index in enumerate(node.src[1 : 1 + len(node.arg.axes)], 1):
        along = counted_axis(index)
        axis = node.arg.axes[number - 1]
        if along is None or not plan.operands[0].axes(axis):
            continue
        shape = local[number].shape
        ones: UOp = OPS["const"](1, index.dtype, (shape[along],))
        rows = (ones.scan_sum(0) - 1).cast(index.dtype)
        flat = [n if d == along else 1 for d, n in enumerate(shape)]
        found[number] = rows.reshape(flat).expand(shape)
    return found


def attributes(node: UOp, local: list[UOp], layout: Sharding) -> object:
    """The node's attributes for a member's part."""
    op, arg = node.op, node.arg
    if op is _EXPAND or op is _RESHAPE:
        return arg.replace(shape=layout.local(node.shape))
    if op is _FOLD:
        return arg.replace(shape=layout.local(node.shape))
    if op is _SHRINK:
        pairs = list(zip(arg.stop, local[0].shape, node.src[0].shape, strict=True))
        return arg.replace(stop=tuple(stop if n == old else n for stop, n, old in pairs))
    return arg
