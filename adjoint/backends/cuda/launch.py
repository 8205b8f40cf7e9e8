"""Steps as launches: each kernel with the places where the driver finds its arguments.

The cells of a run hold the address of every slot; the driver reads them when a kernel is launched,
so nothing is copied from run to run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.backends.cuda.kernels import CudaKernel
from adjoint.backends.protocol import Flag
from adjoint.ir.uop import UOp
from adjoint.runtime.cuda import Driver
from adjoint.runtime.launch import Cells
from adjoint.stages import KernelStep

Call = Callable[[], None]


class CudaLaunch:
    """Kernels and products one after another on the stream of the GPU."""

    def __init__(self, calls: Sequence[Call], flags: Sequence[Flag] = ()):
        self._calls, self.flags = calls, flags

    def run(self) -> int:
        """Launch all of them."""
        for call in self._calls:
            call()
        return 0


def kernel_call(step: KernelStep, kernel: CudaKernel, slots: Cells, gpu: Driver) -> Call:
    """What launches a kernel on the slots of a run; a grid without iterations is no launch."""
    program, geometry = step.program, kernel.geometry
    extent = 1 if program.grid is None else int(program.grid.arg.size)
    own = Cells([*map(_bits, program.parameters), extent])
    places = [slots.cell(number) for number in step.slots]
    places += [own.cell(i) for i in range(len(own))]
    parameters = (ctypes.c_void_p * len(places))(*places)
    sizes = geometry.blocks(extent), geometry.threads, geometry.shared
    launch = gpu.launcher(kernel.function, sizes, parameters)

    def run(keep: Any = (own, slots)) -> None:
        launch()

    return run if sizes[0] else _nothing


def _nothing() -> None:
    """Nothing to launch."""


def _bits(node: UOp) -> int:
    """A constant as the 64 bits of a cell."""
    return int.from_bytes(np.array(node.arg.value, node.dtype.np).tobytes(), "little", signed=True)
