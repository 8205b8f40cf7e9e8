"""Loops, while-loops and branches as steps of a native table.

A body has slots of its own. Carries stay in the slots of the loop's results: the body reads them
there, and either overwrites them, or writes new ones elsewhere, which are copied back at the end of
an iteration. Elements of sequences and rows of results advance by a stride per iteration. If the
body is one kernel whose pieces read only those parts of the carries that they wrote themselves, the
loop is one launch for all iterations. If the body is a few kernels that need no copies, several
iterations follow one another in the table, as one job of the worker pool. What may live here: the
three kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adjoint.backends.cpu.step_table import Fixup, Length, Region, Table
from adjoint.errors import InternalError
from adjoint.runtime import pool_ir as kinds
from adjoint.runtime.launch import Cells, chunk_of
from adjoint.runtime.pool import native_code
from adjoint.stages import ControlStep, KernelStep, LoopProgram, Schedule
from adjoint.target import TARGETS

Moves = Mapping[int, int]  # how many bytes slots have moved on, by their number


def launch_chunk(program: LoopProgram, times: int = 1) -> int:
    """How much of a kernel's grid is done at a time, if each piece is done so many times."""
    grid = None if program.grid is None else program.grid.arg
    extent, lanes = (1, 1) if grid is None else (int(grid.size), int(grid.lanes))
    return chunk_of(extent, program.cost * times, TARGETS["CPU"].cores, lanes)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BoundBody:
    """A function inside a control step: its slots as cells, those no step writes, its steps."""

    schedule: Schedule
    slots: Cells
    given: set[int]
    emit: Callable[..., int | None]  # to a region; several turns of a loop

    def nbytes(self, slot: int) -> int:
        """The size of one of its slots."""
        return self.schedule.slots[slot].nbytes


def emit_control(
    table: Table, step: ControlStep, bodies: list[BoundBody], outer: Cells, region: Region
) -> int | None:
    """Append the step. Returns its cost, None if that depends on values.

    `outer` are the slots around it.
    """
    match step.node.op.name:
        case "loop":
            return _Loop(table, step, bodies[0], outer).emit(region)
        case "while":
            _while(table, step, bodies, outer, region)
            return None
        case "branch":
            return _branch(table, step, bodies, outer, region)
        case other:
            raise InternalError(f"{other} is no control flow")


def _in_place(table: Table, body: BoundBody, slots: Cells, wanted: Iterable[int]) -> list[int]:
    """The positions of outputs that the body can write into their target; the others get memory.

    That needs an output that a step makes, outside the arena, and that is no other output too.
    """
    schedule, given, places = body.schedule, body.given, []
    candidates = set(wanted)
    for place, number in enumerate(schedule.outputs):
        made = number not in given and schedule.slots[number].offset is None
        if made and place in candidates and schedule.outputs.count(number) == 1:
            places.append(place)
        elif made and slots[number] == 0:
            slots[number] = table.memory(body.nbytes(number))
    return places


def _copies(body: BoundBody, slots: Cells, targets: dict[int, int]) -> list[tuple[Any, ...]]:
    """Steps that copy outputs, by position, to the addresses in the target cells."""
    outputs = body.schedule.outputs
    return [
        (kinds.COPY, cell, slots.cell(outputs[place]), body.nbytes(outputs[place]))
        for place, cell in targets.items()
    ]


def _begin(
    body: BoundBody, operands: Sequence[int], results: Sequence[int], outer: Cells
) -> list[tuple[Any, ...]]:
    """Steps that copy the first carries to the results."""
    rows = zip(operands, results, body.schedule.inputs, strict=False)
    return [(kinds.COPY, outer.cell(r), outer.cell(o), body.nbytes(i)) for o, r, i in rows]


