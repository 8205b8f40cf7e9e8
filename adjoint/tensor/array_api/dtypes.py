"""The standard's data types and the functions about them."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from adjoint.errors import DTypeError, TextError, did_you_mean
from adjoint.ir.dtype import DType, dtypes, is_foreign, promote, promote_scalar
from adjoint.tensor.array_api.calls import apply, tensor_of
from adjoint.tensor.tensor import Tensor
from adjoint.tensor.types import DeviceLike

__all__ = [
    "astype",
    "bfloat16",
    "bool",
    "can_cast",
    "complex64",
    "complex128",
    "finfo",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "float32",
    "float64",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "result_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

bool = dtypes.bool_
int8, int16, int32, int64 = dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64
uint8, uint16, uint32, uint64 = dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64
float32, float64 = dtypes.float32, dtypes.float64
complex64, complex128 = dtypes.complex64, dtypes.complex128
float16, bfloat16 = dtypes.float16, dtypes.bfloat16  # beside the standard's
float8_e4m3fn, float8_e5m2 = dtypes.float8_e4m3fn, dtypes.float8_e5m2

KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class finfo_object:
    """Facts about a float dtype; for a complex one, about its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class iinfo_object:
    """Facts about an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def dtype_of(op: str, value: Any) -> DType:
    """The dtype that is given, or that of the tensor that is given."""
    if isinstance(value, DType):
        return value
    if isinstance(value, Tensor):
        return value.dtype
    problem = f"takes a dtype or a tensor, got {value!r}"
    raise DTypeError("E2001", problem, op=op, help="dtypes are named adjoint.float32 and so on")


def astype(
    x: Tensor, dtype: DType, /, *, copy: builtins.bool = True, device: DeviceLike = None
) -> Tensor:
    """The values as another dtype. Complex to real is an error: say `real(x)` or `abs(x)`."""
    x, kind = tensor_of("astype", x), dtype_of("astype", dtype)
    if x.dtype.is_complex and not kind.is_complex:
        problem = f"{x.dtype.name} has no {kind.name} value"
        fix = "take real(x), imag(x) or abs(x) first"
        raise DTypeError("E2001", problem, op="astype", operands=[("x", x)], help=fix)
    moved = x if device is None else x.to(device)
    if kind is x.dtype:
        return moved.clone() if copy and moved.uop is x.uop else moved
    return apply("cast", moved, kind)


def can_cast(from_: DType | Tensor, to: DType, /) -> builtins.bool:
    """Whether promotion of the two gives the second."""
    return promote(dtype_of("can_cast", from_), dtype_of("can_cast", to)) is to


def finfo(type: DType | Tensor, /) -> finfo_object:
    """Machine limits of a float or complex dtype."""
    kind = dtype_of("finfo", type)
    if not kind.is_inexact:
        raise DTypeError("E2005", f"takes a float dtype, not {kind.name}", op="finfo")
    real = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}.get(kind, kind)
    info: Any = ml_dtypes.finfo(real.np) if is_foreign(real.np) else np.finfo(real.np)
    eps, most, least, small = map(float, (info.eps, info.max, info.min, info.smallest_normal))
    return finfo_object(int(info.bits), eps, most, least, small, real)


def iinfo(type: DType | Tensor, /) -> iinfo_object:
    """Machine limits of an integer dtype."""
    kind = dtype_of("iinfo", type)
    if not kind.is_int:
        raise DTypeError("E2005", f"takes an integer dtype, not {kind.name}", op="iinfo")
    return iinfo_object(kind.bits, kind.max, kind.min, kind)


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> builtins.bool:
    """Whether the dtype is of a kind: a dtype, a name ("real floating"), or a tuple of them."""
    if not isinstance(dtype, DType):
        raise DTypeError("E2001", f"takes a dtype, got {dtype!r}", op="isdtype")
    if isinstance(kind, tuple):
        return builtins.any(_is_kind(dtype, k) for k in kind)
    return _is_kind(dtype, kind)


def _is_kind(dtype: DType, kind: Any) -> builtins.bool:
    if isinstance(kind, DType):
        return dtype is kind
    if not isinstance(kind, str):
        problem = f"a kind is a dtype, a string or a tuple of them, got {kind!r}"
        raise DTypeError("E2001", problem, op="isdtype")
    return dtype.kind in kind_letters("isdtype", kind)


def kind_letters(op: str, kind: str) -> str:
    """The letters (see `DType.kind`) of one of the standard's kinds."""
    if kind in KINDS:
        return KINDS[kind]
    known = "known kinds: " + ", ".join(KINDS)
    fix = did_you_mean(kind, KINDS) or known
    raise TextError("E2002", f"{kind!r} is not a kind of dtype", op=op, help=fix)


def result_type(*arrays_and_dtypes: Tensor | DType | complex) -> DType:
    """The dtype that results from combining these; Python scalars are weak."""
    weak = (builtins.bool, int, float, complex)
    strong = [dtype_of("result_type", v) for v in arrays_and_dtypes if not isinstance(v, weak)]
    if not strong:
        problem = "takes at least one tensor or dtype"
        raise TextError("E2003", problem, op="result_type")
    result = strong[0]
    for kind in strong[1:]:
        result = promote(result, kind)
    for value in arrays_and_dtypes:
        if isinstance(value, weak):
            result = promote_scalar(result, value)
    return result
