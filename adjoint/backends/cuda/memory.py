"""Memory of the GPU: blocks of the driver's pool, copies to the host and back.

Allocating and freeing are in the order of the stream, so memory may be dropped while kernels that
use it run. What may live here: blocks and copies. What may not: who needs them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.backends.cuda.gpu import the_gpu
from adjoint.errors import DeviceError
from adjoint.runtime.cuda import Driver, DriverError

Array = np.ndarray[Any, Any]
_LEAST = 256  # bytes of a block, and what sizes are multiples of
_BEYOND = 64  # bytes behind a value that a gated access may read


class CudaBlock:
    """Memory of the GPU; it goes back to the pool when its last holder drops it."""

    __slots__ = ("__weakref__", "_memory", "address", "size")

    def __init__(self, memory: CudaMemory, address: int, size: int):
        self._memory, self.address, self.size = memory, address, size

    def read(self, nbytes: int) -> Array:
        """A copy of its first bytes."""
        return self._memory.read(self.address, nbytes)

    def __del__(self) -> None:
        self._memory.free(self.address, self.size)


class CudaNumber:
    """A 64-bit number in the memory of the GPU."""

    __slots__ = ("_address", "_memory")

    def __init__(self, memory: CudaMemory, address: int):
        self._memory, self._address = memory, address

    @property
    def value(self) -> int:
        return int(self._memory.read(self._address, 8).view(np.int64)[0])

    @value.setter
    def value(self, number: int) -> None:
        self._memory.write(self._address, np.array([number], np.int64))


class CudaMemory:
    """See `DeviceMemory`."""

    addressable = False

    def __init__(self, gpu: Callable[[], Driver] = the_gpu) -> None:
        self._gpu, self.in_use = gpu, 0

    def allocate(self, nbytes: int) -> CudaBlock:
        """A block; what is kept for later is given up before memory is said to be out."""
        size = -(-(nbytes + _BEYOND) // _LEAST) * _LEAST
        try:
            address = self._allocated(size)
        except DriverError as error:
            if not error.is_out_of_memory:
                raise
            raise self._out_of_memory(nbytes) from None
        self.in_use += size
        return CudaBlock(self, address, size)

    def _allocated(self, size: int) -> int:
        gpu = self._gpu()
        try:
            return gpu.allocate(size)
        except DriverError as error:
            if not error.is_out_of_memory:
                raise
        gc.collect()
        gpu.trim()
        return gpu.allocate(size)

    def _out_of_memory(self, nbytes: int) -> DeviceError:
        total = self._gpu().total_bytes
        problem = f"no memory for {nbytes} bytes on the GPU ({self.in_use} of {total} are in use)"
        fix = "use a smaller shape or dtype, or drop tensors that are not needed"
        return DeviceError("E6004", problem, help=fix)

    def free(self, address: int, size: int) -> None:
        """Give a block back."""
        self.in_use -= size
        self._gpu().free(address)

    def read(self, address: int, nbytes: int) -> Array:
        """A copy, when all that was launched is done."""
        found = np.empty(nbytes, np.uint8)
        if nbytes:
            self._gpu().read(found.ctypes.data, address, nbytes)
        return found

    def write(self, address: int, array: Array) -> None:
        """A copy."""
        if array.nbytes:
            self._gpu().write(address, array.ctypes.data, array.nbytes)

    def number(self, address: int) -> CudaNumber:
        """The number there."""
        return CudaNumber(self, address)

    def counted(self) -> dict[str, int]:
        """Bytes of blocks, and bytes that the pool keeps for later ones."""
        _, reserved = self._gpu().pool_bytes()
        return {"in use": self.in_use, "kept": max(reserved - self.in_use, 0)}
