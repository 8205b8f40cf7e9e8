"""The protocol of a backend: everything that the engine asks of a kind of device.

The engine gets a backend and calls its methods in this order: `render` for every kernel, `compile`
for all of them at once, `memory` for arenas and results, `bind` once per memory of a run, then
`Launch.run` repeatedly. A backend takes the steps that it says it `runs`; the host computes the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from adjoint.ir.uop import UOp
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.memory import DeviceMemory
from adjoint.stages import LoopProgram, Source, Step
from adjoint.target import Target

T = TypeVar("T")
Kernel = Any  # compiled code, as the backend keeps it
Flag = tuple[int, UOp]  # the address of a 64-bit number that kernels set, and the node to blame


class Launch(Protocol):
    """Steps bound to the memory of a run."""

    flags: Sequence[Flag]  # of the kernels inside its loops

    def run(self) -> int:
        """Start all steps; 0 when that is done, 1 if Ctrl-C stopped them."""


class Backend(Protocol):
    """A kind of device that runs compiled programs."""

    target: Target
    device: str  # whose memory that is
    memory: DeviceMemory
    language: str  # of its sources
    # Where bad indices are told when the host waits: what takes the outputs of runs that may meet
    # one. None where flags are read after a run.
    watch: Callable[[Sequence[Buffer]], None] | None

    def machine(self) -> bytes:
        """A hash of what sources are written for besides the target: a processor, a compiler."""

    def about(self) -> str:
        """A description of the machine, under which measurements are stored."""

    def prepare(self) -> None:
        """Something is going to be compiled: what takes long and needs no graph may begin."""

    def render(self, program: LoopProgram) -> Source:
        """A kernel in the language of the device."""

    def compile(self, sources: Mapping[LoopProgram, Source]) -> Mapping[LoopProgram, Kernel]:
        """The code of every kernel; equal sources are compiled once."""

    def lowest(self, source: Source) -> Source:
        """The text nearest to the machine that can be shown of a source: assembly, PTX, itself."""

    def runs(self, step: Step) -> bool:
        """Whether the device can do the step, with all that is inside it, without Python."""

    def bind(
        self, steps: Sequence[Step], kernels: Mapping[LoopProgram, Kernel], cells: Any
    ) -> Launch:
        """Steps over cells that hold the address of every slot when the launch runs."""

    def synchronise(self) -> None:
        """Wait until all that was launched is done."""

    def timed(self, run: Callable[[], T]) -> tuple[T, float]:
        """Run something and wait for it: its result, and the seconds that the device took."""
