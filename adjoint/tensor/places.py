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


def distinct(array: Array, wanted: dict[str, bool]) -> dict[str, Array]:
    """What `unique` tells of the distinct values, in ascending order. Integers of a range that is
    not much longer than the array are counted, everything else is sorted."""
    if array.size and array.dtype.kind in "bui":
        least = array.min()
        extent = int(array.max()) - int(least) + 1
        if extent <= _SPREAD * array.size:
            return _counted(_above(array, least), extent, wanted)
    flags = {f"return_{name}": flag for name, flag in wanted.items()}
    _, *found = np.unique(array, equal_nan=False, **flags)  # type: ignore[call-overload]
    return dict(zip([name for name, flag in wanted.items() if flag], found, strict=True))


def _above(array: Array, least: Any) -> Array:
    """How far each integer is above the least of them."""
    if array.dtype.kind == "u":
        return (array - least).astype(np.intp)
    found: Array = array.astype(np.intp) - int(least)
    return found


def _counted(keys: Array, extent: int, wanted: dict[str, bool]) -> dict[str, Array]:
    """The same of integers from 0 to an extent, each of which has a place in a table."""
    counts = np.bincount(keys, minlength=extent)
    (present,) = counts.nonzero()
    table = np.empty(extent, np.intp)
    table[keys[::-1]] = np.arange(keys.size - 1, -1, -1)  # of equal ones the first comes last
    found = {"index": table[present], "counts": counts[present]}
    if wanted["inverse"]:
        table[present] = np.arange(present.size)
        found["inverse"] = table[keys]
    return found
