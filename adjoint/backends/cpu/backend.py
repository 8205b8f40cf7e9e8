"""The CPU as a backend: LLVM renders and compiles, a native table runs.

What may live here: the protocol's methods. What may not: how any one of them is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from adjoint import config
from adjoint.backends.cpu.bind import NativeSteps
from adjoint.ops.collective import COLLECTIVES
from adjoint.runtime.compiler import Code, assembly_of, compile_sources, machine
from adjoint.runtime.cores import thread_count
from adjoint.runtime.launch import Cells, NativeProgram
from adjoint.runtime.memory import HOST
from adjoint.runtime.pool import begin_native_code
from adjoint.runtime.processor import description, processor
from adjoint.runtime.spans import by_the_clock
from adjoint.stages import ControlStep, HostStep, LoopProgram, Source, Step
from adjoint.target import TARGETS, Target, far_squares_of, tile_of, units_of

_LITTLE_WORK = 1 << 14  # scalar operations: microseconds, whatever the code is like
_FEW_THREADS = 4  # that share sixteen pieces evenly enough


class CpuBackend:
    """See `Backend`."""

    memory = HOST
    device, language, watch = "CPU", "llvm", None

    @cached_property
    def target(self) -> Target:
        """The CPU, with tiles as large as the registers of this one allow, in pieces that threads
        share evenly and that follow memory as it does, which change no bit, and its instructions
        on words."""
        host, sharers = processor(), _sharers()
        return replace(
            TARGETS["CPU"],
            tile=replace(tile_of(host), sharers=sharers),
            matrix_units=units_of(host, sharers),
            far_squares=far_squares_of(host),
            ahead_bytes=config.OVERLAP.value(),
        )

    def machine(self) -> bytes:
        """Of the processor, of LLVM, and of threads that are many."""
        return machine() + (b"%d" % _sharers() if _sharers() else b"")

    def about(self) -> str:
        """The processor."""
        return f"{description()} {processor()}"

    def prepare(self) -> None:
        """LLVM is loaded, and the code that runs all programs made, by another thread."""
        begin_native_code()

    def render(self, program: LoopProgram) -> Source:
        """LLVM IR for the processor."""
        from adjoint.codegen.llvm.render import render  # not for programs from the disk

        return render(program, processor())

    def compile(self, sources: Mapping[LoopProgram, Source]) -> dict[LoopProgram, Code]:
        """Native code; what must be compiled is compiled by several threads."""
        asked = [(source, _has_little_to_do(program)) for program, source in sources.items()]
        return dict(zip(sources, compile_sources(asked), strict=True))

    def lowest(self, source: Source) -> Source:
        """Assembly of the processor."""
        return Source("assembly", source.name, assembly_of(source))

    def runs(self, step: Step) -> bool:
        """All but steps of the host, collectives aside, and loops and branches around them."""
        if isinstance(step, ControlStep):
            return all(self.runs(inner) for part in step.parts for inner in part.steps)
        return not isinstance(step, HostStep) or step.node.op in COLLECTIVES

    def bind(
        self, steps: Sequence[Step], kernels: Mapping[LoopProgram, Code], cells: Cells
    ) -> NativeProgram:
        """One table of all steps."""
        return NativeSteps(steps, kernels).bind(cells)

    def synchronise(self) -> None:
        """A native call returns when it is done: there is nothing to wait for."""

    timed = staticmethod(by_the_clock)


def _sharers() -> int:
    """Threads for which grids are cut, 0 for few."""
    return thread_count() if thread_count() > _FEW_THREADS else 0


def _has_little_to_do(program: LoopProgram) -> bool:
    """Whether a kernel is compiled quickly."""
    extent = 1 if program.grid is None else int(program.grid.arg.size)
    return max(program.most, program.cost * extent) < _LITTLE_WORK
