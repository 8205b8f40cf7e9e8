"""The memory plan: where in one arena each value lies, from when it is made to its last use.

Values that are never alive together share memory. Before: sizes and lifetimes. After: offsets and
the size of the arena. The order of steps is fixed before, so the plan is the same every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALIGN = 64  # a cache line, and more than any vector asks for


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A value of some bytes that is alive from one step to another, both included."""

    nbytes: int
    first: int
    last: int


def place(values: Sequence[Lifetime]) -> tuple[list[int], int]:
    """An offset for every value, and how large the arena is: the largest first, as low as fits."""
    offsets = [0] * len(values)
    placed: list[int] = []
    order = sorted(range(len(values)), key=lambda i: (-values[i].nbytes, values[i].first, i))
    total = ALIGN if values else 0  # a value of no bytes has a place, too
    for number in order:
        value = values[number]
        if value.nbytes == 0:
            continue
        offsets[number] = _lowest(value, [(offsets[o], values[o]) for o in placed])
        placed.append(number)
        total = max(total, offsets[number] + _aligned(value.nbytes))
    return offsets, total


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGN) * ALIGN


def _lowest(value: Lifetime, others: Sequence[tuple[int, Lifetime]]) -> int:
    """The lowest offset that no value alive at the same time covers."""
    busy = sorted(
        (offset, offset + _aligned(other.nbytes))
        for offset, other in others
        if other.first <= value.last and value.first <= other.last
    )
    at = 0
    for start, stop in busy:
        if start - at >= value.nbytes:
            break
        at = max(at, stop)
    return at
