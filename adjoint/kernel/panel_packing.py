"""The panel of a tiled product: some columns of the right operand, packed for each k.

Before: rhs[k, first + j], through the views and ops below it. After: panel[k, j], whose lines are
as long as the tile is wide. What may live here: where operands are read, the loops along k, and the
ways of packing: column by column, by squares in registers, run by run of a picture. What may not:
which tile there is (`tile_choice.py`), and the sums (`tiles.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

from adjoint.errors import InternalError
from adjoint.ir.affine import ZERO, Affine, IndexVar, Loaded, var
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import divides, highest, is_one, lowest, varies
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import number
from adjoint.kernel.index_maps import At, Gate, reduced_operands, within
from adjoint.kernel.loop_strategy import Probe
from adjoint.kernel.margins import Block, Margins, Step
from adjoint.stages import Group
from adjoint.target import Tile

_FEW_RUNS = 4  # lines of a picture that are read side by side
_FEW_TAPS = 9  # of a window, that are written out
_FAR_BYTES = 1 << 20  # of an operand that lies beyond the caches of a core
_LINE_BYTES = 64  # of a cache line
_FEWEST_LINES = (
    4  # between two packed lines, for which they are prefetched: processors look no further
)
_MIN = OPS["minimum"]

Run = tuple[Affine, Affine, Gate]  # of places: their line, the place in it, and where there is one


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tiles:
    """The work of a piece of the grid: tiles of rows from `first` on, a panel of columns."""

    panel: UOp | None  # scratch: a block of columns; None: they are read where they lie
    totals: UOp  # scratch: the sums so far
    panel_at: Affine
    first: Affine
    share: int
    parts: int
    listed: UOp | None = None  # how many products of a block count, where not all do

    @property
    def packed(self) -> UOp:
        """The panel, for kernels that pack one."""
        assert self.panel is not None
        return self.panel


class PanelPacking(Margins):
    """A kernel being written that packs panels of the right operand."""

    tile: Tile
    lanes: int  # columns of a panel
    batch: int
    columns: int
    length: int  # how many k there are
    longest: int  # and at most, where sizes vary

    def __init__(self, group: Group):
        super().__init__(group)
        self._runs: dict[int, int | None] = {}  # by operand
        self._lines_ahead: tuple[int, int] | None = None  # of what is packed

    # ---- where operands are read

    def _operand(self, which: int, gate: Gate = ()) -> UOp:
        """An element of an operand at the present k and row or column."""
        return self.value(self.node.src[which], self._places()[which], gate)

    def _places(self) -> list[At]:
        """Where the operands are read."""
        return self._read(self._place(self.at))

    def _read(self, at: At) -> list[At]:
        places, gate = reduced_operands(self.node, at, self._place(self.summed))
        if gate:
            raise InternalError(f"{self.node}: a product reads no element under a condition")
        return places

    def _beside(self, line: Affine, lane: UOp) -> UOp:
        """A place in a line of as many numbers as there are lanes."""
        return UOp(OPS["add"], (self.index(line * self.lanes), lane))

    def _known(self, place: Affine, size: int) -> Affine:
        """A place that is inside of an axis wherever it is used."""
        return var(Loaded(self.index(place), size))

    def _loops_of(self, axis: Sequence[int]) -> list[int]:
        return [a for a in axis if not is_one(self.group.sizes[a])]

    def _lanes(self, at_panel: Affine) -> UOp | None:
        """How many columns the panel has, where the last has fewer."""
        if divides(self.lanes, self.columns):
            return None
        left = self.index(at_panel * -self.lanes + self.columns)
        return UOp(_MIN, (left, number(self.lanes)))

    # ---- loops along k

    @contextmanager
    def _along(self, block: Block, run: int | None) -> Iterator[Step]:
        """The loops along k: one, or one over runs and one along a run (see `_run`)."""
        loops, (start, size) = self.loops, block
        atoms = [a for axis in self.summed for a in axis]
        if run is None:
            with loops.loop(size) as turn:
                k = start + self._counter(size, turn)
                self._go(atoms, k)
                yield k, (turn,)
            return
        length = self._length(atoms[run:])
        most = (highest(size) - 2) // max(lowest(length), 1) + 2  # runs that a block can touch
        with loops.loop(most) as turn:
            which = self.index(start // length + self._counter(most, turn))
            begin = UOp(OPS["mul"], (which, number(length)))
            first = UOp(OPS["maximum"], (begin, self.index(start)))
            last = UOp(_MIN, (UOp(OPS["add"], (begin, number(length))), self.index(start + size)))
            skipped = UOp(OPS["sub"], (first, begin))
            with loops.loop(min(highest(length), highest(size)), count=last - first) as step:
                inside = var(Loaded(UOp(OPS["add"], (skipped, step)), length))
                self._go(atoms[:run], var(Loaded(which, self._length(atoms[:run]))))
                self._go(atoms[run:], inside)
                yield var(Loaded(begin, self.length)) + inside, (turn, step)

    def _run(self, which: int) -> int | None:
        """From which of the summed loops on the numbers of an operand are in runs, at one distance
        from the next; None if all of them are, or there are no such runs.
        """
        if which not in self._runs:
            before = dict(self.atoms)
            self._runs[which] = self._find_run(which)
            self.atoms = before
        return self._runs[which]

    def _find_run(self, which: int) -> int | None:
        atoms = [a for axis in self.summed for a in axis]
        for axis in self.at[1:]:
            self._go(axis, var(IndexVar(self._length(axis))))
        for first in range(len(atoms)):
            inner = IndexVar(self._length(atoms[first:]))
            self._go(atoms[:first], var(IndexVar(self._length(atoms[:first]))))
            self._go(atoms[first:], var(inner))
            probe = Probe(self.group.inputs)
            probe.value(self.node.src[which], self._places()[which])
            if all(x.factor(inner) is not None for x in (*probe.memory, *probe.others)):
                return first or None
        return None

    @contextmanager
    def _where_positive(self, *numbers: Affine) -> Iterator[None]:
        """What follows only where all of these numbers are above 0."""
        open_ones = [self.index(x) for x in numbers if lowest(x.bounds()[0]) < 1]
        if not open_ones:
            yield
            return
        count = reduce(lambda a, b: UOp(_MIN, (a, b)), [*open_ones, number(1)])
        with self.loops.loop(1, count=count):
            yield

    # ---- packing

    def _pack(self, tiles: Tiles, block: Block | None) -> None:
        """The columns of the panel, next to one another for each k of a block, or for all."""
        lanes, first = self.lanes, tiles.panel_at * self.lanes
        if len(self._loops_of(self.at[2])) > 1:
            self._pack_runs(tiles, block)
            return
        start, size = (ZERO, self.length) if block is None else block
        summed = [a for axis in self.summed for a in axis]

        def read(column: Affine, k: Affine) -> UOp:
            self._go(self.at[2], first + column)
            self._go(summed, start + k)
            return self._operand(1)

        if not varies(size, self.columns) and self.lie_apart(read, lanes, size):
            with self._where_positive(first * -1 + (self.columns - lanes + 1)):
                self.pack_squares(read, tiles.packed, lanes, size)
            if self.columns % lanes == 0:
                return
            with self._where_positive(first + (lanes - self.columns)):
                self._pack_columns(tiles, block)
            return
        self._pack_columns(tiles, block)

    def _pack_columns(self, tiles: Tiles, block: Block | None) -> None:
        loops, lanes, first = self.loops, self.lanes, tiles.panel_at * self.lanes
        self._lines_ahead = self._find_lines_ahead()
        with loops.loop(lanes, lanes, self._lanes(tiles.panel_at)) as lane:
            self._go(self.at[2], first + self._counter(lanes, lane))
            self._pack_lines(tiles, block, lane)

    def _find_lines_ahead(self) -> tuple[int, int] | None:
        """The distance of the lines of the right operand that are prefetched while a line is
        packed, and how many columns a cache line has; None if lines are not at one distance, far
        apart.
        """
        k, column = IndexVar(self.longest), IndexVar(self.columns)
        probe, size = self._probe_right(k, column), 0
        if self.tile.lines_ahead and len(probe.memory) == 1 and not probe.others:
            (size,) = probe.bytes.values()
        step, beside = (probe.memory[0].factor(x) if size else None for x in (k, column))
        far = size * self.longest * self.columns * self.batch >= _FAR_BYTES
        if not step or beside != 1 or not far or step * size < _LINE_BYTES * _FEWEST_LINES:
            return None
        return step * self.tile.lines_ahead, _LINE_BYTES // size

    def _probe_right(self, k: IndexVar, column: IndexVar) -> Probe:
        """Where the right operand is read."""
        before, probe = dict(self.atoms), Probe(self.group.inputs)
        if not varies(*self.group.sizes):
            self._go(self.at[2], var(column))
            self._go([a for axis in self.summed for a in axis], var(k))
            probe.value(self.node.src[1], self._places()[1])
        self.atoms = before
        return probe

    def _ask_for_lines(self, tiles: Tiles) -> None:
        """Prefetches lines that are packed soon."""
        if self._lines_ahead is None:
            return
        before, (ahead, columns) = dict(self.atoms), self._lines_ahead
        self._asked = Affine(ahead)
        for column in range(0, self.lanes, columns):
            self._go(self.at[2], tiles.panel_at * self.lanes + column)
            self._operand(1)
        self.atoms, self._asked = before, None

    def _pack_runs(self, tiles: Tiles, block: Block | None) -> None:
        """The same if columns are places of a picture: run by run along its last axis, so that
        adjacent numbers are read together.
        """
        loops, lanes, first = self.loops, self.lanes, tiles.panel_at * self.lanes
        *outer, last = self._loops_of(self.at[2])
        width, height = self.group.sizes[last], self._length(outer)
        most = (lanes - 2) // max(lowest(width), 1) + 2  # runs that so many columns can touch
        if not varies(width, height) and (width % lanes == 0 or most <= _FEW_RUNS):
            self._pack_joined(tiles, block, most if width % lanes else 1)
            return
        touched = (first + (lanes - 1)) // width + first // width * -1 + 1
        with loops.loop(most, count=self.index(touched)) as turn:
            row = self.index(first // width + self._counter(most, turn))
            begin = UOp(OPS["mul"], (row, number(width)))
            end = UOp(OPS["add"], (begin, number(width)))
            from_ = UOp(OPS["maximum"], (begin, self.index(first)))
            to = UOp(_MIN, (end, self.index(first + lanes)))
            to = UOp(_MIN, (to, number(self.columns)))
            count = UOp(OPS["sub"], (to, from_))
            wide = min(lanes, 1 << (highest(width) - 1).bit_length())
            with loops.loop(wide, wide, count) as lane:
                self._go(outer, var(Loaded(row, height)))
                column = UOp(OPS["add"], (UOp(OPS["sub"], (from_, begin)), lane))
                self.atoms[last] = var(Loaded(column, width))
                place = UOp(OPS["sub"], (from_, self.index(first)))
                self._pack_lines(tiles, block, UOp(OPS["add"], (place, lane)))

    def _pack_joined(self, tiles: Tiles, block: Block | None, most: int) -> None:
        """The same of few runs, side by side in one line: each is read where its lanes are."""
        loops, lanes, first = self.loops, self.lanes, tiles.panel_at * self.lanes
        *outer, last = self._loops_of(self.at[2])
        width, height = self.group.sizes[last], self._length(outer)
        row = var(Loaded(self.index(first // width), height))
        with loops.loop(lanes, lanes) as lane:
            begun = UOp(OPS["add"], (self.index(first % width), lane))
            along = var(Loaded(begun, width + lanes - 1 if most > 1 else width))
            runs = []
            for turn in range(most):
                column, line = along + -turn * width, row + turn
                gate = (*within(column, width), *within(line, height))
                runs.append((self._known(line, height), self._known(column, width), gate))
            self._pack_lines(tiles, block, lane, lambda: self._joined(outer, last, runs))

    def _joined(self, outer: Sequence[int], last: int, runs: Sequence[Run]) -> UOp:
        total: UOp | None = None
        for line, column, gate in runs:
            self._go(outer, line)
            self.atoms[last] = column
            value = self._operand(1, gate)
            total = value if total is None else self.either(gate, value, total)
        assert total is not None
        return total

    def _pack_lines(
        self, tiles: Tiles, block: Block | None, at: UOp, read: Callable[[], UOp] | None = None
    ) -> None:
        read = read or (lambda: self._operand(1))
        if block is None:
            self._pack_nested(tiles, [a for axis in self.summed for a in axis], ZERO, at, read)
            return
        with self._along(block, self._run(1)) as (k, _):
            self._ask_for_lines(tiles)
            place = self._beside(k + block[0] * -1, at)
            self.loops.store(tiles.packed, place, read())

    def _pack_nested(
        self, tiles: Tiles, atoms: Sequence[int], k: Affine, at: UOp, read: Callable[[], UOp]
    ) -> None:
        """A loop for each axis that is summed, the last innermost: no index is divided. The taps of
        a small window are written out: what says whether they exist is found before the loops."""
        if not atoms:
            self._ask_for_lines(tiles)
            self.loops.store(tiles.packed, self._beside(k, at), read())
            return
        (first, *rest), size = atoms, self.group.sizes[atoms[0]]
        if not varies(*self.group.sizes) and self._length(atoms) <= _FEW_TAPS:
            for tap in range(size):
                self.atoms[first] = Affine(tap)
                self._pack_nested(tiles, rest, k * size + tap, at, read)
            return
        with self.loops.loop(size) as turn:
            self.atoms[first] = self._counter(size, turn)
            self._pack_nested(tiles, rest, k * size + self.atoms[first], at, read)
