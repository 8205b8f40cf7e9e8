"""Memory of the GPU: cached blocks, copies to the host and back.

Freed memory is reused at once, while kernels that use it may still run: all work is in the order of
one stream, so later launches run later. What may live here: blocks, and waiting. What may not: the
users of blocks.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from adjoint.backends.cuda.flags import Flags
from adjoint.backends.cuda.pinned import Copies
from adjoint.backends.cuda.sharing import Sharing
from adjoint.errors import DeviceError
from adjoint.runtime.allocator import Allocator, Block, LargeBlock, step_size
from adjoint.runtime.cuda import Driver, DriverError
from adjoint.runtime.memory import give_up_caches, largest_values

Array = np.ndarray[Any, Any]
_BEYOND = 64  # bytes behind a value that a gated access may read
_PAGE = 2 << 20  # that the driver takes from the system
_NEVER = 1 << 62  # bytes of freed blocks; they are given back when memory is out


class CudaBlock(Block):
    """Memory of the GPU; it goes back to its list when its last holder drops it."""

    __slots__ = ()

    def read(self, nbytes: int) -> Array:
        """A copy of its first bytes."""
        owner: Any = self._home.owner
        found: Array = owner.memory.read(self.address, nbytes)
        return found


class _LargeCudaBlock(LargeBlock, CudaBlock):
    """A large one."""

    __slots__ = ()


class CudaAllocator(Allocator):
    """Blocks of one GPU."""

    blocks = (CudaBlock, _LargeCudaBlock)

    def __init__(self, gpu: Driver, memory: CudaMemory):
        super().__init__(_NEVER)
        self._gpu, self.memory = gpu, memory
        self._lock = gpu.lock  # one lock, which is never waited for with the other held

    def _map(self, size: int, asked: int) -> int:
        """Memory of the driver; if it has none, again after releasing all caches."""
        for free in (self._nothing, self.give_back, self._collect):
            free()
            try:
                return self._gpu.allocate(size)
            except DriverError as error:
                if not error.is_out_of_memory:
                    raise
        raise self._exhausted(asked - _BEYOND)

    def _unmap(self, address: int, size: int) -> None:
        self._gpu.free(address)

    @staticmethod
    def _rounded(size: int) -> int:
        """Four sizes per doubling, whole pages of those that are large."""
        return step_size(size) if size < 16 * _PAGE else -(-size // _PAGE) * _PAGE

    def _nothing(self) -> None:
        """The first time."""

    def give_back(self) -> None:
        """All that is kept for later."""
        self.trim()
        self._gpu.trim()

    def _collect(self) -> None:
        """What only cycles and programs at rest hold, too."""
        give_up_caches()
        gc.collect()
        self._take_back()
        self.give_back()

    def _exhausted(self, asked: int) -> DeviceError:
        total = self._gpu.total_bytes
        used = f"{self.in_use} of {total} are in use"
        problem = f"no memory for {asked} bytes on {self.memory.device} ({used})"
        fix = "use a smaller shape or dtype, or drop tensors that are not needed"
        held = largest_values(self.memory.device)
        return DeviceError("E6004", problem, operands=held, help=fix)


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

    def __init__(self, gpu: Callable[[], Driver], flags: Flags, device: str) -> None:
        self._gpu, self._flags, self.device = gpu, flags, device
        self._copies = Copies(gpu, self.wait)
        self.sharing = Sharing(gpu, self.read)

    @cached_property
    def _blocks(self) -> CudaAllocator:
        return CudaAllocator(self._gpu(), self)

    def allocate(self, nbytes: int) -> CudaBlock:
        """A block; caches are released before memory counts as exhausted."""
        found: CudaBlock = self._blocks.allocate(nbytes + _BEYOND)
        return found

    @staticmethod
    def block_bytes(nbytes: int) -> int:
        """What such a block takes."""
        return CudaAllocator.block_bytes(nbytes + _BEYOND)

    def wait(self) -> None:
        """Until all that was launched is done; an index that was out of range is an error then."""
        gpu, flags = self._gpu(), self._flags
        with gpu.lock:
            watched, now = flags.take(), gpu.mark()
        try:
            gpu.wait_for(now)
        except BaseException:
            flags.put_back(watched)
            raise
        flags.check(watched)

    def read(self, address: int, nbytes: int) -> Array:
        """A copy, when all that was launched is done."""
        return self._copies.read(address, nbytes) if nbytes else np.empty(0, np.uint8)

    def write(self, address: int, array: Array) -> None:
        """A copy."""
        if array.nbytes:
            self._copies.write(address, array)

    def copy(self, target: int, source: int, nbytes: int, home: Any) -> bool:
        """From this GPU, or from another one."""
        if home is self:
            self._gpu().copy(target, source, nbytes)
        elif isinstance(home, CudaMemory):
            self._gpu().copy_from(home._gpu(), target, source, nbytes)
        return isinstance(home, CudaMemory)

    def number(self, address: int) -> CudaNumber:
        """The number there."""
        return CudaNumber(self, address)

    def counted(self) -> dict[str, int]:
        """Bytes of blocks, and bytes that are kept for later ones."""
        if "_blocks" not in self.__dict__:  # nothing was ever there
            return {"in use": 0, "kept": 0}
        in_use = self._blocks.in_use
        _, reserved = self._gpu().pool_bytes()
        return {"in use": in_use, "kept": max(reserved - in_use, 0)}
