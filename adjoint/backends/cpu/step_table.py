"""Builds a table of native steps: regions of steps, cells, and memory that lives as long.

In a step, a region stands for the place of its first step and a `Length` for its number of steps;
both are known when everything is emitted. Consecutive short kernels are one job of the worker pool.
What may live here: the table. What may not: what steps do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from adjoint.runtime import pool_ir as kinds
from adjoint.runtime.allocator import CPU
from adjoint.runtime.launch import Cells
from adjoint.runtime.pool import the_pool

Fixup = tuple[int, int, int]  # address of a cell, the slot whose address it gets, bytes beyond it
Row = tuple[Any, ...]
_SHORT = 1 << 23  # scalar operations of a kernel that others wait for, awake
_SHORT_ALONE = 1 << 18  # of one that a single thread does meanwhile


@dataclass(slots=True, eq=False, repr=False)
class Region:
    """Contiguous steps of the table."""

    steps: list[tuple[Any, ...]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Length:
    """Stands for the number of steps of a region, which is known when all of them are emitted."""

    region: Region


@dataclass(slots=True, eq=False, repr=False)
class Table:
    """Regions, and what their addresses point into."""

    regions: list[Region] = field(default_factory=list)
    keep: list[Any] = field(default_factory=list)
    speaker: Any = None  # of its collectives: see `collectives.py`

    def region(self) -> Region:
        """A new region, behind the others."""
        self.regions.append(Region())
        return self.regions[-1]

    def flat(self) -> list[tuple[int, ...]]:
        """All steps, with numbers in place of regions and lengths."""
        starts, place = {}, 0
        for region in self.regions:
            starts[id(region)] = place
            place += len(region.steps)

        def number(value: Any) -> int:
            if isinstance(value, Length):
                return len(value.region.steps)
            return starts[id(value)] if isinstance(value, Region) else int(value)

        rows = [row for region in self.regions for row in in_jobs(region.steps)]
        return [tuple(map(number, row)) for row in rows]

    def cells(self, values: Any) -> Cells:
        """Cells that live as long as the table."""
        made = Cells(values)
        self.keep.append(made)
        return made

    def memory(self, size: int) -> int:
        """The address of memory that lives as long as the table."""
        block = CPU.allocate(size)
        self.keep.append(block)
        return block.address

    def patch(self, fixups: Sequence[Fixup], slots: Cells) -> tuple[int, ...]:
        """The step that writes addresses of slots into cells."""
        listed = self.cells(v for row in fixups for v in row)
        return (kinds.PATCH, listed.address, len(fixups), slots.address)


# ---- kernels


def kernel_row(function: int, arguments: int, extent: int, chunk: int, cost: int) -> Row:
    """The step that runs a kernel, of so many scalar operations."""
    return (kinds.KERNEL, function, arguments, extent, chunk, 1, 0, cost)


def in_jobs(steps: Sequence[Row]) -> list[Row]:
    """The steps, where the first of short kernels that follow one another says how many do: the
    workers of the pool are called once for all of them."""
    rows, place = list(steps), 0
    if not the_pool().stays_awake:
        return rows
    while place < len(rows):
        count = _length_of_job(rows[place:])
        if count > 1:
            most = max(map(_chunks, rows[place : place + count]))
            kind, function, arguments, extent, chunk, _, _, cost = rows[place]
            rows[place] = (kind, function, arguments, extent, chunk, count, most - 1, cost)
        place += count
    return rows


def _length_of_job(rows: Sequence[Row]) -> int:
    """How many of the first rows are one job: short kernels, the first and the last of which
    several threads share."""
    count, length = 0, 1
    while count < min(len(rows), kinds.MOST_KERNELS) and _is_short(rows[count]):
        count += 1
        if _chunks(rows[count - 1]) > 1:
            length = count
    return length if count and _chunks(rows[0]) > 1 else 1


def _is_short(row: Row) -> bool:
    if row[0] != kinds.KERNEL or len(row) < kinds.STEP_CELLS:
        return False
    chunks = _chunks(row)
    return chunks <= kinds.MOST_CHUNKS and row[7] <= (_SHORT if chunks > 1 else _SHORT_ALONE)


def _chunks(row: Row) -> int:
    return int(-(-row[3] // row[4]))
