"""The GPU as a backend.

What may live here: the protocol's methods. What may not: how any one of them is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

from adjoint.backends.cuda.attention import CAPABILITY
from adjoint.backends.cuda.collectives import collective_entry, is_carried, is_installed
from adjoint.backends.cuda.control_flow import Machine, control_entry
from adjoint.backends.cuda.flags import Flags, IndexFlag
from adjoint.backends.cuda.gpu import the_gpu
from adjoint.backends.cuda.graphs import Entry
from adjoint.backends.cuda.installed import routines
from adjoint.backends.cuda.joint import joint_entries
from adjoint.backends.cuda.kernels import CudaKernel, Kernels
from adjoint.backends.cuda.launch import CudaLaunch, WatchedLaunch, kernel_entry, own_numbers
from adjoint.backends.cuda.library_calls import Site, library_row
from adjoint.backends.cuda.memory import CudaBlock, CudaMemory
from adjoint.backends.cuda.products import CUBLASLT
from adjoint.backends.protocol import T
from adjoint.errors import DeviceError, InternalError
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.cublaslt import WORKSPACE, library
from adjoint.runtime.cuda import Driver
from adjoint.runtime.launch import Cells
from adjoint.runtime.ptx import ptx_of
from adjoint.stages import (
    ControlStep,
    HostStep,
    KernelStep,
    LibraryStep,
    LoopProgram,
    Source,
    Step,
    in_one_launch,
)
from adjoint.target import TARGETS, Target


class CudaBackend:
    """See `Backend`."""

    language = "nvptx"

    def __init__(self, number: int = 0, gpu: Callable[[int], Driver] = the_gpu) -> None:
        self._gpu = gpu = partial(gpu, number)
        self.device = f"GPU:{number}" if number else "GPU"
        self.flags = Flags(gpu)
        self.memory = CudaMemory(gpu, self.flags, self.device)
        self._kernels = Kernels(gpu)

    @cached_property
    def target(self) -> Target:
        """The GPU, with the installed libraries, and kernels for composites if it has the
        instructions. The libraries' capabilities are those on the first GPU.
        """
        first = self.device == "GPU"
        products = (CUBLASLT,) if first and library() is not None else ()
        known = TARGETS["GPU"]
        return replace(
            known,
            libraries=products,
            routines=routines() if first else (),
            whole=known.whole if self._is_hopper() else (),
            carries=is_installed(),
        )

    def _is_hopper(self) -> bool:
        try:
            return self._gpu().capability == CAPABILITY
        except DeviceError:  # programs are looked at where there is no GPU
            return True

    @cached_property
    def _workspace(self) -> CudaBlock:
        """Memory for products: one after another uses it."""
        return self.memory.allocate(WORKSPACE)

    def machine(self) -> bytes:
        """Nothing: sources are the same for every GPU; code is not, and is kept by capability."""
        self.prepare()
        return b""

    def about(self) -> str:
        """The GPU."""
        gpu = self._gpu()
        return f"{gpu.name}, compute capability {gpu.capability / 10}"

    def prepare(self) -> None:
        """The GPU is found: E6002 here, before anything is compiled."""
        self._gpu()

    def render(self, program: LoopProgram) -> Source:
        """LLVM IR for GPUs."""
        from adjoint.codegen.nvptx.render import render  # not for programs from the disk

        return render(program)

    def compile(self, sources: Mapping[LoopProgram, Source]) -> dict[LoopProgram, CudaKernel]:
        """Code of the GPU, one kernel after another."""
        return {program: self._kernels.kernel(source) for program, source in sources.items()}

    def lowest(self, source: Source) -> Source:
        """PTX, for the present GPU, else for the newest known."""
        try:
            capability = self._gpu().capability
        except DeviceError:  # programs are looked at where there is no GPU
            capability = CAPABILITY
        return Source("ptx", source.name, ptx_of(source, capability))

    def runs(self, step: Step) -> bool:
        """All but steps of the host, collectives aside where NCCL is installed, and loops and
        branches around them."""
        if isinstance(step, ControlStep):
            return all(self.runs(inner) for part in step.parts for inner in part.steps)
        return not isinstance(step, HostStep) or is_carried(step)

    def bind(
        self, steps: Sequence[Step], kernels: Mapping[LoopProgram, CudaKernel], cells: Cells
    ) -> CudaLaunch:
        """The launches of all steps."""
        gpu, flags = self._gpu(), list[IndexFlag]()
        with gpu.lock:  # a library may try what is soonest
            entries = self._entries(kernels, steps, cells, flags)
        if flags:
            return WatchedLaunch(entries, cells, gpu, flags, self.flags)
        return CudaLaunch(entries, cells, gpu)

    def _entries(
        self,
        kernels: Mapping[LoopProgram, CudaKernel],
        steps: Sequence[Step],
        cells: Cells,
        flags: list[IndexFlag],
    ) -> list[Entry]:
        machine = Machine(
            self._gpu(), self.device, self.memory, partial(self._entries, kernels), flags
        )
        found: list[Entry | None] = []
        for group in in_one_launch(steps):
            first = steps[group[0]]
            if isinstance(first, KernelStep) and first.program.joint:
                found += self._joint([steps[n] for n in group], kernels, cells, machine)
            else:
                found.append(self._entry(first, kernels, cells, machine))
        return [entry for entry in found if entry is not None]

    def _joint(
        self,
        steps: Sequence[Step],
        kernels: Mapping[LoopProgram, CudaKernel],
        cells: Cells,
        machine: Machine,
    ) -> Iterator[Entry]:
        """Steps that run at one time, those of one kernel as one launch."""
        by_kernel: dict[CudaKernel, list[tuple[KernelStep, list[int]]]] = {}
        for step in steps:
            assert isinstance(step, KernelStep)
            self._watch_index(step, cells, machine)
            by_kernel.setdefault(kernels[step.program], []).append((step, own_numbers(step)))
        for kernel, parts in by_kernel.items():
            yield from joint_entries(parts, kernel, cells, machine.gpu)

    def _watch_index(self, step: KernelStep, cells: Cells, machine: Machine) -> None:
        """The slot where a kernel says that an index is out of range is a flag of the host's."""
        if step.flag is not None:
            number, node = step.flag
            machine.flags.append(self.flags.flag(node))
            cells[number] = machine.flags[-1].address

    def _entry(
        self,
        step: Step,
        kernels: Mapping[LoopProgram, CudaKernel],
        cells: Cells,
        machine: Machine,
    ) -> Entry | None:
        match step:
            case KernelStep():
                self._watch_index(step, cells, machine)
                return kernel_entry(step, kernels[step.program], cells, machine.gpu)
            case LibraryStep():
                site = self._site(step, cells)
                row = library_row(step)
                return Entry(row.bind(step.call, site), step.slots, row.launches)
            case HostStep() if is_carried(step):
                return collective_entry(step, cells, machine.gpu)
            case ControlStep():
                return control_entry(step, cells, machine)
            case _:
                raise InternalError(f"the GPU does not run {step}")

    def watch(self, outputs: Sequence[Buffer]) -> None:
        """See `Flags`."""
        self.flags.made(outputs)

    def _site(self, step: LibraryStep, cells: Cells) -> Site:
        room = (self.memory, lambda: self._workspace)
        return Site(step.slots, cells, self._gpu(), *room, self._kernels, step.node)

    def synchronise(self) -> None:
        """Wait for the stream."""
        self.memory.wait()

    def timed(self, run: Callable[[], T]) -> tuple[T, float]:
        """Between two moments of the stream."""
        gpu = self._gpu()
        start, found = gpu.event(), run()
        return found, gpu.milliseconds(start, gpu.event()) / 1e3
