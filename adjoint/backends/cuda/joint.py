"""Joint launches: one launch whose blocks find the arguments of their kernel in a table.

What may live here: the table of a launch, as the kernel reads it (`codegen/nvptx/joint.py`). What
may not: which kernels are launched together (`schedule/joint_launches.py`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

import numpy as np

from adjoint.backends.cuda.graphs import Entry
from adjoint.backends.cuda.kernels import CudaKernel
from adjoint.codegen.nvptx.joint import NO_BLOCK, rows_of
from adjoint.runtime.cuda import Driver
from adjoint.runtime.launch import Cells
from adjoint.stages import KernelStep


class _Table:
    """A row for every step: addresses of its slots, its own numbers, the end of its grid, and the
    first block that works for it."""

    def __init__(self, rows: Sequence[Sequence[int]], slots: Sequence[Sequence[int]], cells: Cells):
        count = len(rows[0])
        self.array = np.zeros((rows_of(count - 2), count), np.int64)
        self.array[:, -1] = NO_BLOCK
        self.array[: len(rows)] = rows
        self._places = np.array(slots, np.intp)
        self._addresses = self.array[: len(rows), : self._places.shape[1]]
        self._values = np.frombuffer(cells.values, np.int64)

    def fill(self) -> None:
        """Write down the addresses that the slots have now."""
        self._values.take(self._places, out=self._addresses, mode="clip")


def joint_entries(
    steps: Sequence[tuple[KernelStep, Sequence[int]]],
    kernel: CudaKernel,
    cells: Cells,
    gpu: Driver,
) -> Iterator[Entry]:
    """What launches a kernel for several steps, each with its own numbers, of which the last is the
    size of its grid. Those without iterations are no part of it."""
    geometry = kernel.geometry
    sized = [(step, own, geometry.blocks(own[-1])) for step, own in steps]
    left = [(step, own, blocks) for step, own, blocks in sized if blocks]
    while left:
        step, own, _ = left[0]
        most = rows_of(len(step.slots) + len(own) - 1)
        yield _entry(left[:most], kernel, cells, gpu)
        left = left[most:]


def _entry(
    parts: Sequence[tuple[KernelStep, Sequence[int], int]],
    kernel: CudaKernel,
    cells: Cells,
    gpu: Driver,
) -> Entry:
    rows, first = [], 0
    for step, own, blocks in parts:
        rows.append([*[0] * len(step.slots), *own, first])
        first += blocks
    table = _Table(rows, [step.slots for step, _, _ in parts], cells)
    parameters = (ctypes.c_void_p * 1)(table.array.ctypes.data)
    sizes = first, kernel.geometry.threads, kernel.geometry.shared
    launch = gpu.launcher(kernel.function, sizes, parameters)
    node = gpu.node(kernel.function, sizes, parameters)

    def call() -> None:
        table.fill()
        launch()

    slots = tuple(dict.fromkeys(slot for step, _, _ in parts for slot in step.slots))
    return Entry(call, slots, node=node, keep=(table, kernel), ready=table.fill)
