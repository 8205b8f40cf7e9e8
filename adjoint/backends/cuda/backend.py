"""The GPU as a backend.

What may live here: the protocol's methods. What may not: how any one of them is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from adjoint.backends.cuda.gpu import the_gpu
from adjoint.backends.cuda.kernels import CudaKernel, Kernels
from adjoint.backends.cuda.launch import Call, CudaLaunch, kernel_call
from adjoint.backends.cuda.memory import CudaBlock, CudaMemory
from adjoint.backends.cuda.products import product_call
from adjoint.errors import InternalError
from adjoint.runtime.cublaslt import DTYPES, WORKSPACE, library
from adjoint.runtime.cuda import Driver
from adjoint.runtime.launch import Cells
from adjoint.stages import Gemm, KernelStep, LibraryStep, LoopProgram, Source, Step
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
        """The GPU, with the library of products if it is installed."""
        found = () if library() is None else (MatrixLibrary("cublaslt", DTYPES),)
        return replace(TARGETS["GPU"], libraries=found)

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
        """Kernels and products; the host does all else."""
        return isinstance(step, (KernelStep, LibraryStep))

    def bind(
        self, steps: Sequence[Step], kernels: Mapping[LoopProgram, CudaKernel], cells: Cells
    ) -> CudaLaunch:
        """The launches of all steps."""
        return CudaLaunch([self._call(step, kernels, cells) for step in steps])

    def _call(self, step: Step, kernels: Mapping[LoopProgram, CudaKernel], cells: Cells) -> Call:
        match step:
            case KernelStep():
                return kernel_call(step, kernels[step.program], cells, self._gpu())
            case LibraryStep(call=Gemm() as gemm):
                return product_call(gemm, step.slots, cells, self._gpu(), self._workspace)
            case _:
                raise InternalError(f"the GPU does not run {step}")

    def synchronise(self) -> None:
        """Wait for the stream."""
        self._gpu().synchronise()
