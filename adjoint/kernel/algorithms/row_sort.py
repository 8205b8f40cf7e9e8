"""Radix sort of rows that fit into shared memory, by a team: one kernel for all rounds.

A warp has a part of the row, and counts of its own. In each round, from the lowest digit on:
    counts[warp, digit] = how often it occurs there
    counts[warp, digit] = where the first of them goes: behind lower digits, and lower warps
    every entry goes to the count of its digit, which is then incremented
Then the row is stored in order. `radix_sort.py` says what an entry is.
"""

from __future__ import annotations

from dataclasses import replace

from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import FEW_REGISTERS
from adjoint.kernel.algorithms.radix_sort import THREADS, Ends, Rows, TileLoops, WarpCounts
from adjoint.stages import LoopProgram

_BYTES = 100 << 10  # of scratch for entries


class WholeRows(Rows):
    """Rows that are one tile each."""

    __slots__ = ()

    @property
    def steps(self) -> int:
        """Entries of a thread."""
        return -(-self.n // THREADS)

    @property
    def tile(self) -> int:
        return self.steps * THREADS

    @property
    def fit(self) -> bool:
        """Whether scratch holds the entries of a row twice."""
        return self.tile * 2 * (self.kind.itemsize + 2) <= _BYTES


class RowLoops(TileLoops):
    """A kernel in which a team has a row, while it is written."""

    def __init__(self, rows: WholeRows, ends: Ends) -> None:
        super().__init__(rows, ends, 0)
        ends.define_results(self)
        ends.define_operands(self)

    def program(self, node: UOp, name: str) -> tuple[LoopProgram, tuple[int, ...]]:
        rows, loops = self.rows, self.loops
        with loops.grid(rows.rows) as row:
            self.tile(row, self.number(0))
        made = loops.program(node, name, 8 * rows.tile * rows.rounds)
        return replace(made, threads=THREADS, registers=FEW_REGISTERS), tuple(self.places)

    def tile(self, row: UOp, tile: UOp) -> None:
        loops, rows = self.loops, self.rows
        pairs = [
            (
                loops.local(f"keys{i}", rows.kind, rows.tile),
                loops.local(f"places{i}", dtypes.int16, rows.tile),
            )
            for i in range(2)
        ]
        self.warps = WarpCounts(loops, THREADS)
        with loops.loop(THREADS, THREADS) as t, loops.loop(rows.steps) as step:
            at = self.inside(t, step)
            loops.store(pairs[0][0], at, self.key(row, at))
            loops.store(pairs[0][1], at, at.cast(dtypes.int16))
        for i in range(rows.rounds):
            self.round = i
            self._round(pairs[i % 2], pairs[(i + 1) % 2])
        self.round = 0
        self._store(row, pairs[rows.rounds % 2])

    def _round(self, old: tuple[UOp, UOp], new: tuple[UOp, UOp]) -> None:
        loops, rows, warps = self.loops, self.rows, self.warps
        self.radix = THREADS
        warps.clear()
        with loops.loop(THREADS, THREADS) as t, loops.loop(rows.steps) as step:
            digit = self.digit(loops.load(old[0], self.inside(t, step)))
            loops.count_up(warps.counts, warps.cell(t, digit))
        warps.add_up()
        with loops.loop(rows.steps) as step, loops.loop(THREADS, THREADS) as t:
            key, index = (loops.load(memory, self.inside(t, step)) for memory in old)
            cell = warps.cell(t, self.digit(key))
            place = loops.count_up(warps.counts, cell).cast(rows.places)
            loops.store(new[0], place, key)
            loops.store(new[1], place, index)

    def _store(self, row: UOp, entries: tuple[UOp, UOp]) -> None:
        loops, rows = self.loops, self.rows
        true = OPS["const"](True, dtypes.bool_, (), None)
        with loops.loop(THREADS, THREADS) as t, loops.loop(rows.steps) as step:
            place = step * THREADS + t
            inside = true if rows.n == rows.tile else place < rows.n
            key, at = (loops.load(memory, place) for memory in entries)
            self.ends.last(self, row, place, key, at.cast(rows.places), inside)


__all__ = ["RowLoops", "WholeRows"]
