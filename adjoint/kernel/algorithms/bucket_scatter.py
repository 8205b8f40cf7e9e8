"""SCATTER_ADD of scalars to many places: one partition into buckets, which teams add.

Two parts. First every update, a number with its place, goes to the bucket of its place, stably: one
round of `radix_sort.py`, whose digit is the bucket. Then each team has a bucket and, in scratch,
the sums of its places; it processes the bucket's updates in pieces, in their order:
    the updates of a piece go to the warp that owns their places, stably, within scratch
    each warp adds its own to the sums, one after another (SUM_UP)
So every place adds its updates in their order, whatever their distribution. What may live here: the
operands of the partition, and the kernel of the buckets. What may not: which place is in which
bucket, and when buckets are used (`buckets.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from adjoint.ir.dtype import dtypes
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.buckets import (
    BUCKETS,
    DIGIT,
    WARP_BITS,
    WARPS,
    Places,
)
from adjoint.kernel.algorithms.loops import FEW_REGISTERS, AlgorithmSteps, Loops, number
from adjoint.kernel.algorithms.radix_sort import WARP, RadixSteps, Rows, TileLoops, WarpCounts
from adjoint.kernel.algorithms.scan import held
from adjoint.kernel.algorithms.scatter_ends import Scatter, ScatterEnds
from adjoint.stages import LoopProgram
from adjoint.target import Target, Team

THREADS = WARP * WARPS  # of a team
_STEPS = 16  # updates of a thread in a piece, if scratch has room
_AT_ONCE = 4  # places of a thread that are read or written together
_SPARE = 4 << 10  # bytes of scratch for counts, and what the driver keeps
_NOWHERE = (1 << 16) - 1  # the cell of an update that goes to no place


def piece_of(places: Places, team: Team) -> int:
    """Updates that a team orders at a time, where two teams share a processor's scratch."""
    room = team.scratch_bytes // 2 - 4 * places.cells - _SPARE
    each = 2 * (dtypes.uint16.itemsize + dtypes.int32.itemsize)
    return max(1, min(_STEPS, room // (each * THREADS))) * THREADS


class BucketLoops:
    """The kernel in which a team has a bucket, while it is written."""

    def __init__(self, node: UOp, rows: Rows, places: Places, team: Team, is_given: bool) -> None:
        self.node, self.rows, self.places = node, rows, places
        self.kind = held(node.dtype)
        self.piece = piece_of(places, team)
        self.loops = loops = Loops(dtypes.int32)
        self.out = loops.buffer("out", node.dtype, places.count, True)
        self.x = loops.buffer("x", node.dtype, places.count) if is_given else None
        self.cells = loops.buffer("cells", dtypes.uint16, rows.n)
        self.values = loops.buffer("values", dtypes.int32, rows.n)
        self.before = loops.buffer("before", dtypes.int32, BUCKETS * rows.tiles)

    def program(self, name: str) -> LoopProgram:
        """The whole."""
        loops, n = self.loops, self.rows.n
        with loops.grid(BUCKETS) as bucket:
            self.sums = loops.local("sums", self.kind, self.places.cells)
            self._scratch()
            self._begin(bucket)
            first, end = self._updates(bucket)
            pieces = (end - first + (self.piece - 1)) // self.piece
            with loops.loop(-(-n // self.piece), count=pieces) as i:
                begin = first + i * self.piece
                self._order(begin, (end - begin).minimum(self.piece))
            self._end(bucket)
        made = loops.program(self.node, name, 8 * max(n // BUCKETS, 1))
        return replace(made, threads=THREADS, registers=FEW_REGISTERS)

    def _scratch(self) -> None:
        local, size = self.loops.local, self.piece
        self.given = local("cells_given", dtypes.uint16, size), local("given", dtypes.int32, size)
        self.ordered = (
            local("cells_ordered", dtypes.uint16, size),
            local("ordered", dtypes.int32, size),
        )
        self.counts = WarpCounts(self.loops, WARPS, THREADS)
        self.begins = local("begins", dtypes.int32, self.counts.digits)

    def _updates(self, bucket: UOp) -> tuple[UOp, UOp]:
        """Where those of a bucket begin and end."""
        loops, tiles = self.loops, self.rows.tiles
        following = (bucket + 1).minimum(BUCKETS - 1)
        end = loops.load(self.before, following * tiles)
        end = bucket.eq(BUCKETS - 1).where(number(self.rows.n, dtypes.int32), end)
        return loops.load(self.before, bucket * tiles), end

    # ---- what lies at the places, before and after

    def _begin(self, bucket: UOp) -> None:
        x = self.node.src[0]
        with self._insides() as inside:
            place = self.places.place(bucket, inside)
            if self.x is None:
                old = number(x.arg.value, x.dtype)
            else:
                old = self.loops.load(self.x, (place < self.places.count).where(place, 0))
            self.loops.store(self.sums, self.places.cell(inside), old.cast(self.kind))

    def _end(self, bucket: UOp) -> None:
        with self._insides() as inside:
            place = self.places.place(bucket, inside)
            total = self.loops.load(self.sums, self.places.cell(inside)).cast(self.node.dtype)
            self.loops.store(self.out, place, total, place < self.places.count)

    @contextmanager
    def _insides(self) -> Iterator[UOp]:
        """Every place of a bucket, a few at a time: were all written out, registers would hold
        where each is from the beginning to the end."""
        loops, cells = self.loops, self.places.cells
        lanes = min(cells, THREADS)
        steps = min(cells // lanes, _AT_ONCE)
        turns = cells // (lanes * steps)
        with loops.loop(turns) as turn, loops.loop(lanes, lanes) as t, loops.loop(steps) as step:
            yield (turn * steps + step) * lanes + t

    # ---- a piece

    def _order(self, begin: UOp, count: UOp) -> None:
        """The updates from there on: to scratch, to the warps that have their places, and there."""
        self._read(begin, count)
        self.counts.clear()
        self._count()
        self.counts.add_up(
            lambda warp, base: self.loops.store(self.begins, warp, base.minimum(count))
        )
        self._move()
        self._sum()

    def _at(self, t: UOp, step: UOp) -> UOp:
        """A warp has a part of the piece, in which neighbours have neighbours."""
        part = self.piece // WARPS
        return (t // WARP) * part + step * WARP + t % WARP

    def _read(self, begin: UOp, count: UOp) -> None:
        """Behind the last update there are some that go nowhere: they come last."""
        loops, (cells, values) = self.loops, self.given
        with loops.loop(THREADS, THREADS) as t, loops.loop(self.piece // THREADS) as step:
            at = self._at(t, step)
            inside = at < count
            k = inside.where(begin + at, 0)
            cell = inside.where(loops.load(self.cells, k), number(_NOWHERE, dtypes.uint16))
            loops.store(cells, at, cell)
            loops.store(values, at, loops.load(self.values, k))

    def _warp(self, cell: UOp) -> UOp:
        """The warp that has the place."""
        shift = self.places.bits - WARP_BITS
        return (cell.cast(dtypes.int32) >> shift) & (WARPS - 1)

    def _count(self) -> None:
        loops = self.loops
        with loops.loop(THREADS, THREADS) as t, loops.loop(self.piece // THREADS) as step:
            cell = loops.load(self.given[0], self._at(t, step))
            loops.count_up(self.counts.counts, self.counts.cell(t, self._warp(cell)))

    def _move(self) -> None:
        loops = self.loops
        with loops.loop(self.piece // THREADS) as step, loops.loop(THREADS, THREADS) as t:
            cell, value = (loops.load(memory, self._at(t, step)) for memory in self.given)
            place = loops.count_up(self.counts.counts, self.counts.cell(t, self._warp(cell)))
            loops.store(self.ordered[0], place, cell)
            loops.store(self.ordered[1], place, value)

    def _sum(self) -> None:
        """Every warp goes through its own; as often as the one with the most has to."""
        loops = self.loops
        most = loops.register(number(0, dtypes.int32))
        with loops.loop(WARPS, WARPS) as warp:
            first, end = self._part(warp)
            longest = loops.update(most, most.maximum(end - first), warp)
        turns = (longest + (WARP - 1)) // WARP
        with loops.loop(self.piece // WARP, count=turns) as i, loops.loop(THREADS, THREADS) as t:
            first, end = self._part(t // WARP)
            at = first + i * WARP + t % WARP
            safe = (at < end).where(at, 0)
            cell, value = (loops.load(memory, safe) for memory in self.ordered)
            cell = cell.cast(dtypes.int32)
            inside = (at < end).logical_and(cell < self.places.cells)
            value = value.bitcast(self.kind)
            loops.sum_up(self.sums, inside.where(cell, 0), value, inside)

    def _part(self, warp: UOp) -> tuple[UOp, UOp]:
        """Where the updates of a warp begin and end."""
        return self.loops.load(self.begins, warp), self.loops.load(self.begins, warp + 1)


# ---- the partition, and all kernels


class _BucketEnds(ScatterEnds):
    """From indices to buckets: the sort key is a cell of a bucket, the payload the number
    itself.
    """

    def __init__(self, scatter: Scatter, places: Places) -> None:
        super().__init__(scatter)
        self.places = places

    def define_results(self, tile: TileLoops) -> None:
        s = self.scatter
        tile.buffer("cells", dtypes.uint16, s.count, s.sorted, True)
        tile.buffer("values", dtypes.int32, s.count, s.order, True)

    def first(self, tile: TileLoops, row: UOp, k: UOp, inside: UOp) -> UOp:
        place, every = self.place(tile, k, inside)
        cell = self.places.cell(self.places.inside(place))
        return every.where((cell << DIGIT) | self.places.bucket(place), -1)

    def payload(self, tile: TileLoops, row: UOp, k: UOp) -> UOp:
        s, wide = self.scatter, held(self.scatter.node.dtype)
        safe = k if s.count % tile.rows.tile == 0 else (k < s.count).where(k, 0)
        return tile.loops.load(tile.named["updates"], safe).cast(wide).bitcast(dtypes.int32)

    def last(self, tile: TileLoops, row: UOp, place: UOp, key: UOp, at: UOp, inside: UOp) -> None:
        cell = (key >> DIGIT).cast(dtypes.uint16)
        tile.loops.store(tile.named["cells"], place, cell, inside)
        tile.loops.store(tile.named["values"], place, at, inside)


def by_buckets(s: Scatter, target: Target, team: Team) -> AlgorithmSteps:
    """The kernels of a scatter that uses buckets."""
    steps, places = RadixSteps(s.node, target, s.first_scratch), Places(s.places)
    s.sorted, s.order = steps.memory(dtypes.uint16, s.count), steps.memory(dtypes.int32, s.count)
    s.carried = True
    rows = Rows(1, s.count, DIGIT, dtypes.int32)
    before = steps.sort(rows, _BucketEnds(s, places))
    loops = BucketLoops(s.node, rows, places, team, s.x is not None)
    given = () if s.x is None else (1,)
    program = loops.program(f"{s.node.op.name}_buckets")
    steps.parts.append((program, (0, *given, s.sorted, s.order, before)))
    return AlgorithmSteps(tuple(steps.parts), tuple(steps.scratch), flag=True)
