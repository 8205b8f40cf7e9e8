"""Element types of files: what they are called there, and which tensors they become.

A type that tensors do not have (rarer 8-bit floats) is read as the narrowest one that holds all its
values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from adjoint.ir.dtype import DType, as_dtype, dtypes

Array = np.ndarray[Any, Any]
MAX_BYTES = (1 << 63) - 1  # bytes that an array may have
RANK = 32  # axes that an array may have


@dataclass(frozen=True, slots=True)
class Element:
    """How one element is stored, and the dtype of tensors made of it."""

    stored: np.dtype[Any]
    dtype: DType

    @property
    def itemsize(self) -> int:
        return self.stored.itemsize

    def of(self, raw: Array, shape: tuple[int, ...]) -> Array:
        """Bytes as an array of the tensor's dtype; the same memory if it is the same type."""
        return raw.view(self.stored).reshape(shape).astype(self.dtype.np, copy=False)


def element(name: str) -> Element:
    """The element of one of our own dtypes."""
    return Element(as_dtype(name).np, as_dtype(name))


def _narrow(name: str, wide: DType) -> dict[str, Element]:
    """An 8-bit float, if this version of ml_dtypes has it."""
    kind = getattr(ml_dtypes, name, None)
    return {} if kind is None else {name: Element(np.dtype(kind), wide)}


# Two are dtypes of tensors. float16 holds every value of the others but the last, which is made of
# powers of two.
FLOAT8: dict[str, Element] = {
    **_narrow("float8_e4m3fn", dtypes.float8_e4m3fn),
    **_narrow("float8_e5m2", dtypes.float8_e5m2),
    **_narrow("float8_e4m3fnuz", dtypes.float16),
    **_narrow("float8_e5m2fnuz", dtypes.float16),
    **_narrow("float8_e8m0fnu", dtypes.float32),
}


def byte_count(shape: tuple[int, ...], itemsize: int) -> int | None:
    """The bytes of an array; None if no array can be so large, its empty axes left out."""
    if len(shape) > RANK:
        return None
    filled = itemsize
    for extent in shape:
        filled *= extent or 1
        if filled > MAX_BYTES:
            return None
    return 0 if 0 in shape else filled
