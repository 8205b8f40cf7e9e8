"""Steps as rows of one table, which one native call runs.

A schedule's slots are cells that hold addresses; a run of the table begins by writing them into the
argument cells of its kernels. What may live here: kernels and bodies as steps of a table. What may
not: steps that Python runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np

from adjoint.backends.cpu.collectives import Conversation, emit_collective, emit_wait
from adjoint.backends.cpu.control_flow import BoundBody, Moves, emit_control, launch_chunk
from adjoint.backends.cpu.step_table import Fixup, Region, Table, kernel_row
from adjoint.errors import InternalError
from adjoint.ir.uop import UOp
from adjoint.ops.collective import COLLECTIVES
from adjoint.runtime.buffer import Buffer, constant
from adjoint.runtime.compiler import Code
from adjoint.runtime.launch import Cells, NativeProgram
from adjoint.stages import (
    ControlStep,
    HostStep,
    KernelStep,
    LibraryStep,
    LoopProgram,
    Schedule,
    Step,
    WaitStep,
)

Flag = tuple[int, UOp]  # the address of a 64-bit number that kernels set, and the node to blame
Kernels = Mapping[LoopProgram, Code]


class NativeSteps:
    """Native steps in a row, with their code."""

    __slots__ = ("bodies", "kernels", "steps")

    def __init__(self, steps: Sequence[Step], kernels: Kernels):
        self.steps, self.kernels = steps, kernels
        self.bodies: dict[int, list[Body]] = {
            place: [Body(part, kernels) for part in step.parts]
            for place, step in enumerate(steps)
            if isinstance(step, ControlStep)
        }

    def bind(self, slots: Cells) -> NativeProgram:
        """The table for these slots."""
        table, flags = Table(), list[Flag]()
        main = table.region()
        cost = self.emit(table, slots, main, flags)
        keep = (table.keep, self)
        return NativeProgram(table.flat(), len(main.steps), cost, keep, flags, table.speaker)

    def emit(
        self,
        table: Table,
        slots: Cells,
        region: Region,
        flags: list[Flag],
        turns: Sequence[Moves] = ({},),
    ) -> int | None:
        """Append the steps, once for each of `turns`, which says how far its slots have advanced.
        Returns their cost, None if that depends on values.
        """
        place = len(region.steps)
        fixups: list[Fixup] = []
        total: int | None = 0
        waits = [step.node for step in self.steps if isinstance(step, WaitStep)]
        begun: dict[UOp, Conversation] = {}
        for moved, (number, step) in product(turns, enumerate(self.steps)):
            match step:
                case KernelStep():
                    code = self.kernels[step.program]
                    cost: int | None = _kernel(table, step, code, region, fixups, moved)
                case ControlStep():
                    bodies = [body.bound(table, flags) for body in self.bodies[number]]
                    cost = emit_control(table, step, bodies, slots, region)
                case HostStep() if step.node.op in COLLECTIVES:
                    cells = _cells(table, (*step.results, *step.operands), (), fixups, moved)
                    begun[step.node] = emit_collective(table, step, cells, region, waits)
                    cost = 0
                case WaitStep():
                    emit_wait(table, begun.pop(step.node, None), region)
                    cost = 0
                case HostStep() | LibraryStep():
                    raise InternalError(f"{step} is no native step")
            total = None if total is None or cost is None else total + cost
        if fixups:
            region.steps.insert(place, table.patch(fixups, slots))
        return total


class Body:
    """A function inside a control step: its schedule and its code."""

    __slots__ = ("constants", "native", "schedule")

    def __init__(self, schedule: Schedule, kernels: Kernels):
        self.schedule = schedule
        self.native = NativeSteps(schedule.steps, kernels)
        self.constants: dict[int, Buffer] = {i: constant(v) for i, v in schedule.constants}

    def bound(self, table: Table, flags: list[Flag]) -> BoundBody:
        """The body with cells for its slots, what never changes filled in."""
        schedule = self.schedule
        slots = table.cells([0] * max(1, len(schedule.slots)))
        base = table.memory(schedule.arena) if schedule.arena else 0
        for number, slot in enumerate(schedule.slots):
            if slot.offset is not None:
                slots[number] = base + slot.offset
        for number, buffer in self.constants.items():
            slots[number] = buffer.address
        flags += [(slots[i], node) for i, node in schedule.flags()]
        given = {*schedule.inputs, *self.constants}
        emit = partial(self.native.emit, table, slots, flags=flags)
        return BoundBody(schedule, slots, given, emit)


def _arguments(
    table: Table, slots: Sequence[int], extra: Sequence[int], fixups: list[Fixup], moved: Moves
) -> int:
    """The address of a kernel's argument cells, which get the addresses of these slots."""
    return _cells(table, slots, extra, fixups, moved).address


def _cells(
    table: Table, slots: Sequence[int], extra: Sequence[int], fixups: list[Fixup], moved: Moves
) -> Cells:
    cells = table.cells([*([0] * len(slots)), *extra])
    fixups += [(cells.cell(i), number, moved.get(number, 0)) for i, number in enumerate(slots)]
    return cells


def _kernel(
    table: Table,
    step: KernelStep,
    code: Code,
    region: Region,
    fixups: list[Fixup],
    moved: Moves,
) -> int:
    program = step.program
    extent, chunk = 1 if program.grid is None else int(program.grid.arg.size), launch_chunk(program)
    given = [cell_of(node) for node in program.parameters]
    arguments = _arguments(table, step.slots, given, fixups, moved)
    cost = program.cost * extent
    region.steps.append(kernel_row(code.address, arguments, extent, chunk, cost))
    return cost


def cell_of(node: UOp) -> int:
    """A constant as the 64 bits of a cell."""
    return int.from_bytes(np.array(node.arg.value, node.dtype.np).tobytes(), "little", signed=True)
