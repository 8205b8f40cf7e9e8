"""`Program`: a schedule that can run, again and again, on other buffers.

Steps of native code in a row are one table, run by one call; between tables Python runs the steps
of the host. Code is compiled when a program first runs. What changes from run to run (arena,
addresses, tables) is a frame; each run in progress has one of its own, so threads do not meet.
What may live here: programs, and how they hand over memory. What may not: how a step is done.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from adjoint.engine import counters
from adjoint.engine.donation import Lender
from adjoint.engine.host import constant, functions_of, host_results, row_major
from adjoint.engine.native import Flag, Known, Native, flag_at, flags_of, is_native
from adjoint.engine.steps import FlagError, located, memory_error, read, work_of, written
from adjoint.engine.stepwise import Apart, TimedTable
from adjoint.errors import DeviceError, InternalError
from adjoint.ir.dtype import DType
from adjoint.ir.function import Function
from adjoint.runtime.allocator import CPU
from adjoint.runtime.buffer import Buffer, in_bytes
from adjoint.runtime.interrupt import Abandoned
from adjoint.runtime.launch import Cells
from adjoint.runtime.timeline import recorders, sample, span
from adjoint.stages import ControlStep, HostStep, Schedule, Slot, Step

_NOTHING: Known = MappingProxyType({})
_FRAMES = 8  # kept for the next run; more runs than that at once make their own
_INPUT, _CONSTANT, _FRESH, _ARRAY, _SAME = range(5)  # where an output comes from


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Python:
    """A step that Python runs, its functions, and the slots that nothing needs after it."""

    step: HostStep | ControlStep
    parts: dict[Function, Program]
    dying: tuple[int, ...]


class _Plan:
    """What all runs of a program share: segments with their code, constants, who needs what."""

    def __init__(self, schedule: Schedule, apart: Apart | None, known: Known):
        self.schedule, self.apart = schedule, apart
        self.segments = _segments(schedule, apart, known)
        python = [s.step for s in self.segments if isinstance(s, _Python)]
        native = [t for s in self.segments if isinstance(s, Native) for t in s.steps]
        self.plain = not python  # nothing for Python to do between the first step and the last
        self.seen = {i for step in python for i in (*step.results, *step.operands)}
        self.touched = {i for step in native for i in (*read(step), *written(step))}
        self.constants = {i: constant(value) for i, value in schedule.constants}
        self.inputs = [(i, i in self.touched, i in self.seen) for i in schedule.inputs]
        slots = [schedule.slots[i] for i in schedule.outputs]
        types = schedule.types or [(slot.dtype, slot.shape) for slot in slots]
        pairs = enumerate(zip(schedule.outputs, types, strict=True))
        self.outputs = [self._recipe(place, i, *kind) for place, (i, kind) in pairs]
        self.lender = Lender(schedule)
        fresh = all(kind == _FRESH for kind, _, _ in self.outputs)
        flagged = any(True for _ in flags_of(schedule)) or any(
            isinstance(step, ControlStep) for step in schedule.steps
        )
        distinct = len(set(schedule.outputs)) == len(schedule.outputs)
        self.simple = self.plain and fresh and distinct and not flagged
        self.numbers = schedule.inputs
        self.targets = [(i, slot.dtype, slot.shape) for _, i, slot in self.outputs]

    def codes(self) -> dict[Step, Any]:
        """The code of every kernel."""
        native = [segment for segment in self.segments if isinstance(segment, Native)]
        return {step: code for segment in native for step, code in segment.compiled()}

    def own(self) -> Iterator[int]:
        """Slots outside of the arena that native code sees and nobody gives."""
        schedule = self.schedule
        given = {*schedule.inputs, *schedule.outputs, *self.constants}
        return (i for i in self.touched - given if schedule.slots[i].offset is None)

    def _recipe(
        self, place: int, number: int, dtype: DType, shape: tuple[int, ...]
    ) -> tuple[int, int, Slot]:
        """Where an output comes from: an input, a constant, fresh memory, an array of Python, or an
        earlier output whose memory it shares."""
        schedule = self.schedule
        slot = replace(schedule.slots[number], dtype=dtype, shape=shape)
        if number in schedule.inputs:
            return _INPUT, schedule.inputs.index(number), slot
        if number in schedule.outputs[:place]:
            return _SAME, schedule.outputs.index(number), slot
        if number in self.constants:
            return _CONSTANT, number, slot
        fresh = number in self.touched or not slot.nbytes  # no step makes what has no elements
        return (_FRESH if fresh else _ARRAY), number, slot


def _segments(schedule: Schedule, apart: Apart | None, known: Known) -> list[Native | _Python]:
    """Native steps in a row are one segment; every other step is one of its own, and if they are
    wanted apart every step is."""
    last = {i: n for n, step in enumerate(schedule.steps) for i in (*read(step), *written(step))}
    keep = {*schedule.outputs, *schedule.inputs, *(i for i, _ in schedule.constants)}
    segments: list[Native | _Python] = []
    row: list[Step] = []
    for place, step in enumerate(schedule.steps):
        if isinstance(step, HostStep) or (
            isinstance(step, ControlStep) and not _stays_native(step, apart)
        ):
            segments += [Native(tuple(row))] if row else []
            row = []
            loose = {i for i in read(step) + written(step) if schedule.slots[i].offset is None}
            dying = tuple(sorted(i for i in loose - keep if last[i] == place))
            segments.append(_Python(step, _parts(step), dying))
        else:
            row.append(step)
            if apart is not None:
                segments.append(Native((row.pop(),), known))
    return [*segments, Native(tuple(row))] if row else segments


def _stays_native(step: ControlStep, apart: Apart | None) -> bool:
    return is_native(step) and not (apart is not None and apart.inside_loops)


def _parts(step: HostStep | ControlStep) -> dict[Function, Program]:
    if isinstance(step, HostStep):
        return {}
    pairs = zip(functions_of(step), step.parts, strict=True)
    return {function: Program(part) for function, part in pairs}


class _Frame:
    """The memory of one run: the arena, an address per slot, an array per slot that Python sees."""

    __slots__ = ("arena", "arrays", "cells", "flags", "loose", "own", "tables")

    def __init__(self, plan: _Plan):
        slots = plan.schedule.slots
        self.arena = _arena(plan.schedule)
        self.cells = Cells([0] * max(1, len(slots)))
        self.arrays: list[Any] = [None] * len(slots)
        if self.arena is not None:
            self._place(plan, np.asarray(self.arena), self.arena.address)
        self.own = {i: Buffer.empty(slots[i].dtype, slots[i].shape, "CPU") for i in plan.own()}
        for number, buffer in self.own.items():
            self.cells[number] = buffer.address
            self.arrays[number] = buffer.filling()
        for number, buffer in plan.constants.items():
            self.cells[number] = buffer.address
            self.arrays[number] = buffer.array()
        self.flags: list[Flag] = [
            (flag_at(self.cells[number]), node) for number, node in flags_of(plan.schedule)
        ]
        self.tables = [self._table(plan, segment) for segment in plan.segments]
        kept = {*plan.constants, *self.own}
        self.loose = [i for i, s in enumerate(slots) if s.offset is None and i not in kept]

    def _place(self, plan: _Plan, whole: Any, base: int) -> None:
        for number, slot in enumerate(plan.schedule.slots):
            if slot.offset is not None:
                self.cells[number] = base + slot.offset
                if number in plan.seen:
                    part = whole[slot.offset : slot.offset + slot.nbytes]
                    self.arrays[number] = part.view(slot.dtype.np).reshape(slot.shape)

    def _table(self, plan: _Plan, segment: Native | _Python) -> Any:
        if isinstance(segment, _Python):
            return segment
        table, flags = segment.bind(self.cells)
        self.flags += flags
        if plan.apart is None:
            return table
        return TimedTable(table, segment.steps[0], plan.schedule)


def _arena(schedule: Schedule) -> Any:
    if not schedule.arena:
        return None
    try:
        return CPU.allocate(schedule.arena)
    except DeviceError as error:
        inside = [i for i, slot in enumerate(schedule.slots) if slot.offset is not None]
        largest = max(inside, key=lambda i: schedule.slots[i].nbytes)
        raise memory_error(error, schedule, largest) from None


class Program:
    """A schedule that can run; `apart` if its steps are run, and recorded, one by one."""

    def __init__(self, schedule: Schedule, apart: Apart | None = None, known: Known = _NOTHING):
        self.schedule, self.apart, self._known = schedule, apart, known
        self._twins: dict[Apart, Program] = {}
        self._plan: _Plan | None = None
        self._frames: list[_Frame] = []
        self._lock = threading.Lock()
        self._work: dict[str, int] | None = None

    def _planned(self) -> _Plan:
        with self._lock:
            if self._plan is None:
                self._plan = _Plan(self.schedule, self.apart, self._known)
            return self._plan

    def run(
        self, inputs: Sequence[Buffer], devices: Sequence[Any] = (), donated: Sequence[int] = ()
    ) -> list[Buffer]:
        """The outputs as fresh buffers, on the devices that are named (default CPU).

        Inputs at the `donated` positions are nobody else's any more: an output may take their
        memory.
        """
        if counters.active:
            return self._counted(inputs, devices, donated)
        plan = self._plan
        if plan is not None and plan.simple and devices and not donated:
            return self._run_simple(plan, inputs, devices)
        return self._run(inputs, devices, donated)

    def _run_simple(
        self, plan: _Plan, inputs: Sequence[Buffer], devices: Sequence[Any]
    ) -> list[Buffer]:
        """The same for native code alone, with nothing to check: what small programs are."""
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(plan)
        cells = frame.cells.values
        for number, buffer in zip(plan.numbers, inputs):  # noqa: B905 - hot
            cells[number] = buffer.address
        outputs = []
        try:
            for (number, dtype, shape), device in zip(plan.targets, devices):  # noqa: B905 - hot
                buffer = Buffer.empty(dtype, shape, device)
                cells[number] = buffer.address
                outputs.append(buffer)
        except DeviceError as error:
            raise memory_error(error, self.schedule, number) from None
        try:
            for table in frame.tables:
                if table.run():
                    raise KeyboardInterrupt
        except Abandoned as error:
            error.keep.append((frame, inputs, outputs))
            raise
        if len(self._frames) < _FRAMES:
            self._frames.append(frame)
        return outputs

    def _counted(self, *args: Any) -> list[Buffer]:
        if self._work is None:
            self._work = work_of(self.schedule)
        start = counters.now()
        outputs = self._recorded(*args) if recorders else self._run(*args)
        counters.count(runs=1, seconds=counters.now() - start, **self._work)
        return outputs

    def _recorded(self, *args: Any) -> list[Buffer]:
        """The same by a program of the same steps that runs them one by one."""
        apart = Apart(any(recorder.inside_loops for recorder in recorders))
        twin = self._twins.get(apart)
        if twin is None:
            made = Program(self.schedule, apart, self._planned().codes())
            twin = self._twins.setdefault(apart, made)
        sample("memory", CPU.counted)
        with span("program", "program", steps=len(self.schedule.steps), arena=self.schedule.arena):
            outputs = twin._run(*args)
        sample("memory", CPU.counted)
        return outputs

    def _run(
        self, inputs: Sequence[Buffer], devices: Sequence[Any], donated: Sequence[int]
    ) -> list[Buffer]:
        plan = self._plan or self._planned()
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(plan)
        abandoned = False
        try:
            outputs = self._begin(plan, frame, inputs, devices, donated)
            for flag, _ in frame.flags:
                flag.value = 0
            for table in frame.tables:
                if type(table) is _Python:
                    _run_python(plan, frame, table)
                elif table.run():
                    raise KeyboardInterrupt
            for flag, node in frame.flags:
                if flag.value:
                    raise located(FlagError, "an index is out of range", node)
            return outputs if plan.plain else _finished(plan, frame, devices, outputs)
        except Abandoned as error:
            error.keep.append((frame, inputs, outputs))
            abandoned = True
            raise
        finally:
            if not abandoned:
                self._put_back(plan, frame)

    def _put_back(self, plan: _Plan, frame: _Frame) -> None:
        """The frame for the next run, without what only this one needs."""
        if not plan.plain:
            for number in frame.loose:
                frame.arrays[number] = None
        if len(self._frames) < _FRAMES:
            self._frames.append(frame)

    def _begin(
        self,
        plan: _Plan,
        frame: _Frame,
        inputs: Sequence[Buffer],
        devices: Sequence[Any],
        donated: Sequence[int],
    ) -> list[Any]:
        """Write this run's addresses; the outputs, None where Python makes one."""
        cells, arrays = frame.cells.values, frame.arrays
        if len(inputs) != len(plan.inputs):
            raise InternalError(f"a program of {len(plan.inputs)} inputs got {len(inputs)}")
        for (number, touched, seen), buffer in zip(plan.inputs, inputs):  # noqa: B905 - hot
            if touched:
                cells[number] = buffer.address
            if seen:
                arrays[number] = buffer.array()
        lent = plan.lender.lend(inputs, donated) if donated else {}  # their addresses are written
        outputs: list[Any] = []
        for place, (kind, number, slot) in enumerate(plan.outputs):
            if kind == _FRESH:
                device = devices[place] if devices else "CPU"
                block = lent.get(place) if lent else None
                buffer = self._fresh(slot, number, device, block)
                cells[number] = buffer.address
                if number in plan.seen:
                    arrays[number] = buffer.filling()
                outputs.append(buffer)
            else:
                found = _given(plan, kind, number, slot, inputs, outputs)
                if found is not None and devices and found.device != devices[place]:
                    found = Buffer(found.array(), devices[place])
                outputs.append(found)
        return outputs

    def _fresh(self, slot: Slot, number: int, device: Any, block: Any) -> Buffer:
        if block is not None:
            return Buffer.over(block, slot.dtype, slot.shape, device)
        try:
            return Buffer.empty(slot.dtype, slot.shape, device)
        except DeviceError as error:
            raise memory_error(error, self.schedule, number) from None

    def run_arrays(self, arrays: Sequence[Any]) -> list[Any]:
        """The outputs as arrays, from arrays."""
        buffers = [Buffer(a, "CPU") for a in row_major(arrays)]
        return [b.array() for b in self.run(buffers)]


