"""The GPU as a backend.

What may live here: the protocol's methods. What may not: how any one of them is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

from adjoint.backends.cuda.attention import CAPABILITY
from adjoint.backends.cuda.control_flow import Machine, control_call
from adjoint.backends.cuda.gpu import the_gpu
from adjoint.backends.cuda.kernels import CudaKernel, Kernels
from adjoint.backends.cuda.launch import Call, CudaLaunch, kernel_call
from adjoint.backends.cuda.library_calls import Site, library_row
from adjoint.backends.cuda.memory import CudaBlock, CudaMemory
from adjoint.backends.protocol import Flag
from adjoint.errors import DeviceError, InternalError
from adjoint.runtime.cublaslt import DTYPES, WORKSPACE, library
from adjoint.runtime.cuda import Driver
from adjoint.runtime.launch import Cells
from adjoint.stages import (
    ControlStep,
    HostStep,
    KernelStep,
    LibraryStep,
    LoopProgram,
    Source,
    Step,
)
from adjoint.target import TARGETS, MatrixLibrary, Target


class CudaBackend:
    """See `Backend`."""

    language = "nvptx"

    def __init__(self, gpu: Callable[[], Driver] = the_gpu) -> None:
        self._gpu = gpu
        self.memory = CudaMemory(gpu)
        self._kernels = Kernels(gpu)

    @cached_property
    def target(self) -> Target:
        """The GPU, with the library of products if it is installed, and kernels for composites if
        it is one that has the instructions."""
        found = () if library() is None else (MatrixLibrary("cublaslt", DTYPES),)
        known = TARGETS["GPU"]
        return replace(known, libraries=found, whole=known.whole if self._is_hopper() else ())

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

    def runs(self, step: Step) -> bool:
        """All but steps of the host, and loops and branches around them."""
        if isinstance(step, ControlStep):
            return all(self.runs(inner) for part in step.parts for inner in part.steps)
        return not isinstance(step, HostStep)

    def bind(
        self, steps: Sequence[Step], kernels: Mapping[LoopProgram, CudaKernel], cells: Cells
    ) -> CudaLaunch:
        """The launches of all steps."""
        flags: list[Flag] = []
        return CudaLaunch(self._calls(kernels, steps, cells, flags), flags)

    def _calls(
        self,
        kernels: Mapping[LoopProgram, CudaKernel],
        steps: Sequence[Step],
        cells: Cells,
        flags: list[Flag],
    ) -> list[Call]:
        gpu = self._gpu()
        machine = Machine(gpu, self.memory, partial(self._calls, kernels), flags)
        calls: list[Call] = []
        for step in steps:
            match step:
                case KernelStep():
                    calls.append(kernel_call(step, kernels[step.program], cells, gpu))
                case LibraryStep():
                    site = self._site(step.slots, cells)
                    calls.append(library_row(step).bind(step.call, site))
                case ControlStep():
                    calls.append(control_call(step, cells, machine))
                case _:
                    raise InternalError(f"the GPU does not run {step}")
        return calls

    def _site(self, slots: tuple[int, ...], cells: Cells) -> Site:
        room = (self.memory, lambda: self._workspace)
        return Site(slots, cells, self._gpu(), *room, self._kernels)

    def synchronise(self) -> None:
        """Wait for the stream."""
        self._gpu().synchronise()
