"""How much memory a schedule needs, from who is the last to use what."""

from __future__ import annotations

from adjoint.ir.uop import UOp
from adjoint.stages import NodeSchedule, Schedule


def peak_bytes(plan: NodeSchedule | Schedule) -> int:
    """The most bytes of results that are alive at once while the steps run in order.

    Every step's result counts from its step to its last use, the values of the roots to the end;
    buffers that existed before do not count. A compiled schedule needs its arena and its outputs.
    """
    if isinstance(plan, Schedule):
        made = dict.fromkeys(i for i in plan.outputs if i not in plan.inputs)
        return plan.arena + sum(plan.slots[i].nbytes for i in made if plan.slots[i].offset is None)
    alive: dict[UOp, int] = {}
    total = peak = 0
    for item in plan.items:
        alive[item.node] = _bytes(item.node)
        total += alive[item.node]
        peak = max(peak, total)
        total -= sum(alive.pop(node, 0) for node in item.last_uses)
    return peak


def _bytes(node: UOp) -> int:
    kinds = node.dtype if isinstance(node.dtype, tuple) else (node.dtype,)
    shapes = node.shape if isinstance(node.dtype, tuple) else (node.shape,)
    return sum(_count(s) * k.itemsize for s, k in zip(shapes, kinds, strict=True))


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count
