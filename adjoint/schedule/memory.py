"""The memory plan: where in one arena each value lies, from when it is made to its last use.

Values that are never alive together share memory. Before: sizes and lifetimes. After: offsets and
the size of the arena. The order of steps is fixed before, so the plan is the same every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

ALIGN = 64  # a cache line, and more than any vector asks for


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Lifetime:
    """A value of some bytes that is alive from one step to another, both included."""

    nbytes: int
    first: int
    last: int


def place(values: Sequence[Lifetime]) -> tuple[list[int], int]:
    """An offset for every value, and how large the arena is.

    Steps are gone through in order: what has died is free, and a value takes the smallest free
    piece that holds it, or the end of the arena.
    """
    offsets = [0] * len(values)
    arena = _Arena()
    ends: list[tuple[int, int]] = []  # (last step, number), the earliest first
    for number in sorted(range(len(values)), key=lambda i: (values[i].first, -values[i].nbytes, i)):
        while ends and ends[0][0] < values[number].first:
            dead = heappop(ends)[1]
            arena.release(offsets[dead], _aligned(values[dead].nbytes))
        offsets[number] = arena.take(_aligned(values[number].nbytes))
        heappush(ends, (values[number].last, number))
    return offsets, arena.size


def _aligned(nbytes: int) -> int:
    """Whole cache lines; a value of no bytes has a place, too."""
    return -(-max(nbytes, 1) // ALIGN) * ALIGN


class _Arena:
    """Memory that grows at the end; free pieces by where they start, neighbours joined."""

    def __init__(self) -> None:
        self.size = 0
        self._free: dict[int, int] = {}  # start → stop
        self._stops: dict[int, int] = {}  # stop → start

    def take(self, nbytes: int) -> int:
        fits = [
            (stop - start, start) for start, stop in self._free.items() if stop - start >= nbytes
        ]
        if fits:
            start = min(fits)[1]
            stop = self._remove(start)
            if start + nbytes < stop:
                self._add(start + nbytes, stop)
            return start
        start = self._remove_end()
        self.size = start + nbytes
        return start

    def _remove_end(self) -> int:
        """Where the arena ends, not counting a free piece there."""
        start = self._stops.get(self.size)
        if start is None:
            return self.size
        self._remove(start)
        return start

    def release(self, start: int, nbytes: int) -> None:
        stop = start + nbytes
        if stop in self._free:
            stop = self._remove(stop)
        if start in self._stops:
            start = self._stops[start]
            self._remove(start)
        self._add(start, stop)

    def _add(self, start: int, stop: int) -> None:
        self._free[start] = stop
        self._stops[stop] = start

    def _remove(self, start: int) -> int:
        stop = self._free.pop(start)
        del self._stops[stop]
        return stop