def _given(
    plan: _Plan, kind: int, number: int, slot: Slot, inputs: Sequence[Buffer], outputs: list[Any]
) -> Any:
    """An output that exists already, in the shape it has as one; None if Python makes it later."""
    if kind == _ARRAY or (kind == _SAME and outputs[number] is None):
        return None
    found = inputs[number] if kind == _INPUT else outputs[number] if kind == _SAME else None
    found = plan.constants.get(number) if found is None else found
    if found is None or (found.shape == slot.shape and found.dtype is slot.dtype):
        return found
    return found.viewed(slot.shape, slot.dtype)


def _run_python(plan: _Plan, frame: _Frame, work: _Python) -> None:
    """One step of the host: operands are arrays of slots, results go to theirs."""
    arrays, slots, step = frame.arrays, plan.schedule.slots, work.step
    operands = [arrays[i] for i in step.operands]

    def run(function: Function, values: list[Any]) -> list[Any]:
        return work.parts[function].run_arrays(values)

    for number, value in zip(step.results, host_results(step, operands, run), strict=True):
        if slots[number].offset is not None or number in plan.touched:
            np.copyto(arrays[number], np.reshape(value, arrays[number].shape))
        else:  # an array of the arena's memory would change under whoever holds it
            arrays[number] = np.array(value) if frame.arena is not None else value
    for number in work.dying:
        if number not in frame.own:
            arrays[number] = None


def _finished(
    plan: _Plan, frame: _Frame, devices: Sequence[Any], outputs: list[Any]
) -> list[Buffer]:
    """The outputs with those that Python made."""
    for place, (kind, number, slot) in enumerate(plan.outputs):
        if kind == _ARRAY:
            device = devices[place] if devices else "CPU"
            (array,) = row_major([frame.arrays[number]])
            outputs[place] = Buffer(in_bytes(array, slot.dtype, slot.shape), device)
        elif kind == _SAME and outputs[place] is None:
            outputs[place] = outputs[number].viewed(slot.shape, slot.dtype)
    return outputs
