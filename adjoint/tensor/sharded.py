"""Along which axis a value is split over devices.

What may live here: reading that from the graph. What may not: the splitting.
"""

from __future__ import annotations

from typing import Any

from adjoint.ir.derivative import Diagonal, Partials
from adjoint.ir.kernel_kind import is_constant
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp

UNKNOWN: Any = object()
_SHARD = OPS["shard"]


def sharded_axis(node: UOp) -> Any:
    """The axis (None: whole on each device) that SHARD has named, seen through ops that keep the
    shape and their operands' places; else UNKNOWN."""
    seen: dict[UOp, Any] = {}
    for n in node.toposort(stop=lambda n: n.op is _SHARD):
        if n.op is _SHARD:
            seen[n] = n.arg.axis
        elif n.op.name in _PLACED:
            placed = (s for s in n.src if isinstance(s.device, tuple) and not is_constant(s))
            axes = {seen[s] if s.shape == n.shape else UNKNOWN for s in placed}
            seen[n] = axes.pop() if len(axes) == 1 else UNKNOWN
        else:
            seen[n] = UNKNOWN
    return seen[node]


def still_sharded(buffer: UOp, node: UOp) -> UOp:
    """The computed value of a node, split as the node was."""
    axis = sharded_axis(node)
    if axis is UNKNOWN:
        return buffer
    kept = _SHARD(buffer, buffer.device, axis)
    kept.realized = buffer.arg.buffer
    return kept


_PLACED = frozenset(
    {name for name, record in OPS.items() if isinstance(record.ad, (Partials, Diagonal))}
    | {"unique_identity", "detach", "contiguous", "assign", "cast", "where"}
    | {"add", "sub", "mul", "div", "neg"}
)
