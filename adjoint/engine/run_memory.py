"""The memory of one run: the arena, an address per slot, an array per slot that the host reads.

Each run in progress has one of its own, so threads do not interfere; the next run reuses it. What
may live here: which slot is where. What may not: running.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from adjoint.backends.protocol import Kernel
from adjoint.engine.run_plan import HostSegment, RunPlan, Segment
from adjoint.engine.step_facts import memory_error
from adjoint.engine.timed_steps import TimedLaunch
from adjoint.errors import DeviceError
from adjoint.runtime.buffer import Buffer, in_bytes
from adjoint.runtime.launch import Cells
from adjoint.stages import LoopProgram, Slot


class RunMemory:
    """`launches` are the segments: a `Launch` for those of the backend, the others unchanged;
    `flags` are numbers that kernels set when an index is out of range, with the node to blame.
    """

    __slots__ = ("arena", "arrays", "cells", "flags", "launches", "loose", "own", "plan")

    def __init__(self, plan: RunPlan, kernels: Mapping[LoopProgram, Kernel]):
        slots = plan.schedule.slots
        self.plan = plan
        self.arena = _arena(plan)
        self.cells = Cells([0] * max(1, len(slots)))
        self.arrays: list[Any] = [None] * len(slots)
        for number, slot in enumerate(slots if self.arena is not None else ()):
            if slot.offset is not None:
                self.cells[number] = self.arena.address + slot.offset
        device = plan.backend.device
        self.own = {i: Buffer.empty(slots[i].dtype, slots[i].shape, device) for i in plan.own()}
        for number, buffer in (*self.own.items(), *plan.constants.items()):
            self.cells[number] = buffer.address
        self._show_arrays()
        self.launches = [self._launch(segment, kernels) for segment in plan.segments]
        flags = [] if plan.watch else [(self.cells[i], node) for i, node in plan.schedule.flags()]
        for launch in self.launches:
            flags += [] if isinstance(launch, HostSegment) else launch.flags
        self.flags = [(plan.backend.memory.number(address), node) for address, node in flags]
        kept = {*plan.constants, *self.own}
        self.loose = [i for i, s in enumerate(slots) if s.offset is None and i not in kept]

    def _show_arrays(self) -> None:
        """Arrays over what stays where it is, for steps of the host."""
        plan = self.plan
        for number, buffer in plan.constants.items():
            self.arrays[number] = buffer.array()
        if not plan.backend.memory.addressable:
            return
        for number, buffer in self.own.items():
            self.arrays[number] = buffer.filling()
        for number in plan.seen:
            if plan.schedule.slots[number].offset is not None:
                self.arrays[number] = self._read(number)

    def _launch(self, segment: Segment, kernels: Mapping[LoopProgram, Kernel]) -> Any:
        if isinstance(segment, HostSegment):
            return segment
        launch = self.plan.backend.bind(segment.steps, kernels, self.cells)
        if self.plan.apart is None:
            return launch
        return TimedLaunch(launch, segment.steps[0], self.plan.schedule, self.plan.backend)

    # ---- what steps of the host read and write

    def value(self, number: int) -> Any:
        """The array of a slot."""
        if self.plan.backend.memory.addressable or number not in self.plan.touched:
            return self.arrays[number]
        return self._read(number)

    def set_value(self, number: int, value: Any) -> None:
        """A step of the host made this."""
        slot, memory = self.plan.schedule.slots[number], self.plan.backend.memory
        if number not in self.plan.touched and (slot.offset is None or not memory.addressable):
            # An array of the arena's memory would change under its holder.
            self.arrays[number] = np.array(value) if self.arena is not None else value
        elif memory.addressable:
            np.copyto(self.arrays[number], np.reshape(value, self.arrays[number].shape))
        else:
            memory.write(self.cells[number], np.ascontiguousarray(value, slot.dtype.np))

    def _read(self, number: int) -> Any:
        slot, memory = self.plan.schedule.slots[number], self.plan.backend.memory
        return _typed(memory.read(self.cells[number], slot.nbytes), slot)


def _typed(raw: Any, slot: Slot) -> Any:
    return in_bytes(raw, slot.dtype, slot.shape)


def _arena(plan: RunPlan) -> Any:
    schedule = plan.schedule
    if not schedule.arena:
        return None
    try:
        return plan.backend.memory.allocate(schedule.arena)
    except DeviceError as error:
        inside = [i for i, slot in enumerate(schedule.slots) if slot.offset is not None]
        largest = max(inside, key=lambda i: schedule.slots[i].nbytes)
        raise memory_error(error, schedule, largest, plan.backend.device) from None
