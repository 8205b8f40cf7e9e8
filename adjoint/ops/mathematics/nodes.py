"""Scalar kernel nodes made quickly, and facts about float formats."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, make_node

Coefficients = Mapping[str, Sequence[float]]
NARROW = (dtypes.float16, dtypes.bfloat16)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Format:
    """A float format: its integers of the same width and the layout of its bits."""

    dtype: DType
    signed: DType
    unsigned: DType
    mantissa: int  # stored bits of the significand
    bias: int

    @property
    def magic(self) -> float:
        """Added to a small number it leaves the nearest integer in the low bits."""
        return 1.5 * 2.0**self.mantissa

    @property
    def tiny(self) -> float:
        """The least normal number."""
        return 2.0 ** (1 - self.bias)


SINGLE = Format(dtypes.float32, dtypes.int32, dtypes.uint32, 23, 127)
DOUBLE = Format(dtypes.float64, dtypes.int64, dtypes.uint64, 52, 1023)
_FORMATS = {dtypes.float32: SINGLE, dtypes.float64: DOUBLE}


def format_of(x: UOp) -> Format:
    """The format of a node, which is float32 or float64."""
    return _FORMATS[x.dtype]


def compute_dtype(dtype: DType) -> DType:
    """The dtype in which a kernel holds values of a dtype: narrow floats are held as float32."""
    return dtypes.float32 if dtype in NARROW else dtype


def rounded(value: UOp, dtype: DType) -> UOp:
    """A held value after rounding to the narrow dtype; any other dtype needs no rounding."""
    return cast(cast(value, dtype), dtypes.float32) if dtype in NARROW else value


def single(value: float) -> float:
    """The nearest float32; a float beyond the range is an infinity."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def number(value: Any, dtype: DType) -> UOp:
    """A constant, as the dtype holds it."""
    if dtype is dtypes.float32 and value:
        value = single(value)
    return OPS["const"].call(value, dtype)


def like(value: Any, x: UOp) -> UOp:
    """A constant of the dtype of a node."""
    return number(value, x.dtype)


def _operand(x: Any, beside: UOp) -> UOp:
    return x if type(x) is UOp else number(x, beside.dtype)


def fma(a: UOp, b: Any, c: Any) -> UOp:
    """`a * b + c` rounded once; numbers take the dtype of `a`."""
    return make_node(OPS["fma"], (a, _operand(b, a), _operand(c, a)), None, (), a.dtype)


def where(cond: UOp, a: Any, b: Any) -> UOp:
    """`a` where the condition holds, else `b`; one of them may be a number."""
    if type(a) is not UOp:
        a = number(a, b.dtype)
    return make_node(OPS["where"], (cond, a, _operand(b, a)), None, (), a.dtype)


def pick(cond: UOp, a: Any, b: Any, dtype: DType) -> UOp:
    """WHERE between two numbers."""
    return where(cond, number(a, dtype), number(b, dtype))


@lru_cache(maxsize=64)
def _kind(dtype: DType) -> Any:
    kind = OPS["cast"].arg
    assert kind is not None
    return kind(dtype)


def cast(x: UOp, dtype: DType) -> UOp:
    """A basic CAST: a float that becomes an integer is in its range."""
    return x if x.dtype is dtype else make_node(OPS["cast"], (x,), _kind(dtype), (), dtype)


def bits(x: UOp, dtype: DType) -> UOp:
    """A basic BITCAST."""
    return x if x.dtype is dtype else make_node(OPS["bitcast"], (x,), _kind(dtype), (), dtype)


def apply(name: str, *operands: UOp) -> UOp:
    """An op on operands of one dtype, which is that of its result."""
    return make_node(OPS[name], operands, None, (), operands[0].dtype)


def test(name: str, a: UOp, b: Any) -> UOp:
    """A comparison: lt, le, eq, ne."""
    return make_node(OPS[name], (a, _operand(b, a)), None, (), dtypes.bool_)


def times(a: UOp, b: Any) -> UOp:
    """A product with a number or a node."""
    return apply("mul", a, _operand(b, a))


def plus(a: UOp, b: Any) -> UOp:
    """A sum with a number or a node."""
    return apply("add", a, _operand(b, a))


def minus(a: Any, b: Any) -> UOp:
    """A difference; one side may be a number."""
    a = _operand(a, b) if type(a) is not UOp else a
    return apply("sub", a, _operand(b, a))


def over(a: Any, b: Any) -> UOp:
    """A quotient of floats; one side may be a number."""
    a = _operand(a, b) if type(a) is not UOp else a
    return apply("true_div", a, _operand(b, a))


def inverse(x: UOp) -> UOp:
    """1 / x for NaN and numbers of 2^-60 to 2^60."""
    return apply("inverse", x)


def absolute(x: UOp) -> UOp:
    """|x|."""
    return apply("abs", x)


def clamped(x: UOp, lo: float | None, hi: float | None) -> UOp:
    """x between two numbers; NaN stays NaN."""
    if lo is not None:
        x = apply("maximum", x, like(lo, x))
    return x if hi is None else apply("minimum", x, like(hi, x))


def with_sign(x: UOp, sign: UOp) -> UOp:
    """|x| with the sign bit of the other."""
    return apply("copysign", x, sign)


def shifted_left(x: UOp, by: Any) -> UOp:
    """`x << by`, by less than the width."""
    return apply("lshift", x, _operand(by, x))


def shifted_right(x: UOp, by: Any) -> UOp:
    """`x >> by`, by less than the width."""
    return apply("rshift", x, _operand(by, x))


def masked(x: UOp, mask: int) -> UOp:
    """The bits of the mask."""
    return apply("bitwise_and", x, like(mask, x))


def polynomial(x: UOp, coefficients: Sequence[float]) -> UOp:
    """Horner's rule with FMA, highest power first."""
    value = like(coefficients[0], x)
    for c in coefficients[1:]:
        value = fma(value, x, c)
    return value


def fitted(x: UOp, table: Coefficients) -> UOp:
    """The polynomial that was fitted for the dtype of x."""
    return polynomial(x, table[x.dtype.name])


def power_of_two(exponent: UOp, form: Format) -> UOp:
    """2 ** exponent for integers of the format's width whose result is a normal number."""
    return bits(shifted_left(plus(exponent, form.bias), form.mantissa), form.dtype)


def is_nan(x: UOp) -> UOp:
    """Whether x is NaN."""
    return test("ne", x, x)


def either(a: UOp, b: UOp) -> UOp:
    """Whether a or b."""
    return apply("logical_or", a, b)


def both(a: UOp, b: UOp) -> UOp:
    """Whether a and b."""
    return apply("logical_and", a, b)


def any_of(a: UOp, b: UOp) -> UOp:
    """What a sum, or the larger, of two truth values is."""
    return either(a, b)


def all_of(a: UOp, b: UOp) -> UOp:
    """What a product, or the smaller, of two truth values is."""
    return both(a, b)


def itself(x: UOp) -> UOp:
    """The operand: what many ops are on integers or truth values."""
    return x


def negated(cond: UOp) -> UOp:
    """Whether not."""
    return apply("logical_not", cond)
