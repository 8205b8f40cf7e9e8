"""The loops of a sum whose elements are in several lines of memory, such as `x.sum((0, 2, 3))`.

A row is sixteen neighbours of the reduction tree; a line is a stretch of memory, such as one
picture of one channel. Each group of rows is divided into the lines in which they begin, and only a
row that continues in the next line reads two of them:

    for group: for line: { for row in the line: add;  the row across its end, if there is one }

If the lines of a block are short, they are copied to scratch and added from there. So there is no
division per row, and memory is read in order.
"""

from __future__ import annotations

from dataclasses import dataclass

from adjoint.ir.affine import ZERO, Affine, Loaded, var
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import is_one, varies
from adjoint.ir.uop import UOp
from adjoint.kernel.index_maps import Gate
from adjoint.kernel.reduction_tree import Copy, Spot, Tree, TreeLoops, TreePart
from adjoint.ops.tree import BLOCK, GROUP, LANES

SHORT = 64  # shorter lines are copied


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LineLoops(TreeLoops):
    """The loops for elements in lines of one length."""

    length: int

    @property
    def lines(self) -> int:
        return self.count // self.length

    def _side_by_side(self, around: tuple[UOp, ...], block: Affine) -> Tree:
        even = self.length >= LANES and self.length.bit_count() == 1
        if is_one(self.lines) or even or varies(self.length, self.lines):
            return Tree(self._vectors(around, block))
        if self.length < SHORT:
            copy = self._copied(around, block)
            return Tree(self._vectors(around, block), copy)
        return self._by_lines(around, block)

    # ---- long lines

    def _by_lines(self, around: tuple[UOp, ...], block: Affine) -> Tree:
        """Rows that are in one line, and rows across the end of one, or of all."""
        vector, lane = self._loop(LANES, None, LANES)
        rows = -(-self.count // LANES)
        groups, group = self._loop(-(-min(rows, BLOCK // LANES) // GROUP), self._groups_in(block))
        first = block * (BLOCK // LANES) + group * GROUP
        stop = self._least(self.index(first + GROUP), rows)
        loop, line = self._lines_of(first, stop)
        loops = (*around, vector, groups, loop)
        parts = [self._whole(loops, line, first, stop, lane)]
        if self.length % LANES:
            parts.append(self._across(loops, line, stop, lane))
        return Tree(tuple(parts), carried=True)

    def _groups_in(self, block: Affine) -> UOp | None:
        """How many groups a block has, if not all have the same."""
        if self.count <= BLOCK or self.count % BLOCK == 0:
            return None
        groups = self._over(self._plus(self._left(block), LANES * GROUP - 1), LANES * GROUP)
        return self._least(groups, GROUP)

    def _lines_of(self, first: Affine, stop: UOp) -> tuple[UOp, Affine]:
        """A loop over the lines in which the rows of a group begin."""
        start = self.index(first * LANES // self.length)
        last = self._over(self._times(self._plus(stop, -1), LANES), self.length)
        most = min(self.lines, LANES * GROUP // self.length + 2)
        loop = self.make(most, 1, self._plus(self._less(last, start), 1))
        return loop, var(Loaded(UOp(OPS["add"], (start, loop)), self.lines))

    def _whole(
        self, loops: tuple[UOp, ...], line: Affine, first: Affine, stop: UOp, lane: Affine
    ) -> TreePart:
        """The rows of a group that are inside a line."""
        begin = self._over(self.index(line * self.length + (LANES - 1)), LANES)
        start = UOp(OPS["maximum"], (begin, self.index(first)))
        end = UOp(OPS["minimum"], (self._rows_until(line), stop))
        most = min(GROUP, self.length // LANES)
        loop, row = self._loop(most if most > 1 else 2, self._less(end, start))
        here = UOp(OPS["add"], (start, self.index(row)))
        column = self._column(line, here, self.length - LANES + 1) + lane
        return self._found((*loops, loop), line, column, ((line, column, ()),))

    def _across(self, loops: tuple[UOp, ...], line: Affine, stop: UOp, lane: Affine) -> TreePart:
        """The row that continues in the next line: its elements there are another spot."""
        row = self._rows_until(line)
        behind = self._over(self.index(line * self.length + (self.length + LANES - 1)), LANES)
        count = self._less(UOp(OPS["minimum"], (behind, stop)), UOp(OPS["minimum"], (row, stop)))
        once, turn = self._loop(2, count)
        column, following = self._column(line, row, self.length) + turn * LANES + lane, line + 1
        here: Gate = (("in", column, self.length),)
        over = column + -self.length
        there: Gate = (("in", over, self.length),)
        if self.count % LANES:
            there = (*there, ("in", following, self.lines))
        spots: tuple[Spot, ...] = ((line, column, here), (following, over, there))
        return self._found((*loops, once), line, column, spots)

    def _rows_until(self, line: Affine) -> UOp:
        """How many whole rows there are until a line ends."""
        return self._over(self.index(line * self.length + self.length), LANES)

    def _column(self, line: Affine, row: UOp, columns: int) -> Affine:
        """Where in a line a row begins."""
        at = self._less(self._times(row, LANES), self.index(line * self.length))
        return var(Loaded(at, columns))

    def _found(
        self, loops: tuple[UOp, ...], line: Affine, column: Affine, spots: tuple[Spot, ...]
    ) -> TreePart:
        return TreePart(loops, line * self.length + column, ZERO, (), spots)

    # ---- short lines

    def _copied(self, around: tuple[UOp, ...], block: Affine) -> Copy:
        """The lines that have an element of a block, whole."""
        if self.count <= BLOCK:
            lines, line = self._loop(self.lines)
            return self._copy((lines,), line, line, ZERO, None)
        first = block * BLOCK
        start = first // self.length
        end = self._least(self.index(first + BLOCK), self.count)
        stop = self._over(self._plus(end, self.length - 1), self.length)
        most = min(self.lines, BLOCK // self.length + 2)
        lines, turn = self._loop(most, self._less(stop, self.index(start)))
        line = var(Loaded(self.index(start + turn), self.lines))
        begin = var(Loaded(self.index(first + start * -self.length), self.length))
        return self._copy((*around, lines), line, turn, begin, first)

    def _copy(
        self, loops: tuple[UOp, ...], line: Affine, turn: Affine, begin: Affine, own: Affine | None
    ) -> Copy:
        """The loops around one line with those over it; `own`: where the block begins."""
        more, column, new = self._columns()
        place = line * self.length + column
        gate = new if own is None else (*new, ("in", place + own * -1, BLOCK))
        return Copy((*loops, *more), (line, column, gate), turn * self.length + column, begin)

    def _columns(self) -> tuple[tuple[UOp, ...], Affine, Gate]:
        """Loops over a line, the column in them, and where it was not in the row before."""
        if self.length <= LANES:
            loop, column = self._loop(self.length, None, 1 << (self.length - 1).bit_length())
            return (loop,), column, ()
        rows, row = self._loop(-(-self.length // LANES))
        loop, lane = self._loop(LANES, None, LANES)
        start = self._least(self.index(row * LANES), self.length - LANES)
        column = var(Loaded(start, self.length - LANES + 1)) + lane
        return (rows, loop), column, (("in", column + row * -LANES, LANES),)

    def _times(self, x: UOp, by: int) -> UOp:
        return UOp(OPS["mul"], (x, self._number(by)))
