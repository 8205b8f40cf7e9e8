"""`Buffer`: the storage of one realized tensor, in the memory of its device.

A buffer's contents never change once a user can see them: an assignment makes a new buffer, so an
array view that NumPy or another library holds keeps its contents. Therefore a buffer may have two
copies. A value from the host is copied to its device when a program asks for its `address`; a value
from a program is copied to the host when `array()` is called. If the host can address the memory of
the device, both are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.errors import BoundsError, DeviceError
from adjoint.ir.dtype import DType, as_dtype
from adjoint.runtime.allocator import HostBlock
from adjoint.runtime.memory import HOST, MemoryBlock, known_memory, memory_of
from adjoint.runtime.spans import copying

Array = np.ndarray[Any, Any]
_LARGE = 1 << 16  # bytes


def in_bytes(array: Array, dtype: DType, shape: tuple[int, ...]) -> Array:
    """The same bytes under another type. The array is row-major where the dtype changes."""
    if array.dtype == dtype.np:
        return array.reshape(shape)
    return np.ascontiguousarray(array).reshape(-1).view(dtype.np).reshape(shape)


def copied(array: Array) -> Array:
    """A row-major copy. A large one begins on a cache line, in pages that were used before if there
    are such: NumPy's memory is neither."""
    if array.nbytes < _LARGE:
        return np.array(array, order="C", copy=True)
    found = HOST.allocate(array.nbytes).read(array.nbytes).view(array.dtype).reshape(array.shape)
    np.copyto(found, array)
    return found


def row_major(arrays: Sequence[Any]) -> list[Array]:
    """Arrays as programs read them."""
    return [np.ascontiguousarray(a).reshape(np.shape(a)) for a in arrays]


def constant(value: Any, device: str = "CPU") -> Buffer:
    """A value that never changes."""
    return Buffer(row_major([value])[0], device)


