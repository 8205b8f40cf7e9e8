"""Merge sort of short rows in shared memory: one kernel, a team for each row.

Sorted runs of 1, 2, 4, … entries are adjacent in pairs. The place of an entry in the merged run is
its own in its run plus the number of entries before it in the other run, found by binary search.
Among equal keys those of the left run come first, so the sort is stable. `radix_sort.py` says what
an entry is.
"""

from __future__ import annotations

from dataclasses import replace

from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import number
from adjoint.kernel.algorithms.radix_sort import WARP, Ends, Rows, TileLoops
from adjoint.stages import LoopProgram

_EACH = 8  # entries of a thread, which are looked for at the same time
_FEWEST, _MOST = 2 * WARP, 512  # elements of a row


class MergedRows(Rows):
    """Rows that are one tile each, of a power of two."""

    __slots__ = ()

    @property
    def tile(self) -> int:
        return 1 << (self.n - 1).bit_length()

    @property
    def fit(self) -> bool:
        """Whether merging is fastest."""
        return _FEWEST <= self.tile <= _MOST and self.n > WARP

    @property
    def threads(self) -> int:
        return max(self.tile // _EACH, WARP)


class MergeLoops(TileLoops):
    """A kernel in which a team has a row, while it is written."""

    def __init__(self, rows: MergedRows, ends: Ends) -> None:
        super().__init__(rows, ends, 0)
        self.sizes = rows
        ends.define_results(self)
        ends.define_operands(self)
        # Keys are integers without a sign: those of all bits are compared as if they had one.
        self.turned = rows.kind.min if rows.bits == rows.kind.bits else 0

    def program(self, node: UOp, name: str) -> tuple[LoopProgram, tuple[int, ...]]:
        rows, loops = self.sizes, self.loops
        with loops.grid(rows.rows) as row:
            self.tile(row, self.number(0))
        made = loops.program(node, name, 8 * rows.tile * rows.tile.bit_length())
        return replace(made, threads=rows.threads), tuple(self.places)

    def tile(self, row: UOp, tile: UOp) -> None:
        loops, rows = self.loops, self.rows
        pairs = [
            (
                loops.local(f"keys{i}", rows.kind, rows.tile),
                loops.local(f"places{i}", dtypes.int16, rows.tile),
            )
            for i in range(2)
        ]
        with loops.loop(rows.tile, rows.tile) as t:
            loops.store(pairs[0][0], t, self._key(row, t))
            loops.store(pairs[0][1], t, t.cast(dtypes.int16))
        run = 1
        while run < rows.tile:
            self._merge(run, *pairs)
            pairs.reverse()
            run *= 2
        self._store(row, pairs[0])

    def _key(self, row: UOp, k: UOp) -> UOp:
        """The key of an element for comparisons; the largest key beyond the end."""
        rows = self.rows
        inside = self._is_inside(k)
        key = self.ends.first(self, row, k, inside)
        key = key ^ self.turned if self.turned else key
        return inside.where(key, number(rows.kind.max, rows.kind))

    def _is_inside(self, k: UOp) -> UOp:
        if self.rows.n == self.rows.tile:
            return OPS["const"](True, dtypes.bool_, (), None)
        return k < self.rows.n

    def _merge(self, run: int, old: tuple[UOp, UOp], new: tuple[UOp, UOp]) -> None:
        """Pairs of runs become runs of twice as many."""
        loops, size = self.loops, self.rows.tile
        with loops.loop(size, size) as t:
            key, place = (loops.load(memory, t) for memory in old)
            left = (t & run).eq(0)
            other = t // run * run ^ run  # where the other run begins
            before = self._before(old[0], other, run, key, left)
            there = t // (2 * run) * (2 * run) + t % run + before
            loops.store(new[0], there, key)
            loops.store(new[1], there, place)

    def _before(self, keys: UOp, other: UOp, run: int, key: UOp, left: UOp) -> UOp:
        """How many entries of the other run come before one with this key."""
        found = self.number(0)
        for part in [*_halves(run), 1]:
            there = self.loops.load(keys, other + found + (part - 1))
            earlier = (there < key).logical_or(there.eq(key).logical_and(left.logical_not()))
            found = found + earlier.where(self.number(part), self.number(0))
        return found

    def _store(self, row: UOp, entries: tuple[UOp, UOp]) -> None:
        loops, size = self.loops, self.rows.tile
        with loops.loop(size, size) as place:
            key, at = (loops.load(memory, place) for memory in entries)
            key = key ^ self.turned if self.turned else key
            inside = self._is_inside(place)
            self.ends.last(self, row, place, key, at.cast(self.rows.places), inside)


def _halves(run: int) -> list[int]:
    """Half of it, half of that and so on, down to 1."""
    return [run >> i for i in range(1, run.bit_length())]


__all__ = ["MergeLoops", "MergedRows"]
