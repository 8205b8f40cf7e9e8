"""Rows by a team of threads: every loop over a row goes over it in the same way.

Before: div(exp(sub(x, max(x))), sum(...)) over rows of 4,096. After, for every row:
    for 256 lanes: for 16 steps: the maximum
    for 256 lanes: { for 16 steps: add up;  partial[lane] = … }
    for 16 lanes: for 16 groups: add up partial[group, lane]
    for 256 lanes: for 16 steps: the quotient, stored
A lane of a loop is one of the tree (`ops/tree.py`) in one of its groups of sixteen elements, so the
sum has the order of the tree, whoever adds. A thread meets the same elements in every loop: what it
has read or computed of them stays in its registers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from adjoint.kernel.loop_stages import Assignment, LoopStages, Stage, adds
from adjoint.kernel.loop_strategy import Choice
from adjoint.ops.mathematics.nodes import cast, compute_dtype, rounded
from adjoint.ops.tree import BLOCK, GROUP, LANES
from adjoint.stages import Index, LoopProgram
from adjoint.target import Target

_PART = LANES * GROUP  # elements whose sums are added one after another: a group of each lane
_LONGEST = 1 << 20  # elements of a row


@dataclass(frozen=True, slots=True)
class RowShape:
    """How a loop over a row goes: `turns` times `parts` groups side by side, `steps` in each."""

    count: int
    parts: int
    turns: int
    steps: int

    @staticmethod
    def of(count: int, most: int) -> RowShape:
        """For so many elements, if at most so many lanes go side by side."""
        groups = -(-count // _PART)
        parts = min(1 << (groups - 1).bit_length(), most // LANES)
        steps = GROUP if groups > 1 else -(-count // LANES)
        return RowShape(count, parts, -(-groups // parts), steps)

    @property
    def lanes(self) -> int:
        return self.parts * LANES

    @property
    def whole(self) -> bool:
        """Whether every step of every lane has an element."""
        return self.lanes * self.turns * self.steps == self.count


def is_for_teams(frame: LoopStages, choice: Choice, target: Target) -> bool:
    """Whether teams do the rows of a kernel: they are known, long, and lie along memory."""
    if target.team is None or choice.lanes != "inner" or not frame.group.reduced:
        return False
    if varies(*frame.group.sizes) or any(_has_own_order(n) for n, _, _ in frame.group.reduced):
        return False
    longest = max(prod(stage.sizes) for stage in frame.stages)
    return target.team.fewest_elements <= longest <= _LONGEST


def _has_own_order(node: UOp) -> bool:
    """Whether products of floats are added up, in the order of the loops."""
    return type(node.op.kernel) is Library and bool(node.dtype.is_float)


class TeamRows(Elements):
    """One kernel being written."""

    def __init__(self, frame: LoopStages, choice: Choice, target: Target, index_dtype: DType):
        super().__init__(frame.group.inputs, index_dtype)
        assert target.team is not None
        self.frame, self.loops = frame, Loops(index_dtype)
        self.counters = Assignment.of(frame, choice.outer, choice.stages)
        longest = max(prod(stage.sizes) for stage in frame.stages)
        each = _lanes_of_a_thread(frame, longest, target.team.lanes)
        self.most = target.team.most * each
        self.threads = max(RowShape.of(longest, self.most).lanes // each, 1)
        self.results: dict[UOp, UOp] = {}
        self.flag: tuple[UOp, UOp] | None = None
        self._checked: dict[Any, Affine] = {}
        outputs = [node for node, _ in frame.group.outputs]
        for i, node in enumerate(outputs):
            self.buffers[node, "out"] = self.loops.buffer(f"out{i}", node.dtype, node.size, True)
        for i, node in enumerate(frame.group.inputs):
            self.buffers[node] = self.loops.buffer(f"in{i}", node.dtype, node.size)

    # ---- the whole

    def program(self, name: str) -> tuple[LoopProgram, UOp | None]:
        frame, rows = self.frame, self.counters.outer
        count = prod(rows.sizes)
        with self.loops.grid(count) as position:
            rows.go(self._counter(count, position))
            for number, stage in enumerate(frame.stages):
                self._write_stage(number, stage)
            for node, index in frame.rows:
                self._store(node, self.counters.at(index, node, None), ())
        cost = sum(prod(stage.sizes) for stage in frame.stages)
        program = self.loops.program(frame.group.outputs[0][0], name, cost)
        flagged = None if self.flag is None else self.flag[1]
        return replace(program, threads=self.threads), flagged

    def _counter(self, size: int, node: UOp) -> Affine:
        """A loop as part of an index."""
        if size == 1:
            return ZERO
        counter = IndexVar(size)
        self._index[counter] = node
        return var(counter)

    # ---- a stage

    def _write_stage(self, number: int, stage: Stage) -> None:
        shape = RowShape.of(prod(stage.sizes), self.most)
        if not stage.reductions:
            self._over_row(number, shape, {})
            return
        sums = [node for node, _, _ in stage.reductions if adds(node)]
        others = [node for node, _, _ in stage.reductions if not adds(node)]
        apart = sums if shape.turns * shape.parts > 1 else []
        totals = {n: self.loops.register(_start(n)) for n in (*others, *sums) if n not in apart}
        partial = {n: self._scratch("partial", n, shape.lanes * shape.turns) for n in apart}
        totals = self._over_row(number, shape, totals, partial)
        totals |= {node: self._added(node, memory, shape) for node, memory in partial.items()}
        for node, total in totals.items():
            self.results[node] = rounded(total, node.dtype)

    def _over_row(
        self,
        number: int,
        shape: RowShape,
        totals: dict[UOp, UOp],
        partial: dict[UOp, UOp] | None = None,
    ) -> dict[UOp, UOp]:
        """All elements of the row; the new totals. Where sums have partial ones, those are kept."""
        loops, stage = self.loops, self.frame.stages[number]
        with loops.loop(shape.turns) as turn, loops.loop(shape.lanes, shape.lanes) as lane:
            own = {node: loops.register(_start(node)) for node in partial or ()}
            with loops.loop(shape.steps) as step:
                gate = self._go(number, shape, (turn, lane, step))
                for node, index, places in stage.reductions:
                    value = self._summand(number, node, index, places, gate)
                    if node in own:
                        own[node] = self._joined(node, own[node], value, step)
                    else:
                        around = (turn, lane, step)
                        totals[node] = self._joined(node, totals[node], value, *around)
                for node, index in stage.stores:
                    self._store(node, self.counters.at(index, node, number), gate)
            for node, memory in (partial or {}).items():
                place = self._counter(shape.turns, turn) * shape.lanes
                at = place + self._counter(shape.lanes, lane)
                loops.store(memory, self.index(at), own[node])
        return totals

    def _go(self, number: int, shape: RowShape, loops: tuple[UOp, UOp, UOp]) -> Gate:
        """To an element of the row; the gate says whether there is one."""
        turn, lane, step = loops
        at, along = self._counter(shape.turns, turn), self._counter(shape.lanes, lane)
        row = self._counter(shape.steps, step)
        place = at * (shape.parts * _PART) + along // LANES * _PART + row * LANES + along % LANES
        self.counters.stages[number].go(place)
        return () if shape.whole else (("in", place, shape.count),)

    def _joined(self, node: UOp, total: UOp, value: UOp, *loops: UOp) -> UOp:
        return self.loops.update(total, UOp(OPS[_join(node)], (total, value)), *loops)

    def _summand(
        self, number: int, node: UOp, index: Index, places: Index, gate: Gate
    ) -> UOp:
        """What a reduction joins in one turn of its loops; where there is nothing, the neutral."""
        kind = compute_dtype(node.dtype)
        at, loops = (self.counters.at(i, node, number) for i in (index, places))
        operands, inside = reduced_operands(node, at, loops)
        gate = joined(gate, inside)
        values = [self.value(s, p, gate) for s, p in zip(node.src, operands, strict=True)]
        value = self._term(node, values, kind)
        return self.select(gate, value, _start(node)) if gate else value

    def _term(self, node: UOp, values: list[UOp], kind: DType) -> UOp:
        if len(values) == 2:
            return UOp(OPS["mul" if kind is not dtypes.bool_ else "logical_and"], tuple(values))
        (value,) = values
        if kind is value.dtype:
            return value
        return decompose(OPS["cast"], (value,), None, kind, node.src[0].dtype)

    def _store(self, node: UOp, at: At, gate: Gate) -> None:
        value = self.value(node, at, gate)
        if node.dtype is not value.dtype and value.op.name == "cast":
            value = value.src[0] if value.src[0].dtype is node.dtype else value  # as it was
        if node.dtype is not value.dtype:
            value = UOp(OPS["cast"], (value,), OPS["cast"].arg(node.dtype))  # type: ignore[misc]
        place = self.index(flattened(at, node.shape))
        condition = self.condition(gate) if gate else None
        self.loops.store(self.buffers[node, "out"], place, value, condition)

    # ---- the tree above partial sums

    def _added(self, node: UOp, memory: UOp, shape: RowShape) -> UOp:
        """The sum of a row, from those of its groups."""
        groups = shape.turns * shape.parts
        blocks = -(-groups * _PART // BLOCK)
        if blocks == 1:
            return self._added_lanes(node, memory, groups)
        lanes = self._scratch("lanes", node, blocks * LANES)
        with self.loops.loop(blocks * LANES, blocks * LANES) as place:
            at = self._counter(blocks * LANES, place)
            block, lane = at // LANES, at % LANES
            total = self.loops.register(_start(node))
            with self.loops.loop(GROUP) as group:
                part = block * _PART + self._counter(GROUP, group) * LANES + lane
                total = self._joined(node, total, self._get(node, memory, part, groups * LANES), group)
            self.loops.store(lanes, place, total)
        values = self._scratch("blocks", node, blocks)
        with self.loops.loop(blocks, 1 << (blocks - 1).bit_length()) as block:
            first = self._counter(blocks, block) * LANES
            found = [self._get(node, lanes, first + i, blocks * LANES) for i in range(LANES)]
            self.loops.store(values, block, self._halved(node, found))
        return self._added_values(node, values, blocks)

    def _get(self, node: UOp, memory: UOp, place: Affine, count: int) -> UOp:
        """An element of scratch, the neutral one where there is none."""
        lo, hi = place.bounds()
        if hi < count:
            return self.loops.load(memory, self.index(place))
        gate: Gate = (("in", place, count),)
        load = OPS["load"](memory, self.index(place), self.condition(gate), _start(node))
        return self.loops.here(load)

    def _added_lanes(self, node: UOp, memory: UOp, groups: int) -> UOp:
        """The groups of each lane, one after another; then the lanes, halved."""
        total = self.loops.register(_start(node))
        with self.loops.loop(LANES, LANES) as lane, self.loops.loop(groups) as group:
            at = self._counter(groups, group) * LANES + self._counter(LANES, lane)
            value = self.loops.load(memory, self.index(at))
            total = self._joined(node, total, value, lane, group)
        return total

    def _added_values(self, node: UOp, values: UOp, count: int) -> UOp:
        """Values of blocks, few enough to be one block of the tree."""
        shape = RowShape.of(count, LANES)
        total = self.loops.register(_start(node))
        with self.loops.loop(LANES, LANES) as lane, self.loops.loop(shape.turns) as group:
            part = self.loops.register(_start(node))
            with self.loops.loop(shape.steps) as step:
                at = self._counter(shape.turns, group) * _PART
                at = at + self._counter(shape.steps, step) * LANES + self._counter(LANES, lane)
                part = self._joined(node, part, self._get(node, values, at, count), step)
            total = self._joined(node, total, part, lane, group)
        return total

    def _halved(self, node: UOp, values: list[UOp]) -> UOp:
        """The first half op the second, until one is left."""
        op = OPS[_join(node)]
        while len(values) > 1:
            half = len(values) // 2
            values = [UOp(op, pair) for pair in zip(values[:half], values[half:], strict=True)]
        return values[0]

    def _scratch(self, name: str, node: UOp, size: int) -> UOp:
        number = len(self.results)
        place = [n for n, _, _ in self.frame.group.reduced].index(node)
        return self.loops.local(f"{name}{number}_{place}", compute_dtype(node.dtype), size)

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


def _lanes_of_a_thread(frame: LoopStages, longest: int, most: int) -> int:
    """As many as all rows of memory can be read at once; fewer, where several rows are held."""
    held = [n for n in frame.group.inputs if n.size >= longest]
    lanes = most if len(held) < 2 else most // 2
    while longest % lanes:
        lanes //= 2
    return lanes


def _join(node: UOp) -> str:
    return reduce_of(node).joining(node.dtype)[0]


def _start(node: UOp) -> UOp:
    """What a reduction starts from."""
    kind: DType = compute_dtype(node.dtype)
    made: UOp = OPS["const"](reduce_of(node).joining(node.dtype)[1], kind, (), None)
    return made
