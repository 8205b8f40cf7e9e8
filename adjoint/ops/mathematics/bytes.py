"""Casts between the 8-bit floats and float32, on bits; every other cast goes through float32.

Rounded to nearest even. float8_e5m2 overflows to infinity, float8_e4m3fn, which has none, to NaN. A
NaN keeps its sign and nothing else.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.uop import UOp
from adjoint.ops.mathematics.nodes import (
    apply,
    bits,
    cast,
    masked,
    minus,
    number,
    plus,
    shifted_left,
    shifted_right,
    test,
    times,
    where,
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Layout:
    """The bits of an 8-bit float. `over` are the bits of the least float32 beyond its range."""

    mantissa: int
    bias: int
    over: int
    beyond: int  # what such a number becomes: infinity, or NaN where there is none
    nan: int

    @property
    def last(self) -> int:
        """The largest bits that are no NaN."""
        return 0x7E if self.beyond == self.nan else self.beyond

    @property
    def unused(self) -> int:
        """Bits of a float32's significand that it lacks."""
        return 23 - self.mantissa


def _bits_of(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


_LAYOUTS = {
    dtypes.float8_e4m3fn: _Layout(3, 7, _bits_of(464.0) + 1, 0x7F, 0x7F),  # the tie goes down
    dtypes.float8_e5m2: _Layout(2, 15, _bits_of(61440.0), 0x7C, 0x7E),  # the tie goes up
}
_INFINITY, _NAN = 0x7F800000, 0x7FC00000


def widened(x: UOp, dtype: DType) -> UOp:
    """The float32 of an 8-bit float. The product moves the exponent's zero, and makes a subnormal
    a normal float."""
    form = _LAYOUTS[dtype]
    raw = cast(bits(x, dtypes.uint8), dtypes.uint32)
    size = masked(raw, 0x7F)
    shifted = bits(shifted_left(size, form.unused), dtypes.float32)
    finite = bits(times(shifted, 2.0 ** (127 - form.bias)), dtypes.uint32)
    if form.beyond != form.nan:
        finite = where(test("eq", size, form.beyond), _INFINITY, finite)
    found = where(test("lt", number(form.last, dtypes.uint32), size), _NAN, finite)
    sign = shifted_left(masked(raw, 0x80), 24)
    return bits(apply("bitwise_or", found, sign), dtypes.float32)


def narrowed(x: UOp, dtype: DType) -> UOp:
    """A float32 rounded to an 8-bit float."""
    form = _LAYOUTS[dtype]
    raw = bits(x, dtypes.uint32)
    size = masked(raw, 0x7FFFFFFF)
    least = number((128 - form.bias) << 23, dtypes.uint32)
    finite = where(test("lt", size, least), _subnormal(size, form), _normal(size, form))
    limited = where(test("lt", size, form.over), finite, form.beyond)
    found = where(test("lt", number(_INFINITY, dtypes.uint32), size), form.nan, limited)
    sign = masked(shifted_right(raw, 24), 0x80)
    return bits(cast(apply("bitwise_or", found, sign), dtypes.uint8), dtype)


def _normal(size: UOp, form: _Layout) -> UOp:
    odd = masked(shifted_right(size, form.unused), 1)
    raised = plus(plus(size, (1 << (form.unused - 1)) - 1), odd)
    return shifted_right(minus(raised, (127 - form.bias) << 23), form.unused)


def _subnormal(size: UOp, form: _Layout) -> UOp:
    """Adding this power leaves the number, rounded to nearest even, in the low bits of the sum."""
    power = 2.0 ** (24 - form.bias - form.mantissa)
    total = bits(plus(bits(size, dtypes.float32), power), dtypes.uint32)
    return minus(total, _bits_of(power))
