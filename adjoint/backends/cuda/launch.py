"""Steps as launches: each kernel with the places where the driver finds its arguments.

The cells of a run hold the address of every slot; the driver reads them when a kernel is launched,
so nothing is copied from run to run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.backends.cuda.kernels import CudaKernel
from adjoint.backends.protocol import Flag
from adjoint.ir.uop import UOp
from adjoint.runtime.cuda import Driver
from adjoint.runtime.launch import Cells
from adjoint.stages import KernelStep


class CudaLaunch:
    """Kernels one after another on the stream of the GPU."""

    flags: Sequence[Flag] = ()

    def __init__(
        self,
        steps: Sequence[KernelStep],
        kernels: Mapping[Any, CudaKernel],
        slots: Cells,
        gpu: Driver,
    ):
        self._launch, self._keep = gpu.launch, [slots]
        self._calls = [self._call(step, kernels[step.program], slots) for step in steps]

    def _call(self, step: KernelStep, kernel: CudaKernel, slots: Cells) -> Any:
        program = step.program
        extent = 1 if program.grid is None else int(program.grid.arg.size)
        own = Cells([*map(_bits, program.parameters), extent])
        self._keep.append(own)
        places = [slots.cell(number) for number in step.slots]
        places += [own.cell(i) for i in range(len(own))]
        parameters = (ctypes.c_void_p * len(places))(*places)
        geometry = kernel.geometry
        blocks = geometry.blocks(extent)
        return kernel.function, (blocks, geometry.threads, geometry.shared), parameters

    def run(self) -> int:
        """Launch all of them; a grid without iterations has nothing to launch."""
        for function, geometry, parameters in self._calls:
            if geometry[0]:
                self._launch(function, geometry, parameters)
        return 0


def _bits(node: UOp) -> int:
    """A constant as the 64 bits of a cell."""
    return int.from_bytes(np.array(node.arg.value, node.dtype.np).tobytes(), "little", signed=True)
