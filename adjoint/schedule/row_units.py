"""Kernels whose loops go row by row, during fusion.

What may live here: whether a kernel would compute a node only once at some place of its loops, and
whether that place can be the kernel's row. What may not: where else a node could be placed
(`fuse.py`).
"""

from __future__ import annotations

from itertools import chain

from adjoint.ir.sizes import highest
from adjoint.ops.logic import is_copy
from adjoint.schedule.loop_axes import Atoms, Index
from adjoint.schedule.node_facts import is_large
from adjoint.schedule.units import Unit
from adjoint.target import Target

_STRIDED = 1 << 12  # elements of a row that a thread may read one by one, each far from the next,
_ENOUGH_ROWS, _SHORT = 1 << 16, 64  # where so many rows have threads; else no more than this
_FAR_STRIDED = 1 << 10  # the same for a core, of what caches do not hold


class RowUnits:
    """The questions about the loops of the kernels of one schedule."""

    def __init__(self, atoms: Atoms, target: Target):
        self.atoms, self.target, self.limits = atoms, target, target.limits
        self.teams = target.team is not None

    def computes_once(self, unit: Unit, index: Index) -> bool:
        """Whether computing at this index repeats no work."""
        if len(unit.outputs) == 1 and index in map(self.atoms.settled, unit.outputs.values()):
            return True
        found = self.atoms.roots(index)
        if found is None:
            return False
        if not found:  # a single number: computed before all loops
            return True
        if unit.outer is not None and found.issubset(self.atoms.whole(unit.outer)):
            return True
        return self.domain(unit) <= found or self._loops(unit, found)

    def makes_row(self, unit: Unit, index: Index) -> bool:
        """Whether something at this index can be a row of the kernel; if so, it is from now on."""
        if unit.tiled:
            return False
        found = set(chain(*index))
        if not self.atoms.images.keys().isdisjoint(found):
            return False
        if unit.outer is not None:
            return set(self.atoms.whole(unit.outer)) == found
        domain = self.domain(unit)
        if not found <= domain:
            return False
        if found < domain and any(map(is_copy, unit.outputs)):  # which lies across rows
            return False
        rows, row = (highest(self.atoms.count(some)) for some in (found, domain - found))
        limits = self.limits
        if row > limits.long_row and rows < limits.many_rows:
            return False
        if row > self._most_across(unit, rows) and self._lies_across(unit, found):
            return False
        unit.outer = tuple(sorted(found))
        return True

    def is_plain(self, unit: Unit, index: Index) -> bool:
        """Whether a kernel without sums computes its elements each from the one at this index."""
        found, settled = set(chain(*index)), self.atoms.settled
        alone = unit.outer is None and not unit.reduced and not unit.checks
        return alone and all(found == set(chain(*settled(i))) for i in unit.outputs.values())

    def domain(self, unit: Unit) -> set[int]:
        """The counters of the largest of its results."""
        settled = self.atoms.settled
        sets = [set(chain(*settled(index))) for index in unit.outputs.values()]
        return max(sets, key=len) if sets else set()

    def _loops(self, unit: Unit, found: set[int]) -> bool:
        """Whether the index is a row and the loops of one of the unit's reductions."""
        outer = set(self.atoms.whole(unit.outer or ()))
        return any(
            outer.union(*self.atoms.settled(loops)) <= found for _, loops in unit.reduced.values()
        )

    def _most_across(self, unit: Unit, rows: int) -> int:
        """The most elements of a row that may be strided across rows: they are read once for each
        sum. A thread has some of these rows, so there must be many of them.
        """
        if self.teams:
            return _STRIDED if rows >= _ENOUGH_ROWS else _SHORT
        far = any(is_large(node, self.target) for node in unit.outputs)
        return _FAR_STRIDED if far else self.limits.long_row

    def _lies_across(self, unit: Unit, row: set[int]) -> bool:
        """Whether the elements of a row would be strided, while those of different rows are
        adjacent: neighbouring threads would read distant memory.
        """
        last = [axis for index in unit.outputs.values() for axis in [a for a in index if a][-1:]]
        return any(not row.isdisjoint(axis) for axis in self.atoms.settled(tuple(last)))