class Buffer:
    """A row-major array on a device. Compared by identity: two buffers are never one node."""

    __slots__ = ("__weakref__", "_address", "_array", "_block", "device", "dtype", "shape")

    def __init__(self, array: Array, device: str):
        self._array: Array | None = array
        self._address: int | None = None
        self._block: MemoryBlock | None = None
        self.shape: tuple[int, ...] = array.shape
        self.dtype: DType = as_dtype(array.dtype)
        self.device = device

    @classmethod
    def empty(cls, dtype: DType, shape: tuple[int, ...], device: str) -> Buffer:
        """Uninitialised memory, for a program to fill."""
        block = memory_of(device).allocate(dtype.itemsize * prod(shape))
        return cls.over(block, dtype, shape, device)

    @classmethod
    def over(cls, block: MemoryBlock, dtype: DType, shape: tuple[int, ...], device: str) -> Buffer:
        """A buffer on memory that is no other buffer's."""
        self = object.__new__(cls)
        self._block, self._address, self._array = block, block.address, None
        self.dtype, self.shape, self.device = dtype, shape, device
        return self

    @classmethod
    def owning(cls, array: Array, device: str) -> Buffer:
        """A buffer on a fresh copy (`copied`), which nothing else shares."""
        block: Any = array
        while isinstance(block, np.ndarray):
            block = block.base
        if not isinstance(block, HostBlock) or memory_of(device) is not HOST:
            return cls(array, device)
        return cls.over(block, as_dtype(array.dtype), array.shape, device)

    def give_up(self) -> MemoryBlock | None:
        """The memory, if no array shows it; using the buffer is an error then."""
        block = self._block
        if block is None or self._array is not None:
            return None
        self._block = self._address = None
        self.__class__ = DonatedBuffer
        return block

    def refill(self, block: MemoryBlock) -> None:
        """New memory for a buffer that has donated its own, or no longer needs it."""
        self._block, self._address = block, block.address
        self.__class__ = Buffer

    def fail(self, error: BaseException) -> None:
        """Mark the contents as invalid: reading them raises the error."""
        failed: Any = error
        self._array, self._block, self._address = failed, None, None
        self.__class__ = FailedBuffer

    def apart(self) -> Buffer:
        """The same contents in memory of their own, on the same device."""
        memory = memory_of(self.device)
        if memory.addressable or self._block is None:
            with copying(self.device, self.device, self.nbytes):
                return Buffer(np.array(self.array()), self.device)
        return self.part(0, self.dtype, self.shape)

    def viewed(self, shape: tuple[int, ...], dtype: DType) -> Buffer:
        """The same memory under another type; it can no longer be given up."""
        if self._block is not None and not memory_of(self.device).addressable:
            self.__class__ = SharedBuffer
            return SharedBuffer.over(self._block, dtype, shape, self.device)
        return Buffer(in_bytes(self._contents(), dtype, shape), self.device)

    def part(self, place: int, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        """A copy of what begins so many bytes behind the beginning, in the same memory."""
        made, memory = Buffer.empty(dtype, shape, self.device), memory_of(self.device)
        if made.nbytes:
            with copying(self.device, self.device, made.nbytes):
                memory.copy(made.address, self.address + place, made.nbytes, memory)
        return made

    def copied_to(self, device: str) -> Buffer | None:
        """A copy in the memory of another device, if one gets there without the host."""
        home, there = memory_of(self.device), known_memory(device)
        if there is None or there.addressable or not self.nbytes:
            return None
        made = Buffer.empty(self.dtype, self.shape, device)
        with copying(self.device, device, self.nbytes):
            return made if there.copy(made.address, self.address, self.nbytes, home) else None

    def fill(self, value: Any) -> None:
        """Write the contents of an empty buffer; no array shows them afterwards."""
        np.copyto(self._contents(), value)
        self._array = None

    def filling(self) -> Array:
        """The contents of an empty buffer, for its maker to write."""
        return self._contents()

    @property
    def address(self) -> int:
        """Where the contents are, as programs of its device read them: row-major."""
        address = self._address
        return self._placed() if address is None else address

    def _placed(self) -> int:
        """Copy the host's contents to where the device can read them."""
        memory, array = memory_of(self.device), self._contents()
        if not array.flags.c_contiguous:
            self._array = array = np.ascontiguousarray(array)
        if memory is HOST:
            self._address = int(array.__array_interface__["data"][0])
        else:
            self._block = memory.allocate(array.nbytes)
            with copying("host", self.device, array.nbytes):
                memory.write(self._block.address, array)
            self._address = self._block.address
        return self._address

    def array(self) -> Array:
        """The contents, read-only."""
        view = self._contents().view()
        view.flags.writeable = False
        return view

    @property
    def on_host(self) -> bool:
        """Whether the host can read the contents in place."""
        return self._array is not None or memory_of(self.device).addressable

    @property
    def on_device(self) -> bool:
        """Whether the contents are in memory that the host does not reach."""
        return self._block is not None and not memory_of(self.device).addressable

    def _contents(self) -> Array:
        if self._array is None:
            self._array = self._fetched().view(self.dtype.np).reshape(self.shape)
        return self._array

    def _fetched(self) -> Array:
        """The bytes: in place if the host can address them, else a copy."""
        block: Any = self._block
        if self.on_device:
            with copying(self.device, "host", self.nbytes):
                found: Array = block.read(self.nbytes)
                return found
        found = block.read(self.nbytes)
        return found

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * prod(self.shape)

    def __repr__(self) -> str:
        return f"<buffer {self.dtype.short}{list(self.shape)} @{self.device}>"


class DonatedBuffer(Buffer):
    """The class of a buffer whose memory was donated."""

    __slots__ = ()

    def _contents(self) -> Array:
        problem = "the tensor was donated to a jitted function, which has taken its memory"
        fix = "use what the function returned, or leave the argument out of donate_argnums"
        raise DeviceError("E6003", problem, op="jit", help=fix)


class FailedBuffer(Buffer):
    """The class of a buffer whose contents are invalid because an index was out of range."""

    __slots__ = ()

    def _contents(self) -> Array:
        error: Any = self._array
        raise error.with_traceback(None)


class SharedBuffer(Buffer):
    """Memory of a device that two buffers are over."""

    __slots__ = ()

    def give_up(self) -> None:
        """Never: the other buffer needs it."""
        return


class LentBuffer(Buffer):
    """Memory to which another library may write, even if it was marked read-only. The host reads
    memory on a device anew each time, and no program may overwrite it.
    """

    __slots__ = ()

    def give_up(self) -> None:
        """Never: the other library has it."""
        return

    def viewed(self, shape: tuple[int, ...], dtype: DType) -> Buffer:
        """The same memory under another type, lent as well."""
        if self._block is None:
            return super().viewed(shape, dtype)
        return LentBuffer.over(self._block, dtype, shape, self.device)

    def _contents(self) -> Array:
        if self._array is not None:
            return self._array
        return self._fetched().view(self.dtype.np).reshape(self.shape)


class FileBuffer(Buffer):
    """The bytes of a file, mapped into memory when first read."""

    __slots__ = ("path",)

    def __init__(self, path: Path, dtype: DType):
        self.path = Path(path)
        size = self.path.stat().st_size
        if size % dtype.itemsize:
            problem = f"{self.path.name} has {size} bytes, not a multiple of {dtype.itemsize}"
            raise BoundsError("E4005", problem, op="Tensor", help="give a dtype that divides it")
        self._array = self._address = self._block = None
        self.shape, self.dtype = (size // dtype.itemsize,), dtype
        self.device = f"DISK:{self.path}"

    def _contents(self) -> Array:
        if self._array is None:
            empty = self.shape == (0,)
            self._array = (
                np.empty(0, self.dtype.np)
                if empty
                else np.memmap(self.path, self.dtype.np, mode="r", shape=self.shape)
            )
        return self._array
