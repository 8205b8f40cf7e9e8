"""Native steps: their code, and the table that runs them in one call.

A schedule's slots are cells that hold addresses; a row of steps begins by writing them into the
argument cells of its kernels. What may live here: kernels, library calls and bodies as steps of a
table. What may not: steps that Python runs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from adjoint.codegen.llvm.render import render
from adjoint.engine import counters
from adjoint.engine.control import BoundBody, emit_control
from adjoint.engine.host import constant
from adjoint.engine.table import Fixup, Region, Table
from adjoint.errors import InternalError
from adjoint.ir.uop import UOp
from adjoint.runtime import native_text as kinds
from adjoint.runtime.blas import gemm_kernel
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.compiler import Code, compile_source
from adjoint.runtime.launch import Cells, NativeProgram, chunk_of
from adjoint.runtime.processor import processor
from adjoint.runtime.timeline import span
from adjoint.stages import ControlStep, HostStep, KernelStep, LibraryStep, Schedule, Step

_LITTLE = 1 << 14  # operations: microseconds, whatever the code is like
Flag = tuple[Any, UOp]  # a 64-bit number that kernels set, and the node to blame
Known = Mapping[Step, Code]  # code of kernels that somebody has compiled already


def is_native(step: Step) -> bool:
    """Whether the step, with all that is inside it, runs without Python."""
    if isinstance(step, ControlStep):
        return all(is_native(inner) for part in step.parts for inner in part.steps)
    return not isinstance(step, HostStep)


def flags_of(schedule: Schedule) -> Iterator[tuple[int, UOp]]:
    """The slots that kernels set when an index is out of range, and the nodes to blame."""
    for step in schedule.steps:
        if isinstance(step, KernelStep) and step.flag is not None:
            yield step.flag


class Native:
    """Native steps in a row, with their code."""

    __slots__ = ("bodies", "codes", "steps")

    def __init__(self, steps: tuple[Step, ...], known: Known = MappingProxyType({})):
        self.steps = steps
        self.codes: dict[int, Code] = {}
        self.bodies: dict[int, list[Body]] = {}
        for place, step in enumerate(steps):
            if isinstance(step, KernelStep):
                self.codes[place] = known.get(step) or _compiled(step)
            elif isinstance(step, ControlStep):
                self.bodies[place] = [Body(part, known) for part in step.parts]

    def compiled(self) -> Iterator[tuple[Step, Code]]:
        """The code of every kernel, for whoever runs the same steps in another way."""
        for place, code in self.codes.items():
            yield self.steps[place], code
        for bodies in self.bodies.values():
            for body in bodies:
                yield from body.native.compiled()

    def bind(self, slots: Cells) -> tuple[NativeProgram, list[Flag]]:
        """The table for these slots, and the flags inside its loops."""
        table, flags = Table(), list[Flag]()
        main = table.region()
        cost = self.emit(table, slots, main, flags)
        keep = (table.keep, self)
        return NativeProgram(table.flat(), len(main.steps), cost, keep), flags

    def emit(self, table: Table, slots: Cells, region: Region, flags: list[Flag]) -> int | None:
        """Append the steps; what they cost, None if nobody knows."""
        place = len(region.steps)
        fixups: list[Fixup] = []
        total: int | None = 0
        for number, step in enumerate(self.steps):
            match step:
                case KernelStep():
                    cost: int | None = _kernel(table, step, self.codes[number], region, fixups)
                case LibraryStep():
                    cost = _library(table, step, region, fixups)
                case ControlStep():
                    bodies = [body.bound(table, flags) for body in self.bodies[number]]
                    cost = emit_control(table, step, bodies, slots, region)
                case HostStep():
                    raise InternalError(f"{step} is no native step")
            total = None if total is None or cost is None else total + cost
        if fixups:
            region.steps.insert(place, table.patch(fixups, slots))
        return total


class Body:
    """A function inside a control step: its schedule and its code."""

    __slots__ = ("constants", "native", "schedule")

    def __init__(self, schedule: Schedule, known: Known):
        self.schedule = schedule
        self.native = Native(schedule.steps, known)
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
        flags += [(flag_at(slots[i]), node) for i, node in flags_of(schedule)]
        given = {*schedule.inputs, *self.constants}
        emit = partial(self.native.emit, table, slots, flags=flags)
        return BoundBody(schedule, slots, given, emit)


def _compiled(step: KernelStep) -> Code:
    if counters.active:
        counters.count(compiles=1)
    program = step.program
    extent = 1 if program.grid is None else program.grid.arg.size
    with span(f"render {program.name}", "compile"):
        source = render(program, processor())
    return compile_source(source, quick=program.cost * extent < _LITTLE)


def _arguments(
    table: Table, slots: Sequence[int], extra: Sequence[int], fixups: list[Fixup]
) -> int:
    """The address of a kernel's argument cells, which get the addresses of these slots."""
    cells = table.cells([*([0] * len(slots)), *extra])
    fixups += [(cells.cell(i), number, 0) for i, number in enumerate(slots)]
    return cells.address


def _kernel(table: Table, step: KernelStep, code: Code, region: Region, fixups: list[Fixup]) -> int:
    program = step.program
    extent = 1 if program.grid is None else program.grid.arg.size
    chunk = chunk_of(extent, program.cost)
    given = [cell_of(node) for node in program.parameters]
    arguments = _arguments(table, step.slots, given, fixups)
    region.steps.append((kinds.KERNEL, code.address, arguments, extent, chunk))
    return program.cost * extent


def cell_of(node: UOp) -> int:
    """A constant as the 64 bits of a cell."""
    return int.from_bytes(np.array(node.arg.value, node.dtype.np).tobytes(), "little", signed=True)


def _library(table: Table, step: LibraryStep, region: Region, fixups: list[Fixup]) -> int:
    kernel = gemm_kernel(step.gemm)
    table.keep.append(kernel)
    arguments = _arguments(table, step.slots, kernel.cells, fixups)
    region.steps.append((kinds.KERNEL, kernel.address, arguments, kernel.extent, kernel.chunk))
    return kernel.cost * kernel.extent


def flag_at(address: int) -> Any:
    """A 64-bit number in native memory."""
    return ctypes.c_int64.from_address(address)
