"""The interface between a scatter for teams and the sort of its updates.

What may live here: how indices become places, how bad indices are reported, and what accompanies a
place. Which kernels there are: `team_scatter.py`, `bucket_scatter.py` and `atomic_scatter.py`.
"""

from __future__ import annotations

from math import prod

from adjoint.ir.dtype import dtypes
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import number
from adjoint.kernel.algorithms.radix_sort import CountLoops, Ends, TileLoops
from adjoint.kernel.algorithms.scatter import ScatterLayout, checked, flag_code, read_by
from adjoint.ops.indexing import wrapped
from adjoint.target import Target


class Scatter:
    """The updates and destinations of a scatter, and the places of buffers in the list of all."""

    def __init__(self, node: UOp, target: Target) -> None:
        x, *indices, updates = node.src
        read = read_by(node, target)
        self.node, self.indices, self.updates = node, read[-1 - len(indices) : -1], updates
        pairs = zip(self.indices, indices, strict=True)
        self.wraps = [
            given is not index for given, index in pairs
        ]  # the kernel counts from the end
        self.layout = ScatterLayout.of(x, node.arg.axes, target)
        self.extents = [x.shape[a] for a in node.arg.axes]
        self.places = prod(self.extents)
        self.count = prod(indices[0].shape)
        self.x = x if len(read) == len(node.src) else None
        self.first_index = 1 + (self.x is not None)
        self.updates_place = self.first_index + len(indices)
        self.first_scratch = self.updates_place + 1
        self.flag = -1  # behind scratch, when that is known
        alone = updates.size == self.count and updates.dtype.itemsize == 4
        self.carried = alone and not updates.dtype.is_bool  # updates go with their places
        self.sorted, self.order = -1, -1


def in_words(index: UOp, extent: int) -> tuple[UOp, UOp]:
    """`checked`, where fewer bits say the same: one comparison, since below 0 is far above."""
    if index.dtype.itemsize < 8:
        word = index.cast(dtypes.int32)
        return word, word.bitcast(dtypes.uint32) < extent
    wide, good = checked(index, extent)
    return wide.cast(dtypes.int32), good


class ScatterEnds(Ends):
    """From indices to places, in their order."""

    def __init__(self, scatter: Scatter) -> None:
        self.scatter = scatter

    def define_operands(self, tile: TileLoops) -> None:
        s = self.scatter
        if tile.round:
            return
        for i, index in enumerate(s.indices):
            tile.buffer(f"index{i}", index.dtype, max(index.size, 1), s.first_index + i)
        if isinstance(tile, CountLoops):
            tile.buffer("flag", dtypes.int64, 1, s.flag, True)
        elif s.carried:
            tile.buffer("updates", s.updates.dtype, s.count, s.updates_place)

    def define_results(self, tile: TileLoops) -> None:
        s = self.scatter
        tile.buffer("sorted", dtypes.int32, s.count, s.sorted, True)
        tile.buffer("order", dtypes.int32, s.count, s.order, True)

    def first(self, tile: TileLoops, row: UOp, k: UOp, inside: UOp) -> UOp:
        place, every = self.place(tile, k, inside)
        return every.where(place, self.scatter.places)

    def place(self, tile: TileLoops, k: UOp, inside: UOp) -> tuple[UOp, UOp]:
        """The destination of update k, and whether all of its indices are valid; a bad one sets the
        flag.
        """
        s, place, every = self.scatter, number(0, dtypes.int32), None
        safe = inside.where(k, 0)
        for i, (axis, extent) in enumerate(zip(s.node.arg.axes, s.extents, strict=True)):
            index = tile.loops.load(tile.named[f"index{i}"], safe)
            if s.wraps[i]:
                index = wrapped(index, extent)
            short, good = in_words(index, extent)
            place = place * extent + good.where(short, 0)
            if "flag" in tile.named:
                bad = good.logical_not().logical_and(inside)
                tile.loops.store(tile.named["flag"], number(0), flag_code(axis, index), bad)
            every = good if every is None else every.logical_and(good)
        assert every is not None
        return place, every

    def payload(self, tile: TileLoops, row: UOp, k: UOp) -> UOp:
        s = self.scatter
        if not s.carried:
            return super().payload(tile, row, k)
        safe = k if s.count % tile.rows.tile == 0 else (k < s.count).where(k, 0)
        return tile.loops.load(tile.named["updates"], safe).bitcast(dtypes.int32)

    def last(self, tile: TileLoops, row: UOp, place: UOp, key: UOp, at: UOp, inside: UOp) -> None:
        tile.loops.store(tile.named["sorted"], place, key, inside)
        tile.loops.store(tile.named["order"], place, at, inside)
