"""Samples as batches: the arrays of a sample stacked, and put in place of the sample's own.

What may live here: that. What may not: any one check.
"""

import numpy as np

from adjoint import dtypes
from adjoint.ir.opdef import Sample

SIZE = 3
# What an op's arrays are batched as: the first of these that it takes.
KINDS = {"f": dtypes.float64, "c": dtypes.complex128, "i": dtypes.int64, "u": dtypes.uint64}
KINDS |= {"b": dtypes.bool_}


def dtype_of(record):
    return next(dtype for kind, dtype in KINDS.items() if kind in record.kinds)


def _leaves(value):
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in _leaves(v)]
    return [value]


def _varies(value, dtype):
    return isinstance(value, np.ndarray) and value.dtype.kind == dtype.kind


def variables(sample, dtype):
    leaves = _leaves(sample.args) + _leaves(list(sample.kwargs.values()))
    return [a for a in leaves if _varies(a, dtype)]


def bound(sample, values, dtype):
    fresh = iter(values)

    def walk(value):
        if isinstance(value, (tuple, list)):
            return type(value)(walk(v) for v in value)
        return next(fresh) if _varies(value, dtype) else value

    return Sample(walk(sample.args), {k: walk(v) for k, v in sample.kwargs.items()})


def stacked(array):
    """Examples that differ but stay where the op is defined."""
    if array.dtype.kind in "fc":
        with np.errstate(invalid="ignore"):  # a complex infinity times a number
            return np.stack([array * (1 - 0.05 * i) for i in range(SIZE)])
    return np.stack([np.roll(array.ravel(), i).reshape(array.shape) for i in range(SIZE)])