def _advance(
    table: Table,
    body: BoundBody,
    slots: Cells,
    results: Sequence[int],
    outer: Cells,
    kept: Sequence[int] = (),
) -> list[tuple[Any, ...]]:
    """Steps that copy the new carries to the results, unless they are written there; first, those
    that are old carries are copied aside.
    """
    first, then = [], []
    for place, (number, result) in enumerate(zip(body.schedule.outputs, results, strict=False)):
        if place in kept:
            continue
        size, source = body.nbytes(number), slots.cell(number)
        if number in body.schedule.inputs:
            aside = table.cells([table.memory(size)]).address
            first.append((kinds.COPY, aside, source, size))
            source = aside
        then.append((kinds.COPY, outer.cell(result), source, size))
    return [*first, *then]


@dataclass(slots=True, eq=False, repr=False)
class _Moving:
    """Cells that advance by a stride per iteration, from the first row or from the last."""

    length: int
    reverse: bool
    bumps: list[int] = field(default_factory=list)

    def fixup(self, cell: int, slot: int, stride: int) -> Fixup:
        self.bumps += [cell, -stride if self.reverse else stride]
        return cell, slot, stride * max(self.length - 1, 0) if self.reverse else 0


class _Loop:
    """LOOP: (carries, sequences, constants) → (carries, rows)."""

    def __init__(self, table: Table, step: ControlStep, body: BoundBody, outer: Cells):
        self.table, self.step, self.body, self.outer = table, step, body, outer
        self.arg = step.node.arg
        self.slots = body.slots
        self.moving = _Moving(self.arg.length, self.arg.reverse)

    def emit(self, region: Region) -> int | None:
        table, body, n = self.table, self.body, self.arg.carries
        carries, rows = self.step.results[:n], range(n, len(self.step.results))
        placed = _in_place(table, body, self.slots, (*self.step.kept, *rows))
        targets = table.cells([0] * len(self.step.results))
        copied = {place: targets.cell(place) for place in rows if place not in placed}
        fixups = [*self._inputs(carries), *self._results(placed, copied)]
        region.steps += _begin(body, self.step.operands[:n], carries, self.outer)
        if fixups:
            region.steps.append(table.patch(fixups, self.outer))
        if not copied and len(self.step.kept) == n and _is_one_kernel(body.schedule):
            return self._in_one_launch(region)
        together = 1 if copied or len(self.step.kept) < n else self._together()
        rounds, turn = self.arg.length // together, table.region()
        bumps = table.cells(self._bumped(together))
        row = (kinds.LOOP, rounds, turn, Length(turn), bumps.address, len(bumps) // 2)
        region.steps.append(row)
        given = {p: c for p, c in copied.items() if body.schedule.outputs[p] in body.given}
        turn.steps += _copies(body, self.slots, given)  # before they are written over
        cost = body.emit(turn, turns=[self._moved(t) for t in range(together)])
        made = {p: c for p, c in copied.items() if p not in given}
        turn.steps += _copies(body, self.slots, made)
        turn.steps += _advance(table, body, self.slots, carries, self.outer, self.step.kept)
        return None if cost is None else cost * rounds

    def _together(self) -> int:
        """How many iterations follow one another: as many as the kernels of a job allow."""
        steps, length = self.body.schedule.steps, self.arg.length
        if not all(isinstance(step, KernelStep) for step in steps):
            return 1
        most = min(kinds.MOST_KERNELS // max(len(steps), 1), length)
        return next((n for n in range(most, 1, -1) if length % n == 0), 1)

    def _bumped(self, turns: int) -> list[int]:
        """Cells, and how far they advance in this many iterations."""
        pairs = zip(self.moving.bumps[::2], self.moving.bumps[1::2], strict=True)
        return [number for cell, stride in pairs for number in (cell, turns * stride)]

    def _moved(self, turns: int) -> dict[int, int]:
        """The offsets of the body's slots after this many iterations."""
        cells = {self.slots.cell(number): number for number in range(len(self.slots))}
        bumps = self._bumped(turns)
        pairs = zip(bumps[::2], bumps[1::2], strict=True)
        return {cells[cell]: by for cell, by in pairs if cell in cells}

    def _in_one_launch(self, region: Region) -> int | None:
        """Every piece of the kernel's grid runs all iterations: its arguments advance."""
        step, length = self.body.schedule.steps[0], self.arg.length
        assert isinstance(step, KernelStep)
        cost = self.body.emit(region)
        _, function, arguments, extent, *_ = region.steps.pop()
        moves = dict(zip(self.moving.bumps[::2], self.moving.bumps[1::2], strict=True))
        strides = [moves.get(self.slots.cell(slot), 0) for slot in step.slots]
        strides += [0] * len(step.program.parameters)
        cells = (function, arguments, len(strides), length, self.table.cells(strides).address)
        chunk = launch_chunk(step.program, length)
        turns, given = native_code().symbol("turns"), self.table.cells(cells)
        region.steps.append((kinds.KERNEL, turns, given.address, extent, chunk))
        return None if cost is None else cost * length

    def _inputs(self, carries: Sequence[int]) -> list[Fixup]:
        """Where the body finds its inputs."""
        n, last = self.arg.carries, self.arg.carries + self.arg.sequences
        fixups: list[Fixup] = []
        pairs = zip(self.body.schedule.inputs, (*carries, *self.step.operands[n:]), strict=True)
        for place, (number, source) in enumerate(pairs):
            cell = self.slots.cell(number)
            if n <= place < last:
                fixups.append(self.moving.fixup(cell, source, self.body.nbytes(number)))
            else:
                fixups.append((cell, source, 0))
        return fixups

    def _results(self, placed: list[int], copied: dict[int, int]) -> list[Fixup]:
        """Where the body's results go: written there, or copied there; rows move on."""
        outputs, n = self.body.schedule.outputs, self.arg.carries
        cells = {place: self.slots.cell(outputs[place]) for place in placed} | copied
        return [
            self.moving.fixup(cell, self.step.results[place], self.body.nbytes(outputs[place]))
            if place >= n
            else (cell, self.step.results[place], 0)
            for place, cell in cells.items()
        ]


def _is_one_kernel(schedule: Schedule) -> bool:
    """Whether a body is one kernel that checks no index."""
    (first, *more) = schedule.steps or (None,)
    return not more and isinstance(first, KernelStep) and first.flag is None


def _while(
    table: Table, step: ControlStep, bodies: list[BoundBody], outer: Cells, region: Region
) -> None:
    """WHILE: (carries, constants) → carries; how often is not known before."""
    n, results = step.node.arg.carries, step.results
    test, body = bodies
    region.steps += _begin(body, step.operands[:n], results, outer)
    made = []
    for part in bodies:
        slots = part.slots
        sources = zip(part.schedule.inputs, (*results, *step.operands[n:]), strict=True)
        fixups = [(slots.cell(number), source, 0) for number, source in sources]
        if fixups:
            region.steps.append(table.patch(fixups, outer))
        _in_place(table, part, slots, ())
        made.append((slots, table.region()))
    (seen, ask), (slots, turn) = made
    cell = seen.cell(test.schedule.outputs[0])
    region.steps.append((kinds.WHILE, ask, Length(ask), cell, turn, Length(turn)))
    test.emit(ask)
    body.emit(turn)
    turn.steps += _advance(table, body, slots, results, outer)


def _branch(
    table: Table, step: ControlStep, bodies: list[BoundBody], outer: Cells, region: Region
) -> int | None:
    """BRANCH: one of two functions on the same operands."""
    costs: list[int | None] = []
    sides: list[Any] = []
    for body in bodies:
        side, slots = table.region(), body.slots
        everything = range(len(step.results))
        placed = _in_place(table, body, slots, everything)
        targets = [(body.schedule.outputs[p], step.results[p]) for p in placed]
        sources = zip(body.schedule.inputs, step.operands[1:], strict=True)
        fixups = [(slots.cell(number), outside, 0) for number, outside in (*sources, *targets)]
        if fixups:
            side.steps.append(table.patch(fixups, outer))
        costs.append(body.emit(side))
        copied = {p: outer.cell(step.results[p]) for p in everything if p not in placed}
        side.steps += _copies(body, slots, copied)
        sides += [side, Length(side)]
    region.steps.append((kinds.BRANCH, outer.cell(step.operands[0]), *sides))
    known = [cost for cost in costs if cost is not None]
    return max(known) if len(known) == len(costs) else None
