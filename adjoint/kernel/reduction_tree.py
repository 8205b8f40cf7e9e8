"""The loops of a sum in the order of the reduction tree of `ops/tree.py`.

Elements of a block are at 16·(16·group + row) + lane. If the lanes of a kernel run along a row, the
sixteen lanes are a vector:

    for block: for lane (16 side by side): for group: { for row: add;  the rest, in its lanes }

If they run across rows, a lane is a number whose bits are loops of two, the highest innermost:
adding in that order is halving. Blocks are always computed like that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adjoint.ir.affine import ZERO, Affine, IndexVar, var
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import divides, highest, is_one, varies
from adjoint.ir.uop import UOp
from adjoint.kernel.index_maps import Gate
from adjoint.ops.tree import BLOCK, GROUP, LANES

Make = Callable[[int, int, UOp | None], UOp]  # a loop: size, lanes, how often it runs
Spot = tuple[Affine, Affine, Gate]  # a line of memory, the column in it, where the element is


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TreePart:
    """Loops from the outside in, the place of an element in them, and where it is one."""

    loops: tuple[UOp, ...]
    place: Affine
    inside: Affine  # the place in its block
    gate: Gate
    spots: tuple[Spot, ...] = ()  # where the place is in memory, if that is known


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Copy:
    """The loops in which the lines of a block are copied to scratch."""

    loops: tuple[UOp, ...]
    spot: Spot  # of an element; the gate is true once for each element, which may come again
    place: Affine  # of the element in scratch
    first: Affine  # where the block begins in scratch


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """The loops in which each total is added to the one around it; the rest of a row, if any."""

    parts: tuple[TreePart, ...]  # all whole rows, and what is left
    copy: Copy | None = None  # what is added up lies in scratch
    carried: bool = False  # a total goes on in the second loop from the inside, as in the first

    @property
    def paths(self) -> list[tuple[UOp, ...]]:
        copied = [] if self.copy is None else [self.copy.loops]
        return [*copied, *(part.loops for part in self.parts)]

    @property
    def in_spots(self) -> bool:
        return any(len(part.spots) > 1 for part in self.parts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TreeLoops:
    """The loops for a number of elements."""

    count: int
    make: Make
    index: Callable[[Affine], UOp]
    bind: Callable[[IndexVar, UOp], None]

    def tree(self, side_by_side: bool) -> Tree:
        """All loops; `side_by_side`: the lanes of the tree are those of the kernel."""
        blocks, several = -(-self.count // BLOCK), highest(self.count) > BLOCK
        around, block = self._items(blocks, None) if several else ((), ZERO)
        if side_by_side:
            return self._side_by_side(around, block)
        left = None if divides(BLOCK, self.count) else self._left(block)
        most = BLOCK if several else self.count
        inside, at = self._items(most, left if several else None)
        return Tree((TreePart((*around, *inside), block * BLOCK + at, at, ()),))

    def _left(self, block: Affine) -> UOp:
        """How many elements there are from the start of a block on."""
        return self.index(block * -BLOCK + self.count)

    def _loop(self, size: int, count: UOp | None = None, lanes: int = 1) -> tuple[UOp, Affine]:
        loop, counter = self.make(size, lanes, count), IndexVar(size)
        self.bind(counter, loop)
        return loop, var(counter)

    # ---- lanes as numbers

    def _items(self, most: int, left: UOp | None) -> tuple[tuple[UOp, ...], Affine]:
        """Loops over at most so many items in the order of the tree; `left`: how many there are."""
        loops: list[UOp] = []
        lane = ZERO
        for bit in range((min(highest(most), LANES) - 1).bit_length()):
            loop, at = self._loop(2)
            loops.append(loop)
            lane = lane + at * (1 << bit)
        rows = -(-most // LANES)
        whole = divides(LANES, most) or (most in (1, 2, 4, 8) and not varies(most))
        run = None if left is None and whole else self._rows_of(lane, most, left)
        if is_one(rows) and run is None:
            return tuple(loops), lane
        more, row = self._rows(rows, run)
        return (*loops, *more), row * LANES + lane

    def _rows_of(self, lane: Affine, most: int, left: UOp | None) -> UOp:
        """How many rows have this lane."""
        if left is None:
            return self.index((lane * -1 + (most + LANES - 1)) // LANES)
        there = UOp(OPS["sub"], (left, self.index(lane + (1 - LANES))))
        return self._least(self._over(there, LANES), -(-most // LANES))

    def _rows(self, most: int, run: UOp | None) -> tuple[list[UOp], Affine]:
        """Groups of rows, and rows in a group."""
        if highest(most) <= GROUP:  # what is read in a loop that may not run depends on its counter
            loop, row = self._loop(most if run is None else max(highest(most), 2), run)
            return [loop], row
        even = run is None and divides(GROUP, most)
        groups, group = self._loop(-(-highest(most) // GROUP), self._groups(run))
        held = None if even else self._least(self._minus(run, most, group), GROUP)
        loop, row = self._loop(GROUP, held)
        return [groups, loop], group * GROUP + row

    def _groups(self, run: UOp | None) -> UOp | None:
        return None if run is None else self._over(self._plus(run, GROUP - 1), GROUP)

    # ---- lanes side by side

    def _side_by_side(self, around: tuple[UOp, ...], block: Affine) -> Tree:
        return Tree(self._vectors(around, block))

    def _vectors(self, around: tuple[UOp, ...], block: Affine) -> tuple[TreePart, ...]:
        count = self.count
        if highest(count) <= 1 or (count < LANES and not varies(count)):
            width = 1 << (count - 1).bit_length()
            loop, lane = self._loop(count, None, width)
            return (TreePart((loop,), lane, lane, ()),)
        loop, lane = self._loop(LANES, None, LANES)
        around = (*around, loop)
        whole, rows = self._whole_rows(block), min(highest(count) // LANES, BLOCK // LANES)
        if divides(LANES, count):
            more, row = self._rows(rows, whole) if rows > 1 else ([], ZERO)
            return (self._part((*around, *more), block, row * LANES + lane),)
        return self._with_rest(around, block, lane, rows, whole)

    def _whole_rows(self, block: Affine) -> UOp | None:
        """How many whole rows a block has, if not all have the same."""
        if varies(self.count) and highest(self.count) <= BLOCK:
            return self._number(self.count // LANES)
        if highest(self.count) <= BLOCK or divides(BLOCK, self.count):
            return None
        return self._least(self._over(self._left(block), LANES), BLOCK // LANES)

    def _with_rest(
        self, around: tuple[UOp, ...], block: Affine, lane: Affine, rows: int, whole: UOp | None
    ) -> tuple[TreePart, ...]:
        """The remainder of a row is the last element of its lanes' last group."""
        most = min(-(-highest(self.count) // LANES), BLOCK // LANES)
        if whole is None and rows < GROUP:
            held, group = None, ZERO
        else:
            run = None if whole is None else self._plus(whole, 1)  # one more than there may be
            groups, group = self._loop(-(-most // GROUP), self._clamped_groups(run))
            held = self._minus(whole, rows, group)
            around = (*around, groups)
        turns = None if held is None else self._least(held, GROUP)
        loop, row = self._loop(min(max(rows, 1 if held is None else 2), GROUP), turns)
        after = UOp(OPS["sub"], (self.index(Affine(GROUP)), held)) if held is not None else None
        once, _ = self._loop(1, None if after is None else self._least(after, 1))
        main = self._part((*around, loop), block, (group * GROUP + row) * LANES + lane)
        place = lane + (self.count - self.count % LANES)
        inside = lane + (self.count - self.count % LANES) % BLOCK  # there is one in the last block
        return main, TreePart((*around, once), place, inside, (("in", place, self.count),))

    def _clamped_groups(self, run: UOp | None) -> UOp | None:
        groups = self._groups(run)
        return None if groups is None else self._least(groups, BLOCK // LANES // GROUP)

    def _part(self, loops: tuple[UOp, ...], block: Affine, inside: Affine) -> TreePart:
        return TreePart(loops, block * BLOCK + inside, inside, ())

    # ---- arithmetic of counts

    def _number(self, value: int) -> UOp:
        return self.index(Affine(value))

    def _plus(self, x: UOp, by: int) -> UOp:
        return UOp(OPS["add"], (x, self._number(by)))

    def _less(self, x: UOp, y: UOp) -> UOp:
        return UOp(OPS["sub"], (x, y))

    def _over(self, x: UOp, by: int) -> UOp:
        return UOp(OPS["floordiv"], (x, self._number(by)))

    def _least(self, x: UOp, most: int) -> UOp:
        return UOp(OPS["minimum"], (x, self._number(most)))

    def _minus(self, run: UOp | None, rows: int, group: Affine) -> UOp:
        """How many rows are left from a group on."""
        if run is None:
            return self.index(group * -GROUP + rows)
        return UOp(OPS["sub"], (run, self.index(group * GROUP)))
