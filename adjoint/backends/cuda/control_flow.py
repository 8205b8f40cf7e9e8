"""Loops, while-loops and branches: the host submits the launches of every iteration without
waiting.

A loop is part of the CUDA graph of the steps around it, iteration after iteration, unless it is
very long; the body of a while-loop or a branch is a graph of its own.

A body has slots of its own. Carries stay in the slots of the loop's results: the body reads them
there, and either overwrites them, or writes new ones elsewhere, which are copied back at the end of
an iteration. The cells of sequences and of rows of results advance from iteration to iteration;
launches read them. Rows that begin inside 16 bytes, which kernels access at once, are copied
instead. Only a while-loop and a branch wait, for their truth value. What may live here: the three
kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from adjoint.backends.cuda.flags import IndexFlag
from adjoint.backends.cuda.graphs import Entry, in_graphs
from adjoint.backends.cuda.memory import CudaMemory
from adjoint.errors import InternalError
from adjoint.runtime.buffer import Buffer, constant
from adjoint.runtime.cuda import Driver
from adjoint.runtime.launch import Cells
from adjoint.stages import ControlStep, Schedule, Step
from adjoint.target import TARGETS

ACCESS_BYTES = TARGETS["GPU"].thread_bytes
Bind = Callable[[Sequence[Step], Cells, list[IndexFlag]], list[Entry]]


@dataclass(slots=True, eq=False, repr=False)
class Machine:
    """The interface that control flow needs: the GPU, its memory, and steps as calls."""

    gpu: Driver
    device: str
    memory: CudaMemory
    bind: Bind
    flags: list[IndexFlag]  # of the kernels inside

    def truth(self, address: int) -> bool:
        """The truth value at an address, when it is known."""
        return bool(self.memory.read(address, 1)[0])


class Body:
    """A function inside a control step: cells for its slots, what never changes filled in."""

    def __init__(self, schedule: Schedule, machine: Machine):
        self.schedule, self._keep = schedule, list[Any]()
        self.cells = Cells([0] * max(1, len(schedule.slots)))
        self._memory = machine.memory
        base = self.memory(schedule.arena) if schedule.arena else 0
        for number, slot in enumerate(schedule.slots):
            if slot.offset is not None:
                self.cells[number] = base + slot.offset
        device = machine.device
        constants: dict[int, Buffer] = {i: constant(v, device) for i, v in schedule.constants}
        for number, buffer in constants.items():
            self.cells[number] = buffer.address
        self._keep.append(constants)
        self.given = {*schedule.inputs, *constants}
        entries = machine.bind(schedule.steps, self.cells, machine.flags)
        self.launches, self._entries = _launches(entries), entries
        self._each = [entry.call for entry in entries]
        self._graphs = in_graphs(entries, self.cells, machine.gpu)

    def run(self) -> None:
        """Launch its steps one by one: an iteration of a loop, whose addresses advance."""
        for call in self._each:
            call()

    def run_graphs(self) -> None:
        """Launch its steps, which have the same addresses again and again."""
        for call in self._graphs:
            call()

    def memory(self, size: int) -> int:
        """The address of memory that lives as long as the body."""
        self._keep.append(self._memory.allocate(size))
        return int(self._keep[-1].address)

    def nbytes(self, slot: int) -> int:
        """The size of one of its slots."""
        return self.schedule.slots[slot].nbytes

    def in_place(self, wanted: Iterable[int]) -> list[int]:
        """The positions of outputs that can be written into their target; the others get memory.
        That needs an output that a step makes, outside the arena, and that is no other.
        """
        outputs, places, candidates = self.schedule.outputs, [], set(wanted)
        for place, number in enumerate(outputs):
            made = number not in self.given and self.schedule.slots[number].offset is None
            if made and place in candidates and outputs.count(number) == 1:
                places.append(place)
            elif made and self.cells[number] == 0:
                self.cells[number] = self.memory(self.nbytes(number))
        return places


def _launches(entries: Sequence[Entry]) -> int:
    """Of all of them; 0 if one cannot be recorded."""
    return sum(e.launches for e in entries) if all(e.launches for e in entries) else 0


def control_entry(step: ControlStep, outer: Cells, machine: Machine) -> Entry:
    """What runs the step; `outer` are the slots around it."""
    bodies = [Body(part, machine) for part in step.parts]
    slots = (*step.results, *step.operands)
    match step.node.op.name:
        case "loop":
            loop = _Loop(step, bodies[0], outer, machine)
            return Entry(loop.run, slots, loop.launches())
        case "while":
            return Entry(_While(step, bodies[0], bodies[1], outer, machine).run, slots, 0)
        case "branch":
            return Entry(_Branch(step, bodies, outer, machine).run, slots, 0)
        case other:
            raise InternalError(f"{other} is no control flow")


@dataclass(slots=True, eq=False, repr=False)
class _Carries:
    """Values that a body passes to its next iteration, in the slots of the results."""

    step: ControlStep
    body: Body
    outer: Cells
    machine: Machine
    aside: dict[int, int] = field(default_factory=dict)  # memory for what is one of the old ones

    def begin(self) -> None:
        """The first of them, copied to the results."""
        for operand, result, number in zip(
            self.step.operands, self._results(), self.body.schedule.inputs, strict=False
        ):
            self._copy(self.outer[result], self.outer[operand], self.body.nbytes(number))

    def advance(self) -> None:
        """The new ones, copied to the results where they are not kept there."""
        body, sources = self.body, list[tuple[int, int, int]]()
        for place, (number, result) in enumerate(
            zip(body.schedule.outputs, self._results(), strict=False)
        ):
            if place in self.step.kept:
                continue
            source, size = body.cells[number], body.nbytes(number)
            if number in body.schedule.inputs:
                if place not in self.aside:
                    self.aside[place] = body.memory(size)
                self._copy(self.aside[place], source, size)
                source = self.aside[place]
            sources.append((self.outer[result], source, size))
        for target, source, size in sources:
            self._copy(target, source, size)

    def _results(self) -> Sequence[int]:
        return self.step.results[: self.step.node.arg.carries]

    def _copy(self, target: int, source: int, size: int) -> None:
        if size and target != source:
            self.machine.gpu.copy(target, source, size)


class _Loop:
    """LOOP: (carries, sequences, constants) → (carries, rows)."""

    def __init__(self, step: ControlStep, body: Body, outer: Cells, machine: Machine):
        self.body, self.outer, self.copy = body, outer, machine.gpu.copy
        self.arg, n = step.node.arg, step.node.arg.carries
        self.carries = _Carries(step, body, outer, machine)
        rows, outputs = range(n, len(step.results)), body.schedule.outputs
        placed = body.in_place((*step.kept, *[p for p in rows if _is_even(body, outputs[p])]))
        sources = (*step.results[:n], *step.operands[n:])
        inputs = list(enumerate(zip(body.schedule.inputs, sources, strict=True)))
        sequences = range(n, n + self.arg.sequences)
        self.fixed = [pair for place, pair in inputs if place not in sequences]
        self.fixed += [(outputs[p], step.results[p]) for p in placed if p < n]
        given = [pair for place, pair in inputs if place in sequences]
        self.moving = [pair for pair in given if _is_even(body, pair[0])]
        self.moving += [(outputs[p], step.results[p]) for p in placed if p >= n]
        self.brought = [pair for pair in given if not _is_even(body, pair[0])]
        for number, _ in self.brought:
            body.cells[number] = body.memory(body.nbytes(number))
        self.copied = [(outputs[p], step.results[p]) for p in rows if p not in placed]

    def launches(self) -> int:
        """How many a graph of all turns has, copies among them; 0 if there is no such graph."""
        copies = len(self.brought) + len(self.copied) + 2 * self.arg.carries
        turn = self.body.launches + copies if self.body.launches else 0
        return int(self.arg.length) * turn

    def run(self) -> None:
        cells, outer, body = self.body.cells, self.outer, self.body
        self.carries.begin()
        for number, source in self.fixed:
            cells[number] = outer[source]
        turns = range(self.arg.length)
        for turn in reversed(turns) if self.arg.reverse else turns:
            for number, source in self.moving:
                cells[number] = outer[source] + turn * body.nbytes(number)
            for number, source in self.brought:
                size = body.nbytes(number)
                self.copy(cells[number], outer[source] + turn * size, size)
            self._copy_rows(turn, True)  # before they are written over
            body.run()
            self._copy_rows(turn, False)
            self.carries.advance()

    def _copy_rows(self, turn: int, given: bool) -> None:
        """Rows that are not written where they belong: those that the body was given, or made."""
        for number, result in self.copied:
            size = self.body.nbytes(number)
            if (number in self.body.given) is given and size:
                self.copy(self.outer[result] + turn * size, self.body.cells[number], size)


def _is_even(body: Body, slot: int) -> bool:
    """Whether all rows of a slot begin where kernels may read or write 16 bytes at once."""
    return body.nbytes(slot) % ACCESS_BYTES == 0


class _While:
    """WHILE: (carries, constants) → carries; how often is not known before."""

    def __init__(self, step: ControlStep, test: Body, body: Body, outer: Cells, machine: Machine):
        self.step, self.test, self.body, self.outer = step, test, body, outer
        self.carries, self.truth = _Carries(step, body, outer, machine), machine.truth
        for part in (test, body):
            part.in_place(())

    def run(self) -> None:
        n, step = self.step.node.arg.carries, self.step
        self.carries.begin()
        for part in (self.test, self.body):
            sources = (*step.results, *step.operands[n:])
            for number, source in zip(part.schedule.inputs, sources, strict=True):
                part.cells[number] = self.outer[source]
        while self._goes_on():
            self.body.run_graphs()
            self.carries.advance()

    def _goes_on(self) -> bool:
        self.test.run_graphs()
        return self.truth(self.test.cells[self.test.schedule.outputs[0]])


class _Branch:
    """BRANCH: one of two functions on the same operands."""

    def __init__(self, step: ControlStep, bodies: list[Body], outer: Cells, machine: Machine):
        self.step, self.bodies, self.outer, self.machine = step, bodies, outer, machine
        self.placed = [body.in_place(range(len(step.results))) for body in bodies]

    def run(self) -> None:
        step, outer = self.step, self.outer
        side = 0 if self.machine.truth(outer[step.operands[0]]) else 1
        body, placed = self.bodies[side], self.placed[side]
        outputs = body.schedule.outputs
        for number, source in zip(body.schedule.inputs, step.operands[1:], strict=True):
            body.cells[number] = outer[source]
        for place in placed:
            body.cells[outputs[place]] = outer[step.results[place]]
        body.run_graphs()
        for place, result in enumerate(step.results):
            size = body.nbytes(outputs[place])
            if place not in placed and size:
                self.machine.gpu.copy(outer[result], body.cells[outputs[place]], size)
