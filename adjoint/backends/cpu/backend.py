"""The CPU as a backend: LLVM renders and compiles, a native table runs.

What may live here: the protocol's methods. What may not: how any one of them is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from adjoint.backends.cpu.bind import NativeSteps
from adjoint.runtime.compiler import Code, compile_source, machine
from adjoint.runtime.launch import Cells, NativeProgram
from adjoint.runtime.memory import HOST
from adjoint.runtime.processor import processor
from adjoint.stages import ControlStep, HostStep, LoopProgram, Source, Step
from adjoint.target import TARGETS, Target, tile_of

_LITTLE_WORK = 1 << 14  # scalar operations: microseconds, whatever the code is like


class CpuBackend:
    """See `Backend`."""

    memory = HOST
    language = "llvm"

    @cached_property
    def target(self) -> Target:
        """The CPU, with tiles as large as the registers of this one allow: they change no bit."""
        return replace(TARGETS["CPU"], tile=tile_of(processor()))

    def machine(self) -> bytes:
        """Of the processor, and of LLVM."""
        return machine()

    def render(self, program: LoopProgram) -> Source:
        """LLVM IR for the processor."""
        from adjoint.codegen.llvm.render import render  # not for programs from the disk

        return render(program, processor())

    def compile(self, sources: Mapping[LoopProgram, Source]) -> dict[LoopProgram, Code]:
        """Native code, one kernel after another: llvmlite lets one thread at a time into LLVM."""
        return {program: _code(program, source) for program, source in sources.items()}

    def runs(self, step: Step) -> bool:
        """All but steps of the host, and loops and branches around them."""
        if isinstance(step, ControlStep):
            return all(self.runs(inner) for part in step.parts for inner in part.steps)
        return not isinstance(step, HostStep)

    def bind(
        self, steps: Sequence[Step], kernels: Mapping[LoopProgram, Code], cells: Cells
    ) -> NativeProgram:
        """One table of all steps."""
        return NativeSteps(steps, kernels).bind(cells)

    def synchronise(self) -> None:
        """A native call returns when it is done: there is nothing to wait for."""


def _code(program: LoopProgram, source: Source) -> Code:
    """A kernel that has little to do is compiled quickly."""
    extent = 1 if program.grid is None else int(program.grid.arg.size)
    return compile_source(source, quick=max(program.most, program.cost * extent) < _LITTLE_WORK)
