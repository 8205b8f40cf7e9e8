"""Makers of samples: the inputs on which every op is tried.

Arrays are float64 or int64; the tests cast them to every dtype the op accepts. A sample is `smooth`
when a derivative can be checked there by finite differences.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from adjoint.ir.opdef import Bad, Sample

Maker = Callable[[], list[Sample]]
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, 3e38])


def _fractions(shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    """Scattered numbers in [0, 1) by position: cheap, since they are made at import."""
    place = np.arange(1, prod(shape) + 1, dtype=np.float64).reshape(shape)
    return np.asarray(np.sin(place * 12.9898 + seed * 78.233 + 0.5) * 43758.5453) % 1.0


def real(*shape: int, lo: float = -3.0, hi: float = 3.0, seed: int = 0) -> np.ndarray[Any, Any]:
    """Reals in (lo, hi), no two equal and none a round number."""
    return np.asarray(lo + (hi - lo) * _fractions(shape, seed))  # asarray: 0-d stays an array


def whole(*shape: int, lo: int = 0, hi: int = 5, seed: int = 0) -> np.ndarray[Any, Any]:
    """Integers in [lo, hi)."""
    return np.asarray(np.floor(lo + (hi - lo) * _fractions(shape, seed)), np.int64)


AXIS_ERRORS = (  # of every op that takes an axis or a tuple of them
    Bad("E3004", (real(2, 3), 2), match="axis 2"),
    Bad("E3005", (real(2, 3), (0, -2)), match="duplicate"),
)


def unary(lo: float = -3.0, hi: float = 3.0, special: bool = True) -> Maker:
    """One operand: a matrix, a scalar, a size-0 tensor, and the special floats."""

    def make() -> list[Sample]:
        shapes = ((2, 3), (), (0, 3), (1,), (2, 1, 3))
        plain = [Sample((real(*s, lo=lo, hi=hi),)) for s in shapes]
        return plain + ([Sample((SPECIAL,), smooth=False)] if special else [])

    return make


def binary(lo: float = -3.0, hi: float = 3.0, special: bool = True) -> Maker:
    """Two operands: equal shapes, every way to broadcast, scalars, size 0, the special floats."""

    def make() -> list[Sample]:
        pairs = (
            ((2, 3), (2, 3)),
            ((), ()),
            ((2, 3), ()),
            ((2, 1), (1, 3)),
            ((3,), (2, 3)),
            ((0, 3), (1, 3)),
        )
        plain = [Sample((real(*a, lo=lo, hi=hi), real(*b, lo=lo, hi=hi, seed=1))) for a, b in pairs]
        plain += [Sample((real(2, 3, lo=lo, hi=hi), 2)), Sample((real(3, lo=lo, hi=hi), 1.5))]
        grid = np.meshgrid(SPECIAL, SPECIAL)
        return plain + ([Sample((grid[0], grid[1]), smooth=False)] if special else [])

    return make


def given(*calls: tuple[Any, ...] | Sample) -> Callable[[], list[Any]]:
    """Calls written out, made at import: for samples too few and small to be worth a function."""
    return lambda: list(calls)


def rough(*call: Any) -> Sample:
    """A call where no derivative can be checked by finite differences; a dict last for keywords."""
    plain = Sample.of(call)
    return Sample(plain.args, plain.kwargs, smooth=False)
