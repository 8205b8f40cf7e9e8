"""`LazyBuffer`: contents that are read, or computed, when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.ir.dtype import DType
from adjoint.ir.opdef import OPS
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.device import Device
from adjoint.tensor import Tensor

Array = np.ndarray[Any, Any]


class LazyBuffer(Buffer):
    """`read` gives the contents, in the buffer's dtype and shape; it may raise a coded error."""

    __slots__ = ("_read",)

    def __init__(
        self, read: Callable[[], Array], dtype: DType, shape: tuple[int, ...], device: str
    ):
        self._array = self._address = self._block = None
        self._read: Callable[[], Array] | None = read
        self.shape, self.dtype, self.device = shape, dtype, device

    def _contents(self) -> Array:
        if self._array is None:
            read: Any = self._read
            self._array = _aligned(read())
            self._read = None
        return self._array


def _aligned(array: Array) -> Array:
    """Row-major, each element at a multiple of its size, as native code expects it."""
    return np.require(array, requirements=["C", "A"]).reshape(array.shape)


def lazy_tensor(
    read: Callable[[], Array],
    dtype: DType,
    shape: tuple[int, ...],
    device: str | tuple[str, ...] | None = None,
) -> Tensor:
    """A tensor that is read when it is used."""
    target = Device.canonicalize(device)
    home = target if Device.is_host(target) else "CPU"
    leaf = Tensor(OPS["buffer"](LazyBuffer(read, dtype, shape, home)))
    return leaf if home == target else leaf.to(target)
