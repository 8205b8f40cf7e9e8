"""What members bring to collectives, and what becomes of it."""

import ml_dtypes
import numpy as np


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def values(rank, shape, dtype="float32"):
    drawn = np.random.default_rng(rank).standard_normal(shape) * 8
    return np.array(drawn).astype(dtype_of(dtype))


def tree(kind, parts):
    """The order that is promised, written as a recursion over halves."""
    join = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}[kind]
    if len(parts) == 1:
        return parts[0]
    left = 1 << (len(parts) - 1).bit_length() - 1
    with np.errstate(all="ignore"):
        return join(tree(kind, parts[:left]), tree(kind, parts[left:]))
