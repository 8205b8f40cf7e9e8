"""A table of native steps in the making: regions of steps, cells, memory that lives as long.

In a step, a region stands for the place of its first step and a `Length` for how many it has; both
are known when everything is emitted. What may live here: the table. What may not: what steps do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from adjoint.runtime import pool_ir as kinds
from adjoint.runtime.allocator import CPU
from adjoint.runtime.launch import Cells

Fixup = tuple[int, int, int]  # address of a cell, the slot whose address it gets, bytes beyond it


@dataclass(slots=True, eq=False, repr=False)
class Region:
    """Steps that lie together in the table."""

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

        return [tuple(map(number, step)) for region in self.regions for step in region.steps]

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
