"""Packing: strided columns go through registers, and lines are prefetched.

Before: packed[k, j] = x[j, k], a number at a time. After: squares of lines, which renderers load as
vectors and transpose (`codegen/llvm/squares.py`); the remainder of a line, number by number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from adjoint.ir.affine import ZERO, Affine, IndexVar, unflattened, var
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import Loops, number
from adjoint.kernel.elements import Elements
from adjoint.kernel.index_maps import At, Gate
from adjoint.stages import Group, Index

_SIDES = (16, 8, 4)  # of squares

Part = tuple[int, int, int]  # of all k: where it starts, how many squares, and their side
Place = tuple[UOp, Affine]  # in scratch
Read = Callable[[Affine, Affine], UOp]  # an element of the operand: column, k


class Packing(Elements):
    """A kernel being written that packs columns: its buffers, and where its loops are."""

    def __init__(self, group: Group):
        super().__init__(group.inputs, dtypes.int64)
        self.group, self.loops = group, Loops()
        self.atoms = dict.fromkeys(range(len(group.sizes)), ZERO)  # where each loop is
        self.places: list[Affine] = []  # where memory was read
        self._gates: dict[UOp, Gate] = {}  # under which conditions
        self._asked: Affine | None = None  # how far beyond what is read memory is asked for more
        for i, (node, _) in enumerate(group.outputs):
            self.buffers[node, "out"] = self.loops.buffer(f"out{i}", node.dtype, node.size, True)
        for i, node in enumerate(group.inputs):
            self.buffers[node] = self.loops.buffer(f"in{i}", node.dtype, node.size)

    def _length(self, axis: Sequence[int]) -> int:
        return prod(self.group.sizes[a] for a in axis)

    def _go(self, axis: Sequence[int], position: Affine) -> None:
        """From here on these loops are at a position, counted in row-major order."""
        places = unflattened(position, tuple(self.group.sizes[a] for a in axis))
        self.atoms.update(zip(axis, places, strict=True))

    def _place(self, index: Index) -> At:
        return tuple(self._axis(axis) for axis in index)

    def _axis(self, axis: Sequence[int]) -> Affine:
        total = ZERO
        for atom in axis:
            total = total * self.group.sizes[atom] + self.atoms[atom]
        return total

    def load(self, node: UOp, place: Affine, gate: Gate) -> UOp:
        if self._asked is not None:
            self.loops.ask(self.buffers[node], self.index(place + self._asked))
        self.places.append(place)
        value = super().load(node, place, gate)
        self._gates[value] = gate
        return value

    def select(self, gate: Gate, value: UOp, other: UOp) -> UOp:
        """A load whose bounds check fails gives 0 by itself."""
        if self._is_gated(value, gate) and value.src[3] is other:
            return value
        return super().select(gate, value, other)

    def _is_gated(self, value: UOp, gate: Gate) -> bool:
        """Whether a value is a load with a bounds check, and 0 otherwise."""
        return len(value.src) == 4 and set(gate) <= set(self._gates.get(value, ()))

    def either(self, gate: Gate, value: UOp, other: UOp) -> UOp:
        """The value where the check holds, else the other, which is 0 wherever a load gives 0."""
        if not self._is_gated(value, gate):
            return super().select(gate, value, other)
        found: UOp = OPS["load"](*value.src[:3], other)
        return found

    def lie_apart(self, read: Read, columns: int, count: int) -> bool:
        """Whether columns are strided in memory, and the numbers of each contiguous."""
        column, k = IndexVar(columns), IndexVar(count)
        self._index |= {column: number(0), k: number(0)}
        self.places.clear()
        read(var(column), var(k))
        steps = [(place.factor(k), place.factor(column)) for place in self.places]
        return any(along == 1 and across not in (None, 0, 1) for along, across in steps)

    def pack_squares(
        self, read: Read, packed: UOp, columns: int, size: int, first: Affine = ZERO
    ) -> None:
        """Some columns, as many as a power of two, for a number of k, from a place on."""
        done = 0
        for side in [side for side in _SIDES if side <= columns]:
            blocks = (size - done) // side
            if blocks:
                self._pack_part(read, (packed, first), columns, (done, blocks, side))
                done += blocks * side
        if done < size:
            self._pack_rest(read, (packed, first), columns, (done, size - done))

    def _pack_part(self, read: Read, to: Place, columns: int, part: Part) -> None:
        loops, (done, blocks, side), (packed, first) = self.loops, part, to
        strips = columns // side
        with loops.loop(strips) as strip, loops.loop(blocks) as block:
            column = self._counter(strips, strip) * side
            line = self._counter(blocks, block) * side + done
            with loops.loop(side) as turn, loops.loop(side, side) as lane:
                k = line + self._counter(side, turn)
                value = read(column + self._counter(side, lane), k)
                place = UOp(OPS["add"], (self.index(first + k * columns + column), lane))
                loops.store(packed, place, value)

    def _pack_rest(self, read: Read, to: Place, columns: int, part: tuple[int, int]) -> None:
        loops, (done, left), (packed, first) = self.loops, part, to
        with loops.loop(columns, columns) as lane, loops.loop(left) as turn:
            k = self._counter(left, turn) + done
            value = read(self._counter(columns, lane), k)
            place = UOp(OPS["add"], (self.index(first + k * columns), lane))
            loops.store(packed, place, value)

    def _counter(self, size: int, node: UOp) -> Affine:
        """A loop as part of an index."""
        counter = IndexVar(size)
        self._index[counter] = node
        return var(counter)
