"""SCATTER_ADD of scalars to many places: one partition into buckets, which teams add.

Two parts. First every update, a number with its place, goes to the bucket of its place, stably: one
round of `radix_sort.py`, whose digit is the bucket. Then each team has a bucket and, in scratch,
the sums of its places; it processes the bucket's updates in pieces, in their order:
    the updates of a piece go to the bins that have their places, stably, within scratch
    each thread adds those of a bin to the sums, one after another; or, where a bin is crowded, each
    warp those of its bins (SUM_UP)
So every place adds its updates in their order, whatever their distribution. What may live here: the
operands of the partition, and the kernel of the buckets. What may not: which place is in which
bucket, and when buckets are used (`buckets.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

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
from adjoint.kernel.algorithms.scatter_ends import Scatter, ScatterEnds
from adjoint.stages import LoopProgram
from adjoint.target import Target, Team

THREADS = WARP * WARPS  # of a team
_STEPS = 16  # updates of a thread in a piece, if scratch has room
_ENOUGH = 6  # so many, if threads have bins
_AT_ONCE = 4  # places of a thread that are read or written together
_BINS = THREADS // 2  # were there more, pieces would be shorter, and counting them longer
_SPARE = 4 << 10  # bytes of scratch for counts, and what the driver keeps
_NOWHERE = (1 << 16) - 1  # the cell of an update that goes to no place
_CROWDED = 96  # updates of a bin for which its thread takes as long as warps for a piece


class Piece(NamedTuple):
    """The updates that a team orders at a time, and into how many bins."""

    updates: int
    bins: int

    @classmethod
    def of(cls, places: Places, team: Team) -> Piece:
        """Two teams share a processor's scratch. A thread has a bin, if pieces are still long: else
        a warp has one.
        """
        for bins in (_BINS if places.cells >= _BINS else WARPS, WARPS):
            room = team.scratch_bytes // 2 - 4 * places.cells - _SPARE
            room -= dtypes.int32.itemsize * bins * (WARPS + 3)
            each = 2 * (dtypes.uint16.itemsize + dtypes.int32.itemsize)
            steps = min(_STEPS, room // (each * THREADS))
            if steps >= _ENOUGH:
                break
        return cls(max(1, steps) * THREADS, bins)


class BucketLoops:
    """The kernel in which a team has a bucket, while it is written."""

    def __init__(self, node: UOp, rows: Rows, places: Places, team: Team, is_given: bool) -> None:
        self.node, self.rows, self.places = node, rows, places
        self.piece, self.bins = Piece.of(places, team)
        self.loops = loops = Loops(dtypes.int32)
        self.out = loops.buffer("out", node.dtype, places.count, True)
        self.x = loops.buffer("x", node.dtype, places.count) if is_given else None
        self.cells = loops.buffer("cells", dtypes.uint16, rows.n)
        self.values = loops.buffer("values", dtypes.int32, rows.n)
        self.before = loops.buffer("before", dtypes.int32, BUCKETS * rows.counted)

    def program(self, name: str) -> LoopProgram:
        """The whole."""
        loops, n = self.loops, self.rows.n
        with loops.grid(BUCKETS) as bucket:
            # One more, which is read for what goes nowhere.
            self.sums = loops.local("sums", dtypes.float32, self.places.cells + 1)
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
            local("cells_ordered", dtypes.uint16, size + 1),
            local("ordered", dtypes.int32, size + 1),
        )
        self.counts = WarpCounts(self.loops, self.bins, THREADS)
        self.begins = local("begins", dtypes.int32, self.counts.digits)
        self.crowded = local("crowded", dtypes.int32, 1)

    def _updates(self, bucket: UOp) -> tuple[UOp, UOp]:
        """Where those of a bucket begin and end."""
        loops, tiles = self.loops, self.rows.counted
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
            self.loops.store(self.sums, self.places.cell(inside), old.cast(dtypes.float32))

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
        self.counts.clear()
        self._read(begin, count)
        self.counts.add_up(lambda bin, base: self._begin_bin(bin, base, count))
        self._move()
        self._sum(count)

    def _begin_bin(self, bin: UOp, base: UOp, count: UOp) -> None:
        loops = self.loops
        loops.store(self.begins, bin, base.minimum(count))
        many = loops.load(self.counts.sums[0], bin) > _CROWDED
        loops.store(self.crowded, number(0, dtypes.int32), number(1, dtypes.int32), many)

    def _at(self, t: UOp, step: UOp) -> UOp:
        """A warp has a part of the piece, in which neighbours have neighbours."""
        part = self.piece // WARPS
        return (t // WARP) * part + step * WARP + t % WARP

    def _read(self, begin: UOp, count: UOp) -> None:
        """To scratch, counted by bins. Behind the last update there are some that go nowhere: they
        come last."""
        loops, (cells, values) = self.loops, self.given
        zero = number(0, dtypes.int32)
        with loops.loop(THREADS, THREADS) as t:
            loops.store(self.crowded, zero, zero)
            with loops.loop(self.piece // THREADS) as step:
                at = self._at(t, step)
                inside = at < count
                k = inside.where(begin + at, 0)
                cell = inside.where(loops.load(self.cells, k), number(_NOWHERE, dtypes.uint16))
                loops.store(cells, at, cell)
                loops.count_up(self.counts.counts, self.counts.cell(t, self._bin(cell)))
                loops.store(values, at, loops.load(self.values, k))

    def _bin(self, cell: UOp) -> UOp:
        """The bin that has the place. Those of a warp follow one another, and have neighbours in
        turn: sorted updates fill many bins, too."""
        wide, each = cell.cast(dtypes.int32), self.bins // WARPS
        warp = (wide >> (self.places.bits - WARP_BITS)) & (WARPS - 1)
        return warp if each == 1 else warp * each + (wide & (each - 1))

    def _move(self) -> None:
        loops = self.loops
        with loops.loop(self.piece // THREADS) as step, loops.loop(THREADS, THREADS) as t:
            cell, value = (loops.load(memory, self._at(t, step)) for memory in self.given)
            place = loops.count_up(self.counts.counts, self.counts.cell(t, self._bin(cell)))
            loops.store(self.ordered[0], place, cell)
            loops.store(self.ordered[1], place, value)

    def _sum(self, count: UOp) -> None:
        """Every thread goes through its bin; or every warp through its own bins, 32 updates at a
        time, where a bin is crowded.
        """
        turns = (self._longest(count) + (WARP - 1)) // WARP
        if self.bins > WARPS:
            few = self.loops.load(self.crowded, number(0, dtypes.int32)).eq(0)
            self._sum_bins(few, count)
            turns = few.where(0, turns)
        self._sum_warps(turns, count)

    def _longest(self, count: UOp) -> UOp:
        """How many updates the warp with the most has."""
        loops = self.loops
        most = loops.register(number(0, dtypes.int32))
        with loops.loop(WARPS, WARPS) as warp:
            first, end = self._part(warp, WARPS, count)
            return loops.update(most, most.maximum(end - first), warp)

    def _sum_bins(self, few: UOp, count: UOp) -> None:
        """Two updates a turn, which are read together; behind the last one there may be none."""
        loops, nowhere = self.loops, self.places.cells
        with loops.loop(self.bins, self.bins) as t:
            first, end = self._part(t, self.bins, count)
            turns = few.where((end - first + 1) // 2, 0)
            with loops.loop(self.piece // 2, count=turns) as i:
                at = first + i * 2
                read = [[loops.load(memory, at + k) for memory in self.ordered] for k in (0, 1)]
                (one, _), (other, _) = read
                one, other = one.cast(dtypes.int32), other.cast(dtypes.int32)
                cells = one, (at + 1 < end).where(other, nowhere)
                for cell, (_, value) in zip(cells, read, strict=True):
                    cell = cell.minimum(nowhere)
                    total = loops.load(self.sums, cell) + value.bitcast(dtypes.float32)
                    loops.store(self.sums, cell, total, cell < nowhere)

    def _sum_warps(self, turns: UOp, count: UOp) -> None:
        loops = self.loops
        with loops.loop(self.piece // WARP, count=turns) as i, loops.loop(THREADS, THREADS) as t:
            first, end = self._part(t // WARP, WARPS, count)
            at = first + i * WARP + t % WARP
            safe = (at < end).where(at, 0)
            cell, value = (loops.load(memory, safe) for memory in self.ordered)
            cell = cell.cast(dtypes.int32)
            inside = (at < end).logical_and(cell < self.places.cells)
            value = value.bitcast(dtypes.float32)
            loops.sum_up(self.sums, inside.where(cell, 0), value, inside)

    def _part(self, part: UOp, parts: int, count: UOp) -> tuple[UOp, UOp]:
        """Where the updates of one of so many parts begin and end."""
        each, last = self.bins // parts, part.eq(parts - 1)
        begin = self.loops.load(self.begins, part * each)
        following = self.loops.load(self.begins, last.where(0, part * each + each))
        return begin, last.where(count, following)


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
        place = place.bitcast(dtypes.uint32)  # none is negative, so shifts need no sign
        cell = self.places.cell(self.places.inside(place))
        key = (cell << DIGIT) | self.places.bucket(place)
        return every.where(key.bitcast(dtypes.int32), -1)

    def payload(self, tile: TileLoops, row: UOp, k: UOp) -> UOp:
        s = self.scatter
        safe = k if tile.rows.is_whole else (k < s.count).where(k, 0)
        return (
            tile.loops.load(tile.named["updates"], safe).cast(dtypes.float32).bitcast(dtypes.int32)
        )

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
