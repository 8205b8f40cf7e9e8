"""Sums down the columns of a matrix, which read its rows in memory order.

By the reduction tree of `ops/tree.py`, row i of a block goes to lane i mod 16, and a lane adds its
rows in groups of sixteen. If a register held a total, its rows would have to come one after
another: every sixteenth, far apart. Here the totals of all lanes are in scratch, for a strip of
columns:

    for strip: for block: {
        for group: {
            for four lines of each lane: for lane: for column: partial[lane, column] += …
            for lane: for column: total[lane, column] += partial[lane, column]
        }
        for column: blocks[block, column] = the lanes of total, halved
    }
    for column: the blocks, added up in the order of the tree

The last strip ends with the last column: some columns are computed twice, with the same bits.
"""

from __future__ import annotations

from math import prod
from typing import Any

from adjoint.ir.affine import ZERO, Affine, IndexVar, Loaded, var
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.kernel.index_maps import Gate
from adjoint.kernel.lower import Lowering, joining
from adjoint.kernel.reduction_tree import TreeLoops
from adjoint.ops.mathematics.nodes import compute_dtype, rounded
from adjoint.ops.tree import BLOCK, GROUP, LANES

_AT_ONCE = 4  # lines of a lane between a load of its total and the store
_ROUND, _GROUP = _AT_ONCE * LANES, GROUP * LANES  # lines


