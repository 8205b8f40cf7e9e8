"""`Buffer`: the storage of one realized tensor.

A buffer's contents never change once somebody can see them: an assignment makes a new buffer, so a
view handed to NumPy or another library stays what it was. What may live here: ownership of memory.
What may not: computation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from adjoint.errors import BoundsError
from adjoint.ir.dtype import DType, as_dtype

Array = np.ndarray[Any, Any]


class Buffer:
    """A row-major array on a device. Compared by identity: two buffers are never one node."""

    __slots__ = ("__weakref__", "_array", "device", "dtype", "shape")

    def __init__(self, array: Array, device: str):
        self._array: Array | None = array
        self.shape: tuple[int, ...] = array.shape
        self.dtype: DType = as_dtype(array.dtype)
        self.device = device

    def array(self) -> Array:
        """The contents, read-only."""
        assert self._array is not None
        view = self._array.view()
        view.flags.writeable = False
        return view

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"<buffer {self.dtype.short}{list(self.shape)} @{self.device}>"


class FileBuffer(Buffer):
    """The bytes of a file, mapped into memory when first read."""

    __slots__ = ("path",)

    def __init__(self, path: Path, dtype: DType):
        self.path = Path(path)
        size = self.path.stat().st_size
        if size % dtype.itemsize:
            problem = f"{self.path.name} has {size} bytes, not a multiple of {dtype.itemsize}"
            raise BoundsError("E4005", problem, op="Tensor", help="give a dtype that divides it")
        self._array = None
        self.shape, self.dtype = (size // dtype.itemsize,), dtype
        self.device = f"DISK:{self.path}"

    def array(self) -> Array:
        if self._array is None:
            empty = self.shape == (0,)
            self._array = (
                np.empty(0, self.dtype.np)
                if empty
                else np.memmap(self.path, self.dtype.np, mode="r", shape=self.shape)
            )
        return super().array()
