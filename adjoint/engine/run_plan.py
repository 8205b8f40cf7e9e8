"""What all runs of a program share: segments, constants, where each output comes from.

Before: a schedule.
After: segments, each either consecutive steps that the backend runs in one launch or one host step,
and for every output one of five small classes that say where it comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adjoint.backends.protocol import Backend
from adjoint.ir.dtype import DType
from adjoint.runtime.buffer import Buffer, constant
from adjoint.stages import ControlStep, HostStep, Schedule, Slot, Step


@dataclass(frozen=True, slots=True)
class StepByStep:
    """How steps are run apart: is a loop one step, or is every step inside it one?"""

    inside_loops: bool


# ---- segments


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DeviceSegment:
    """Steps that the backend runs by one launch."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HostSegment:
    """A step that Python runs, and the slots with no use after it."""

    step: HostStep | ControlStep
    dying: tuple[int, ...]


Segment = DeviceSegment | HostSegment


# ---- where an output comes from


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fresh:
    """Memory made for this run, which the backend fills."""

    number: int
    slot: Slot


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FromInput:
    """An input of the run."""

    position: int
    slot: Slot

    def given(self, inputs: Sequence[Buffer], outputs: Sequence[Any]) -> Buffer | None:
        return inputs[self.position]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FromConstant:
    """A value that never changes."""

    buffer: Buffer
    slot: Slot

    def given(self, inputs: Sequence[Buffer], outputs: Sequence[Any]) -> Buffer | None:
        return self.buffer


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FromHost:
    """An array that a step of the host makes."""

    number: int
    slot: Slot

    def given(self, inputs: Sequence[Buffer], outputs: Sequence[Any]) -> Buffer | None:
        return None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SameAs:
    """The memory of an earlier output, perhaps under another type."""

    place: int
    slot: Slot

    def given(self, inputs: Sequence[Buffer], outputs: Sequence[Any]) -> Buffer | None:
        found: Buffer | None = outputs[self.place]
        return found


Output = Fresh | FromInput | FromConstant | FromHost | SameAs


class RunPlan:
    """See above. `apart` if the steps are run, and recorded, one by one."""

    def __init__(self, schedule: Schedule, backend: Backend, apart: StepByStep | None):
        self.schedule, self.backend, self.apart = schedule, backend, apart
        self.segments = _segments(schedule, backend, apart)
        host = [s.step for s in self.segments if isinstance(s, HostSegment)]
        device = [t for s in self.segments if isinstance(s, DeviceSegment) for t in s.steps]
        self.plain = not host  # nothing for Python to do between the first step and the last
        self.seen = {i for step in host for i in (*step.results, *step.operands)}
        self.touched = {i for step in device for i in (*step.reads, *step.writes)}
        self.constants = {i: constant(v, backend.device) for i, v in schedule.constants}
        self.inputs = [(i, i in self.touched, i in self.seen) for i in schedule.inputs]
        slots = [schedule.slots[i] for i in schedule.outputs]
        types = schedule.types or [(slot.dtype, slot.shape) for slot in slots]
        pairs = enumerate(zip(schedule.outputs, types, strict=True))
        self.outputs = [self._output(place, i, *kind) for place, (i, kind) in pairs]
        self.watch = backend.watch if schedule.checks_indices() else None
        distinct = len(set(schedule.outputs)) == len(schedule.outputs)
        fresh = [out for out in self.outputs if isinstance(out, Fresh)]
        self.simple = (
            self.plain and distinct and len(fresh) == len(slots)
        )  # launches, fresh outputs
        self.targets = [(o.number, o.slot.dtype, o.slot.shape, o.slot.nbytes) for o in fresh]

    def own(self) -> Iterator[int]:
        """Slots outside of the arena that the backend sees and no caller gives."""
        schedule = self.schedule
        given = {*schedule.inputs, *schedule.outputs, *self.constants}
        return (i for i in self.touched - given if schedule.slots[i].offset is None)

    def _output(self, place: int, number: int, dtype: DType, shape: tuple[int, ...]) -> Output:
        schedule = self.schedule
        slot = replace(schedule.slots[number], dtype=dtype, shape=shape)
        if number in schedule.inputs:
            return FromInput(schedule.inputs.index(number), slot)
        if number in schedule.outputs[:place]:
            return SameAs(schedule.outputs.index(number), slot)
        if number in self.constants:
            return FromConstant(self.constants[number], slot)
        fresh = number in self.touched or not slot.nbytes  # no step makes what has no elements
        return Fresh(number, slot) if fresh else FromHost(number, slot)


def _segments(schedule: Schedule, backend: Backend, apart: StepByStep | None) -> list[Segment]:
    """Consecutive steps of the backend are one segment, those of the host one each; with `apart`
    every step is one.
    """
    segments: list[Segment] = []
    row: list[Step] = []
    for place, step in enumerate(schedule.steps):
        if isinstance(step, (HostStep, ControlStep)) and not _stays(step, backend, apart):
            segments += [DeviceSegment(tuple(row))] if row else []
            row = []
            segments.append(HostSegment(step, _dying(schedule, place, step)))
        else:
            row.append(step)
            if apart is not None:
                segments.append(DeviceSegment((row.pop(),)))
    return [*segments, DeviceSegment(tuple(row))] if row else segments


def _stays(step: HostStep | ControlStep, backend: Backend, apart: StepByStep | None) -> bool:
    """Whether the backend runs the step; a loop that is looked into is run by the host."""
    looked_into = isinstance(step, ControlStep) and apart is not None and apart.inside_loops
    return backend.runs(step) and not looked_into


def _dying(schedule: Schedule, place: int, step: Step) -> tuple[int, ...]:
    """The slots outside of the arena that no step after this one uses."""
    later = {i for s in schedule.steps[place + 1 :] for i in (*s.reads, *s.writes)}
    keep = {*schedule.outputs, *schedule.inputs, *(i for i, _ in schedule.constants), *later}
    loose = {i for i in (*step.reads, *step.writes) if schedule.slots[i].offset is None}
    return tuple(sorted(loose - keep))
