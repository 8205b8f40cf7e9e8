"""The tile of a product, and the pieces of its grid.

What may live here: decisions, from sizes, the target and the layout of operands; no choice changes
a bit. What may not: the code of a product (`tiles.py`), how panels are packed (`panel_packing.py`).
"""

from __future__ import annotations

from math import prod

from adjoint.ir.affine import ZERO, Affine, IndexVar, unflattened, var
from adjoint.ir.dtype import DType
from adjoint.ir.sizes import highest, varies
from adjoint.kernel.loop_strategy import Probe
from adjoint.kernel.panel_packing import PanelPacking
from adjoint.kernel.sharing import Work
from adjoint.ops.words import contract_words
from adjoint.target import Tile

_FEWEST_PIECES = 16  # of the grid, so that threads share the work evenly, as long as each has
_FEWEST_APART = 2  # of those that write lines of their own
_FEWEST_TILES = 3  # of rows, for which it packs a panel
_TOTAL_BYTES = 9 << 14  # of the sums that a piece of the grid has at once, there too
_CACHE_WAYS = 8  # lines that the nearest cache holds of those that lie a multiple of
_CACHE_PLACES = 4096  # bytes apart
_NEAR_BYTES = 1 << 20  # of a right operand that the second cache of a core holds
_FEW_TILES = 2  # of rows, that read a right operand sooner than it is packed
_LONG_ROWS = 0.9  # of the time of tiles of short ones, where processors have such a preference


class TileChoice(PanelPacking):
    """A kernel being written that has a tile, and a grid of pieces."""

    kind: DType
    rows: int
    numbers: int  # in a word of an operand
    sums = 1  # that an element has
    together = 1  # panels that a piece of the grid does block by block
    fewest = _FEWEST_TILES
    unpacked: bool  # whether the right operand is read where it lies

    # ---- the tile

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
        """Whether the numbers of a row are contiguous, and rows at one distance: a matrix unit
        loads several at once.
        """
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
        """Whether the rows of the left operand fall into the same sets of a cache."""
        row = IndexVar(self.rows)
        self._go(self.at[1], var(row))
        probe = Probe(self.group.inputs)
        probe.value(self.node.src[0], self._places()[0])
        self._go(self.at[1], ZERO)
        steps = [(place.factor(row), size) for place, size in probe.bytes.items()]
        return any(step and step * size % _CACHE_PLACES == 0 for step, size in steps)

    def _is_near(self) -> bool:
        """Whether lines of the right operand are read in place, as if from a panel: contiguous
        plain numbers, and a cache of the core holds all of them without evictions, or so few tiles
        read them that packing would take longer.
        """
        few = self.rows <= _FEW_TILES * self.tile.rows
        if varies(*self.group.sizes) or self.has_margin or self.columns % self.lanes:
            return False
        if self.node.op is contract_words or len(self._loops_of(self.at[2])) > 1:
            return False
        k, column = IndexVar(self.longest), IndexVar(self.columns)
        probe = self._probe_right(k, column)
        if len(probe.memory) != 1 or probe.others or probe.ops:
            return False
        (place,), (size,) = probe.memory, probe.bytes.values()
        line = place.factor(k)
        if place.factor(column) != 1 or line is None or size != self.kind.itemsize:
            return False
        collide = line * size % _CACHE_PLACES == 0
        return few or (size * self.longest * self.columns <= _NEAR_BYTES and not collide)

    # ---- the grid

    def _piece(self, piece: Affine, panels: int, parts: int) -> tuple[Affine, ...]:
        """The batch, the panel and the part of its rows that a piece of the grid covers. Panels of
        one place or tap each write into the same cache lines: these follow one another, so that two
        threads do not write into one line.
        """
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
        tiles, packed = -(-self.rows // rows), not self.unpacked
        return Work(tiles, panels, taps, operations, self.tile.sharers, packed)

    def _taps(self) -> int:
        """Panels of the same columns, that a piece of the grid may do block by block."""
        return 1
