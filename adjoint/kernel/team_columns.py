"""Sums down the columns of a matrix by a team of threads: a thread has some columns of a lane.

By the reduction tree of `ops/tree.py`, row i of a block goes to lane i mod 16. For a strip of
columns:

    for block, group, lane, column (many side by side): groups[…] = sixteen lines, added up
    for block, lane, column: lanes[block, lane, column] = the groups of sixteen, one after another
    for block, column: blocks[block, column] = the lanes, halved
    for column: the blocks, added up in the order of the tree

Neighbouring threads read neighbouring columns. Values that a later stage reads, and results, are in
scratch, an element for each column of the strip.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from adjoint.ir.affine import ZERO, Affine
from adjoint.ir.dtype import DType
from adjoint.ir.sizes import highest
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import FEW_REGISTERS
from adjoint.kernel.index_maps import At, Gate, joined
from adjoint.kernel.loop_stages import LoopStages, Stage
from adjoint.kernel.loop_strategy import Choice
from adjoint.kernel.team_kernel import TeamKernel, has_fixed_order, start_of
from adjoint.ops.mathematics.nodes import rounded
from adjoint.ops.tree import BLOCK, GROUP, LANES
from adjoint.stages import LoopProgram
from adjoint.target import Target

_PART = LANES * GROUP
_STRIPS = (32, 16, 8)  # columns of a team: the fewer, the more teams there are
_TEAMS = 128  # that there should be,
_MANY_TEAMS = 1024  # and these need no groups side by side to keep memory busy
_FEWEST_LINES = 64  # that are worth a team
_MOST_BLOCKS = 16  # side by side
LONGEST_COLUMN = _MOST_BLOCKS * BLOCK  # that a team goes down
_MOST_THREADS = 512
_GROUP_BYTES = 96 << 10  # of scratch for the sums of groups
_UNROLLED = 512  # nodes: the sixteen lines of a group, not several groups


def is_for_team_columns(frame: LoopStages, choice: Choice, target: Target) -> bool:
    """Whether teams go down the columns: there are many rows, and no intermediate stores."""
    if target.team is None or choice.lanes != "outer" or not frame.group.reduced:
        return False
    if not has_fixed_order(frame) or any(stage.stores for stage in frame.stages):
        return False
    lines = [prod(stage.sizes) for stage in frame.stages]
    column = Columns.of(frame, choice)
    return min(lines) >= _FEWEST_LINES and max(lines) <= LONGEST_COLUMN and column.size >= 8


class Columns:
    """The columns of a kernel: how many there are, and how many are a strip."""

    def __init__(self, size: int, others: int, most: int):
        self.size = size
        teams = {strip: -(-size // strip) * others for strip in _STRIPS}
        fits = [
            strip
            for strip, count in teams.items()
            if count >= (_TEAMS if strip <= most else _MANY_TEAMS)
        ]
        self.strip = min(fits[0] if fits else _STRIPS[-1], 1 << (size - 1).bit_length())

    @staticmethod
    def of(frame: LoopStages, choice: Choice) -> Columns:
        """Of the run of outer loops that lanes go along."""
        sizes, side = _runs(frame, choice), _side(frame)
        room = _GROUP_BYTES // (_group_bytes(side) * _sums(frame))
        most = room if _fits_few_registers(frame, side) else _STRIPS[0]
        return Columns(sizes[choice.lane], prod(sizes) // sizes[choice.lane], most)


def _side(frame: LoopStages) -> int:
    """Blocks that a team adds up side by side."""
    blocks = max(-(-prod(stage.sizes) // BLOCK) for stage in frame.stages)
    return 1 << (blocks - 1).bit_length()


def _sums(frame: LoopStages) -> int:
    """The most reductions of a stage."""
    return max(len(stage.reductions) for stage in frame.stages)


def _fits_few_registers(frame: LoopStages, side: int) -> bool:
    """Whether groups side by side do not spill: the unrolled loops of several stages over several
    blocks do (an argmax of 16,384 lines took 0.39 ms instead of 0.13)."""
    return len(frame.stages) == 1 or side == 1


def _group_bytes(side: int) -> int:
    """Of scratch for the sums of all groups of a column."""
    return side * GROUP * LANES * 4


def _runs(frame: LoopStages, choice: Choice) -> list[int]:
    """The sizes of the runs of outer loops."""
    sizes, found = [frame.group.sizes[a] for a in frame.outer], []
    for length in choice.outer:
        found.append(prod(sizes[:length]))
        sizes = sizes[length:]
    return found


class TeamColumns(TeamKernel):
    """One kernel being written."""

    def __init__(self, frame: LoopStages, choice: Choice, target: Target, index_dtype: DType):
        super().__init__(frame, choice, index_dtype)
        assert target.team is not None
        self.lane, columns = choice.lane, Columns.of(frame, choice)
        self.size, self.strip = columns.size, columns.strip
        self.side = _side(frame)
        each = target.team.lanes if self.size % target.team.lanes == 0 else 1
        each = max(each, self.side * LANES * self.strip // 1024)
        self.apart = self._groups_apart(each)
        self.threads = self.side * self.apart * LANES * self.strip // each
        self.rows: list[Affine] = []
        self.column: Affine = ZERO  # in the strip
        self.first: Affine = ZERO  # of the strip
        self.inside: Gate = ()  # whether there is such a column
        self.found: dict[UOp, UOp] = {}  # scratch with the results of earlier stages

    def _groups_apart(self, each: int) -> int:
        """How many groups of sixteen lines are added up side by side, as long as there are threads
        and scratch: more loads are under way so."""
        if not _fits_few_registers(self.frame, self.side):
            return 1
        groups = min(_groups(prod(stage.sizes)) for stage in self.frame.stages)
        sums, found = _sums(self.frame), 1
        while groups % (2 * found) == 0:
            threads = self.side * 2 * found * LANES * self.strip // each
            scratch = _group_bytes(self.side) * self.strip * sums
            if threads > _MOST_THREADS or scratch > _GROUP_BYTES:
                break
            found *= 2
        return found

    # ---- the whole

    def program(self, name: str) -> tuple[LoopProgram, UOp | None]:
        """The loops over strips and, inside, one stage after another."""
        counters = self.counters.outer
        others = [v for i, v in enumerate(counters.vars) if i != self.lane]
        strips = -(-self.size // self.strip)
        sizes = [*(v.size for v in others), strips]
        with self.loops.grid(prod(sizes)) as position:
            left = self._counter(prod(sizes), position)
            left, strip = left // strips, left % strips
            self.first, self.rows = strip * self.strip, []
            for counter in reversed(others):
                left, at = left // counter.size, left % counter.size
                self.rows.insert(0, at)
            for number, stage in enumerate(self.frame.stages):
                self._write_stage(number, stage)
            self._store_results()
        program, flagged = self.finished(name, self.cost * self.strip)
        few = FEW_REGISTERS if self.apart > 1 else 0  # so that two teams share a processor
        most = _UNROLLED if few and self._has_repeated_lines() else 0
        return replace(program, registers=few, unrolled=most), flagged

    def _has_repeated_lines(self) -> bool:
        """Whether an operand has fewer lines than others: each of its loads has an address of its
        own, and registers hold those of one group at a time."""
        sizes = [highest(x.size) for x in self.frame.group.inputs]
        return any(self.size < size < max(sizes) for size in sizes)

    def _go_column(self, column: Affine) -> None:
        """To a column of the strip, which there may not be."""
        place = self.first + column
        each = [*self.rows[: self.lane], place, *self.rows[self.lane :]]
        self.counters.outer.go_each(each)
        self.column = column
        self.inside = () if self.size % self.strip == 0 else (("in", place, self.size),)

    # ---- a stage

    def _write_stage(self, number: int, stage: Stage) -> None:
        nodes = [node for node, _, _ in stage.reductions]
        count = prod(stage.sizes)
        lanes = {n: self._scratch("lanes", n, self.side * LANES * self.strip) for n in nodes}
        self._add_lines(number, count, lanes)
        blocks = -(-count // BLOCK)
        if blocks > 1:
            values = {n: self._scratch("blocks", n, self.side * self.strip) for n in nodes}
            self._halve_blocks(lanes, values)
            lanes = values
        found = {n: self._scratch("found", n, self.strip) for n in nodes}
        with self.loops.loop(self.strip, self.strip) as loop:
            column = self._counter(self.strip, loop)
            for node, memory in lanes.items():
                parts = [self._part(node, memory, column, i, blocks) for i in range(LANES)]
                total = rounded(self._halved(node, parts), node.dtype)
                self.loops.store(found[node], loop, _kept(total, found[node]))
        self.found |= found

    def _part(self, node: UOp, memory: UOp, column: Affine, place: int, blocks: int) -> UOp:
        """A lane, or the value of a block: the neutral where there is none."""
        if blocks > 1 and place >= blocks:
            return start_of(node)
        return self.loops.load(memory, self.index(column + place * self.strip))

    def _add_lines(self, number: int, count: int, lanes: dict[UOp, UOp]) -> None:
        """Every sixteenth line of every block, by the groups of the tree."""
        loops, groups = self.loops, _groups(count)
        if self.apart == 1:
            width = self.side * LANES * self.strip
            with loops.loop(width, width) as place:
                at = self._counter(width, place)
                totals = {node: loops.register(start_of(node)) for node in lanes}
                with loops.loop(groups) as group:
                    found = self._group(number, count, at, self._counter(groups, group), lanes)
                    for node, part in found.items():
                        totals[node] = self._joined(node, totals[node], part, group)
                for node, memory in lanes.items():
                    loops.store(memory, place, totals[node])
            return
        self._add_groups(number, count, lanes, groups)

    def _add_groups(self, number: int, count: int, lanes: dict[UOp, UOp], groups: int) -> None:
        """The same by more threads: groups side by side, then one after another."""
        loops, line = self.loops, LANES * self.strip
        size = self.side * groups * line
        parts = {n: self._scratch("groups", n, size) for n in lanes}
        width = self.side * self.apart * line
        with loops.loop(width, width) as place:
            at = self._counter(width, place)
            block, own = at // (self.apart * line), at // line % self.apart
            inside = block * line + at % line
            with loops.loop(groups // self.apart) as turn:
                group = self._counter(groups // self.apart, turn) * self.apart + own
                found = self._group(number, count, inside, group, lanes)
                to = self.index((block * groups + group) * line + at % line)
                for node, part in found.items():
                    loops.store(parts[node], to, part)
        width = self.side * line
        with loops.loop(width, width) as place:
            at = self._counter(width, place)
            totals = {node: loops.register(start_of(node)) for node in lanes}
            with loops.loop(groups) as turn:
                group = self._counter(groups, turn)
                to = self.index((at // line * groups + group) * line + at % line)
                for node, memory in parts.items():
                    part = loops.load(memory, to)
                    totals[node] = self._joined(node, totals[node], part, turn)
            for node, memory in lanes.items():
                loops.store(memory, place, totals[node])

    def _group(
        self, number: int, count: int, at: Affine, group: Affine, lanes: dict[UOp, UOp]
    ) -> dict[UOp, UOp]:
        """The sums of sixteen lines each, of the block, the lane and the column of a place."""
        loops, stage, groups = self.loops, self.frame.stages[number], _groups(count)
        steps = GROUP if count > _PART else -(-count // LANES)
        block, lane = at // (LANES * self.strip), at // self.strip % LANES
        self._go_column(at % self.strip)
        parts = {node: loops.register(start_of(node)) for node in lanes}
        with loops.loop(steps) as step:
            line = block * BLOCK + group * _PART
            line = line + self._counter(steps, step) * LANES + lane
            self.counters.stages[number].go(line)
            whole = self.side * groups * steps * LANES == count
            gate: Gate = () if whole else (("in", line, count),)
            gate = joined(gate, self.inside)
            for node, index, places in stage.reductions:
                value = self._summand(number, node, index, places, gate)
                parts[node] = self._joined(node, parts[node], value, step)
        return parts

    def _halve_blocks(self, lanes: dict[UOp, UOp], values: dict[UOp, UOp]) -> None:
        """The lanes of each block as one."""
        width = self.side * self.strip
        with self.loops.loop(width, width) as place:
            at = self._counter(width, place)
            first = at // self.strip * (LANES * self.strip) + at % self.strip
            for node, memory in lanes.items():
                parts = [first + i * self.strip for i in range(LANES)]
                found = [self.loops.load(memory, self.index(part)) for part in parts]
                self.loops.store(values[node], place, self._halved(node, found))

    # ---- results

    def _store_results(self) -> None:
        with self.loops.loop(self.strip, self.strip) as loop:
            self._go_column(self._counter(self.strip, loop))
            for node, index in self.frame.rows:
                self._store(node, self.counters.at(index, node, None), self.inside)

    def reduction(self, node: UOp, at: At) -> UOp:
        return self.loops.load(self.found[node], self.index(self.column))


def _groups(count: int) -> int:
    """Of a lane in a block."""
    return min(-(-count // _PART), GROUP)


def _kept(value: UOp, memory: UOp) -> UOp:
    """A result as scratch holds it."""
    wanted = memory.arg.dtype
    return value if value.dtype is wanted else value.cast(wanted)


__all__ = ["TeamColumns", "is_for_team_columns"]
