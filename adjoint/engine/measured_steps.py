"""Measures each step of a program: a recorder that keeps the least time of several runs."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from adjoint.engine import counters
from adjoint.engine.counters import Counters
from adjoint.engine.observers import watch
from adjoint.engine.step_facts import titles
from adjoint.ir.effect import effects_muted
from adjoint.runtime import spans
from adjoint.stages import Schedule

_KINDS = ("kernel", "library", "host", "control")
_FEWEST = 3  # runs


class StepTimes:
    """Steps as they end, with their seconds."""

    inside_loops = False

    def __init__(self) -> None:
        self.steps: list[tuple[str, str, float]] = []

    def add(self, name: str, kind: str, start: int, end: int, details: dict[str, Any]) -> None:
        """A span has ended."""
        if kind in _KINDS:
            self.steps.append((name, kind, (end - start) / 1e9))

    def sample(self, name: str, at: int, values: dict[str, int]) -> None:
        """Numbers over time are not looked at."""


def seconds_of_steps(
    call: Callable[[], Any], schedule: Schedule, budget: float
) -> list[float] | None:
    """The least seconds of each step when the call runs the schedule; None if it runs other steps.
    Calls go on for the budget of seconds; prints and other effects are not performed."""
    wanted = [titles(step) for step in schedule.steps]
    call_muted(call)
    best = [float("inf")] * len(wanted)
    runs, until = 0, perf_counter() + budget
    while runs < _FEWEST or perf_counter() < until:
        found = _recorded(call)
        if [(name, kind) for name, kind, _ in found] != wanted:
            return None
        best = [min(a, seconds) for a, (_, _, seconds) in zip(best, found, strict=True)]
        runs += 1
    return best


def call_muted(call: Callable[[], Any]) -> None:
    """One call without its effects."""
    with effects_muted():
        call()


def _recorded(call: Callable[[], Any]) -> list[tuple[str, str, float]]:
    times, counted = StepTimes(), Counters()
    spans.recorders.append(times)
    counters.active.append(counted)
    watch.refresh()
    try:
        call_muted(call)
    finally:
        spans.recorders[:] = [r for r in spans.recorders if r is not times]
        counters.active[:] = [c for c in counters.active if c is not counted]
        watch.refresh()
    return times.steps
