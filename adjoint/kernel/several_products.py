"""Tiled kernels with several products per element.

Before: silu(x @ w) * (x @ v); gates, sigmoid(g[:, :n]) * tanh(g[:, n:]) of g = h @ w.
After: tiles of x @ w and of x @ v, or of two panels of columns of h @ w, and then the rest of the
group on the totals of both.

Every product is added as it would be alone (`tiles.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from adjoint.errors import InternalError
from adjoint.ir.affine import Affine, IndexVar, Loaded, var
from adjoint.ir.origin import origin_scope
from adjoint.ir.sizes import highest
from adjoint.ir.uop import UOp
from adjoint.kernel.index_maps import At
from adjoint.kernel.loop_strategy import Probe
from adjoint.kernel.panel_packing import Tiles
from adjoint.kernel.places import ChannelTiles, PlaceTiles
from adjoint.kernel.tiles import PANEL_BYTES, TileLowering
from adjoint.ops.words import contract_words
from adjoint.stages import Group, Index, LoopProgram
from adjoint.target import Target, Tile


def lower_tiles(group: Group, name: str, target: Target) -> tuple[LoopProgram, None]:
    """The loops of a group that has products of the same rows and columns, and elementwise work on
    them.
    """
    if target.tile is None or len({at for _, at, _ in group.reduced}) != 1:
        raise InternalError(f"kernel {name} is not made of products in tiles")
    node, at, _ = group.reduced[0]
    alone = len(group.reduced) == 1 and prod(group.sizes[a] for a in at[2]) == node.shape[2]
    with origin_scope(group.outputs[0][0].raw_origin):
        if not alone:
            return SeveralProducts(group, target.tile).program(name), None
        tiles = (u.tile for u in target.matrix_units if u.dtype == _numbers(node))
        listed = (kind(group, target.tile) for kind in (PlaceTiles, ChannelTiles))
        made = next((tiled for tiled in listed if tiled.fits), None)
        if made is None:
            return TileLowering(group, target.tile, next(tiles, None)).program(name), None
        return made.program(name), None


def _numbers(node: UOp) -> str:
    """The dtype of the numbers in the words of a product, if there are words."""
    return node.arg.dtype.name if node.op is contract_words else ""


@dataclass(frozen=True, slots=True)
class Factor:
    """A product, from one of its columns on."""

    node: UOp
    summed: Index
    start: int


class _Starts(Probe):
    """From which columns on products are used."""

    def __init__(self, group: Group, column: Affine):
        super().__init__(group.inputs)
        self.column = column
        self.found: dict[tuple[UOp, int], None] = {}

    def reduction(self, node: UOp, at: At) -> None:
        self.found[node, start_of(at, self.column)] = None


def start_of(at: At, column: Affine) -> int:
    """How far an element of a product is from the column that is worked on."""
    apart = at[2] + column * -1
    if apart.terms:
        raise InternalError(f"columns of a product are used at {at[2]}, not beside one another")
    return apart.const


class SeveralProducts(TileLowering):
    """Writes a kernel whose elements need several sums."""

    start = 0
    sooner = False  # the sums of all products are there at the end
    always_packs = True

    def __init__(self, group: Group, tile: Tile):
        super().__init__(group, tile)
        summed = {node: loops for node, _, loops in group.reduced}
        self.factors = [Factor(node, summed[node], start) for node, start in self._starts()]
        self.sums = len(self.factors)
        self.totals: dict[tuple[UOp, int], UOp] = {}
        self.here: dict[tuple[UOp, int], UOp] = {}  # of the element that is being finished

    def _starts(self) -> list[tuple[UOp, int]]:
        before = dict(self.atoms)
        for axis in self.at:
            self._go(axis, var(IndexVar(self._length(axis))))
        walk = _Starts(self.group, self._axis(self.at[2]))
        for node, index in self.group.outputs:
            walk.value(node, self._place(index))
        self.atoms = before
        return list(walk.found)

    def program(self, name: str) -> LoopProgram:
        program = super().program(name)
        return replace(program, cost=program.cost * self.sums, most=program.most * self.sums)

    def _take(self, factor: Factor) -> None:
        """From here on this is the product that is added up."""
        self.node, self.summed, self.start = factor.node, factor.summed, factor.start
        self._look_at_words()
        self.length = prod(map(self._length, self.summed))
        self.longest = highest(self.length)
        self.whole = self.longest * self.lanes * self.kind.itemsize <= PANEL_BYTES
        self._runs = {}

    def _panel_lines(self) -> int:
        found = []
        for factor in self.factors:
            self._take(factor)
            found.append(super()._panel_lines())
        return max(found)

    def _multiply(self, tiles: Tiles) -> None:
        rows = tiles.share * self.tile.rows
        for i, factor in enumerate(self.factors):
            self._take(factor)
            totals = tiles.totals
            if i:
                totals = self.loops.local(f"totals{i}", self.kind, rows * self.lanes)
            self.totals[factor.node, factor.start] = totals
            super()._multiply(replace(tiles, totals=totals))

    def _places(self) -> list[At]:
        at = self._place(self.at)
        return self._read((*at[:2], at[2] + self.start))

    # ---- results

    def _column(self, tiles: Tiles, lane: UOp) -> Affine:
        """A number below that of all columns, so that what is beside it can be told."""
        return var(Loaded(self.index(super()._column(tiles, lane)), self.columns))

    def _load_totals(self, tiles: Tiles, place: UOp) -> None:
        self.here = {key: self.loops.load(of, place) for key, of in self.totals.items()}

    def reduction(self, node: UOp, at: At) -> UOp:
        return self.here[node, start_of(at, self._axis(self.at[2]))]
