"""Steps one by one, with what somebody who records times wants to know of each.

What may live here: what is told of a step, and a table of one step that tells when it ran. What may
not: how steps run.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from adjoint.engine.steps import read, work_of, written
from adjoint.ir.origin import readable
from adjoint.ir.uop import UOp
from adjoint.runtime import timeline
from adjoint.runtime.launch import NativeProgram, chunk_of
from adjoint.runtime.pool import the_pool
from adjoint.stages import ControlStep, HostStep, KernelStep, LibraryStep, Schedule, Step


@dataclass(frozen=True, slots=True)
class Apart:
    """Steps that run one by one: is a loop one step, or is every step inside it one?"""

    inside_loops: bool


class TimedTable:
    """The table of one native step, which records when it runs."""

    __slots__ = ("_details", "_kind", "_name", "_table")

    def __init__(self, table: NativeProgram, step: Step, schedule: Schedule):
        self._table = table
        self._name, self._kind = titles(step)
        self._details = details_of(step, schedule)

    def run(self) -> int:
        """The step; see `NativeProgram.run`."""
        start = timeline.now()
        try:
            return self._table.run()
        finally:
            timeline.record(self._name, self._kind, start, self._details)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)


def titles(step: Step) -> tuple[str, str]:
    """What a step is called, and what kind of step it is."""
    match step:
        case KernelStep():
            return step.program.name, "kernel"
        case LibraryStep():
            g = step.gemm
            return f"gemm {g.dtype.short} {g.batch}x{g.m}x{g.k}x{g.n}", "library"
        case HostStep():
            return step.node.op.name, "host"
        case ControlStep():
            return step.node.op.name, "control"


def details_of(step: Step, schedule: Schedule) -> dict[str, Any]:
    """Lines, shapes, bytes and arithmetic of a step."""
    work = work_of(replace(schedule, steps=(step,)))
    made = dict.fromkeys(written(step))
    used = [i for i in dict.fromkeys(read(step)) if i not in made]
    kinds = [", ".join(_kind(schedule, i) for i in slots) for slots in (used, made)]
    found: dict[str, Any] = {
        "lines": lines_of(step),
        "shapes": " -> ".join(kinds),
        "bytes": work["bytes"],
        "flops": work["flops"],
    }
    if isinstance(step, KernelStep):
        found["threads"] = _threads(step)
    if isinstance(step, ControlStep):
        inside = Counter(" ".join(titles(s)[::-1]) for part in step.parts for s in part.steps)
        found["inside"] = [f"{count} x {name}" for name, count in inside.items()]
        found["turns"] = getattr(step.node.arg, "length", None)
    return found


def _threads(step: KernelStep) -> int:
    """How many threads share the kernel, if they are free."""
    grid = step.program.grid
    extent = 1 if grid is None else grid.arg.size
    pieces = -(-extent // chunk_of(extent, step.program.cost))
    return max(1, min(pieces, the_pool().threads))


def _kind(schedule: Schedule, number: int) -> str:
    slot = schedule.slots[number]
    return f"{slot.dtype.short}{list(slot.shape)}"


def lines_of(step: Step) -> list[str]:
    """The user's lines that a step computes, in the order of the graph."""
    if isinstance(step, KernelStep) and step.places:
        return readable(step.places)
    return readable([step.node.raw_origin])


def node_details(node: UOp) -> dict[str, Any]:
    """Lines and shapes of a node that Python computes."""
    kinds = [_types(s) for s in node.src]
    return {
        "lines": readable([node.raw_origin]),
        "shapes": f"{', '.join(kinds)} -> {_types(node)}",
    }


def _types(node: UOp) -> str:
    if not isinstance(node.dtype, tuple):
        return f"{node.dtype.short}{list(node.shape)}"
    pairs = zip(node.dtype, node.shape, strict=True)
    return ", ".join(f"{dtype.short}{list(shape)}" for dtype, shape in pairs)
