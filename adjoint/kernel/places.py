"""Tiled products with windows of pictures that have channels last: windows are not packed.

Before: out[place, n] = sum over k of window[place, k] * rhs[k, n], k a channel and a tap.
After: tiles of R adjacent places in a line of the picture; the offset of each element of a window
from its first is listed once, for each k, and is the same for all places.

Before: out[m, n] = sum over k of lhs[m, k] * window[k, n], k a place, n a tap and a channel.
After: the channels of a place are read as neighbours in place, not from a panel; the offset of
places from the first of a block is listed.

What may live here: how such operands are read. What may not: the tiles (`tiles.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from adjoint.ir.affine import ZERO, Affine, IndexVar, Loaded, unflattened, var
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import number
from adjoint.kernel.index_maps import Gate
from adjoint.kernel.loop_strategy import Probe
from adjoint.kernel.margins import Block, Step
from adjoint.kernel.panel_packing import Tiles
from adjoint.kernel.tiles import BLOCK, Steps, TileLowering
from adjoint.ops.window import window
from adjoint.stages import Group, LoopProgram
from adjoint.target import Tile

MOST_LISTED = 1 << 13  # numbers of a window
_MORE = 2  # rows than a tile has for other products: registers that 32 leave
_FEWEST_ROWS = 4
_FAR = (1024, 2048)  # bytes between places, of either operand, of which caches hold few then
_MIN = OPS["minimum"]
_LINE = 64  # bytes of a cache
_FEW_ROWS = 6  # with fewer, a tile is twice as wide: sums would wait for one another


def rows_in(count: int, tile: Tile) -> int:
    """How many rows a tile has if it is to divide so many: the most that registers hold."""
    most = min(_most_rows(tile), max(count, 1))
    return next(n for n in range(most, 0, -1) if count % n == 0)


def even_rows(count: int, tile: Tile) -> int:
    """How many rows a tile has if as few as registers allow are to share so many evenly: the last
    has fewer."""
    return -(-count // -(-count // _most_rows(tile)))


def _most_rows(tile: Tile) -> int:
    return tile.rows + (_MORE if tile.rows < tile.narrow_rows else 0)


def place_tile(width: int, tile: Tile) -> Tile | None:
    """The tile for lines of so many places; None if its rows would be too few."""
    rows = rows_in(width, tile)
    return None if rows < _FEWEST_ROWS else replace(tile, rows=rows)


class ListedTiles(TileLowering):
    """Writes a kernel that lists the places of numbers; if it does not apply, another does."""

    fits = False
    always_packs = True

    def __init__(self, group: Group, tile: Tile):
        self._offsets: dict[int, Affine] = {}  # by operand, of the number that is read
        self._lists: dict[int, UOp] = {}  # scratch, by operand
        self._reading = 0  # which operand
        super().__init__(group, tile)

    def _find_steps(self, which: int) -> dict[int, int] | None:
        """How far each loop moves in the memory of an operand; None if that is not all there is to
        it."""
        before = dict(self.atoms)
        counters = {a: IndexVar(self.group.sizes[a]) for a in (*self.at[which + 1], *self._k())}
        self.atoms.update({a: var(counter) for a, counter in counters.items()})
        probe = Probe(self.group.inputs)
        probe.value(self.node.src[which], self._places()[which])
        self.atoms = before
        if len(probe.memory) != 1 or probe.others or probe.ops:
            return None
        steps = {a: probe.memory[0].factor(counter) for a, counter in counters.items()}
        found = {a: step for a, step in steps.items() if step is not None and step >= 0}
        return found if len(found) == len(steps) else None

    def _span(self, steps: dict[int, int]) -> int:
        """How far the last number for some k is from the first."""
        return sum(steps[a] * (self.group.sizes[a] - 1) for a in self._k())

    def _listed(self, which: int, steps: dict[int, int], at: Affine) -> Affine:
        """How far the number at a place of the list is from the first."""
        place = self.loops.load(self._lists[which], self.index(at))
        return var(Loaded(place, self._span(steps) + 1))

    def _operand(self, which: int, gate: Gate = ()) -> UOp:
        self._reading = which
        return super()._operand(which, gate)

    def load(self, node: UOp, place: Affine, gate: Gate) -> UOp:
        return super().load(node, place + self._offsets.get(self._reading, ZERO), gate)


class PlaceTiles(ListedTiles):
    """Writes a kernel whose rows are places."""

    def _spread(self, tile: Tile) -> Tile:
        rows = self._loops_of(self.at[1])
        if varies(*self.group.sizes) or not rows or not _are_windows(self.node.src[0]):
            return tile
        self.width = self.group.sizes[rows[-1]]
        made, steps = place_tile(self.width, tile), self._find_steps(0)
        if made is None or steps is None or self._length(self._k()) > MOST_LISTED:
            return tile
        self.fits, self.steps = True, steps
        wide = made.rows < _FEW_ROWS and self.columns % (2 * tile.lanes(self.kind.itemsize)) == 0
        return replace(made, row_bytes=2 * made.row_bytes) if wide else made

    def _piece(self, piece: Affine, panels: int, parts: int) -> tuple[Affine, ...]:
        """All panels one after another for some places: these are near then."""
        batch, part, at_panel = unflattened(piece, (self.batch, parts, panels))
        return batch, at_panel, part

    def declare_lists(self) -> None:
        self._lists[0] = self.loops.local("offsets", dtypes.int64, self.length)

    def fill_lists(self) -> None:
        self._list(self._k(), ZERO, ZERO)

    def _list(self, atoms: Sequence[int], k: Affine, offset: Affine) -> None:
        """A loop for each axis that is summed: no index is divided."""
        if not atoms:
            self.loops.store(self._lists[0], self.index(k), self.index(offset))
            return
        (first, *rest), size = atoms, self.group.sizes[atoms[0]]
        with self.loops.loop(size) as turn:
            at = self._counter(size, turn)
            self._list(rest, k * size + at, offset + at * self.steps[first])

    def _rows(self, first: Affine, rows: int) -> list[Affine]:
        """Places of one line."""
        lines = self._length(self.at[1]) // self.width
        line = var(Loaded(self.index(first // self.width), lines))
        begin = var(Loaded(self.index(first % self.width), self.width - rows + 1))
        return [line * self.width + begin + i for i in range(rows)]

    def _steps(self, block: Block, listed: UOp | None) -> Steps:
        return self._along_offsets(block)

    @contextmanager
    def _along_offsets(self, block: Block) -> Iterator[Step]:
        start, size = block
        self._go(self._k(), ZERO)
        with self.loops.loop(size) as turn:
            k = start + self._counter(size, turn)
            self._offsets[0] = self._listed(0, self.steps, k)
            yield k, (turn,)
            self._offsets.clear()


class ChannelTiles(ListedTiles):
    """Writes a kernel whose columns are taps and channels, and whose summed k are places: a piece
    of the grid does all taps of its channels, block by block, while these are in the cache.
    """

    fewest = 4

    def _spread(self, tile: Tile) -> Tile:
        columns = self._loops_of(self.at[2])
        if varies(*self.group.sizes) or not columns or not _are_windows(self.node.src[1]):
            return tile
        found = [self._find_steps(which) for which in (0, 1)]
        steps = {which: of for which, of in enumerate(found) if of is not None}
        width = self.group.sizes[columns[-1]]
        narrow = width % tile.lanes(self.kind.itemsize) and tile.narrow_rows
        made = tile.narrow() if narrow else tile
        if len(steps) != 2 or steps[1][columns[-1]] != 1:
            return tile
        if width % made.lanes(self.kind.itemsize):
            return tile
        self.fits, self.steps, self.width = True, steps, width
        self.together = self.columns // width
        rows = rows_in(self.rows, made)
        whole = 2 * rows > tile.rows
        self.packs = [whole and self._apart(steps[which]) >= _FAR[which] for which in (0, 1)]
        row = self._loops_of(self.at[1])
        self.turns = whole and bool(row) and steps[0][row[-1]] != 1
        self.packs[0] = self.packs[0] or self.turns
        return replace(made, rows=rows if self.packs[0] else even_rows(self.rows, made))

    def program(self, name: str) -> LoopProgram:
        if self.tile.sharers:
            self.together = self._work().together(self._most_tiles())
        return super().program(name)

    def _taps(self) -> int:
        return self.columns // self.width

    def _piece(self, piece: Affine, panels: int, parts: int) -> tuple[Affine, ...]:
        """The taps that a piece does follow one another."""
        if self.together == self._taps():
            self.first_tap = ZERO
            return super()._piece(piece, panels, parts)
        sizes = (self.batch, self._taps() // self.together, self.width // self.lanes, parts)
        batch, taps, at_panel, part = unflattened(piece, sizes)
        self.first_tap = taps * self.together
        return batch, at_panel, part

    def _apart(self, steps: dict[int, int]) -> int:
        """The distance in bytes between adjacent places."""
        apart = [steps[a] for a in self._loops_of(self._k())]
        return min(apart, default=0) * self.kind.itemsize

    def declare_lists(self) -> None:
        for which in (0, 1):
            self._lists[which] = self.loops.local(f"offsets{which}", dtypes.int64, BLOCK)
        if self.packs[0]:
            numbers = self._shares()[0] * BLOCK * self.tile.rows
            self.packed = self.loops.local("packed", self.kind, numbers)

    def fill_lists(self) -> None:
        if self._is_periodic():
            self._list((ZERO, min(self.length, BLOCK)))

    def _is_periodic(self) -> bool:
        """Whether all blocks are alike: each is whole lines, pictures, …, or the first a part of
        such.
        """
        length = 1
        for atom in reversed(self._k()):
            length *= self.group.sizes[atom]
            if BLOCK % length:
                return length % BLOCK == 0
        return True

    def _list(self, block: Block) -> None:
        """Where the numbers of a block are, from its first on."""
        start, size = block
        with self.loops.loop(size) as turn:
            at = self._counter(size, turn)
            for which, steps in self.steps.items():
                offset = self._distance(start + at, steps) + self._distance(start, steps) * -1
                self.loops.store(self._lists[which], self.index(at), self.index(offset))

    def _distance(self, k: Affine, steps: dict[int, int]) -> Affine:
        self._go(self._k(), k)
        total = ZERO
        for atom in self._k():
            total = total + self.atoms[atom] * steps[atom]
        return total

    def _panel_lines(self) -> int:
        return BLOCK if self.packs[1] else 1

    def _multiply(self, tiles: Tiles) -> None:
        self.whole = False
        super()._multiply(tiles)

    def _pack_places(self, tiles: Tiles, block: Block) -> None:
        """The channels of a tap, next to one another for each place of a block."""
        with self.loops.loop(self.lanes, self.lanes) as lane, self._along_places(block) as (k, _):
            place = self._beside(k + block[0] * -1, lane)
            self.loops.store(tiles.packed, place, self._channels(lane))

    def _add_block(self, tiles: Tiles, start: Affine, size: int, last: Affine) -> None:
        if not self._is_periodic():
            self._list((start, size))
        if self.packs[0]:
            self._pack_rows(tiles, (start, size))
        with self.loops.loop(self.together) as turn:
            self.turn_of_tap = self._counter(self.together, turn)
            self.tap = self.first_tap + self.turn_of_tap
            self.channel = self.index(tiles.panel_at * self.lanes)
            if self.packs[1]:
                self._pack_places(tiles, (start, size))
            panel = tiles.panel_at + self.tap * (self.width // self.lanes)
            self._add_tiles(replace(tiles, panel_at=panel), start, size, last)

    def _pack_rows(self, tiles: Tiles, block: Block) -> None:
        """The rows of each tile side by side, for each place of a block."""
        loops, rows = self.loops, self.tile.rows
        whole = self.rows // rows
        if self.turns and rows & (rows - 1) == 0:
            self._turn_rows(tiles, block)
            return
        with self._turns(tiles, whole) as turn, self._along_places(block) as (k, _):
            line = self._packed_at(turn, k + block[0] * -1)
            with loops.loop(rows, rows if rows & (rows - 1) == 0 else 1) as row:
                at = self._counter(rows, row)
                self._go(self.at[1], (tiles.first + turn) * rows + at)
                loops.store(self.packed, self.index(line + at), self._operand(0))

    def _turn_rows(self, tiles: Tiles, block: Block) -> None:
        """The same for strided rows: squares of them are transposed in registers."""
        rows, (start, size) = self.tile.rows, block
        with self._turns(tiles, self.rows // rows) as turn:

            def read(row: Affine, k: Affine) -> UOp:
                self._go(self.at[1], (tiles.first + turn) * rows + row)
                self._go(self._k(), start + k)
                return self._operand(0)

            self.pack_squares(read, self.packed, rows, size, self._packed_at(turn, ZERO))

    def _packed_at(self, turn: Affine, line: Affine) -> Affine:
        return (turn * BLOCK + line) * self.tile.rows

    def _add_tile(self, tiles: Tiles, turn: Affine, rows: int, start: Affine, size: int) -> None:
        self.turn, self.first = turn, tiles.first * self.tile.rows
        self.ahead = self._find_ahead(tiles, (start, size))
        super()._add_tile(tiles, turn, rows, start, size)

    def _left(self, number_of: int, line: Affine) -> UOp:
        if not self.packs[0]:
            return super()._left(number_of, line)
        return self.loops.load(
            self.packed, self.index(self._packed_at(self.turn, line) + number_of)
        )

    def _find_ahead(self, tiles: Tiles, block: Block) -> list[Affine]:
        """The prefetch distance beyond what a tile reads of the operands: one tile of several
        prefetches a line of every place of the next block, so that each line that this piece reads
        of it is prefetched once, and evenly. The other tiles prefetch what they read.
        """
        line = _LINE // self.kind.itemsize
        lines = [tiles.share * self.tile.rows // line + 1, self.lanes // line]
        every = tiles.share * self.together // sum(lines)
        if not every or any(self.packs) or not self._is_periodic():
            return []
        number_of = self.index(self.turn_of_tap * tiles.share + self.turn)
        which, asks = number_of // every, (number_of % every).eq(0)
        firsts = [number(0), number(lines[0])]
        mine = [asks & (which < firsts[1]), asks & (which >= firsts[1]) & (which < sum(lines))]
        return [
            self._ahead(steps, block, asks, (which - first) * line)
            for steps, first, asks in zip(self.steps.values(), firsts, mine, strict=True)
        ]

    def _ahead(self, steps: dict[int, int], block: Block, asks: UOp, more: UOp) -> Affine:
        """The distance of the next block, plus this many numbers; 0 without prefetch."""
        start, size = block
        following = UOp(_MIN, (self.index(start + size), number(self.length - size)))
        then = var(Loaded(following, self.length))
        far = self.index(self._distance(then, steps) + self._distance(start, steps) * -1)
        ahead = UOp(OPS["where"], (asks, UOp(OPS["add"], (far, more)), number(0)))
        return var(Loaded(ahead, self._span(steps) + 1))

    def _ask_ahead(self) -> None:
        """Prefetches the share of a tile at the present place."""
        if self.ahead:
            self._asked = self.ahead[0]
            self._go(self.at[1], self.first)
            self._operand(0)
            self._asked = self.ahead[1]
            self._channels(number(0))
            self._asked = None

    def _held(self, turn: Affine) -> Affine:
        return ZERO if self.once else (turn * self.together + self.turn_of_tap) * self.tile.rows

    def _steps(self, block: Block, listed: UOp | None) -> Steps:
        return self._along_places(block)

    @contextmanager
    def _along_places(self, block: Block) -> Iterator[Step]:
        start, size = block
        self._go(self._k(), start)
        with self.loops.loop(size) as turn:
            at = self._counter(size, turn)
            for which, steps in self.steps.items():
                self._offsets[which] = self._listed(which, steps, at)
            yield start + at, (turn,)
            self._offsets.clear()

    def _right(self, tiles: Tiles, line: Affine, lane: UOp) -> UOp:
        self._ask_ahead()
        return super()._right(tiles, line, lane) if self.packs[1] else self._channels(lane)

    def _channels(self, lane: UOp) -> UOp:
        """Those of the present place and tap."""
        *outer, last = self._loops_of(self.at[2])
        self._go(outer, self.tap)
        column = UOp(OPS["add"], (self.channel, lane))
        self.atoms[last] = var(Loaded(column, self.width))
        return self._operand(1)


def _are_windows(node: UOp) -> bool:
    """Whether there are windows below views."""
    while len(node.src) == 1 and node.op is not window:
        node = node.src[0]
    return node.op is window
