"""A product of matrices as tiles whose sums stay in registers.

Before: out[m, n] = relu(sum over k of lhs[m, k] * rhs[k, n] + bias[n]).
After, for every panel of W columns and every share of the rows (the grid):
    for every block of k:
        panel[k, j] = rhs[k, first + j], through whatever views and ops are below it
        for every R rows: for k: sum[i, j] = fma(lhs[row + i, k], panel[k, j], sum[i, j])
        the sums added to those of the blocks before
    the rest of the group on each total, stored
Products are added in the order of k, one fused multiply-add after the other, in blocks of fixed
length, and the blocks in their order: which tiles there are changes no bit. Sizes may vary: loops
run as often as the sizes of a launch say, and memory is as large as the largest size asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from math import prod

from adjoint.errors import InternalError
from adjoint.ir.affine import ZERO, Affine, IndexVar, Loaded, flattened, unflattened, var
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import divides, highest, is_one, lowest, same, varies
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import number
from adjoint.kernel.decompose import decompose_node
from adjoint.kernel.in_place import written_over
from adjoint.kernel.index_maps import At, Gate, reduced_operands, within
from adjoint.kernel.loop_strategy import Probe
from adjoint.kernel.margins import Block, Margins, Step
from adjoint.kernel.sharing import Work
from adjoint.ops.logic import question_of, where
from adjoint.ops.mathematics.nodes import (
    apply,
    bits,
    compute_dtype,
    fma,
    masked,
    shifted_left,
    shifted_right,
)
from adjoint.ops.words import contract_words, numbers_in
from adjoint.stages import Group, LoopProgram
from adjoint.target import Tile

BLOCK = 512  # products that are added one after another; then blocks are
_FEWEST_PIECES = 16  # of the grid, so that threads share the work evenly, as long as each has
_FEWEST_APART = 2  # of those that write lines of their own
_FEWEST_TILES = 3  # of rows, for which it packs a panel
PANEL_BYTES = 1 << 19  # of a panel that is packed for all blocks at once, on its thread's stack
_TOTAL_BYTES = 9 << 14  # of the sums that a piece of the grid has at once, there too
_FEW_RUNS = 4  # of a picture's lines, that are read side by side
_FEW_TAPS = 9  # of a window, that are written out
_CACHE_WAYS = 8  # lines that the nearest cache holds of those that lie a multiple of
_CACHE_PLACES = 4096  # bytes apart
_LONG_ROWS = 0.9  # of the time of tiles of short ones, where processors have such a preference
_FAR_BYTES = 1 << 20  # of an operand that lies beyond the caches of a core
_LINE_BYTES = 64
_FEWEST_LINES = 4  # of the cache, to the next one that is packed: processors look no further


Run = tuple[Affine, Affine, Gate]  # of places: their line, the place in it, and where there is one
Steps = AbstractContextManager[Step]
_MIN = OPS["minimum"]


class TileLowering(Margins):
    """One kernel being written."""

    sums = 1  # that an element has
    together = 1  # panels that a piece of the grid does block by block
    fewest = _FEWEST_TILES
    sooner = True  # a tile is finished when its last block is added up, not when all tiles are

    def __init__(self, group: Group, tile: Tile, matrices: Tile | None = None):
        super().__init__(group)
        self.node, self.at, self.summed = group.reduced[0]
        self.kind = compute_dtype(self.node.dtype)
        self.total: UOp | None = None  # of the element that is being finished
        self._runs: dict[int, int | None] = {}  # by operand
        self._lines_ahead: tuple[int, int] | None = None  # of what is packed
        self.batch, self.rows, self.columns = map(self._length, self.at)
        self.has_margin = self.sooner and self.find_margin()
        fits = matrices is not None and self._fills(matrices) and self._rows_are_lines()
        self.tile = matrices if matrices is not None and fits else self._spread(tile)
        self.lanes = self.tile.lanes(self.kind.itemsize)
        self.in_order = False  # words are added up as float32 are
        self.dots = True  # by the instruction for words, where that is right
        self.numbers, self.block = numbers_in(self.node), BLOCK
        self._look_at_words()
        self.length = prod(map(self._length, self.summed))
        self.longest = highest(self.length)
        self.early = self.sooner and not varies(*group.sizes)
        self.once = (
            self.early and self.longest <= self.block
        )  # a tile is finished with its first block
        self.whole = self.longest * self.lanes * self.kind.itemsize <= PANEL_BYTES

    def _spread(self, tile: Tile) -> Tile:
        """A tile of fewer and longer rows, where lines of all rows would drive one another out of
        the nearest cache, and no more columns are made up at the end; else a narrow one, where
        panels would begin and end inside of lines of a picture."""
        lower = tile.turned()
        lanes, longer = (t.lanes(self.kind.itemsize) for t in (tile, lower))
        if tile.rows <= _CACHE_WAYS or varies(*self.group.sizes):
            return tile
        if tile.narrow_rows and self.columns <= tile.narrow().lanes(self.kind.itemsize):
            return tile.narrow()
        turns = self.node.op is contract_words and self.node.arg.exact
        collide, line = turns or self._rows_collide(), self._loops_of(self.at[2])
        if tile.narrow_rows and len(line) > 1 and self.group.sizes[line[-1]] % lanes:
            return tile if collide else tile.narrow()
        short, long = (-(-self.columns // n) * n for n in (lanes, longer))
        if self.has_margin and self.group.sizes[line[-1]] % longer:
            return tile  # a panel has one place
        if tile.long_rows and len(line) == 1 and long * _LONG_ROWS <= short:
            return lower
        return lower if long == short and collide else tile

    def _fills(self, matrices: Tile) -> bool:
        """Whether the registers of a matrix unit, half as high as a tile, are always full."""
        if varies(*self.group.sizes):
            return False
        side, length = matrices.rows // 2, prod(map(self._length, self.summed))
        return self.rows % side == 0 and length % side == 0

    def _rows_are_lines(self) -> bool:
        """Whether the numbers of a row lie side by side, and rows at one distance: a matrix unit
        loads several at once."""
        if self._run(0) is not None:
            return False
        before, row = dict(self.atoms), IndexVar(self.rows)
        summed = [a for axis in self.summed for a in axis]
        k = IndexVar(self._length(summed))
        self._go(self.at[1], var(row))
        self._go(summed, var(k))
        probe = Probe(self.group.inputs)
        probe.value(self.node.src[0], self._places()[0])
        self.atoms = before
        steps = [(place.factor(row), place.factor(k)) for place in probe.memory]
        return len(steps) == 1 and steps[0][0] is not None and steps[0][1] == 1

    def _rows_collide(self) -> bool:
        """Whether the rows of the left operand lie where a cache has the same places for them."""
        row = IndexVar(self.rows)
        self._go(self.at[1], var(row))
        probe = Probe(self.group.inputs)
        probe.value(self.node.src[0], self._places()[0])
        self._go(self.at[1], ZERO)
        steps = [(place.factor(row), size) for place, size in probe.bytes.items()]
        return any(step and step * size % _CACHE_PLACES == 0 for step, size in steps)

    # ---- the whole

    def program(self, name: str) -> LoopProgram:
        lanes, loops = self.lanes, self.loops
        panels, (share, parts) = -(-self.columns // lanes) // self.together, self._shares()
        panel = loops.local(
            "panel", compute_dtype(self.node.src[1].dtype), self._panel_lines() * lanes
        )
        held = 1 if self.once else share
        lines = held * self.together * self.tile.rows
        totals = loops.local("totals", self.kind, lines * lanes)
        self.declare_lists()
        with loops.grid(self.batch * panels * parts) as position:
            piece = self._counter(self.batch * panels * parts, position)
            batch, at_panel, part = self._piece(piece, panels, parts)
            self._go(self.at[0], batch)
            self.fill_lists()
            tiles = Tiles(panel, totals, at_panel, part * share, share, parts)
            self._multiply(tiles)
            if not self.early:
                self._finish(tiles, ZERO, tiles.share)
        length = self.length * self.numbers
        work = -(-2 * length * self.rows * self.columns // (panels * parts))
        program = loops.program(self.group.outputs[0][0], name, work)
        return replace(program, in_place=written_over(program.body))

    def _piece(self, piece: Affine, panels: int, parts: int) -> tuple[Affine, ...]:
        """The batch, the panel and the part of its rows that a piece of the grid is. What panels of
        one place or tap each write lies between what the others do: these follow one another, so
        that two threads do not write into the same lines of a cache."""
        beside = self._beside_places()
        if not beside:
            return unflattened(piece, (self.batch, panels, parts))
        sizes = (self.batch, parts, beside, panels // beside)
        batch, part, inner, place = unflattened(piece, sizes)
        return batch, place * beside + inner, part

    def _beside_places(self) -> int:
        """How many panels have one and the same place or tap each, 0 if none has."""
        beside = self.group.sizes[self._loops_of(self.at[2])[-1]] if self.has_margin else 0
        return 0 if beside % self.lanes else beside // self.lanes

    def declare_lists(self) -> None:
        """Scratch for lists that a piece of the grid makes."""
        if self.has_margin:
            self.listed = self.loops.local("listed", dtypes.int64, BLOCK)

    def fill_lists(self) -> None:
        """What it lists once, before all products."""

    def _panel_lines(self) -> int:
        """For how many k a panel is packed at a time."""
        return self.longest if self.whole else self.block

    def _multiply(self, tiles: Tiles) -> None:
        """All sums of the piece."""
        if self.whole:
            self._pack(tiles, None)
        if self.longest > self.block:
            self._clear(tiles)
        self._add_blocks(tiles)

    def _shares(self) -> tuple[int, int]:
        """Tiles of rows in a piece of the grid, and pieces beside one another in a panel."""
        tiles = -(-self.rows // self.tile.rows)
        panels = self.batch * -(-self.columns // self.lanes) // self.together
        most = self._most_tiles() // self.together
        if beside := self._beside_places():
            most = min(most, -(-tiles * beside // _FEWEST_APART))
        if self.tile.sharers and not varies(tiles, panels, self.length):
            share = -(-tiles // self._work().parts(self.together, most))
            return share, -(-tiles // share)
        pieces = highest(tiles) * highest(panels) // _FEWEST_PIECES
        share = min(most, max(self.fewest, pieces), highest(tiles))
        parts = -(-tiles // share)
        return (share if varies(parts) else -(-tiles // parts)), parts

    def _most_tiles(self) -> int:
        """Of which a piece of the grid can hold the sums."""
        return _TOTAL_BYTES // (self.tile.rows * self.sums * self.lanes * self.kind.itemsize)

    def _work(self) -> Work:
        rows, taps = self.tile.rows, self._taps()
        panels = self.batch * -(-self.columns // self.lanes) // taps
        operations = 2 * self.length * self.numbers * rows * self.lanes
        return Work(-(-self.rows // rows), panels, taps, operations, self.tile.sharers)

    def _taps(self) -> int:
        """Panels of the same columns, that a piece of the grid may do block by block."""
        return 1

    def _lanes(self, at_panel: Affine) -> UOp | None:
        """How many columns the panel has, where the last has fewer."""
        if divides(self.lanes, self.columns):
            return None
        left = self.index(at_panel * -self.lanes + self.columns)
        return UOp(_MIN, (left, number(self.lanes)))

    # ---- blocks of k

    def _clear(self, tiles: Tiles) -> None:
        lanes = self.lanes
        rows = tiles.share * self.together * self.tile.rows
        with self.loops.loop(lanes, lanes) as lane, self.loops.loop(rows) as row:
            place = self._beside(self._counter(rows, row), lane)
            self.loops.store(tiles.totals, place, self._zero(-0.0))

    def _zero(self, of_floats: float) -> UOp:
        return number(0 if self.kind.is_int else of_floats, self.kind)

    def _add_blocks(self, tiles: Tiles) -> None:
        size = self.block
        if self.longest <= size:
            self._add_block(tiles, ZERO, self.length, Affine(1))
            return
        whole, left = divmod(self.length, size)
        last = Affine(1 if same(left, 0) else 0)
        if is_one(whole):
            self._add_block(tiles, ZERO, size, last)
        else:
            with self.loops.loop(whole) as turn:
                block = self._counter(whole, turn)
                done = block + (1 - whole) + 1 if same(left, 0) else ZERO
                self._add_block(tiles, block * size, size, done)
        if not same(left, 0):
            with self._where_positive(Affine(left)):
                self._add_block(tiles, Affine(whole * size), left, Affine(1))

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

    def _add_block(self, tiles: Tiles, start: Affine, size: int, last: Affine) -> None:
        """The sums over a block; if it is the last, which `last` above 0 says, what becomes of
        them while the next tile is computed."""
        if not self.whole:
            self._pack(tiles, (start, size))
        listed = self.list_products(tiles.panel_at * self.lanes, (start, size))
        self._add_tiles(replace(tiles, listed=listed), start, size, last)

    def _add_tiles(self, tiles: Tiles, start: Affine, size: int, last: Affine) -> None:
        """First the tiles that have all their rows: what is read for one is there, also where it
        is read before the loop."""
        whole, left = divmod(self.rows, self.tile.rows)
        if highest(whole):
            with self._turns(tiles, whole) as turn:
                self._add_tile(tiles, turn, self.tile.rows, start, size)
                self._finish_early(tiles, turn, last)
        if not same(left, 0):
            place = Affine(whole) + tiles.first * -1
            with self._where_positive(Affine(left), place * -1 + tiles.share):  # it is in the share
                self._add_tile(tiles, place, left, start, size)
                self._finish_early(tiles, place, last)

    def _finish_early(self, tiles: Tiles, turn: Affine, last: Affine) -> None:
        if self.early and last != ZERO:
            with self._where_positive(last):
                self._finish(tiles, turn, 1)

    @contextmanager
    def _turns(self, tiles: Tiles, whole: int) -> Iterator[Affine]:
        """The tiles of a share that have all their rows."""
        count = None
        if not same(tiles.share * tiles.parts, whole):  # the last share has fewer
            left = self.index(tiles.first * -1 + whole)
            count = UOp(_MIN, (left, number(tiles.share)))
        with self.loops.loop(tiles.share, count=count) as turn:
            yield self._counter(tiles.share, turn)

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
                self.pack_squares(read, tiles.panel, lanes, size)
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
        """How far beyond a line of the right operand those lie that are asked for when it is
        packed, and how many columns a line of the cache has; None if lines do not lie at one
        distance, far apart."""
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
        """Memory is asked for lines that are packed soon."""
        if self._lines_ahead is None:
            return
        before, (ahead, columns) = dict(self.atoms), self._lines_ahead
        self._asked = Affine(ahead)
        for column in range(0, self.lanes, columns):
            self._go(self.at[2], tiles.panel_at * self.lanes + column)
            self._operand(1)
        self.atoms, self._asked = before, None

    def _pack_runs(self, tiles: Tiles, block: Block | None) -> None:
        """The same where columns are places of a picture: run by run along its last axis, so that
        numbers that lie side by side are read side by side."""
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

    def _known(self, place: Affine, size: int) -> Affine:
        """A place that is inside of an axis wherever it is used."""
        return var(Loaded(self.index(place), size))

    def _joined(self, outer: Sequence[int], last: int, runs: Sequence[Run]) -> UOp:
        total: UOp | None = None
        for line, column, gate in runs:
            self._go(outer, line)
            self.atoms[last] = column
            value = self._operand(1, gate)
            total = value if total is None else self.either(gate, value, total)
        assert total is not None
        return total

    def _loops_of(self, axis: Sequence[int]) -> list[int]:
        return [a for a in axis if not is_one(self.group.sizes[a])]

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
            self.loops.store(tiles.panel, place, read())

    def _pack_nested(
        self, tiles: Tiles, atoms: Sequence[int], k: Affine, at: UOp, read: Callable[[], UOp]
    ) -> None:
        """A loop for each axis that is summed, the last innermost: no index is divided. The taps of
        a small window are written out: what says whether they exist is found before the loops."""
        if not atoms:
            self._ask_for_lines(tiles)
            self.loops.store(tiles.panel, self._beside(k, at), read())
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

    def _beside(self, line: Affine, lane: UOp) -> UOp:
        """A place in a line of as many numbers as there are lanes."""
        return UOp(OPS["add"], (self.index(line * self.lanes), lane))

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

    def _look_at_words(self) -> None:
        """Whether the product that is added up is one of words in the order of float32: its blocks
        are those of the numbers, not of the words."""
        self.in_order = self.node.op is contract_words and self.node.arg.exact
        self.block = BLOCK // self.numbers if self.in_order else BLOCK

    def _ways(self) -> Iterator[None]:
        """The ways in which a tile may be added up, each where its question says so."""
        asked = question_of(self.node.src[0]) if self.in_order else None
        if asked is None:
            yield
            return
        safe = self.value(asked, (ZERO,) * len(asked.shape))
        for self.dots in (True, False):
            counts = (number(int(self.dots)), number(int(not self.dots)))
            with self.loops.loop(1, count=UOp(OPS["where"], (safe, *counts))):
                yield

    def _add_tile(self, tiles: Tiles, turn: Affine, rows: int, start: Affine, size: int) -> None:
        """The sums of some rows over a block, added to what is there."""
        for _ in self._ways():
            self._add_tile_so(tiles, turn, rows, start, size)

    def _add_tile_so(self, tiles: Tiles, turn: Affine, rows: int, start: Affine, size: int) -> None:
        loops, lanes = self.loops, self.lanes
        at = self._rows((tiles.first + turn) * self.tile.rows, rows)
        block = (start, size)
        with loops.loop(lanes, lanes) as lane:
            steps = self._steps(block, tiles.listed)
            for i, total in enumerate(self._sums(tiles.panel, at, lane, block, steps)):
                place = self._beside(self._held(turn) + i, lane)
                if self.longest > self.block:
                    total = UOp(OPS["add"], (loops.load(tiles.totals, place), total))
                loops.store(tiles.totals, place, total)

    def _steps(self, block: Block, listed: UOp | None) -> Steps:
        """The loops along the products of a block."""
        return (
            self._along(block, self._run(0)) if listed is None else self.along_listed(listed, block)
        )

    def _rows(self, first: Affine, rows: int) -> list[Affine]:
        """Where the rows of a tile are. If their number varies there are as many as a tile can
        have: those beyond the last are the last once more, and are not stored."""
        if not varies(rows):
            return [first + i for i in range(rows)]
        last, most = self.index(Affine(self.rows - 1)), min(self.tile.rows, highest(self.rows))
        places = [UOp(_MIN, (self.index(first + i), last)) for i in range(most)]
        return [var(Loaded(place, self.rows)) for place in places]

    def _sums(
        self, panel: UOp, rows: list[Affine], lane: UOp, block: Block, steps: Steps
    ) -> list[UOp]:
        loops, start = self.loops, block[0]
        sums = [loops.register(self._zero(0.0)) for _ in rows]
        found = []
        with steps as (k, turns):
            right = self._right(panel, k if self.whole else k + start * -1, lane)
            for i, (row, total) in enumerate(zip(rows, sums, strict=True)):
                self._go(self.at[1], row)
                left = self._left(i, k + start * -1)
                found.append(loops.update(total, self._added(left, right, total), *turns))
        return found

    def _right(self, panel: UOp, line: Affine, lane: UOp) -> UOp:
        """The numbers of the columns for the present k, which is a line of the panel."""
        return self.loops.load(panel, self._beside(line, lane))

    def _left(self, number_of: int, line: Affine) -> UOp:
        """The number of the present row, which is one of the tile, for the present k."""
        return self._operand(0)

    def _added(self, left: UOp, right: UOp, total: UOp) -> UOp:
        """A sum with one more product, or with those of a word."""
        if self.node.op is not contract_words:
            return multiply_add(self.tile, left, right, total)
        if self.in_order and not self.dots:
            total = fma(_lower_number(left), _upper_number(right), total)
            return fma(_upper_number(left), _lower_number(right), total)
        left = _turned(left) if self.in_order else left
        a, b = (right, left) if self.node.arg.unsigned else (left, right)
        made: UOp = OPS["dot_words"](a, b, total, self.node.arg.dtype)
        return made

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
        """From which of the summed loops on the numbers of an operand lie in runs, at one distance
        from the next; None if all of them do, or no such runs are found."""
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

    # ---- results

    def _held(self, turn: Affine) -> Affine:
        """The line of the totals where those of a tile begin."""
        return ZERO if self.once else turn * self.tile.rows

    def _finish(self, tiles: Tiles, turn: Affine, number_of: int) -> None:
        """What the group does to each total of some tiles."""
        loops, lanes, step = self.loops, self.lanes, self.tile.rows
        count, begin = None, (tiles.first + turn) * step
        if not same(tiles.share * tiles.parts * step, self.rows):
            left = self.index(begin * -1 + self.rows)
            count = UOp(_MIN, (left, number(number_of * step)))
        with loops.loop(number_of * step, count=count) as inside:
            row = self._counter(number_of * step, inside)
            with loops.loop(lanes, lanes, self._lanes(tiles.panel_at)) as lane:
                self._go(self.at[1], begin + row)
                self._go(self.at[2], self._column(tiles, lane))
                self._load_totals(tiles, self._beside(self._held(turn) + row, lane))
                for node, index in self.group.outputs:
                    self._store(node, self._place(index))

    def _column(self, tiles: Tiles, lane: UOp) -> Affine:
        return tiles.panel_at * self.lanes + self._counter(self.lanes, lane)

    def _load_totals(self, tiles: Tiles, place: UOp) -> None:
        self.total = self.loops.load(tiles.totals, place)

    def _store(self, node: UOp, at: At) -> None:
        value = self.value(node, at)
        if node.dtype is not value.dtype:
            value = UOp(OPS["cast"], (value,), OPS["cast"].arg(node.dtype))  # type: ignore[misc]
        self.loops.store(self.buffers[node, "out"], self.index(flattened(at, node.shape)), value)

    # ---- elements

    def apply(self, node: UOp, operands: list[UOp], at: At, gate: Gate) -> UOp:
        same = node.op is where and operands[1] is operands[2]
        return operands[1] if same else decompose_node(node, tuple(operands))

    def reduction(self, node: UOp, at: At) -> UOp:
        assert self.total is not None
        return self.total


def multiply_add(tile: Tile, left: UOp, right: UOp, total: UOp) -> UOp:
    """A sum with one more product, rounded once where the processor does that at once."""
    if tile.fused:
        return fma(left, right, total)
    return apply("add", apply("mul", left, right), total)


# ---- words of two bfloat16


def _upper_number(word: UOp) -> UOp:
    return bits(masked(word, 0xFFFF0000), dtypes.float32)


def _lower_number(word: UOp) -> UOp:
    return bits(shifted_left(word, 16), dtypes.float32)


def _turned(word: UOp) -> UOp:
    """The word with its halves exchanged."""
    return apply("bitwise_or", shifted_left(word, 16), shifted_right(word, 16))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tiles:
    """What a piece of the grid works on: tiles of rows from `first` on, a panel of columns."""

    panel: UOp  # scratch: a block of columns
    totals: UOp  # scratch: the sums so far
    panel_at: Affine
    first: Affine
    share: int
    parts: int
    listed: UOp | None = None  # how many products of a block count, where not all do
