"""Rows that scratch holds, sorted digit by digit by a team: one kernel for all rounds.

A warp has a part of the row, and counts of its own. In each round, from the lowest digit on:
    counts[warp, digit] = how often it occurs there
    counts[warp, digit] = where the first of them goes: behind lower digits, and lower warps
    every entry goes to the count of its digit, which then is one more
Then the row is stored as it lies. What entries are: `radix_sort.py`.
"""

from __future__ import annotations

from dataclasses import replace

from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import FEW_REGISTERS, number
from adjoint.kernel.algorithms.radix_sort import WARP, Ends, Rows, TileLoops
from adjoint.ops.tree import GROUP
from adjoint.stages import LoopProgram

_THREADS = 256  # of a team: a digit each
_WARPS = _THREADS // WARP
_BYTES = 100 << 10  # of scratch for entries


class WholeRows(Rows):
    """Rows that are one tile each."""

    __slots__ = ()

    @property
    def steps(self) -> int:
        """Entries of a thread."""
        return -(-self.n // _THREADS)

    @property
    def tile(self) -> int:
        return self.steps * _THREADS

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
        return replace(made, threads=_THREADS, registers=FEW_REGISTERS), tuple(self.places)

    def tile(self, row: UOp, tile: UOp) -> None:
        loops, rows = self.loops, self.rows
        pairs = [
            (
                loops.local(f"keys{i}", rows.kind, rows.tile),
                loops.local(f"places{i}", dtypes.int16, rows.tile),
            )
            for i in range(2)
        ]
        self.counts = loops.local("counts", dtypes.int32, _WARPS * _THREADS)
        self.scratch = [loops.local(f"sums{i}", dtypes.int32, _THREADS) for i in range(3)]
        with loops.loop(_THREADS, _THREADS) as t, loops.loop(rows.steps) as step:
            at = self._at(t, step)
            loops.store(pairs[0][0], at, self.key(row, at))
            loops.store(pairs[0][1], at, at.cast(dtypes.int16))
        for i in range(rows.rounds):
            self.round = i
            self._round(pairs[i % 2], pairs[(i + 1) % 2])
        self.round = 0
        self._store(row, pairs[rows.rounds % 2])

    def _at(self, t: UOp, step: UOp) -> UOp:
        """Entry `step` of a thread: neighbours have neighbours, a warp has a part of the row."""
        return (t // WARP) * (WARP * self.rows.steps) + step * WARP + t % WARP

    def _cell(self, t: UOp, key: UOp) -> UOp:
        """The count of a digit that the warp of a thread has."""
        return (t // WARP) * _THREADS + self.digit(key)

    def _round(self, old: tuple[UOp, UOp], new: tuple[UOp, UOp]) -> None:
        loops, rows = self.loops, self.rows
        self.radix = _THREADS
        with loops.loop(_WARPS * _THREADS, _THREADS) as cell:
            loops.store(self.counts, cell, number(0, dtypes.int32))
        with loops.loop(_THREADS, _THREADS) as t, loops.loop(rows.steps) as step:
            loops.count_up(self.counts, self._cell(t, loops.load(old[0], self._at(t, step))))
        self._add_up()
        with loops.loop(rows.steps) as step, loops.loop(_THREADS, _THREADS) as t:
            key = loops.load(old[0], self._at(t, step))
            index = loops.load(old[1], self._at(t, step))
            place = loops.count_up(self.counts, self._cell(t, key)).cast(rows.places)
            loops.store(new[0], place, key)
            loops.store(new[1], place, index)

    def _add_up(self) -> None:
        """From how often a digit occurs to where its first entry goes."""
        loops, (totals, before, groups) = self.loops, self.scratch
        zero = number(0, dtypes.int32)
        with loops.loop(_THREADS, _THREADS) as digit:
            total = loops.register(zero)
            with loops.loop(_WARPS) as warp:
                here = loops.load(self.counts, warp * _THREADS + digit)
                found = loops.update(total, total + here, warp)
            loops.store(totals, digit, found)
        with loops.loop(GROUP, GROUP) as group:
            total = loops.register(zero)
            with loops.loop(GROUP) as i:
                here = loops.load(totals, group * GROUP + i)
                loops.store(before, group * GROUP + i, total + 0)
                found = loops.update(total, total + here, i)
            loops.store(groups, group, found)
        with loops.loop(_THREADS, _THREADS) as digit:
            total = loops.register(loops.load(before, digit))
            with loops.loop(GROUP) as i:
                here = (i < digit // GROUP).where(loops.load(groups, i), zero)
                base = loops.update(total, total + here, i)
            running = loops.register(base)
            with loops.loop(_WARPS) as warp:
                at = warp * _THREADS + digit
                here = loops.load(self.counts, at)
                loops.store(self.counts, at, running + 0)
                loops.update(running, running + here, warp)

    def _store(self, row: UOp, entries: tuple[UOp, UOp]) -> None:
        loops, rows = self.loops, self.rows
        true = OPS["const"](True, dtypes.bool_, (), None)
        with loops.loop(_THREADS, _THREADS) as t, loops.loop(rows.steps) as step:
            place = step * _THREADS + t
            inside = true if rows.n == rows.tile else place < rows.n
            key, at = (loops.load(memory, place) for memory in entries)
            self.ends.last(self, row, place, key, at.cast(rows.places), inside)


__all__ = ["RowLoops", "WholeRows"]
