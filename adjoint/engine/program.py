"""`Program`: a schedule with its code, which runs repeatedly on other buffers.

Consecutive steps of the backend are one launch; between launches Python runs the host steps. A
`RunMemory` holds what changes from run to run (arena, addresses). What may live here: running, and
passing memory. What may not: how a step is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakSet

from adjoint.backends.protocol import Backend, Kernel
from adjoint.engine import counters
from adjoint.engine.numpy_steps import host_results
from adjoint.engine.run_memory import RunMemory
from adjoint.engine.run_plan import Fresh, FromHost, HostSegment, RunPlan, StepByStep
from adjoint.engine.step_facts import FlagError, located, memory_error, work_of
from adjoint.engine.timed_steps import run_observed
from adjoint.errors import DeviceError, InternalError
from adjoint.ir.function import Function
from adjoint.runtime.buffer import Buffer, in_bytes, row_major
from adjoint.runtime.interrupt import left_behind
from adjoint.runtime.memory import holds_memory
from adjoint.schedule.memory import donations
from adjoint.stages import ControlStep, LoopProgram, Schedule, Slot

_KEPT_MEMORIES = 8  # for the next run; more runs than that at once make their own
_programs: WeakSet[Program] = WeakSet()


@holds_memory
def _give_up_memories() -> None:
    """Memory is out: programs at rest need none."""
    for program in list(_programs):
        program._memories.clear()


class Program:
    """A schedule that can run; `apart` if its steps are run, and recorded, one by one."""

    def __init__(
        self,
        schedule: Schedule,
        kernels: Mapping[LoopProgram, Kernel],
        backend: Backend,
        apart: StepByStep | None = None,
    ):
        self.schedule, self.kernels, self.backend = schedule, kernels, backend
        self.plan = RunPlan(schedule, backend, apart)
        self.functions = {
            function: Program(part, kernels, backend)
            for segment in self.plan.segments
            if isinstance(segment, HostSegment) and isinstance(segment.step, ControlStep)
            for function, part in zip(segment.step.functions, segment.step.parts, strict=True)
        }
        self._work: dict[str, int] | None = None
        self._allocate = backend.memory.allocate
        self._nothing = [None] * len(schedule.outputs)
        self._memories: list[RunMemory] = []
        self._twins: dict[StepByStep, Program] = {}
        self._donations: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        _programs.add(self)

    @property
    def work(self) -> dict[str, int]:
        """Steps by kind, arithmetic and bytes of one run."""
        if self._work is None:
            self._work = work_of(self.schedule)
        return self._work

    def step_by_step(self, apart: StepByStep) -> Program:
        """A program of the same code that runs its steps one by one."""
        twin = self._twins.get(apart)
        if twin is None:
            made = Program(self.schedule, self.kernels, self.backend, apart)
            twin = self._twins.setdefault(apart, made)
        return twin

    def run(
        self,
        inputs: Sequence[Buffer],
        devices: Sequence[Any] = (),
        donated: Sequence[int] = (),
        into: Sequence[Buffer | None] = (),
    ) -> list[Buffer]:
        """The outputs as fresh buffers, on the devices that are named (default: the backend's).

        The caller gives up the inputs at the `donated` positions: an output may take their memory.
        The caller may pass buffers for the outputs of a simple program, one of its type for each or
        None; these may have given up their memory.
        """
        if counters.active:
            return run_observed(self, inputs, devices, donated)
        return self.compute(inputs, devices, donated, into)

    def compute(
        self,
        inputs: Sequence[Buffer],
        devices: Sequence[Any],
        donated: Sequence[int],
        into: Sequence[Buffer | None] = (),
    ) -> list[Buffer]:
        """`run`, unobserved."""
        try:
            memory = self._memories.pop()
        except IndexError:
            memory = RunMemory(self.plan, self.kernels)
        if self.plan.simple and devices:
            return self._launch(memory, inputs, devices, donated, into)
        return self._interleave(memory, inputs, devices, donated)

    def run_arrays(self, arrays: Sequence[Any]) -> list[Any]:
        """The outputs as arrays, from arrays."""
        buffers = [Buffer(a, self.backend.device) for a in row_major(arrays)]
        return [b.array() for b in self.run(buffers)]

    # ---- launches alone

    def _launch(
        self,
        memory: RunMemory,
        inputs: Sequence[Buffer],
        devices: Sequence[Any],
        donated: Sequence[int],
        into: Sequence[Buffer | None],
    ) -> list[Buffer]:
        """Addresses in, outputs out, no host step: the common case."""
        cells = memory.cells.values
        for number, buffer in zip(self.schedule.inputs, inputs):  # noqa: B905 - hot
            address = buffer._address
            cells[number] = buffer.address if address is None else address
        outputs: list[Any] = [*(into or self._nothing)]
        if donated:  # after their addresses are written
            self._lend(outputs, inputs, devices, donated)
        self._complete(cells, devices, outputs)
        if memory.flags:
            self._lower_flags(memory)
        try:
            for launch in memory.launches:
                if launch.run():
                    raise KeyboardInterrupt
        except BaseException as error:
            left_behind(error, memory, inputs, outputs)
            raise
        if memory.flags:
            self._see_flags(memory)
        if self.plan.watch is not None:
            self.plan.watch([found for found in outputs if found is not None])  # once each
        if len(self._memories) < _KEPT_MEMORIES:
            self._memories.append(memory)
        return outputs

    @staticmethod
    def _lower_flags(memory: RunMemory) -> None:
        for flag, _ in memory.flags:
            flag.value = 0

    @staticmethod
    def _see_flags(memory: RunMemory) -> None:
        for flag, node in memory.flags:
            if flag.value:
                raise located(FlagError, "an index is out of range", node)

    def _complete(self, cells: Any, devices: Sequence[Any], outputs: list[Any]) -> None:
        """A buffer for each output, with memory; their addresses."""
        for place, number in enumerate(self.schedule.outputs):
            buffer = outputs[place]
            if buffer is None:
                buffer = outputs[place] = self._made(place, devices[place])
            elif buffer._address is None:
                buffer.refill(self._allocate(self.plan.targets[place][3]))
            cells[number] = buffer._address

    def _lend(
        self,
        outputs: list[Any],
        inputs: Sequence[Buffer],
        devices: Sequence[Any],
        donated: Sequence[int],
    ) -> None:
        """The memory of donated inputs goes to outputs."""
        for place, source in self._pairs(donated):
            block = inputs[source].give_up()
            if block is None:
                continue
            if outputs[place] is None:
                _, dtype, shape, _ = self.plan.targets[place]
                outputs[place] = Buffer.over(block, dtype, shape, devices[place])
            else:
                outputs[place].refill(block)

    def _made(self, place: int, device: Any) -> Buffer:
        number, dtype, shape, size = self.plan.targets[place]
        try:
            return Buffer.over(self._allocate(size), dtype, shape, device)
        except DeviceError as error:
            raise memory_error(error, self.schedule, number, self.backend.device) from None

    # ---- launches and steps of the host

    def _interleave(
        self,
        memory: RunMemory,
        inputs: Sequence[Buffer],
        devices: Sequence[Any],
        donated: Sequence[int],
    ) -> list[Buffer]:
        plan, abandoned, outputs = self.plan, False, list[Any]()
        try:
            outputs = self._begin(memory, inputs, devices, donated)
            self._lower_flags(memory)
            for launch in memory.launches:
                if type(launch) is HostSegment:
                    self._run_host(memory, launch)
                elif launch.run():
                    raise KeyboardInterrupt
            if plan.watch is not None:
                pairs = zip(plan.outputs, outputs, strict=True)
                plan.watch([found for output, found in pairs if isinstance(output, Fresh)])
            self._see_flags(memory)
            return outputs if plan.plain else self._finish(memory, devices, outputs)
        except BaseException as error:
            abandoned = left_behind(error, memory, inputs, outputs)
            raise
        finally:
            if not abandoned:
                self._put_back(memory)

    def _put_back(self, memory: RunMemory) -> None:
        """The memory for the next run, without what only this one needs."""
        if not self.plan.plain:
            for number in memory.loose:
                memory.arrays[number] = None
        if len(self._memories) < _KEPT_MEMORIES:
            self._memories.append(memory)

    def _begin(
        self,
        memory: RunMemory,
        inputs: Sequence[Buffer],
        devices: Sequence[Any],
        donated: Sequence[int],
    ) -> list[Any]:
        """Write this run's addresses; the outputs, None where the host makes one."""
        plan, cells, arrays = self.plan, memory.cells.values, memory.arrays
        if len(inputs) != len(plan.inputs):
            raise InternalError(f"a program of {len(plan.inputs)} inputs got {len(inputs)}")
        for (number, touched, seen), buffer in zip(plan.inputs, inputs):  # noqa: B905 - hot
            if touched:
                cells[number] = buffer.address
            if seen:
                arrays[number] = buffer.array()
        lent = self._lent(inputs, donated) if donated else {}  # their addresses are written
        outputs: list[Any] = []
        for place, output in enumerate(plan.outputs):
            device = devices[place] if devices else self.backend.device
            if isinstance(output, Fresh):
                buffer = self._fresh(output.slot, output.number, device, lent.get(place))
                cells[output.number] = buffer.address
                if output.number in plan.seen and self.backend.memory.addressable:
                    arrays[output.number] = buffer.filling()
                outputs.append(buffer)
            else:
                found = _typed(output.given(inputs, outputs), output.slot)
                if found is not None and devices and found.device != device:
                    found = Buffer(found.array(), device)
                outputs.append(found)
        return outputs

    def _lent(self, inputs: Sequence[Buffer], donated: Sequence[int]) -> dict[int, Any]:
        """Memory of donated inputs by the position of the output that takes it."""
        taken = {place: inputs[source].give_up() for place, source in self._pairs(donated)}
        return {place: block for place, block in taken.items() if block is not None}

    def _pairs(self, donated: Sequence[int]) -> list[tuple[int, int]]:
        """Outputs that take the memory of donated inputs."""
        key = tuple(donated)
        pairs = self._donations.get(key)
        if pairs is None:
            pairs = self._donations[key] = donations(self.schedule, key)
        return pairs

    def _fresh(self, slot: Slot, number: int, device: Any, block: Any) -> Buffer:
        try:
            block = self._allocate(slot.nbytes) if block is None else block
        except DeviceError as error:
            raise memory_error(error, self.schedule, number, self.backend.device) from None
        return Buffer.over(block, slot.dtype, slot.shape, device)

    def _run_host(self, memory: RunMemory, segment: HostSegment) -> None:
        """One step of the host: operands are arrays of slots, results go to theirs."""
        step = segment.step
        operands = [memory.value(i) for i in step.operands]

        def run(function: Function, values: list[Any]) -> list[Any]:
            return self.functions[function].run_arrays(values)

        for number, value in zip(step.results, host_results(step, operands, run), strict=True):
            memory.set_value(number, value)
        for number in segment.dying:
            if number not in memory.own:
                memory.arrays[number] = None

    def _finish(
        self, memory: RunMemory, devices: Sequence[Any], outputs: list[Any]
    ) -> list[Buffer]:
        """The outputs with those that the host made."""
        for place, output in enumerate(self.plan.outputs):
            if isinstance(output, FromHost):
                device = devices[place] if devices else self.backend.device
                (array,) = row_major([memory.value(output.number)])
                array = in_bytes(array, output.slot.dtype, output.slot.shape)
                outputs[place] = Buffer(array, device)
            elif not isinstance(output, Fresh) and outputs[place] is None:
                outputs[place] = _typed(output.given((), outputs), output.slot)
        return outputs


def _typed(found: Buffer | None, slot: Slot) -> Buffer | None:
    """An output that exists, in the type that it has as one."""
    if found is None or (found.shape == slot.shape and found.dtype is slot.dtype):
        return found
    return found.viewed(slot.shape, slot.dtype)
