"""`Buffer`: the storage of one realized tensor.

A buffer's contents never change once somebody can see them: an assignment makes a new buffer, so a
view handed to NumPy or another library stays what it was. What may live here: ownership of memory.
What may not: computation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from adjoint.errors import BoundsError, DeviceError
from adjoint.ir.dtype import DType, as_dtype
from adjoint.runtime.allocator import CPU, Block

Array = np.ndarray[Any, Any]


def in_bytes(array: Array, dtype: DType, shape: tuple[int, ...]) -> Array:
    """The same bytes under another type. The array is row-major where the dtype changes."""
    if array.dtype == dtype.np:
        return array.reshape(shape)
    return np.ascontiguousarray(array).reshape(-1).view(dtype.np).reshape(shape)


class Buffer:
    """A row-major array on a device. Compared by identity: two buffers are never one node."""

    __slots__ = ("__weakref__", "_address", "_array", "_block", "device", "dtype", "shape")

    def __init__(self, array: Array, device: str):
        self._array: Array | None = array
        self._address: int | None = None
        self._block: Block | None = None
        self.shape: tuple[int, ...] = array.shape
        self.dtype: DType = as_dtype(array.dtype)
        self.device = device

    @classmethod
    def empty(cls, dtype: DType, shape: tuple[int, ...], device: str) -> Buffer:
        """Memory whose contents are anything, for native code to fill."""
        size = dtype.itemsize
        for extent in shape:
            size *= extent
        self = object.__new__(cls)
        self._block = block = CPU.allocate(size)
        self._address, self._array = block.address, None
        self.dtype, self.shape, self.device = dtype, shape, device
        return self

    @classmethod
    def over(cls, block: Block, dtype: DType, shape: tuple[int, ...], device: str) -> Buffer:
        """The same on memory that somebody gave up."""
        self = object.__new__(cls)
        self._block, self._address, self._array = block, block.address, None
        self.dtype, self.shape, self.device = dtype, shape, device
        return self

    def give_up(self) -> Block | None:
        """The memory, if nobody looked at it from outside; using the buffer is an error then."""
        block = self._block
        if block is None or self._array is not None:
            return None
        self._block = self._address = None
        self.__class__ = DonatedBuffer
        return block

    def viewed(self, shape: tuple[int, ...], dtype: DType) -> Buffer:
        """The same memory under another type; it can no longer be given up."""
        return Buffer(in_bytes(self._contents(), dtype, shape), self.device)

    def filling(self) -> Array:
        """The contents of an empty buffer, for its maker to write."""
        return self._contents()

    @property
    def address(self) -> int:
        """Where the contents are, as native code reads them: row-major."""
        if self._address is None:
            array = self._contents()
            if not array.flags.c_contiguous:
                self._array = array = np.ascontiguousarray(array)
            self._address = int(array.__array_interface__["data"][0])
        return self._address

    def array(self) -> Array:
        """The contents, read-only."""
        view = self._contents().view()
        view.flags.writeable = False
        return view

    def _contents(self) -> Array:
        if self._array is None:
            block: Any = self._block
            whole: Array = np.asarray(block)
            self._array = whole[: self.nbytes].view(self.dtype.np).reshape(self.shape)
        return self._array

    @property
    def nbytes(self) -> int:
        size = self.dtype.itemsize
        for extent in self.shape:
            size *= extent
        return size

    def __repr__(self) -> str:
        return f"<buffer {self.dtype.short}{list(self.shape)} @{self.device}>"


class DonatedBuffer(Buffer):
    """What is left of a buffer whose memory was given up."""

    __slots__ = ()

    def _contents(self) -> Array:
        problem = "the tensor was donated to a jitted function, which has taken its memory"
        fix = "use what the function returned, or leave the argument out of donate_argnums"
        raise DeviceError("E6003", problem, op="jit", help=fix)


class LentBuffer(Buffer):
    """Memory that another library may write to, whatever it was told."""

    __slots__ = ()


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
