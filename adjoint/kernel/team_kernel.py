"""Writes a kernel whose lanes are spread over a team of threads.

This is the common part of kernels of rows, of columns and of tiles: buffers, elements, sums. A team
shares scratch; a later loop may load in any lane what another lane stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from adjoint.ir.affine import ZERO, Affine, IndexVar, Loaded, flattened, var
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.kernel_kind import Library, reduce_of
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import Loops
from adjoint.kernel.algorithms.scatter import checked, flag_code
from adjoint.kernel.decompose import decompose, decompose_node
from adjoint.kernel.elements import Elements
from adjoint.kernel.index_maps import At, Gate, joined, reduced_operands
from adjoint.kernel.loop_stages import Assignment, LoopStages
from adjoint.kernel.loop_strategy import Choice
from adjoint.ops.mathematics.nodes import cast, compute_dtype
from adjoint.stages import Index, LoopProgram


def has_fixed_order(frame: LoopStages) -> bool:
    """Whether sizes are known and no products of floats are added up in the order of the loops."""
    own = [n for n, _, _ in frame.group.reduced if type(n.op.kernel) is Library]
    return not varies(*frame.group.sizes) and not any(n.dtype.is_float for n in own)


class TeamKernel(Elements):
    """One kernel being written."""

    threads = 1

    def __init__(self, frame: LoopStages, choice: Choice, index_dtype: DType):
        super().__init__(frame.group.inputs, index_dtype)
        self.frame, self.loops = frame, Loops(index_dtype)
        self.counters = Assignment.of(frame, choice.outer, choice.stages)
        self.results: dict[UOp, UOp] = {}
        self.flag: tuple[UOp, UOp] | None = None
        self._checked: dict[Any, Affine] = {}
        for i, (node, _) in enumerate(frame.group.outputs):
            self.buffers[node, "out"] = self.loops.buffer(f"out{i}", node.dtype, node.size, True)
        for i, node in enumerate(frame.group.inputs):
            self.buffers[node] = self.loops.buffer(f"in{i}", node.dtype, node.size)

    def finished(self, name: str, cost: int) -> tuple[LoopProgram, UOp | None]:
        """The program, and the node whose index it checks if it has a flag."""
        program = self.loops.program(self.frame.group.outputs[0][0], name, cost)
        flagged = None if self.flag is None else self.flag[1]
        return replace(program, threads=self.threads), flagged

    @property
    def cost(self) -> int:
        """Elements of a piece of the grid."""
        return sum(prod(stage.sizes) for stage in self.frame.stages)

    def program(self, name: str) -> tuple[LoopProgram, UOp | None]:
        """The whole program, and the node whose index it checks."""
        raise NotImplementedError

    def _counter(self, size: int, node: UOp) -> Affine:
        """A loop as part of an index."""
        if size == 1:
            return ZERO
        counter = IndexVar(size)
        self._index[counter] = node
        return var(counter)

    # ---- sums

    def _joined(self, node: UOp, total: UOp, value: UOp, *loops: UOp) -> UOp:
        return self.loops.update(total, UOp(OPS[join_of(node)], (total, value)), *loops)

    def _summand(self, number: int, node: UOp, index: Index, places: Index, gate: Gate) -> UOp:
        """The term of a reduction in one iteration of its loops; the neutral element where there is
        none.
        """
        kind = compute_dtype(node.dtype)
        at, loops = (self.counters.at(i, node, number) for i in (index, places))
        operands, inside = reduced_operands(node, at, loops)
        gate = joined(gate, inside)
        values = [self.value(s, p, gate) for s, p in zip(node.src, operands, strict=True)]
        value = self._term(node, values, kind)
        return self.select(gate, value, start_of(node)) if gate else value

    def _term(self, node: UOp, values: list[UOp], kind: DType) -> UOp:
        if len(values) == 2:
            return UOp(OPS["mul" if kind is not dtypes.bool_ else "logical_and"], tuple(values))
        (value,) = values
        if kind is value.dtype:
            return value
        return decompose(OPS["cast"], (value,), None, kind, node.src[0].dtype)

    def _halved(self, node: UOp, values: Sequence[UOp]) -> UOp:
        """The first half op the second, until one is left."""
        op = OPS[join_of(node)]
        while len(values) > 1:
            half = len(values) // 2
            values = [UOp(op, pair) for pair in zip(values[:half], values[half:], strict=True)]
        return values[0]

    # ---- memory

    def _scratch(self, name: str, node: UOp, size: int) -> UOp:
        place = [n for n, _, _ in self.frame.group.reduced].index(node)
        return self.loops.local(f"{name}{place}", compute_dtype(node.dtype), size)

    def _get(self, node: UOp, memory: UOp, place: Affine, count: int) -> UOp:
        """An element of scratch, the neutral one where there is none."""
        if place.bounds()[1] < count:
            return self.loops.load(memory, self.index(place))
        gate: Gate = (("in", place, count),)
        load = OPS["load"](memory, self.index(place), self.condition(gate), start_of(node))
        return self.loops.here(load)

    def _store(self, node: UOp, at: At, gate: Gate) -> None:
        value = self.value(node, at, gate)
        if node.dtype is not value.dtype and value.op is OPS["cast"]:
            value = value.src[0] if value.src[0].dtype is node.dtype else value  # as it was
        if node.dtype is not value.dtype:
            value = UOp(OPS["cast"], (value,), OPS["cast"].arg(node.dtype))  # type: ignore[misc]
        place = self.index(flattened(at, node.shape))
        condition = self.condition(gate) if gate else None
        self.loops.store(self.buffers[node, "out"], place, value, condition)

    # ---- elements

    def apply(self, node: UOp, operands: list[UOp], at: At, gate: Gate) -> UOp:
        return decompose_node(node, tuple(operands))

    def reduction(self, node: UOp, at: At) -> UOp:
        return self.results[node]

    def loaded(self, node: UOp, axis: int, index: UOp, at: At, gate: Gate, size: int) -> Affine:
        key = (index, at, gate, size)
        if key not in self._checked:
            element = self.value(index, at, gate)
            wide, inside = checked(element, size)
            safe = UOp(OPS["where"], (inside, cast(wide, self.index_dtype), self._number(0)))
            self._flag_store(node, axis, element, UOp(OPS["logical_not"], (inside,)), gate)
            self._checked[key] = var(Loaded(safe, size))
        return self._checked[key]

    def _flag_store(self, node: UOp, axis: int, index: UOp, bad: UOp, gate: Gate) -> None:
        if self.flag is None:
            self.flag = (self.loops.buffer("flag", dtypes.int64, 1, True), node)
        if gate:
            bad = UOp(OPS["logical_and"], (bad, self.condition(gate)))
        self.loops.store(self.flag[0], self._number(0), flag_code(axis, index), bad)


def join_of(node: UOp) -> str:
    """The op of a reduction."""
    return reduce_of(node).joining(node.dtype)[0]


def start_of(node: UOp) -> UOp:
    """What a reduction starts from."""
    kind: DType = compute_dtype(node.dtype)
    made: UOp = OPS["const"](reduce_of(node).joining(node.dtype)[1], kind, (), None)
    return made
