"""Counted and recorded runs: a profiler gets every step with its time.

What may live here: what observers see of a run. What may not: how steps run.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from adjoint.backends.protocol import Backend, Launch
from adjoint.engine import counters
from adjoint.engine.run_plan import StepByStep
from adjoint.engine.step_facts import lines_of, titles, work_of
from adjoint.runtime import spans
from adjoint.runtime.launch import chunk_of
from adjoint.runtime.pool import the_pool
from adjoint.runtime.spans import recorders, sample, span
from adjoint.stages import ControlStep, KernelStep, Schedule, Step

if TYPE_CHECKING:
    from adjoint.engine.program import Program
    from adjoint.runtime.buffer import Buffer


class TimedLaunch:
    """The launch of one step, which records when it runs."""

    __slots__ = ("_backend", "_details", "_kind", "_launch", "_name", "flags")

    def __init__(self, launch: Launch, step: Step, schedule: Schedule, backend: Backend):
        self._launch, self._backend, self.flags = launch, backend, launch.flags
        self._name, self._kind = titles(step)
        self._details = details_of(step, schedule)
        if not backend.memory.addressable:  # its own time runs beside that of the host
            self._details["device"] = backend.device

    def run(self) -> int:
        """The step; see `Launch.run`."""
        start, seconds = spans.now(), None
        try:
            code, seconds = self._backend.timed(self._launch.run)
            return code
        finally:
            spans.record(self._name, self._kind, start, self._details, seconds)


def run_observed(program: Program, *args: Any) -> list[Buffer]:
    """`Program.run` for counters, and for profilers if there are any."""
    start = counters.now()
    outputs = _run_recorded(program, *args) if recorders else program.compute(*args)
    program.backend.synchronise()
    seconds = counters.now() - start
    counters.count(runs=1, seconds=seconds, **program.work)
    return outputs


def _run_recorded(program: Program, *args: Any) -> list[Buffer]:
    """The same by a program of the same steps that runs them one by one."""
    schedule, memory = program.schedule, program.backend.memory
    apart = StepByStep(any(recorder.inside_loops for recorder in recorders))
    twin = program.step_by_step(apart)
    sample("memory", memory.counted)
    with span("program", "program", steps=len(schedule.steps), arena=schedule.arena):
        outputs = twin.compute(*args)
    sample("memory", memory.counted)
    return outputs


# ---- what a profile says of a step


def details_of(step: Step, schedule: Schedule) -> dict[str, Any]:
    """Lines, shapes, bytes and arithmetic of a step."""
    work = work_of(replace(schedule, steps=(step,)))
    made = dict.fromkeys(step.writes)
    used = [i for i in dict.fromkeys(step.reads) if i not in made]
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
    extent = 1 if grid is None else int(grid.arg.size)
    pieces = -(-extent // chunk_of(extent, step.program.cost))
    return max(1, min(pieces, the_pool().threads))


def _kind(schedule: Schedule, number: int) -> str:
    slot = schedule.slots[number]
    return f"{slot.dtype.short}{list(slot.shape)}"
