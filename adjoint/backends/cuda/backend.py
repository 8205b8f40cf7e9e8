"""The GPU as a backend.

What may live here: the protocol's methods. What may not: how any one of them is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from adjoint.backends.cuda.gpu import the_gpu
from adjoint.backends.cuda.kernels import CudaKernel, Kernels
from adjoint.backends.cuda.launch import CudaLaunch
from adjoint.backends.cuda.memory import CudaMemory
from adjoint.errors import InternalError
from adjoint.runtime.cuda import Driver
from adjoint.runtime.launch import Cells
from adjoint.stages import KernelStep, LoopProgram, Source, Step
from adjoint.target import TARGETS


class CudaBackend:
    """See `Backend`."""

    target = TARGETS["GPU"]
    language = "nvptx"

    def __init__(self, gpu: Callable[[], Driver] = the_gpu) -> None:
        self._gpu = gpu
        self.memory = CudaMemory(gpu)
        self._kernels = Kernels(gpu)

    def machine(self) -> bytes:
        """Nothing: sources are the same for every GPU; code is not, and is kept by capability."""
        self._gpu()  # E6002 here, before anything is compiled
        return b""

    def render(self, program: LoopProgram) -> Source:
        """LLVM IR for GPUs."""
        from adjoint.codegen.nvptx.render import render  # not for programs from the disk

        return render(program)

    def compile(self, sources: Mapping[LoopProgram, Source]) -> dict[LoopProgram, CudaKernel]:
        """Code of the GPU, one kernel after another."""
        return {program: self._kernels.kernel(source) for program, source in sources.items()}

    def runs(self, step: Step) -> bool:
        """Kernels; the host does all else."""
        return isinstance(step, KernelStep)

    def bind(
        self, steps: Sequence[Step], kernels: Mapping[LoopProgram, CudaKernel], cells: Cells
    ) -> CudaLaunch:
        """The launches of all steps."""
        own = [step for step in steps if isinstance(step, KernelStep)]
        if len(own) != len(steps):
            raise InternalError("the GPU was given a step that is no kernel")
        return CudaLaunch(own, kernels, cells, self._gpu())

    def synchronise(self) -> None:
        """Wait for the stream."""
        self._gpu().synchronise()
