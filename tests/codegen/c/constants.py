"""Kernels that store constants, and compute with them: the ends of every dtype, zeros, NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.handbuilt.uops import BinaryOps, UOpGraph, UOps
from adjoint.ir.dtype import DType, dtypes
from tests.codegen.c.corpus import Array

KINDS = (
    *(dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64),
    *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
    *(dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64, dtypes.bool_),
)
_REALS = (0.0, -0.0, 1.0, -2.5, 0.1, math.inf, -math.inf, math.nan, 1e-45, 6e-8, 5e-324)
_REALS += (65504.0, 3.4028235e38, 1.7976931348623157e308, 16777217.0)
_OPS = ("DIV", "MOD", "SHL", "SHR", "ADD", "SUB", "MUL")


def values(dtype: DType) -> list[Any]:
    """Constants of a dtype."""
    if dtype.is_bool:
        return [True, False]
    if dtype.is_float:
        return list(_REALS)
    ends = {int(dtype.min), int(dtype.min) + 1, int(dtype.max), int(dtype.max) - 1}
    return sorted(
        ends | {n for n in (0, 1, -1, 2**31, -(2**31), 2**32) if dtype.min <= n <= dtype.max}
    )


def graph(dtype: DType) -> UOpGraph:
    """A kernel that stores them."""
    g = UOpGraph()
    out = g.add(UOps.DEFINE_GLOBAL, dtype, arg=(0, "data0", True))
    for place, value in enumerate(values(dtype)):
        found = g.add(UOps.CONST, dtype, arg=value)
        g.add(UOps.STORE, vin=(out, g.add(UOps.CONST, dtypes.int, arg=place), found))
    return g


def expected(dtype: DType) -> Array:
    """What the kernel stores."""
    with np.errstate(all="ignore"):
        return np.array(values(dtype), np.float64 if dtype.is_float else dtype.np).astype(dtype.np)


def divisions(dtype: DType) -> UOpGraph:
    """A kernel that divides, shifts and adds what it loads by constants such as 0 and 33."""
    g = UOpGraph()
    out = g.add(UOps.DEFINE_GLOBAL, dtype, arg=(0, "data0", True))
    x = g.add(UOps.DEFINE_GLOBAL, dtype, arg=(1, "data1", False))
    place = 0
    for by in (0, 33, int(dtype.max), int(dtype.min)):
        for name in _OPS:
            for first in (3, None):
                at = g.add(UOps.CONST, dtypes.int, arg=place)
                left = g.add(UOps.LOAD, vin=(x, at))
                left = left if first is None else g.add(UOps.CONST, dtype, arg=first)
                right = g.add(UOps.CONST, dtype, arg=by)
                found = g.add(UOps.ALU, vin=(left, right), arg=BinaryOps[name])
                g.add(UOps.STORE, vin=(out, at, found))
                place += 1
    return g


def memory(dtype: DType) -> list[Array]:
    """A result and an operand for `divisions`."""
    size = 4 * 2 * len(_OPS)
    given = np.resize(np.array([int(dtype.min), int(dtype.max), 7], dtype.np), size)
    return [np.zeros(size, dtype.np), given]
