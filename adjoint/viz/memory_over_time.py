"""Which value lies where in the arena, from when to when, and who holds what at the peak.

Before: a planned schedule. After: rectangles over steps and bytes, as plain data. What may live
here: reading the plan. What may not: making one (`schedule/memory.py`).
"""

from __future__ import annotations

from typing import Any

from adjoint.ir.uop import UOp
from adjoint.schedule.memory import slots_of
from adjoint.stages import Schedule
from adjoint.viz.source_lines import SourceLines


def memory_of(plan: Schedule, lines: SourceLines) -> dict[str, Any]:
    """Values of the arena as `[offset, bytes, first step, last step, type, place]`, the bytes
    outside of it, and the live bytes at every step.
    """
    first, last, maker = _lifetimes(plan)
    held = []
    for number, slot in enumerate(plan.slots):
        if slot.offset is None or number not in first:
            continue
        node = maker.get(number)
        place = -1 if node is None else lines.place(node.raw_origin)
        kind = f"s{number}: {slot.dtype.short}{list(slot.shape)}"
        held.append([slot.offset, slot.nbytes, first[number], last[number], kind, place])
    alive = [_alive(held, at) for at in range(len(plan.steps))]
    return {
        "steps": [str(step) for step in plan.steps],
        "arena": plan.arena,
        "held": held,
        "alive": alive,
        "inputs": sum(plan.slots[i].nbytes for i in dict.fromkeys(plan.inputs)),
        "outputs": sum(plan.slots[i].nbytes for i in dict.fromkeys(plan.outputs)),
        "constants": sum(plan.slots[i].nbytes for i, _ in plan.constants),
    }


def _lifetimes(plan: Schedule) -> tuple[dict[int, int], dict[int, int], dict[int, UOp]]:
    """The first and the last step of every slot, and the node whose step first writes it."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    maker: dict[int, UOp] = {}
    for number, step in enumerate(plan.steps):
        for slot in slots_of(step):
            first.setdefault(slot, number)
            last[slot] = number
        for slot in step.writes:
            maker.setdefault(slot, step.node)
    return first, last, maker


def _alive(held: list[list[Any]], at: int) -> int:
    """Bytes of the arena in use; of values that share a place the larger."""
    places: dict[int, int] = {}
    for offset, nbytes, first, last, *_ in held:
        if first <= at <= last:
            places[offset] = max(places.get(offset, 0), nbytes)
    return sum(places.values())
