"""A product of matrices as tiles whose sums stay in registers.

Before: out[m, n] = relu(sum over k of lhs[m, k] * rhs[k, n] + bias[n]).
After, for every panel of W columns and every share of the rows (the grid):
    for every block of k:
        panel[k, j] = rhs[k, first + j], through the views and ops below it
        for every R rows: for k: sum[i, j] = fma(lhs[row + i, k], panel[k, j], sum[i, j])
        the sums added to those of the blocks before
    the rest of the group on each total, stored
Products are added in the order of k, one fused multiply-add after the other, in blocks of fixed
length, and then the blocks in order: the choice of tiles changes no bit. Sizes may be dynamic:
loops run as often as the sizes of a launch say, and memory suffices for the largest size.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from math import prod

from adjoint.ir.affine import ZERO, Affine, Loaded, flattened, var
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import divides, highest, is_one, same, varies
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import number
from adjoint.kernel.decompose import decompose_node
from adjoint.kernel.in_place import written_over
from adjoint.kernel.index_maps import At, Gate
from adjoint.kernel.margins import Block, Step
from adjoint.kernel.multiply_add import halves_exchanged, lower_number, multiply_add, upper_number
from adjoint.kernel.panel_packing import Tiles
from adjoint.kernel.tile_choice import TileChoice
from adjoint.ops.logic import question_of, where
from adjoint.ops.mathematics.nodes import (
    compute_dtype,
    fma,
)
from adjoint.ops.words import contract_words, numbers_in
from adjoint.stages import Group, LoopProgram
from adjoint.target import Tile

BLOCK = 512  # products that are added one after another; then blocks are
PANEL_BYTES = 1 << 19  # of a panel that is packed for all blocks at once, on its thread's stack


Steps = AbstractContextManager[Step]
_MIN = OPS["minimum"]


class TileLowering(TileChoice):
    """One kernel being written."""

    sooner = True  # a tile is finished when its last block is added up, not when all tiles are
    always_packs = False  # wherever the right operand lies

    def __init__(self, group: Group, tile: Tile, matrices: Tile | None = None):
        super().__init__(group)
        self.node, self.at, self.summed = group.reduced[0]
        self.kind = compute_dtype(self.node.dtype)
        self.total: UOp | None = None  # of the element that is being finished
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
        self.once = self.early and self.longest <= self.block  # finished with its first block
        self.whole = self.longest * self.lanes * self.kind.itemsize <= PANEL_BYTES
        self.unpacked = not self.always_packs and self._is_near()

    # ---- the whole

    def program(self, name: str) -> LoopProgram:
        lanes, loops = self.lanes, self.loops
        panels, (share, parts) = -(-self.columns // lanes) // self.together, self._shares()
        panel = None if self.unpacked else self._panel()
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

    def declare_lists(self) -> None:
        """Scratch for lists that a piece of the grid makes."""
        if self.has_margin:
            self.listed = self.loops.local("listed", dtypes.int64, BLOCK)

    def fill_lists(self) -> None:
        """The lists that are computed once, before all products."""

    def _panel(self) -> UOp:
        return self.loops.local("panel", self._panel_kind(), self._panel_lines() * self.lanes)

    def _panel_kind(self) -> DType:
        return compute_dtype(self.node.src[1].dtype)

    def _panel_lines(self) -> int:
        """For how many k a panel is packed at a time."""
        return self.longest if self.whole else self.block

    def _multiply(self, tiles: Tiles) -> None:
        """All sums of the piece."""
        self._blank(tiles)
        if self.whole and not self.unpacked:
            self._pack(tiles, None)
        if self.longest > self.block:
            self._clear(tiles)
        self._add_blocks(tiles)

    # ---- blocks of k

    def _clear(self, tiles: Tiles) -> None:
        lanes = self.lanes
        rows = tiles.share * self.together * self.tile.rows
        with self.loops.loop(lanes, lanes) as lane, self.loops.loop(rows) as row:
            place = self._beside(self._counter(rows, row), lane)
            self.loops.store(tiles.totals, place, self._zero(-0.0))

    def _blank(self, tiles: Tiles) -> None:
        """Zeros in the panel where it has no columns: all lanes are multiplied, and leftover memory
        may hold subnormals, for which processors may take a hundred times as long.
        """
        panel, lanes = tiles.panel, self.lanes
        if panel is None or divides(lanes, self.columns):
            return
        kind = self._panel_kind()
        zero = number(0 if kind.is_int else 0.0, kind)
        lines = self.length if self.whole else self._panel_lines()
        is_last = self._where_positive(tiles.panel_at * lanes + (lanes - self.columns))
        with is_last, self.loops.loop(lanes, lanes) as lane, self.loops.loop(lines) as turn:
            self.loops.store(panel, self._beside(self._counter(lines, turn), lane), zero)

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

    def _add_block(self, tiles: Tiles, start: Affine, size: int, last: Affine) -> None:
        """The sums over a block; if it is the last, which `last` above 0 says, what becomes of
        them while the next tile is computed."""
        if not self.whole and not self.unpacked:
            self._pack(tiles, (start, size))
        listed = self.list_products(tiles.panel_at * self.lanes, (start, size))
        self._add_tiles(replace(tiles, listed=listed), start, size, last)

    def _add_tiles(self, tiles: Tiles, start: Affine, size: int, last: Affine) -> None:
        """First the tiles that have all their rows: their operands exist, also for loads that are
        hoisted before the loop.
        """
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

    def _look_at_words(self) -> None:
        """Whether the product that is added up is one of words in the order of float32: its blocks
        are those of the numbers, not of the words."""
        self.in_order = self.node.op is contract_words and self.node.arg.exact
        self.block = BLOCK // self.numbers if self.in_order else BLOCK

    def _ways(self) -> Iterator[None]:
        """The variants of adding a tile, each under the condition of its question."""
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
        """The sums of some rows over a block, added to the previous ones."""
        for _ in self._ways():
            self._add_tile_so(tiles, turn, rows, start, size)

    def _add_tile_so(self, tiles: Tiles, turn: Affine, rows: int, start: Affine, size: int) -> None:
        loops, lanes = self.loops, self.lanes
        at = self._rows((tiles.first + turn) * self.tile.rows, rows)
        block = (start, size)
        with loops.loop(lanes, lanes) as lane:
            steps = self._steps(block, tiles.listed)
            for i, total in enumerate(self._sums(tiles, at, lane, block, steps)):
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
        self, tiles: Tiles, rows: list[Affine], lane: UOp, block: Block, steps: Steps
    ) -> list[UOp]:
        loops, start = self.loops, block[0]
        sums = [loops.register(self._zero(0.0)) for _ in rows]
        found = []
        with steps as (k, turns):
            right = self._right(tiles, k if self.whole else k + start * -1, lane)
            for i, (row, total) in enumerate(zip(rows, sums, strict=True)):
                self._go(self.at[1], row)
                left = self._left(i, k + start * -1)
                found.append(loops.update(total, self._added(left, right, total), *turns))
        return found

    def _right(self, tiles: Tiles, line: Affine, lane: UOp) -> UOp:
        """The numbers of the columns for the present k, which is a line of the panel."""
        if tiles.panel is not None:
            return self.loops.load(tiles.panel, self._beside(line, lane))
        self._go(self.at[2], self._column(tiles, lane))
        return self._operand(1)

    def _left(self, number_of: int, line: Affine) -> UOp:
        """The number of the present row, which is one of the tile, for the present k."""
        return self._operand(0)

    def _added(self, left: UOp, right: UOp, total: UOp) -> UOp:
        """A sum with one more product, or with those of a word."""
        if self.node.op is not contract_words:
            return multiply_add(self.tile, left, right, total)
        if self.in_order and not self.dots:
            total = fma(lower_number(left), upper_number(right), total)
            return fma(upper_number(left), lower_number(right), total)
        left = halves_exchanged(left) if self.in_order else left
        a, b = (right, left) if self.node.arg.unsigned else (left, right)
        made: UOp = OPS["dot_words"](a, b, total, self.node.arg.dtype)
        return made

    # ---- results

    def _held(self, turn: Affine) -> Affine:
        """The line of the totals where those of a tile begin."""
        return ZERO if self.once else turn * self.tile.rows

    def _finish(self, tiles: Tiles, turn: Affine, number_of: int) -> None:
        """The elementwise work of the group on each total of some tiles."""
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
