"""Transposes by a team of threads: a tile of memory goes through shared memory.

Before: for i, for j: out[i, j] = f(x[j, i]), where one of the two accesses is strided. After:

    for tiles of 64 by 64:
        for i, for j side by side, along x:    tile[j, i] = x[j, i]
        for i, for j side by side, along out:  out[i, j] = f(tile[j, i])

A line of shared memory is one element longer than a tile, so lines begin in different banks.
"""

from __future__ import annotations

from math import prod

from adjoint.ir.affine import Affine
from adjoint.ir.dtype import DType
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.kernel.index_maps import Gate
from adjoint.kernel.loop_stages import LoopStages
from adjoint.kernel.loop_strategy import Choice
from adjoint.kernel.team_kernel import TeamKernel
from adjoint.stages import LoopProgram
from adjoint.target import Target

_THREADS = 256
_SIDES = {8: 32}  # of a tile, by the bytes of an element
_SIDE = 64


def is_for_team_tiles(frame: LoopStages, choice: Choice, target: Target) -> bool:
    """Whether tiles go through shared memory: reads and writes are strided against each other."""
    return target.team is not None and choice.tile is not None and len(frame.stages) == 1


class TeamTiles(TeamKernel):
    """One kernel being written."""

    threads = _THREADS

    def __init__(self, frame: LoopStages, choice: Choice, target: Target, index_dtype: DType):
        super().__init__(frame, choice, index_dtype)
        assert target.team is not None
        assert choice.tile is not None
        counters = self.counters.stages[0].vars
        self.across, self.along = choice.tile, choice.last[0]
        self.sizes = counters[self.across].size, counters[self.along].size
        widest = max(n.dtype.itemsize for n in (*frame.group.inputs, frame.group.outputs[0][0]))
        self.side = _SIDES.get(widest, _SIDE)
        self.width = _THREADS * target.team.lanes
        self.tiles: list[UOp] | None = None  # of scratch, once they are filled
        self.taken: list[UOp] = []  # what was loaded across
        self.inner: tuple[Affine, Affine] | None = None  # where in the tile
        self.starts: list[Affine] = []

    def program(self, name: str) -> tuple[LoopProgram, UOp | None]:
        """The loops over tiles; inside, first in the order of reads, then in the order of
        writes.
        """
        counters, side = self.counters.stages[0], self.side
        lengths = [v.size for v in counters.vars]
        for place, size in zip((self.across, self.along), self.sizes, strict=True):
            lengths[place] = -(-size // side)
        with self.loops.grid(prod(lengths)) as position:
            left = self._counter(prod(lengths), position)
            self.starts = []
            for size in reversed(lengths):
                left, at = left // size, left % size
                self.starts.insert(0, at)
            self._read_tiles()
            self._write_results()
        return self.finished(name, side * side)

    def _go(self, across: Affine, along: Affine) -> Gate:
        """To a place in the tile, which may be beyond the end of a loop."""
        each, gate = list(self.starts), []
        pairs = ((self.across, across, self.sizes[0]), (self.along, along, self.sizes[1]))
        for place, inside, size in pairs:
            each[place] = each[place] * self.side + inside
            if size % self.side:
                gate.append(("in", each[place], size))
        self.counters.stages[0].go_each(each)
        self.inner = across, along
        return tuple(gate)

    def _split(self, place: UOp) -> tuple[Affine, Affine]:
        """The line of a tile, and the place in it; as numbers of their own, which are not put
        together again."""
        by = self._number(self.side)
        line, inside = (UOp(OPS[op], (place, by)) for op in ("floordiv", "mod"))
        return self._counter(self.side, line), self._counter(self.side, inside)

    def _read_tiles(self) -> None:
        with self.loops.loop(self.side**2, min(self.width, self.side**2)) as place:
            gate = self._go(*reversed(self._split(place)))
            for node, index in self.frame.stages[0].stores:
                self.value(node, self.counters.at(index, node, 0), gate)
            cell = self._cell()
            tiles = []
            for number, value in enumerate(self.taken):
                size = self.side * (self.side + 1)
                tiles.append(self.loops.local(f"tile{number}", value.dtype, size))
                self.loops.store(tiles[-1], cell, value)
        self.tiles = tiles

    def _write_results(self) -> None:
        with self.loops.loop(self.side**2, min(self.width, self.side**2)) as place:
            gate = self._go(*self._split(place))
            for node, index in self.frame.stages[0].stores:
                self._store(node, self.counters.at(index, node, 0), gate)

    def _cell(self) -> UOp:
        assert self.inner is not None
        across, along = self.inner
        return self.index(along * (self.side + 1) + across)

    def load(self, node: UOp, place: Affine, gate: Gate) -> UOp:
        """An element; one that is strided against the writes comes from a tile."""
        if not self._lies_across(place):
            return super().load(node, place, gate)
        if self.tiles is None:
            self.taken.append(super().load(node, place, gate))
            return self.taken[-1]
        found = self.tiles[len(self.taken) - len(self.tiles)]
        self.taken.append(found)
        return self.loops.load(found, self._cell())

    def _lies_across(self, place: Affine) -> bool:
        assert self.inner is not None
        steps = [_step(place, inside) for inside in self.inner]
        return steps[0] == 1 and steps[1] not in (None, 0, 1)


def _step(place: Affine, inside: Affine) -> int | None:
    """How far an index moves with what counts inside a tile."""
    (term,) = inside.terms
    return place.factor(term[0])
