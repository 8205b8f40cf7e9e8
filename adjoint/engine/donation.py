"""Memory of donated inputs for outputs: who can take whose.

An output can take the memory of an input that nothing reads any more when the output is first
written, or that only the kernel that writes the output reads, each element before its place is
written. What may live here: that question. What may not: who donates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.engine.steps import read, written
from adjoint.runtime.buffer import Buffer
from adjoint.stages import KernelStep, Schedule


class Lender:
    """For a schedule: which outputs can lie in the memory of which inputs."""

    __slots__ = ("_pairs", "schedule")

    def __init__(self, schedule: Schedule):
        self.schedule = schedule
        self._pairs: dict[tuple[int, ...], list[tuple[int, int]]] = {}

    def lend(self, inputs: Sequence[Buffer], donated: Sequence[int]) -> dict[int, Any]:
        """Memory by the position of the output that takes it."""
        key = tuple(donated)
        pairs = self._pairs.get(key)
        if pairs is None:
            pairs = self._pairs[key] = self._matched(key)
        taken = {place: inputs[source].give_up() for place, source in pairs}
        return {place: block for place, block in taken.items() if block is not None}

    def _matched(self, donated: tuple[int, ...]) -> list[tuple[int, int]]:
        """(output, input) pairs of equal size, each used once."""
        schedule = self.schedule
        free = [i for i in donated if schedule.inputs[i] not in schedule.outputs]
        pairs = []
        for place, number in enumerate(schedule.outputs):
            slot = schedule.slots[number]
            if slot.offset is not None or schedule.outputs.index(number) != place:
                continue
            for i in free:
                source = schedule.inputs[i]
                if schedule.slots[source].nbytes == slot.nbytes and self._is_free(source, number):
                    pairs.append((place, i))
                    free.remove(i)
                    break
        return pairs

    def _is_free(self, source: int, number: int) -> bool:
        """Whether nobody reads the input any more, or only the kernel that writes over it."""
        last, first = self._last_read(source), self._first_write(number)
        if last != first or last < 0:
            return last < first
        step = self.schedule.steps[first]
        pairs = step.program.in_place if isinstance(step, KernelStep) else ()
        slots = step.slots if isinstance(step, KernelStep) else ()
        return any((slots[out], slots[read]) == (number, source) for out, read in pairs)

    def _first_write(self, number: int) -> int:
        places = [n for n, step in enumerate(self.schedule.steps) if number in written(step)]
        return min(places, default=-1)

    def _last_read(self, number: int) -> int:
        places = [n for n, step in enumerate(self.schedule.steps) if number in read(step)]
        return max(places, default=-1)
