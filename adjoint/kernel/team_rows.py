"""Rows by a team of threads: every loop over a row traverses it in the same way.

Before: div(exp(sub(x, max(x))), sum(...)) over rows of 4,096. After, for every row:
    for 256 lanes: for 16 steps: the maximum
    for 256 lanes: { for 16 steps: add up;  partial[lane] = … }
    for 16 lanes: for 16 groups: add up partial[group, lane]
    for 256 lanes: for 16 steps: the quotient, stored
A lane of a loop is one lane of the reduction tree (`ops/tree.py`) in one of its groups of sixteen
elements, so the sum has the order of the tree, whichever thread adds. A thread meets the same
elements in every loop, and keeps what it has read or computed of them in registers.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import prod

from adjoint.ir.affine import Affine
from adjoint.ir.dtype import DType
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, toposort
from adjoint.kernel.algorithms.loops import FEW_REGISTERS
from adjoint.kernel.index_maps import Gate
from adjoint.kernel.loop_stages import LoopStages, Stage, adds
from adjoint.kernel.loop_strategy import Choice
from adjoint.kernel.team_held_rows import HeldRows, is_expensive, is_read_twice
from adjoint.kernel.team_kernel import has_fixed_order, join_of, start_of
from adjoint.ops.mathematics.nodes import compute_dtype, rounded
from adjoint.ops.tree import BLOCK, GROUP, LANES
from adjoint.stages import LoopProgram
from adjoint.target import Target

Totals = dict[UOp, UOp]  # of reductions
_PART = LANES * GROUP  # elements whose sums are added one after another: a group of each lane
_IDEMPOTENT = ("maximum", "minimum", "logical_and", "logical_or")
_FEW_ROWS = 64  # processors are left over: a row takes as long as one thread of its team,
_ALONE = 128  # if that has less than so many
_MOST = 1024  # threads, where a row is in scratch: a team is alone on its processor then


@dataclass(frozen=True, slots=True)
class RowShape:
    """The shape of a loop over a row: `turns` times `parts` groups side by side, `steps` in
    each.
    """

    count: int
    parts: int
    turns: int
    steps: int

    @staticmethod
    def of(count: int, most: int) -> RowShape:
        """For so many elements, if at most so many lanes go side by side."""
        groups = -(-count // _PART)
        parts = min(_power(groups), most // LANES)
        steps = GROUP if groups > 1 else -(-count // LANES)
        return RowShape(count, parts, -(-groups // parts), steps)

    @property
    def lanes(self) -> int:
        return self.parts * LANES

    @property
    def whole(self) -> bool:
        """Whether every step of every lane has an element."""
        return self.lanes * self.turns * self.steps == self.count

    @property
    def groups(self) -> int:
        """Groups with elements, all of them if a row consists of whole ones."""
        return self.turns * self.parts if self.count % _PART else self.count // _PART


def is_for_team_rows(frame: LoopStages, choice: Choice, target: Target) -> bool:
    """Whether teams process the rows of a kernel: their length is known, they are long, and
    contiguous.
    """
    if target.team is None or choice.lanes != "inner" or not frame.group.reduced:
        return False
    if not has_fixed_order(frame):
        return False
    longest = max(prod(stage.sizes) for stage in frame.stages)
    return target.team.fewest_elements <= longest <= target.team.longest


class TeamRows(HeldRows):
    """One kernel being written."""

    def __init__(self, frame: LoopStages, choice: Choice, target: Target, index_dtype: DType):
        super().__init__(frame, choice, target, index_dtype)
        assert target.team is not None
        each = _lanes_of_a_thread(frame, self.longest, target.team.lanes)
        self.partials: dict[tuple[int, DType, int], UOp] = {}
        self.inside: Gate = ()  # whether a lane has an element of the row
        self.repeats = False  # whether lanes that are left over do what others do
        self.registers = FEW_REGISTERS if is_read_twice(frame, self.longest, target.team) else 0
        self.most = (_MOST if self.held else target.team.most) * each
        lanes = RowShape.of(self.longest, self.most).lanes
        if prod(self.counters.outer.sizes) <= _FEW_ROWS:
            each = _fewer_lanes(lanes, each)
        self.threads = max(lanes // each, 1)

    def program(self, name: str) -> tuple[LoopProgram, UOp | None]:
        """The loops over rows and, inside, one stage after another."""
        frame, rows = self.frame, self.counters.outer
        count = prod(rows.sizes)
        with self.loops.grid(count) as position:
            rows.go(self._counter(count, position))
            for number, stage in enumerate(frame.stages):
                self._write_stage(number, stage)
            for node, index in frame.rows:
                self._store(node, self.counters.at(index, node, None), ())
        program, flagged = self.finished(name, self.cost)
        return replace(program, registers=self.registers), flagged

    # ---- a stage

    def _write_stage(self, number: int, stage: Stage) -> None:
        shape = RowShape.of(prod(stage.sizes), self.most)
        if not stage.reductions:
            self._over_row(number, shape, {}, {})
            return
        sums = [node for node, _, _ in stage.reductions if adds(node)]
        others = [node for node, _, _ in stage.reductions if not adds(node)]
        apart = sums if shape.turns * shape.parts > 1 else []
        totals = {n: self.loops.register(start_of(n)) for n in (*others, *sums) if n not in apart}
        partial = {n: self._partial(i, n, shape) for i, n in enumerate(apart)}
        totals = self._over_row(number, shape, totals, partial)
        totals |= {node: self._added(node, memory, shape) for node, memory in partial.items()}
        for node, total in totals.items():
            self.results[node] = rounded(total, node.dtype)

    def _partial(self, place: int, node: UOp, shape: RowShape) -> UOp:
        """Scratch for the sums of groups, which stages have one after another."""
        key = place, compute_dtype(node.dtype), shape.lanes * shape.turns
        if key not in self.partials:
            self.partials[key] = self.loops.local(f"partial{len(self.partials)}", *key[1:])
        return self.partials[key]

    def _over_row(self, number: int, shape: RowShape, totals: Totals, partial: Totals) -> Totals:
        """All elements of the row; the new totals. Where sums have partial ones, those are kept."""
        whole = shape.count // (shape.lanes * shape.steps)
        if shape.whole or shape.turns == 1:
            with self.loops.loop(shape.turns) as turn:
                at = self._counter(shape.turns, turn)
                return self._turn(number, shape, (at, turn), totals, partial)
        again = {node: self.loops.register(start_of(node)) for node in totals}
        with self.loops.loop(whole) as turn:
            inside = replace(shape, count=shape.lanes * shape.steps * shape.turns)
            at = self._counter(whole, turn)
            totals = self._turn(number, inside, (at, turn), totals, partial)
        rest = self._turn(number, shape, (Affine(whole), None), again, partial)
        return {node: self._halved(node, [total, rest[node]]) for node, total in totals.items()}

    def _turn(
        self,
        number: int,
        shape: RowShape,
        turn: tuple[Affine, UOp | None],
        totals: Totals,
        partial: Totals,
    ) -> Totals:
        """The elements of all lanes of an iteration: the last of several has few, and threads
        without any do nothing.
        """
        loops, (at, loop), found = self.loops, turn, dict(totals)
        with loops.loop(shape.lanes, shape.lanes) as lane:
            along = self._counter(shape.lanes, lane)
            self.repeats = self._repeats(number, shape)
            own = {node: loops.register(start_of(node)) for node in partial}
            with ExitStack() as inside:
                if loop is None:
                    group = at * shape.parts + along // LANES
                    condition = self.condition((("in", group * _PART, shape.count),))
                    inside.enter_context(loops.when(condition))
                step = inside.enter_context(loops.loop(shape.steps))
                gate = self._go(number, shape, (at, along, self._counter(shape.steps, step)))
                around = [lp for lp in (loop, lane, step) if lp is not None]
                self._elements(number, gate, (own, found), around)
            for node, memory in partial.items():
                loops.store(memory, self.index(at * shape.lanes + along), own[node])
        return found

    def _elements(
        self, number: int, gate: Gate, totals: tuple[Totals, Totals], around: list[UOp]
    ) -> None:
        """The work on an element: sums of a lane's own, other totals, results."""
        own, found = totals
        for node, index, places in self.frame.stages[number].reductions:
            value = self._summand(number, node, index, places, gate)
            if node in own:
                own[node] = self._joined(node, own[node], value, around[-1])
            else:
                found[node] = self._joined(node, found[node], value, *around)
        for node, index in self.frame.stages[number].stores:
            self._store(node, self.counters.at(index, node, number), gate)

    def _go(self, number: int, shape: RowShape, at: tuple[Affine, Affine, Affine]) -> Gate:
        """To an element of the row; the gate says whether there is one."""
        turn, along, row = at
        group = self._last_group(shape, along) if self.repeats else along // LANES
        place = turn * (shape.parts * _PART) + group * _PART + row * LANES + along % LANES
        self.counters.stages[number].go(place)
        self.along, self.stage = place, number
        whole = shape.whole or self.repeats
        self.inside = () if whole else (("in", place, shape.count),)
        return self.inside

    def _repeats(self, number: int, shape: RowShape) -> bool:
        """Whether a row consists of whole groups and lanes are left over, which then repeat the
        last group: no element needs a bounds check. Their sums are ignored, a maximum is not
        affected, and they store the values that are stored there anyway.
        """
        others = [n for n, _, _ in self.frame.stages[number].reductions if not adds(n)]
        if shape.whole or shape.turns > 1 or shape.steps < GROUP or shape.count % _PART:
            return False
        return all(join_of(node) in _IDEMPOTENT for node in others)

    def _last_group(self, shape: RowShape, along: Affine) -> Affine:
        """The group of a lane, the last one for lanes beyond."""
        last = UOp(OPS["minimum"], (self.index(along // LANES), self._number(shape.groups - 1)))
        return self._counter(shape.groups, last)

    def load(self, node: UOp, place: Affine, gate: Gate) -> UOp:
        """An element; a value that is the same for a whole row is read before all loops over it,
        also by threads without elements.
        """
        if place.atoms().isdisjoint(self.along.atoms()):
            gate = tuple(condition for condition in gate if condition not in self.inside)
        return super().load(node, place, gate)

    # ---- the tree above partial sums

    def _added(self, node: UOp, memory: UOp, shape: RowShape) -> UOp:
        """The sum of a row, from those of its groups."""
        groups = shape.groups
        blocks = -(-groups * _PART // BLOCK)
        if blocks == 1:
            return self._added_lanes(node, memory, groups)
        lanes = self._scratch("lanes", node, blocks * LANES)
        with self.loops.loop(blocks * LANES, _power(blocks * LANES)) as place:
            at = self._counter(blocks * LANES, place)
            block, lane = at // LANES, at % LANES
            total = self.loops.register(start_of(node))
            with self.loops.loop(GROUP) as group:
                part = block * _PART + self._counter(GROUP, group) * LANES + lane
                value = self._get(node, memory, part, groups * LANES)
                total = self._joined(node, total, value, group)
            self.loops.store(lanes, place, total)
        values = self._scratch("blocks", node, blocks)
        with self.loops.loop(blocks, _power(blocks)) as number:
            first = self._counter(blocks, number) * LANES
            found = [self._get(node, lanes, first + i, blocks * LANES) for i in range(LANES)]
            self.loops.store(values, number, self._halved(node, found))
        return self._added_values(node, values, blocks)

    def _added_lanes(self, node: UOp, memory: UOp, groups: int) -> UOp:
        """The groups of each lane, one after another; then the lanes, halved."""
        total = self.loops.register(start_of(node))
        with self.loops.loop(LANES, LANES) as lane, self.loops.loop(groups) as group:
            at = self._counter(groups, group) * LANES + self._counter(LANES, lane)
            value = self.loops.load(memory, self.index(at))
            total = self._joined(node, total, value, lane, group)
        return total

    def _added_values(self, node: UOp, values: UOp, count: int) -> UOp:
        """Values of blocks, few enough to be one block of the tree."""
        shape = RowShape.of(count, LANES)
        total = self.loops.register(start_of(node))
        with self.loops.loop(LANES, LANES) as lane, self.loops.loop(shape.turns) as group:
            part = self.loops.register(start_of(node))
            with self.loops.loop(shape.steps) as step:
                at = self._counter(shape.turns, group) * _PART
                at = at + self._counter(shape.steps, step) * LANES + self._counter(LANES, lane)
                part = self._joined(node, part, self._get(node, values, at, count), step)
            total = self._joined(node, total, part, lane, group)
        return total


def _power(count: int) -> int:
    """The least power of two that is no less."""
    return 1 << (count - 1).bit_length()


def _is_costly(frame: LoopStages) -> bool:
    """Whether arithmetic takes long: then more threads hide how long it takes."""
    known = set(frame.group.inputs)
    nodes = toposort([n for n, _ in frame.group.outputs], stop=known.__contains__)
    return any(is_expensive(n) for n in nodes if n not in known)


def _lanes_of_a_thread(frame: LoopStages, longest: int, most: int) -> int:
    """As many as rows of memory can be read at once; fewer, where much is held or computed."""
    held = [n for n in frame.group.inputs if n.size >= longest]
    lanes = most if len(held) < 2 and not _is_costly(frame) else most // 2
    while longest % lanes:
        lanes //= 2
    return lanes


def _fewer_lanes(lanes: int, each: int) -> int:
    """Those of a thread where rows are few: a team has more threads for a row instead."""
    while each > 1 and lanes // each < _ALONE:
        each //= 2
    return each