class ColumnLowering(Lowering):
    """A kernel with one stage of sums, along lines; its lanes are columns."""

    def _open_loops(self) -> None:
        outer, width = list(self.counters.outer.vars), self.choice.columns
        self.column = outer.pop(self.choice.lane)
        strip = IndexVar(-(-self.column.size // width))
        self._open_grid([*outer, strip], 1)
        self.strip = var(strip) * width
        if self.column.size % width:
            last = self.column.size - width
            first = UOp(OPS["minimum"], (self.index(self.strip), self._number(last)))
            self.strip = var(Loaded(first, last + 1))
        self.count = prod(self.counters.stages[0].sizes)
        self.blocks = -(-self.count // BLOCK)

    def _counted(self, size: int, count: UOp | None = None, lanes: int = 1) -> tuple[UOp, Affine]:
        """A loop, and its counter."""
        loop, counter = self._range(size, lanes, count=count), IndexVar(size)
        self._index[counter] = loop
        return loop, var(counter) if size > 1 else ZERO

    def _over_columns(self) -> tuple[UOp, Affine]:
        """A loop over the columns of a strip, in which results and operands are at its column."""
        width = self.choice.columns
        loop, at = self._counted(width, None, min(self.choice.width, width))
        outer = self.counters.outer
        outer.go_each([self.strip + at if v is self.column else var(v) for v in outer.vars])
        return loop, at

    # ---- the stage

    def _write_stage(self, number: int) -> None:
        self.stage = number
        nodes = [node for node, _, _ in self.frame.stages[number].reductions]
        size = LANES * self.choice.columns
        partial, total = ([self._scratch_of(n, w, size) for n in nodes] for w in ("part", "total"))
        around: tuple[UOp, ...] = ()
        block = ZERO
        if self.blocks > 1:
            loop, block = self._counted(self.blocks)
            around = (loop,)
        group = self._groups(around, block, partial, total)
        self._write_blocks(nodes, around, block, total if group else partial)

    def _groups(
        self, around: tuple[UOp, ...], block: Affine, partial: list[UOp], total: list[UOp]
    ) -> bool:
        """The totals of the lanes of a block; whether there are several groups."""
        most, start = min(self.count, BLOCK), block * BLOCK
        if most <= _GROUP:
            self._write_group(around, start, partial)
            return False
        left = self._left(start, _GROUP, BLOCK) if self.count > BLOCK else None
        loop, group = self._counted(-(-most // _GROUP), left)
        self._write_group((*around, loop), start + group * _GROUP, partial)
        self._add_group((*around, loop), partial, total)
        return True

    def _left(self, start: Affine, unit: int, most: int) -> UOp | None:
        """How many pieces of a block or a group there are from its start on; None: all."""
        if self.count % most == 0:
            return None
        rest = self.index(start * -1 + (self.count + unit - 1))
        pieces = UOp(OPS["floordiv"], (rest, self._number(unit)))
        return UOp(OPS["minimum"], (pieces, self._number(most // unit)))

    def _write_group(self, around: tuple[UOp, ...], start: Affine, partial: list[UOp]) -> None:
        """The lines of a group, each added to the partial total of its lane."""
        most = min(self.count, _GROUP)
        left = self._left(start, _ROUND, _GROUP) if self.count > _GROUP else None
        turns, turn = self._counted(-(-most // _ROUND), left)
        lanes, lane = self._counted(LANES)
        loop, column = self._over_columns()
        self.paths[0].append((*around, turns, lanes, loop))
        place = self.index(lane * self.choice.columns + column)
        first = UOp(OPS["eq"], (turns, self._number(0)))
        for memory, (node, index, places) in zip(partial, self._reductions(), strict=True):
            op, neutral = joining(node)
            begin = self._constant(neutral, memory.arg.dtype)
            value = UOp(OPS["where"], (first, begin, OPS["load"](memory, place)))
            for line in range(_AT_ONCE):
                at = start + turn * _ROUND + lane + line * LANES
                self._go(at)
                value = UOp(OPS[op], (value, self._summand(node, index, places)))
            self.effects[0].append(OPS["store"](memory, place, value))
        self.own = ()

    def _go(self, line: Affine) -> None:
        """To a line, which there may not be."""
        self.counters.stages[0].go(line)
        gate: Gate = (("in", line, self.count),)
        self.own = gate if self.count % _ROUND else ()

    def _add_group(self, around: tuple[UOp, ...], partial: list[UOp], total: list[UOp]) -> None:
        """Adds the sums of a group to the totals."""
        size = LANES * self.choice.columns
        loop, _ = self._counted(size, None, self.choice.width)
        self.paths[0].append((*around, loop))
        first = UOp(OPS["eq"], (around[-1], self._number(0)))
        for part, memory, (node, _, _) in zip(partial, total, self._reductions(), strict=True):
            op, neutral = joining(node)
            begin = self._constant(neutral, memory.arg.dtype)
            before = UOp(OPS["where"], (first, begin, OPS["load"](memory, loop)))
            value = UOp(OPS[op], (before, OPS["load"](part, loop)))
            self.effects[0].append(OPS["store"](memory, loop, value))

    # ---- blocks

    def _write_blocks(
        self, nodes: list[UOp], around: tuple[UOp, ...], block: Affine, lanes: list[UOp]
    ) -> None:
        """The value of each block; then the sums, in the loop in which results are stored."""
        width = self.choice.columns
        if not around:
            loop, column = self._over_columns()
            self.row_paths = [(loop,)]
            self.stage = len(self.frame.stages)
            for node, memory in zip(nodes, lanes, strict=True):
                self.results[node] = rounded(self._halved(node, memory, column), node.dtype)
            return
        loop, column = self._over_columns()
        self.paths[0].append((*around, loop))
        found = [self._scratch_of(n, "blocks", self.blocks * width) for n in nodes]
        place = self.index(block * width + column)
        for node, memory, kept in zip(nodes, lanes, found, strict=True):
            value = self._halved(node, memory, column)
            self.effects[0].append(OPS["store"](kept, place, value))
        self._join_blocks(nodes, found)

    def _halved(self, node: UOp, memory: UOp, column: Affine) -> UOp:
        """The lanes of a column as one: the first half op the second, until one is left."""
        width, op = self.choice.columns, OPS[joining(node)[0]]
        values = [OPS["load"](memory, self.index(column + i * width)) for i in range(LANES)]
        while len(values) > 1:
            half = len(values) // 2
            values = [UOp(op, pair) for pair in zip(values[:half], values[half:], strict=True)]
        return values[0]

    def _join_blocks(self, nodes: list[UOp], found: list[UOp]) -> None:
        """The blocks of a column, in the order of the tree."""
        loop, column = self._over_columns()
        make = lambda size, lanes, run: self._range(size, lanes, False, run)  # noqa: E731
        tree = TreeLoops(self.blocks, make, self.index, self._index.__setitem__).tree(False)
        (part,) = tree.parts
        self.row_paths, self.stage = [(loop, *part.loops)], len(self.frame.stages)
        place = self.index(part.place * self.choice.columns + column)
        for node, memory in zip(nodes, found, strict=True):
            total = OPS["load"](memory, place)
            for depth in reversed(range(len(part.loops))):
                around, inside = (loop, *part.loops[:depth]), part.loops[depth : depth + 1]
                acc = self._accumulator(node, around, inside)
                total = OPS["phi"](acc, UOp(OPS[joining(node)[0]], (acc, total)), *inside)
                self.effects[-1].append(total)
            self.results[node] = rounded(total, node.dtype)

    # ---- helpers

    def _reductions(self) -> list[Any]:
        return self.frame.stages[0].reductions

    def _scratch_of(self, node: UOp, name: str, size: int) -> UOp:
        kind = compute_dtype(node.dtype)
        number = len(self._scratch)
        memory: UOp = OPS["define_local"](f"{name}{number}", kind, size)
        self._scratch[(node, name)] = memory
        self.nest.first(memory)
        return memory
