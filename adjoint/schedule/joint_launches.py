"""Equal small independent kernels share one launch.

Before: w1' = step(w1, g1), g2 = …, w2' = step(w2, g2), g3 = …, w3' = step(w3, g3)
After: g2 = …, g3 = …, [w1' = step(w1, g1), w2' = step(w2, g2), w3' = step(w3, g3)] in one launch

On a GPU a launch takes longer than a small kernel. Such a kernel waits until another step needs its
result, and then all ready kernels of its kind run with it. Waiting values occupy memory for longer,
so they must be small. What may live here: the order of steps, and which are launched together. What
may not: how they are launched (`backends/cuda/joint.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

from adjoint.schedule.overlap import needs_of
from adjoint.stages import KernelStep, LoopProgram, Schedule, Step


def launch_together(schedule: Schedule, most_bytes: int) -> Schedule:
    """The schedule with joint launches of kernels whose values have at most this many bytes
    each.
    """
    if not most_bytes:
        return schedule
    kinds = [_kind(step, schedule, most_bytes) for step in schedule.steps]
    counts = Counter(kinds)
    kinds = [kind if counts[kind] > 1 else None for kind in kinds]
    if not any(kinds):
        return schedule
    groups = _Order(schedule.steps, kinds).groups()
    steps = tuple(step for group in _joined(schedule.steps, groups) for step in group)
    return replace(schedule, steps=steps)


def _kind(step: Step, schedule: Schedule, most_bytes: int) -> Hashable | None:
    """The key that kernels of one launch share; None for steps that are launched alone."""
    if not isinstance(step, KernelStep) or step.program.variables:
        return None
    if max(schedule.slots[slot].nbytes for slot in step.slots) > most_bytes:
        return None
    program = step.program
    types = tuple((b.arg.dtype, b.arg.mutable) for b in program.buffers)
    return program.name, program.threads, types, len(program.parameters), program.grid is None


class _Order:
    """Steps that are put in order one after another; those of a kind wait for one another."""

    def __init__(self, steps: Sequence[Step], kinds: list[Hashable | None]):
        self.needs = needs_of(steps)
        self.kinds = kinds
        self.waiting: dict[Hashable, dict[int, None]] = {}  # of every kind, in their order
        for number, kind in enumerate(kinds):
            if kind is not None:
                self.waiting.setdefault(kind, {})[number] = None
        self.done: set[int] = set()
        self.found: list[list[int]] = []

    def groups(self) -> list[list[int]]:
        """The numbers of all steps, those that are launched together in one list."""
        delayed = [n for n, kind in enumerate(self.kinds) if kind is not None]
        others = [n for n, kind in enumerate(self.kinds) if kind is None]
        for number in (*others, *delayed):
            self._do(number)
        return self.found

    def _do(self, wanted: int) -> None:
        """A step behind all that it needs, none of which comes twice."""
        stack = [wanted]
        while stack:
            number = stack[-1]
            missing = [n for n in sorted(self.needs[number]) if n not in self.done]
            if number in self.done or not missing:
                stack.pop()
                if number not in self.done:
                    self._emit(number)
            else:
                stack += reversed(missing)

    def _emit(self, number: int) -> None:
        """The step, and all of its kind that can run."""
        kind = self.kinds[number]
        group = [number]
        if kind is not None:
            waiting = self.waiting[kind]
            group += [n for n in waiting if n != number and self.needs[n] <= self.done]
            for each in group:
                del waiting[each]
        self.found.append(sorted(group))
        self.done.update(group)


def _joined(steps: Sequence[Step], groups: list[list[int]]) -> list[list[Step]]:
    """The steps of every group, marked where it has several."""
    found, joint = list[list[Step]](), dict[LoopProgram, LoopProgram]()
    for launch, group in enumerate(groups, 1):
        of_it: list[Step] = []
        for step in (steps[number] for number in group):
            if len(group) > 1 and isinstance(step, KernelStep):
                program = joint.setdefault(step.program, replace(step.program, joint=True))
                step = replace(step, program=program, joint=launch)
            of_it.append(step)
        found.append(of_it)
    return found
