"""Places of values in arrays of the host: of nonzero elements, of distinct ones.

NumPy's own functions for these sort, or go through an array element by element. What may live here:
functions of arrays. What may not: tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.dtype import dtypes

Array = np.ndarray[Any, Any]


def nonzero_places(array: Array) -> Array:
    """The indices of the nonzero elements, one row each: as NumPy's `argwhere`, several times as
    fast for several axes."""
    if array.ndim < 2 or not array.size:
        return np.argwhere(array)
    rest: Array = np.flatnonzero(array)
    found = np.empty((len(rest), array.ndim), dtypes.index.np)
    for axis in range(array.ndim - 1, 0, -1):
        above = rest // array.shape[axis]
        np.subtract(rest, above * array.shape[axis], out=found[:, axis])
        rest = above
    found[:, 0] = rest
    return found


_SPREAD = 4  # places in a table for each element


def distinct(array: Array) -> tuple[Array, Array, Array]:
    """Of each distinct value of a vector, in ascending order, where it is first and how often it
    occurs; between them, which of these values each element is."""
    low, span = 0, 0
    if array.size and array.dtype.kind in "bui":
        low = int(array.min())
        span = int(array.max()) - low + 1
    if not 0 < span <= _SPREAD * array.size:
        options: Any = {"return_index": True, "return_inverse": True, "return_counts": True}
        _, *found = np.unique(array, equal_nan=False, **options)
        return found[0], found[1], found[2]
    wide = array if array.itemsize == 8 else array.astype(np.int64)
    shifted = (wide - wide.dtype.type(low)).astype(np.intp)
    counts = np.bincount(shifted, minlength=span)
    present = np.flatnonzero(counts)
    table = np.empty(span, np.intp)
    table[shifted[::-1]] = np.arange(array.size - 1, -1, -1)  # of equal places the last write stays
    first = table[present]
    table[present] = np.arange(present.size)
    return first, table[shifted], counts[present]
