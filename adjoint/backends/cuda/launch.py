"""Steps as launches: each kernel with pointers to its arguments.

The cells of a run hold the address of every slot; the driver reads them when it launches a kernel,
so nothing is copied from run to run. Consecutive steps are a CUDA graph (`graphs.py`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from adjoint.backends.cuda.flags import Flags, IndexFlag
from adjoint.backends.cuda.graphs import Entry, in_graphs
from adjoint.backends.cuda.kernels import CudaKernel
from adjoint.backends.protocol import Flag
from adjoint.ir.uop import UOp
from adjoint.runtime.cuda import Driver
from adjoint.runtime.launch import Cells
from adjoint.stages import KernelStep


class CudaLaunch:
    """Steps one after another on the stream of the GPU. Two threads may run programs at a time:
    each submits its launches as a unit.
    """

    flags: Sequence[Flag] = ()  # the host looks at them when it waits

    def __init__(self, entries: Sequence[Entry], cells: Cells, gpu: Driver):
        self._calls, self._gpu = in_graphs(entries, cells, gpu), gpu
        self._keep = entries

    def run(self) -> int:
        """Launch all of them."""
        gpu = self._gpu
        with gpu.lock:
            gpu.enter()
            for call in self._calls:
                call()
        return 0


class WatchedLaunch(CudaLaunch):
    """Steps that check indices."""

    def __init__(
        self,
        entries: Sequence[Entry],
        cells: Cells,
        gpu: Driver,
        flags: Sequence[IndexFlag],
        watched: Flags,
    ):
        super().__init__(entries, cells, gpu)
        self._flags, self._watched = flags, watched

    def run(self) -> int:
        """The same, with the flags watched from before to when the host waits. A branch or a
        while-loop waits on the way: what is launched behind it is watched again."""
        with self._gpu.lock:
            self._watched.watch(self._flags)
            found = super().run()
            self._watched.keep(self._flags)
            return found


def kernel_entry(step: KernelStep, kernel: CudaKernel, slots: Cells, gpu: Driver) -> Entry | None:
    """What launches a kernel on the slots of a run; a grid without iterations is no launch."""
    geometry, own = kernel.geometry, Cells(own_numbers(step))
    places = [slots.cell(number) for number in step.slots]
    places += [own.cell(i) for i in range(len(own))]
    parameters = (ctypes.c_void_p * len(places))(*places)
    sizes = geometry.blocks(own[-1]), geometry.threads, geometry.shared
    if not sizes[0]:
        return None
    launch = gpu.launcher(kernel.function, sizes, parameters)
    node = gpu.node(kernel.function, sizes, parameters)
    return Entry(launch, step.slots, node=node, keep=(own, slots, kernel))


def own_numbers(step: KernelStep) -> list[int]:
    """The arguments of a launch besides addresses: the parameters, and the size of the grid."""
    program = step.program
    extent = 1 if program.grid is None else int(program.grid.arg.size)
    return [*map(_bits, program.parameters), extent]


def _bits(node: UOp) -> int:
    """A constant as the 64 bits of a cell."""
    return int.from_bytes(np.array(node.arg.value, node.dtype.np).tobytes(), "little", signed=True)
