"""Remainders and rounded quotients of floats, exact for every pair of numbers.

|a| = A·2ⁱ and |b| = B·2ʲ with whole A and B; where d = i - j is not negative, the remainder is
A·2ᵈ mod B, times 2ʲ. 2ᵈ mod B comes from a few squarings mod B: no loop, however large d is.
"""

from __future__ import annotations

import math

from adjoint.ir.dtype import dtypes
from adjoint.ir.uop import UOp
from adjoint.ops.mathematics.nodes import (
    DOUBLE,
    absolute,
    apply,
    bits,
    both,
    cast,
    fma,
    like,
    masked,
    minus,
    over,
    plus,
    power_of_two,
    shifted_right,
    test,
    times,
    where,
    with_sign,
)

_SINGLE_STEPS, _DOUBLE_STEPS = 4, 6  # squarings: d / 2**steps is then small enough for 2**it


def fmod(a: UOp, b: UOp) -> UOp:
    """The remainder with the sign of the dividend."""
    x, y = absolute(a), absolute(b)
    if a.dtype is dtypes.float32:
        value = cast(_single_rest(cast(x, dtypes.float64), cast(y, dtypes.float64)), a.dtype)
    else:
        value = _double_rest(x, y)
    defined = both(test("lt", x, math.inf), test("lt", like(0.0, y), y))
    return with_sign(where(defined, value, math.nan), a)


def _parts(x: UOp, significant: int) -> tuple[UOp, UOp]:
    """A float64 as a whole float64 of so many bits, and the exponent of its unit."""
    raw = bits(x, dtypes.int64)
    exponent = minus(shifted_right(raw, 52), 1022 + significant)
    lead = like((1022 + significant) << 52, raw)
    whole = apply("bitwise_or", masked(raw, (1 << 52) - 1), lead)
    return bits(whole, dtypes.float64), exponent


def _power(exponent: UOp) -> UOp:
    return power_of_two(exponent, DOUBLE)


def _single_rest(x: UOp, y: UOp) -> UOp:
    """The remainder of numbers with 24 bits: all products are exact in float64."""
    top, high = _parts(x, 24)
    m, low = _parts(y, 24)
    difference = minus(high, low)
    d = apply("maximum", difference, like(0, difference))

    def rest(product: UOp) -> UOp:
        quotient = apply("trunc", over(product, m))
        return fma(apply("neg", quotient), m, product)

    power = _power(shifted_right(d, _SINGLE_STEPS))
    for _ in range(_SINGLE_STEPS):
        power = rest(times(power, power))
    start = rest(times(top, _power(masked(d, (1 << _SINGLE_STEPS) - 1))))
    value = times(rest(times(start, power)), _power(low))
    return where(test("lt", difference, 0), x, value)


def _normal_parts(x: UOp) -> tuple[UOp, UOp]:
    """The same for a float64 that may be subnormal, with 53 bits."""
    small = test("lt", x, 2.0**-1022)
    whole, exponent = _parts(where(small, times(x, 2.0**64), x), 53)
    return whole, plus(exponent, where(small, -64, like(0, exponent)))


def _double_rest(x: UOp, y: UOp) -> UOp:
    """The remainder of float64; rests are kept between -m/2 and m/2, so that sums are exact."""
    top, high = _normal_parts(x)
    m, low = _normal_parts(y)
    difference = minus(high, low)
    d = apply("maximum", difference, like(0, difference))

    def shifted(value: UOp, by: UOp) -> UOp:
        return _nearest_rest(times(value, _power(by)), m)

    power = _power(shifted_right(d, _DOUBLE_STEPS))
    for _ in range(_DOUBLE_STEPS):
        power = _product_rest(power, power, m)
    left = masked(d, (1 << _DOUBLE_STEPS) - 1)
    half = shifted_right(left, 1)
    value = _product_rest(shifted(shifted(top, half), minus(left, half)), power, m)
    value = where(test("lt", value, 0.0), plus(value, m), value)
    half = shifted_right(low, 1)
    value = times(times(value, _power(half)), _power(minus(low, half)))
    return where(test("lt", difference, 0), x, value)


def _nearest_rest(value: UOp, m: UOp) -> UOp:
    quotient = apply("round", over(value, m))
    return fma(apply("neg", quotient), m, value)


def _product_rest(a: UOp, b: UOp, m: UOp) -> UOp:
    """a·b less the nearest multiple of m."""
    product = times(a, b)
    lost = fma(a, b, apply("neg", product))
    return _nearest_rest(plus(_nearest_rest(product, m), lost), m)


def _differ(b: UOp, remainder: UOp) -> UOp:
    """Whether a remainder that is not 0 has the other sign than the divisor."""
    signs = apply("logical_xor", test("lt", b, 0.0), test("lt", remainder, 0.0))
    return both(signs, test("ne", remainder, 0.0))


def mod(a: UOp, b: UOp) -> UOp:
    """The remainder with the sign of the divisor."""
    remainder = fmod(a, b)
    value = where(_differ(b, remainder), plus(remainder, b), remainder)
    return where(test("eq", remainder, 0.0), with_sign(like(0.0, b), b), value)


def floordiv(a: UOp, b: UOp) -> UOp:
    """The quotient rounded down, as NumPy finds it: from the remainder."""
    remainder = fmod(a, b)
    quotient = over(minus(a, remainder), b)
    quotient = where(_differ(b, remainder), minus(quotient, 1.0), quotient)
    floor = apply("floor", quotient)
    above = test("lt", like(0.5, b), minus(quotient, floor))
    whole = where(above, plus(floor, 1.0), floor)
    plain = over(a, b)
    whole = where(test("eq", quotient, 0.0), with_sign(like(0.0, b), plain), whole)
    return where(test("eq", b, 0.0), plain, whole)
