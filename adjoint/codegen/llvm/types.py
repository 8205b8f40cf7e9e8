"""How LLVM writes types and constants. Text only: no instruction is made here.

A register of float16 or bfloat16 holds the bits as i16, one of an 8-bit float as i8; a bool is i1
in a register and i8 in memory. Lanes n > 1 make a vector type.
"""

from __future__ import annotations

import struct
from functools import cache, lru_cache
from typing import Any

import numpy as np

from adjoint.errors import InternalError
from adjoint.ir.dtype import STORAGE, DType

Types = dict[str, str]

_FLOATS = {"float32": "float", "float64": "double", "float16": "i16", "bfloat16": "i16"}
_FLOATS |= {d.name: "i8" for d in STORAGE}


@cache
def scalar_type(dtype: DType) -> str:
    """The type of one value in a register."""
    if dtype.kind in "iub":
        return f"i{dtype.bits}"
    if dtype.name not in _FLOATS:
        raise InternalError(f"{dtype} does not reach kernels")
    return _FLOATS[dtype.name]


@cache
def vector_of(scalar: str, lanes: int) -> str:
    """`<8 x float>`, or the scalar type itself for one lane."""
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


@cache
def type_of(dtype: DType, lanes: int = 1) -> str:
    """The type of a register."""
    return vector_of(scalar_type(dtype), lanes)


@cache
def memory_type(dtype: DType, lanes: int = 1) -> str:
    """The type of an element in memory, or of several side by side."""
    return vector_of("i8" if dtype.kind == "b" else scalar_type(dtype), lanes)


@cache
def suffix(scalar: str, lanes: int = 1) -> str:
    """The suffix of an intrinsic's name: `f32`, `v8f32`."""
    short = {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}.get(scalar, scalar)
    return short if lanes == 1 else f"v{lanes}{short}"


def float_text(value: float) -> str:
    """A float by its bits: LLVM writes those of a double for both widths."""
    return f"0x{struct.pack('>d', value).hex().upper()}"


@lru_cache(maxsize=4096)
def constant(value: Any, dtype: DType) -> str:
    """A scalar constant. A float is a `Real`, which distinguishes 0.0 from -0.0."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind in "iu":
        return int_text(value, dtype.bits)
    with np.errstate(all="ignore"):
        rounded = np.array(value, np.float64).astype(dtype.np)
    if dtype.itemsize < 4:
        return str(int(rounded.view(f"i{dtype.itemsize}")))
    return float_text(float(rounded))


def int_text(value: int, bits: int) -> str:
    """An integer of that many bits, signed as LLVM writes it."""
    half = 1 << (bits - 1)
    return str((value + half) % (2 * half) - half)


@cache
def zero(scalar: str) -> str:
    """The scalar zero."""
    return {"float": "0.0", "double": "0.0", "i1": "false"}.get(scalar, "0")


@cache
def steps(scalar: str, lanes: int, stride: int) -> str:
    """The constant vector 0, stride, 2 stride, …"""
    bits = int(scalar[1:])
    return "<" + ", ".join(f"{scalar} {int_text(i * stride, bits)}" for i in range(lanes)) + ">"


@cache
def first_lanes(count: int, lanes: int) -> str:
    """The constant mask of the first `count` lanes."""
    return "<" + ", ".join(f"i1 {'true' if i < count else 'false'}" for i in range(lanes)) + ">"


@cache
def picked(start: int, stop: int) -> str:
    """The shuffle that takes lanes start … stop - 1, backwards if stop < start."""
    order = range(start, stop) if start <= stop else range(start, stop, -1)
    return f"<{len(order)} x i32> <" + ", ".join(f"i32 {i}" for i in order) + ">"
