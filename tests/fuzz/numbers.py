"""The numbers that whole programs run on: by kind, shape, dtype and seed, or of a record's sample.

What may live here: data. What may not: anything of programs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from adjoint.ir.dtype import as_dtype
from adjoint.ir.opdef import OPS, Sample
from tests.fuzz import program
from tests.fuzz.program import Array, number_type
from tests.ops.cases import _leaves, adapted


def data(kind: str, shape: tuple[int, ...], dtype: str, seed: int, limit: int = 0) -> Array:
    """The numbers of an input: those of `program.data`, and

    sparse: unit with half of them zero; ties: few different numbers; same: one number everywhere;
    ramp: 0, 1, 2…, as far as the dtype goes.
    """
    rng = np.random.default_rng(seed)
    if kind == "ramp":
        return (np.arange(int(np.prod(shape))) % 100).reshape(shape).astype(number_type(dtype))
    if kind == "same":
        return np.full(shape, rng.integers(-63, 64) / 64).astype(number_type(dtype))
    if kind == "ties":
        return (rng.integers(-2, 3, shape) / 4).astype(number_type(dtype))
    if kind == "sparse":
        numbers = rng.integers(-63, 64, shape) / 64
        return np.where(rng.random(shape) < 0.5, 0.0, numbers).astype(number_type(dtype))
    return program.data(kind, shape, dtype, seed, limit)


@lru_cache(maxsize=4096)
def samples(op: str, dtype: str) -> tuple[Sample, ...]:
    """The samples of a record in a dtype."""
    return tuple(adapted(s, as_dtype(dtype)) for s in OPS[op].samples())


def arrays(found: Sample) -> list[Array]:
    """The arrays of a sample, in order."""
    return [a for a in _leaves((found.args, found.kwargs)) if isinstance(a, np.ndarray)]


def sample(op: str, number: int, place: int, dtype: str) -> Any:
    """One array of a record's sample."""
    return arrays(samples(op, dtype)[number])[place].copy()
