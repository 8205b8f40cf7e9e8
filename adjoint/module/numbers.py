"""Numbers in texts: how each dtype prints, so that what is read back has the same bits.

A constant of a module is a Python number; a literal with many is the bytes of its elements in row
major order, little endian. What may live here: conversions between numbers, bytes and text.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from math import inf, isfinite, isinf, isnan, nextafter
from typing import Any

import numpy as np

from adjoint.ir.dtype import DType, dtypes
from adjoint.module.instruction import Shape, fault, size_of

Array = np.ndarray[Any, Any]


def literal_bytes(values: Any, dtype: DType) -> bytes:
    """The elements of an array as a literal keeps them."""
    array = np.ascontiguousarray(np.asarray(values, dtype.np))
    return array.astype(_little(dtype), copy=False).tobytes()


def literal_array(data: bytes, dtype: DType, shape: Shape) -> Array:
    """The array of a literal."""
    return np.frombuffer(data, _little(dtype)).astype(dtype.np).reshape(shape)


def all_finite(value: Any, dtype: Any) -> bool:
    """Whether a constant of core-v1, a number or a literal, has no infinity and no NaN."""
    if type(value) is bytes and dtype in (dtypes.float32, dtypes.float64):
        whole = value[: len(value) // dtype.itemsize * dtype.itemsize]
        return bool(np.isfinite(np.frombuffer(whole, _little(dtype))).all())
    return type(value) is not float or isfinite(value)


def _little(dtype: DType) -> np.dtype[Any]:
    return dtype.np.newbyteorder("<") if dtype.np.kind in "iufcb" else dtype.np


def filled_bytes(value: Any, dtype: DType, shape: Shape) -> bytes:
    """A literal whose elements are all equal."""
    return literal_bytes(np.full(1, value), dtype) * size_of(shape)


def number_text(value: Any, dtype: DType) -> str:
    """The shortest text that reads back to the same value of the dtype."""
    if dtype is dtypes.float32:
        return _float32(value)
    if dtype.is_float:
        return _float(value) if dtype is dtypes.float64 else _narrow(value, dtype)
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_complex:
        part = dtypes.float32 if dtype is dtypes.complex64 else dtypes.float64
        return f"complex({number_text(value.real, part)}, {number_text(value.imag, part)})"
    return str(int(value))


def _float(value: float) -> str:
    return float.__repr__(float(value)) if isfinite(value) else _special(value)


def _special(value: float) -> str:
    if isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"


def _float32(value: float) -> str:
    return str(np.float32(value)) if isfinite(value) else _special(value)


def _narrow(value: float, dtype: DType) -> str:
    """float16 and bfloat16: as few digits as their own type needs."""
    number = float(value)
    if not isfinite(number):
        return _special(number)
    for digits in range(1, 9):
        text = float.__repr__(float(f"{number:.{digits}g}"))
        if float(dtype.np.type(float(text))) == number:
            return text
    return float.__repr__(number)


class Written(float):
    """A decimal just beside a float64 that may lie halfway between two narrower floats.

    `above` says on which side of the float64 the decimal is: rounding to a narrower dtype goes
    there, where the float64 alone would be rounded to even.
    """

    __slots__ = ("above",)
    above: bool


class WrittenComplex(complex):
    """A complex number of two parts, each as it was written."""

    __slots__ = ("parts",)
    parts: tuple[float, float]


_ZERO_HALFWAY = 2**28 - 1  # bits of a float64 that are 0 halfway between two narrower floats


def written(text: str) -> float:
    """The float64 that a decimal stands for, with its side where a narrower float needs it."""
    return _beside(float(text), lambda: Decimal(text))


def written_complex(real: float, imaginary: float) -> complex:
    """A complex number that remembers its parts."""
    number = WrittenComplex(real, imaginary)
    number.parts = (real, imaginary)
    return number


def _beside(value: float, true: Callable[[], Any]) -> float:
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    if bits & _ZERO_HALFWAY or not isfinite(value) or true() == Decimal(value):
        return value
    number = Written(value)
    number.above = true() > Decimal(value)
    return number


def exact(value: Any, dtype: DType) -> Any:
    """A number from a text as a value of the dtype; E4005 if it is none."""
    kind = type(value)
    if dtype.is_float:
        if kind is int or isinstance(value, float):
            return _exact_float(value, dtype)
    elif dtype.is_bool:
        if kind is bool:
            return value
    elif dtype.is_complex:
        if kind is int or isinstance(value, (float, complex)):
            return _exact_complex(value, dtype)
    elif kind is int:
        if dtype.min <= value <= dtype.max:
            return value
        raise fault("E4005", f"an integer is outside {dtype.short} ({dtype.min} to {dtype.max})")
    raise fault("E4005", f"a {_named(value)} is no value of {dtype.short}")


def _named(value: Any) -> str:
    return {bool: "truth value", int: "whole number", complex: "complex number"}.get(
        type(value), "number with a fraction"
    )


def _exact_float(value: Any, dtype: DType) -> float:
    try:
        wide = float(value)
    except OverflowError:
        wide = float("inf")
    side = _beside(wide, lambda: Decimal(value)) if type(value) is int else value
    if type(side) is Written and dtype is not dtypes.float64:
        wide = nextafter(wide, inf if side.above else -inf)
    rounded = float(narrowed(np.float64(wide), dtype))
    if isinf(rounded) and not (isinstance(value, float) and isinf(value)):
        raise fault("E4005", f"a number is too large for {dtype.short}", "write inf if it is meant")
    return rounded


def narrowed(values: Any, dtype: DType) -> Any:
    """float64 rounded once. NumPy's conversion to bfloat16 goes through float32, where the first
    rounding is therefore made to odd, which the second one cannot mistake for a tie."""
    with np.errstate(over="ignore"):
        if dtype is not dtypes.bfloat16:
            return values.astype(dtype.np)
        single = values.astype(np.float32)
        too_far = np.abs(single.astype(np.float64)) > np.abs(values)
        bits = single.view(np.uint32)
        odd = (bits - too_far.astype(np.uint32)) | np.uint32(1)
        exactly = (single == values) | ~np.isfinite(values)
        return np.where(exactly, bits, odd).astype(np.uint32).view(np.float32).astype(dtype.np)


def _exact_complex(value: Any, dtype: DType) -> complex:
    part = dtypes.float32 if dtype is dtypes.complex64 else dtypes.float64
    number = value if isinstance(value, complex) else complex(value)
    parts = number.parts if type(number) is WrittenComplex else (number.real, number.imag)
    real, imaginary = (_exact_float(p, part) for p in parts)
    return complex(real, imaginary)


def literal_text(data: bytes, dtype: DType, shape: Shape) -> str:
    """`[[1.0, 2.0], [3.0, 4.0]]`."""
    array = literal_array(data, dtype, (size_of(shape),))
    texts = _texts(array, dtype)
    if not shape:
        return next(texts)
    items = list(texts)
    for extent in reversed(shape[1:]):
        if extent == 0:
            return _empty(shape)
        items = [f"[{', '.join(items[i : i + extent])}]" for i in range(0, len(items), extent)]
    return f"[{', '.join(items)}]"


def _empty(shape: Shape) -> str:
    """Lists down to the first extent that is 0."""
    text = "[]"
    for extent in reversed(shape[: shape.index(0)]):
        text = f"[{', '.join([text] * extent)}]"
    return text


def _texts(array: Array, dtype: DType) -> Iterator[str]:
    if dtype is dtypes.float32:
        return map(_float32, array)
    if dtype.is_int:
        return map(str, array.tolist())
    values = array.astype(np.float32) if dtype.is_float and dtype.itemsize < 4 else array
    return (number_text(v, dtype) for v in values.tolist())


def scalar(data: bytes, dtype: DType) -> Any:
    """The Python number of a literal with one element."""
    value = np.frombuffer(data, _little(dtype))[0]
    return value.item() if dtype.np.kind != "V" else float(value)
