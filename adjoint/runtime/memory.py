"""The memory of a kind of device: where blocks come from, and how bytes get there and back.

Addresses are 64-bit numbers. If the host can address the memory, reading returns a view.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from adjoint.errors import InternalError
from adjoint.runtime.allocator import CPU
from adjoint.target import TARGETS, device_names

Array = np.ndarray[Any, Any]
_Told = list[tuple[str, Any]]


class MemoryBlock(Protocol):
    """Memory that goes back to where it came from when its last holder drops it."""

    @property
    def address(self) -> int:
        """Where it begins, as the device counts."""

    def read(self, nbytes: int) -> Array:
        """Its first bytes on the host: a view that holds the block, or a copy."""


class DeviceNumber(Protocol):
    """A number in the memory of a device, which the host reads and sets."""

    value: int


class DeviceMemory(Protocol):
    """The memory of a kind of device."""

    addressable: bool  # whether the host can read and write it where it lies

    def allocate(self, nbytes: int) -> MemoryBlock:
        """Uninitialised memory. E6004 if there is none."""

    def block_bytes(self, nbytes: int) -> int:
        """The bytes of a block for this many bytes."""

    def read(self, address: int, nbytes: int) -> Array:
        """Bytes at an address: a view where the memory is addressable, else a copy."""

    def write(self, address: int, array: Array) -> None:
        """Put a row-major array there."""

    def copy(self, target: int, source: int, nbytes: int, home: DeviceMemory) -> bool:
        """Put what lies at an address of that memory, perhaps this one, at one of this, without the
        host; False if that cannot be done."""

    def number(self, address: int) -> DeviceNumber:
        """The 64-bit number at an address."""

    def counted(self) -> dict[str, int]:
        """Bytes in use and bytes kept, as rows of a chart."""


class HostMemory:
    """The memory of this process."""

    addressable = True
    allocate = staticmethod(CPU.allocate)
    block_bytes = staticmethod(CPU.block_bytes)
    counted = staticmethod(CPU.counted)
    number = staticmethod(ctypes.c_int64.from_address)

    @staticmethod
    def read(address: int, nbytes: int) -> Array:
        """The bytes as they lie; the caller holds the block."""
        return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))

    @staticmethod
    def write(address: int, array: Array) -> None:
        """A copy."""
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    @staticmethod
    def copy(target: int, source: int, nbytes: int, home: DeviceMemory) -> bool:
        """From this memory alone."""
        if home is HOST:
            ctypes.memmove(target, source, nbytes)
        return home is HOST


HOST = HostMemory()
_caches: list[Callable[[], None]] = []


def holds_memory(give_up: Callable[[], None]) -> Callable[[], None]:
    """A cache that holds memory of devices; `give_up` empties it when there is none left."""
    _caches.append(give_up)
    return give_up


_telling: list[Callable[[str, int], _Told]] = []
_TOLD = 5  # values that an error names


def tells_largest(tell: Callable[[str, int], _Told]) -> Callable[[str, int], _Told]:
    """Registers the function that lists the largest values on a device: the size of each, and its
    node.
    """
    _telling[:] = [tell]
    return tell


def largest_values(device: str) -> _Told:
    """The largest values there, for an error about memory."""
    return [row for tell in _telling for row in tell(device, _TOLD)]


def give_up_caches() -> None:
    """Memory is out: release everything that is cached for speed."""
    for give_up in _caches:
        give_up()


_memories: dict[str, DeviceMemory] = {n: HOST for n, t in TARGETS.items() if t.host_memory}


def register_memory(name: str, memory: DeviceMemory) -> None:
    """Devices of this name have that memory."""
    _memories[name] = memory


def memory_of(device: Any) -> DeviceMemory:
    """The memory of a device; of several, that of the first."""
    found = known_memory(device)
    if found is None:
        raise InternalError(f"no backend of {device} is loaded")
    return found


def counted_memories() -> dict[str, dict[str, int]]:
    """The bytes in use and in the cache, on devices that have a memory of their own and were
    used.
    """
    own = ((name, memory) for name, memory in _memories.items() if memory is not HOST)
    found = {name: memory.counted() for name, memory in own}
    return {name: counted for name, counted in found.items() if any(counted.values())}


def known_memory(device: Any) -> DeviceMemory | None:
    """The same, None if its backend is not loaded."""
    name, *_ = device_names(device)
    found = _memories.get(name)
    if found is None:  # all devices of a name have one memory, unless each has its own
        base = name.partition(":")[0]
        found = None if TARGETS[base].gpu else _memories.get(base)
    return found
