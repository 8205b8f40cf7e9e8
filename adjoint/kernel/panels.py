"""Product, row-wise work, product: rows of the first product stay in scratch.

Before: softmax(q @ kᵀ / √d) @ v.
After, for every member of the batch and every share of the rows (the grid):
    scores[row, column] = sum over k of q[row, k] * kᵀ[k, column], in tiles
    every row of the scores becomes one of weights (`panel_rows.py`)
    out[row, n] = sum over columns of weights[row, column] * v[column, n], in tiles; the rest of
    the group on each total, stored
Products are added in the order of tiles (`tiles.py`), sums by the reduction tree, so no bit depends
on whether a chain is one kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

from adjoint.errors import InternalError
from adjoint.ir.affine import ZERO, Affine, Loaded, var
from adjoint.ir.dtype import dtypes
from adjoint.ir.kernel_kind import Library
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import origin_scope
from adjoint.ir.sizes import highest, varies
from adjoint.ir.uop import UOp, toposort
from adjoint.kernel.algorithms.loops import number
from adjoint.kernel.index_maps import ElementWalk, reduced_operands
from adjoint.kernel.loop_stages import flat
from adjoint.kernel.masks import Distance, Mask, kept_from
from adjoint.kernel.multiply_add import multiply_add
from adjoint.kernel.panel_rows import PanelRows, Sum
from adjoint.kernel.row_stops import is_known
from adjoint.kernel.sharing import Work
from adjoint.kernel.tiles import BLOCK
from adjoint.ops.logic import where
from adjoint.ops.mathematics.nodes import compute_dtype
from adjoint.stages import Group, LoopProgram
from adjoint.target import Target

_FEWEST_PIECES = 32  # of the grid, so that threads share the work evenly, as long as each has
_FEWEST_TILES = 4  # of rows, for which it packs columns

Block = tuple[Affine, int]  # of k: where it starts, and its length
Left = Callable[[Affine, Affine], UOp]  # an element of the left operand: row of the panel, k


def lower_panels(group: Group, name: str, target: Target) -> tuple[LoopProgram, None]:
    """The loops of a group of products with row-wise work between them."""
    if target.tile is None:
        raise InternalError(f"kernel {name} has products, and the target no tiles")
    with origin_scope(group.outputs[0][0].raw_origin):
        return PanelLowering(group, target).program(name), None


class PanelLowering(PanelRows):
    """One kernel being written."""

    def __init__(self, group: Group, target: Target):
        assert target.tile is not None
        self.tile = target.tile
        node = next(n for n, _, _ in group.reduced if type(n.op.kernel) is Library)
        kind = compute_dtype(node.dtype)
        super().__init__(group, kind, target.tile.lanes(kind.itemsize))
        while self.lanes > self.width:
            self.lanes //= 2
        self.batch, self.rows, self.columns = map(self._length, self.second.at)
        most = target.limits.panel_bytes // (self.room * self.kind.itemsize)
        most //= max(len(self.first), 1)  # rows that fit
        self.step = max(min(target.tile.rows, most), 1)  # rows of a tile
        self.share, self.parts = self._shares(max(most // self.step, 1))
        self.start = ZERO  # the first tile of the share

    def _shares(self, most: int) -> tuple[int, int]:
        """Tiles of rows in a piece of the grid, and pieces of a member of the batch."""
        tiles = -(-self.rows // self.step)
        if self.tile.sharers and not varies(*self.group.sizes):
            operations = self._cost_of(self.step)
            work = Work(tiles, self.batch, 1, operations, self.tile.sharers)
            share = -(-tiles // work.parts(1, most))
            return share, -(-tiles // share)
        even = max(_FEWEST_TILES, tiles * highest(self.batch) // _FEWEST_PIECES)
        parts = -(-tiles // min(most, even, tiles))
        return -(-tiles // parts), parts

    # ---- the whole

    def program(self, name: str) -> LoopProgram:
        loops, share = self.loops, self.share * self.step
        rooms = [
            loops.local(f"scores{i}", self.kind, share * self.room)
            for i in range(max(len(self.first), 1))
        ]
        self.scores = dict(zip([part.node for part in self.first], rooms, strict=False))
        longest = max(min(self._count(part), BLOCK) for part in (self.second, *self.first))
        self.packed = loops.local("columns", self.kind, longest * self.lanes)
        self.totals = loops.local("totals", self.kind, share * self.lanes)
        self.held = {
            node: loops.local(f"held{i}", compute_dtype(node.dtype), share)
            for i, node in enumerate(self._used_later())
        }
        if self._is_masked():
            self.ends = loops.local("ends", dtypes.int64, share)
        with loops.grid(self.batch * self.parts) as position:
            piece = self._counter(self.batch * self.parts, position)
            batch = piece // self.parts
            self.start = (piece % self.parts) * self.share
            self._go(flat(self.second.at[:1]), batch)
            for part in self.first:
                self._multiply_first(part)
            self.stop = self._stop()
            self._work(rooms[0])
            self._multiply_second(rooms[0])
        return loops.program(self.group.outputs[0][0], name, self._cost())

    def _count(self, part: Sum) -> int:
        """How many products are added up for an element."""
        return self._length(flat(part.loops))

    def _cost(self) -> int:
        """Of a piece of the grid."""
        return self._cost_of(self.share * self.step)

    def _cost_of(self, rows: int) -> int:
        first = sum(2 * self._count(part) for part in self.first) * self.width
        return (first + 2 * self.width * self.columns) * rows

    def _used_later(self) -> list[UOp]:
        """Reductions of rows that the results of the second product are made with."""
        results = [node for node, _ in self._outputs({*flat(self.second.at[2:])})]
        known = {*self.group.inputs, self.second.node, *self.reduced}
        return [n for n in toposort(results, stop=known.__contains__) if n in self.reduced]

    def _is_masked(self) -> bool:
        """Whether something chooses among elements, so that many weights may be zeros."""
        known = {*self.group.inputs, *(part.node for part in self.first)}
        return any(n.op is where for n in toposort([self.second.node], stop=known.__contains__))

    def _stop(self) -> Mask | None:
        """The mask that discards rows from some column on, if the values behind it are known."""
        wide = self._outputs({*flat(self.second.loops)})
        if len(self.first) != 1 or self.ends is None or wide or varies(self.rows, self.width):
            return None
        mask = self._mask(self.first[0])
        return mask if mask is not None and is_known(self, mask.node) else None

    # ---- rows of the share

    @contextmanager
    def _each_row(self) -> Iterator[None]:
        """A loop over the rows of the share, those that there are."""
        most, count = self.share * self.step, None
        first = self.start * self.step
        if most * self.parts != self.rows:
            left = self.index(first * -1 + self.rows)
            count = UOp(OPS["minimum"], (left, number(most)))
        with self.loops.loop(most, count=count) as turn:
            self.row = self._counter(most, turn)
            self.go_to_row(first + self.row)
            yield

    def _work(self, weights: UOp) -> None:
        with self._each_row():
            self.write_row(weights)

    def _tiles(self, write: Callable[[Affine, int], None]) -> None:
        """The tiles of the share: those with all their rows, and the last one, if it has fewer; the
        writer of a tile gets its first row in the share and its rows.
        """
        whole, left = divmod(self.rows, self.step)
        count = None
        if self.share * self.parts != whole:
            there = self.index(self.start * -1 + whole)
            count = UOp(OPS["minimum"], (there, number(self.share)))
        if whole:
            with self.loops.loop(self.share, count=count) as turn:
                write(self._counter(self.share, turn) * self.step, self.step)
        if left:
            place = Affine(whole) + self.start * -1
            inside = UOp(OPS["minimum"], (self.index(place * -1 + self.share), number(1)))
            with self.loops.loop(1, count=None if self.parts == 1 else inside):
                write(place * self.step, left)

    # ---- products

    def _multiply_first(self, part: Sum) -> None:
        """All columns of the share's rows, in scratch."""
        lanes, panels = self.lanes, -(-self.width // self.lanes)
        rows, summed = flat(part.at[1:2]), flat(part.loops)

        def left(row: Affine, k: Affine) -> UOp:
            self._go(rows, self.start * self.step + row)
            self._go(summed, k)
            return self._operand(part)

        with self.loops.loop(panels) as turn:
            first = self._counter(panels, turn) * lanes
            if self.width % lanes:  # the last panel ends where the columns do
                end = UOp(OPS["minimum"], (self.index(first), number(self.width - lanes)))
                first = var(Loaded(end, self.width - lanes + 1))
            out = Place(self.scores[part.node], self.room, first)
            mask = self._mask(part)
            distance = None if mask is None else mask.distance
            self._multiply(Job(part, first, lanes, lanes, left, out, distance))

    def _mask(self, part: Sum) -> Mask | None:
        """What throws tiles of a product away, if something does."""
        results = [node for node, _ in self.group.outputs]
        before = dict(self.atoms)

        def visit(walk: ElementWalk, row: Affine, column: Affine) -> None:
            self._go(flat(self.second.at[1:2]), row)
            self._go(flat(self.second.loops), column)
            at, loops = self._place(self.second.at), self._place(self.second.loops)
            places, _ = reduced_operands(self.second.node, at, loops)
            walk.value(self.second.node.src[0], places[0])

        sizes = (self.rows, self.width)
        found = kept_from(part.node, results, self.group.inputs, sizes, visit)
        self.atoms = before
        return found

    def _multiply_second(self, weights: UOp) -> None:
        """The results, from the weights in scratch; the remainder of a panel has fewer lanes."""
        (panels, rest), lanes = divmod(self.columns, self.lanes), self.lanes

        def left(row: Affine, k: Affine) -> UOp:
            return self.loops.load(weights, self.index(row * self.room + k))

        def panel(first: Affine, lanes: int, columns: int) -> None:
            out = Place(self.totals, lanes, ZERO)
            job = Job(self.second, first, lanes, columns, left, out)
            self._multiply(job)
            self._finish(job)

        if panels:
            with self.loops.loop(panels) as turn:
                panel(self._counter(panels, turn) * lanes, lanes, lanes)
        if rest:
            panel(Affine(panels * lanes), 1 << (rest - 1).bit_length(), rest)

    def _multiply(self, job: Job) -> None:
        """A panel of columns for all rows of the share, block of k by block."""
        count = self._count(job.part)
        whole, rest = divmod(count, BLOCK)
        if job.columns < job.lanes:
            self._blank(job.lanes, min(count, BLOCK))
        if count > BLOCK:
            self._clear(job)
        if whole > 1:
            with self.loops.loop(whole) as turn:
                self._add_block(job, (self._counter(whole, turn) * BLOCK, BLOCK))
        elif whole:
            self._add_block(job, (ZERO, BLOCK))
        if rest:
            self._add_block(job, (Affine(whole * BLOCK), rest))

    def _blank(self, lanes: int, lines: int) -> None:
        """Zeros in a panel that has fewer columns than lanes: all lanes are multiplied."""
        with self.loops.loop(lanes, lanes) as lane, self.loops.loop(lines) as turn:
            place = self._in(Place(self.packed, lanes), self._counter(lines, turn), lane)
            self.loops.store(self.packed, place, number(0.0, self.kind))

    def _clear(self, job: Job) -> None:
        lanes, rows = job.lanes, self.share * self.step
        with self.loops.loop(lanes, lanes) as lane, self.loops.loop(rows) as turn:
            place = self._in(job.out, self._counter(rows, turn), lane)
            self.loops.store(job.out.buffer, place, number(-0.0, self.kind))

    def _add_block(self, job: Job, block: Block) -> None:
        self._pack(job, block)
        finite = None
        if job.part is self.second and self.ends is not None:
            finite = self._is_finite(job, block)
        self._tiles(lambda first, rows: self._add_tile(job, block, first, rows, finite))

    def _is_finite(self, job: Job, block: Block) -> UOp:
        """Whether all packed columns are finite: zero times each is zero then."""
        loops, (_, size) = self.loops, block
        ways = 4 if size % 4 == 0 else 1  # sums that do not wait for one another
        totals = [loops.register(number(0.0, self.kind)) for _ in range(ways)]
        zero = number(0.0, self.kind)
        with loops.loop(job.columns, job.lanes) as lane, loops.loop(size // ways) as turn:
            k = self._counter(size // ways, turn) * ways
            for i, total in enumerate(totals):
                place = self._in(Place(self.packed, job.lanes), k + i, lane)
                value = multiply_add(self.tile, loops.load(self.packed, place), zero, total)
                totals[i] = loops.update(total, value, lane, turn)
        whole = reduce(lambda a, b: UOp(OPS["add"], (a, b)), totals)
        return UOp(OPS["eq"], (whole, zero))

    def _reach(self, block: Block, first: Affine, rows: int, finite: UOp) -> UOp:
        """How far into a block of k the weights of some rows have to be multiplied: what follows
        are zeros, and a sum that zeros are added to stays the same."""
        ends = [self._end(first + i) for i in range(rows)]
        end = reduce(lambda a, b: UOp(OPS["maximum"], (a, b)), ends)
        start, size = block
        left = UOp(OPS["minimum"], (UOp(OPS["sub"], (end, self.index(start))), number(size)))
        return UOp(OPS["where"], (finite, left, number(size)))

    def _end(self, row: Affine) -> UOp:
        """Where the weights of a row end, read here: it may be read elsewhere too."""
        assert self.ends is not None
        load, place = OPS["load"], self.index(row)
        return self.loops.here(UOp(load, (self.ends, place), load.arg(1, next(self._names))))  # type: ignore[misc]

    def _add_tile(
        self, job: Job, block: Block, first: Affine, rows: int, finite: UOp | None
    ) -> None:
        """The sums of some rows over a block, added to those of blocks before, unless nothing
        depends on them.
        """
        if job.distance is None:
            self._add_sums(job, block, first, rows, finite)
            return
        last = self.start * self.step + first + (rows - 1)
        apart = UOp(OPS["minimum"], (self.index(job.distance(job.first, last)), number(1)))
        with self.loops.loop(1, count=apart):
            self._add_sums(job, block, first, rows, finite)

    def _add_sums(
        self, job: Job, block: Block, first: Affine, rows: int, finite: UOp | None
    ) -> None:
        loops, buffer, several = self.loops, job.out.buffer, self._count(job.part) > BLOCK
        reach = None if finite is None else self._reach(block, first, rows, finite)
        with loops.loop(job.lanes, job.lanes) as lane:
            for i, total in enumerate(self._sums(job, block, first, rows, lane, reach)):
                place = self._in(job.out, first + i, lane)
                if several:
                    total = UOp(OPS["add"], (loops.load(buffer, place), total))
                loops.store(buffer, place, total)

    def _sums(
        self, job: Job, block: Block, first: Affine, rows: int, lane: UOp, reach: UOp | None
    ) -> list[UOp]:
        loops, (start, size) = self.loops, block
        sums = [loops.register(number(0.0, self.kind)) for _ in range(rows)]
        found = []
        with loops.loop(size, count=reach) as turn:
            k = self._counter(size, turn)
            right = loops.load(self.packed, self._in(Place(self.packed, job.lanes), k, lane))
            for i, total in enumerate(sums):
                value = multiply_add(self.tile, job.left(first + i, start + k), right, total)
                found.append(loops.update(total, value, turn))
        return found

    def _in(self, place: Place, line: Affine, lane: UOp) -> UOp:
        """Where a lane is in a line of scratch."""
        return UOp(OPS["add"], (self.index(line * place.length + place.first), lane))

    # ---- columns side by side

    def _pack(self, job: Job, block: Block) -> None:
        """Columns of the right operand, next to one another for each k of a block."""
        part, (start, size), summed = job.part, block, list(flat(job.part.loops))

        def read(column: Affine, k: Affine) -> UOp:
            self._go(flat(part.at[2:]), job.first + column)
            self._go(summed, start + k)
            return self._operand(part, 1)

        if job.columns == job.lanes and self.lie_apart(read, job.lanes, size):
            self.pack_squares(read, self.packed, job.lanes, size)
            return
        with self.loops.loop(job.columns, job.lanes) as lane:
            self._go(flat(part.at[2:]), job.first + self._counter(job.columns, lane))
            if size == self._count(part):
                self._pack_nested(job, summed, ZERO, lane)
                return
            with self.loops.loop(size) as turn:
                k = self._counter(size, turn)
                self._go(summed, start + k)
                self._pack_one(job, k, lane)

    def _pack_one(self, job: Job, k: Affine, lane: UOp) -> None:
        place = self._in(Place(self.packed, job.lanes), k, lane)
        self.loops.store(self.packed, place, self._operand(job.part, 1))

    def _pack_nested(self, job: Job, atoms: Sequence[int], k: Affine, lane: UOp) -> None:
        """A loop for each axis that is summed, the last innermost: no index is divided."""
        if not atoms:
            self._pack_one(job, k, lane)
            return
        size = self.group.sizes[atoms[0]]
        with self.loops.loop(size) as turn:
            self.atoms[atoms[0]] = self._counter(size, turn)
            self._pack_nested(job, atoms[1:], k * size + self.atoms[atoms[0]], lane)

    # ---- results

    def _finish(self, job: Job) -> None:
        """The elementwise work of the group on each total."""
        loops, columns = self.loops, flat(self.second.at[2:])
        with self._each_row(), loops.loop(job.columns, job.lanes) as lane:
            self._forget()
            self._go(columns, job.first + self._counter(job.columns, lane))
            self.finishing = loops.load(self.totals, self._in(job.out, self.row, lane))
            self._store_all(self._outputs({*columns}))
            self.finishing = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Place:
    """Lines of scratch of some length, from a column on."""

    buffer: UOp
    length: int
    first: Affine = ZERO


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Job:
    """Some columns of a product, as many as there are lanes or fewer, for the rows of a share."""

    part: Sum
    first: Affine
    lanes: int
    columns: int
    left: Left
    out: Place
    distance: Distance | None = None  # of its tiles from a mask that throws them away
