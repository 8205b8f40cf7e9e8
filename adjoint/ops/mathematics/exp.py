"""exp, exp2, expm1 and what is made of them: sigmoid, tanh, sinh, cosh.

x = n·ln 2 + r with |r| ≤ ln 2 / 2; exp(r) is a polynomial, 2ⁿ is put together from bits. r is
exact up to its last rounding: n·hi is subtracted by FMA, which cancels without error.
"""

from __future__ import annotations

import math

import numpy as np

from adjoint.ir.precision import full
from adjoint.ir.uop import UOp
from adjoint.ops.mathematics.nodes import (
    Format,
    absolute,
    apply,
    bits,
    clamped,
    fitted,
    fma,
    format_of,
    inverse,
    like,
    minus,
    over,
    pick,
    plus,
    power_of_two,
    shifted_left,
    single,
    test,
    times,
    where,
    with_sign,
)
from adjoint.ops.mathematics.polynomials import EXP, EXP2, SINH, TANH
from adjoint.ops.mathematics.real_function import Array, real_function

_LOG2_E = 1 / math.log(2)
LN2 = {  # ln 2 in two pieces, the first with all bits of the dtype
    "float32": (single(math.log(2)), math.log(2) - single(math.log(2))),
    "float64": (math.log(2), 2.3190468138462996e-17),
}
_RANGE = {"float32": (-105.0, 89.5), "float64": (-746.0, 710.5)}  # past it: 0 and infinity
_RANGE2 = {"float32": (-152.0, 129.0), "float64": (-1077.0, 1025.0)}


def _nearest(x: UOp, scale: float, form: Format, more: int = 0) -> tuple[UOp, UOp]:
    """x·scale rounded to an integer: as a float, and, plus an even number, in the low bits of an
    integer."""
    magic = form.magic + more
    shifted = fma(x, scale, magic)
    return minus(shifted, magic), bits(shifted, form.signed)


def _rest(x: UOp, n: UOp) -> UOp:
    """x - n·ln 2."""
    high, low = LN2[x.dtype.name]
    return fma(n, -low, fma(n, -high, x))


def _grown(r: UOp) -> UOp:
    """exp(r) for small r."""
    return fma(fma(fitted(r, EXP), r, 1.0), r, 1.0)


def _less_one(x: UOp, n: UOp) -> tuple[UOp, UOp]:
    """r and t with r + t = exp(x - n·ln 2) - 1, where the rounding of r is made good."""
    high, low = LN2[x.dtype.name]
    first = fma(n, -high, x)
    r = fma(n, -low, first)
    lost = fma(n, -low, minus(first, r))
    return r, fma(times(r, r), fitted(r, EXP), lost)


def _half_width(form: Format) -> int:
    """An exponent such that 2 ** ±it is normal, and so is any result of exp times it."""
    return (form.bias + 1) // 2


def scaled(value: UOp, low_bits: UOp, x: UOp) -> UOp:
    """value·2ⁿ, rounded once where it is subnormal; n, which has the sign of x, is in the low bits.

    Half of the exponent is a constant factor, so that both factors are normal numbers.
    """
    form, negative = format_of(value), test("lt", x, 0.0)
    half = _half_width(form)
    bias = pick(negative, form.bias + half, form.bias - half, form.signed)
    power = bits(shifted_left(plus(low_bits, bias), form.mantissa), form.dtype)
    rest = pick(negative, 2.0**-half, 2.0**half, form.dtype)
    return times(times(value, power), rest)


def exp_of(x: UOp) -> UOp:
    """exp(x)."""
    form = format_of(x)
    x = clamped(x, *_RANGE[x.dtype.name])
    n, low_bits = _nearest(x, _LOG2_E, form)
    return scaled(_grown(_rest(x, n)), low_bits, x)


def exp2_of(x: UOp) -> UOp:
    """2ˣ."""
    return exp2_of_sum(clamped(x, *_RANGE2[x.dtype.name]), None)


def exp2_of_sum(x: UOp, low: UOp | None) -> UOp:
    """2 ** (x + low) for x in range and a low part that is small beside it."""
    form = format_of(x)
    n, low_bits = _nearest(x, 1.0, form)
    r = minus(x, n) if low is None else plus(minus(x, n), low)
    return scaled(fma(fitted(r, EXP2), r, 1.0), low_bits, x)


def expm1_of(x: UOp) -> UOp:
    """exp(x) - 1."""
    return with_sign(_expm1(x, 88.8 if x.dtype.itemsize == 4 else 709.9), x)


def _expm1(x: UOp, most: float) -> UOp:
    """2ⁿ·(exp(r) - 1) + (2ⁿ - 1); where 2ⁿ would overflow, half of it, doubled at the end."""
    form = format_of(x)
    x = clamped(x, -18.0 if form.mantissa == 23 else -38.0, most)
    n, low_bits = _nearest(x, _LOG2_E, form)
    r, t = _less_one(x, n)
    last = test("lt", like(form.bias + 0.5, n), n)
    power = power_of_two(plus(low_bits, pick(last, -1, 0, form.signed)), form)
    offset = minus(power, pick(last, 0.5, 1.0, form.dtype))
    value = fma(power, t, fma(power, r, offset))
    return times(value, pick(last, 2.0, 1.0, form.dtype))


def _expm1_pair(x: UOp) -> tuple[UOp, UOp]:
    """exp(x) - 1 for 0 ≤ x ≤ 40 as a sum of two, the second about 2⁻⁵³ of the first."""
    form = format_of(x)
    n, low_bits = _nearest(x, _LOG2_E, form)
    r, t = _less_one(x, n)
    power = power_of_two(low_bits, form)
    first = fma(power, r, minus(power, 1.0))
    high = fma(power, t, first)
    return high, fma(power, t, minus(first, high))


def exp_of_negative(x: UOp) -> UOp:
    """exp(x) for x ≤ 0, with one constant for the half of the exponent."""
    form = format_of(x)
    x = clamped(x, _RANGE[x.dtype.name][0], None)
    half = _half_width(form)
    n, low_bits = _nearest(x, _LOG2_E, form)
    power = bits(shifted_left(plus(low_bits, form.bias + half), form.mantissa), form.dtype)
    return times(times(_grown(_rest(x, n)), power), 2.0**-half)


def sigmoid_of(x: UOp) -> UOp:
    """1 - e / (1 + e) with e = exp(-|x|), and e times that for negative x: nothing overflows."""
    grown = exp_of_negative(apply("neg", absolute(x)))
    part = over(grown, plus(grown, 1.0))
    factor = where(test("lt", x, 0.0), grown, 1.0)
    return fma(apply("neg", factor), part, factor)


def tanh_of(x: UOp) -> UOp:
    """1 - 1 / (exp(2|x|)/2 + 1/2), and a polynomial for small x; float64 has a way of its own."""
    a = absolute(x)
    if x.dtype.itemsize == 8:
        return with_sign(_tanh_wide(clamped(a, None, 20.0)), x)
    form, z = format_of(x), times(x, x)
    bound = clamped(a, None, 9.1)
    doubled = plus(bound, bound)
    n, exponent = _nearest(doubled, _LOG2_E, form, form.bias - 1)
    half_power = bits(shifted_left(exponent, form.mantissa), form.dtype)
    large = minus(1.0, inverse(fma(_grown(_rest(doubled, n)), half_power, 0.5)))
    small = fma(times(fitted(z, TANH), z), a, a)
    return with_sign(where(test("lt", a, 0.625), small, large), x)


def _tanh_wide(a: UOp) -> UOp:
    """m / (m + 2) with m = exp(2a) - 1, and one step that makes good what was rounded away."""
    top, top_low = _expm1_pair(plus(a, a))
    bottom = plus(top, 2.0)
    bottom_low = plus(minus(top, minus(bottom, 2.0)), top_low)
    ratio = over(top, bottom)
    less = apply("neg", ratio)
    rest = plus(fma(less, bottom, top), fma(less, bottom_low, top_low))
    better = fma(rest, fma(less, 0.5, 0.5), ratio)  # (1 - ratio) / 2 is 1 / (m + 2)
    return where(test("lt", a, 8.0), better, ratio)


def _half_exp(a: UOp) -> UOp:
    """exp(a)/2 for a ≥ 0, which overflows only where that does."""
    form = format_of(a)
    a = clamped(a, None, _RANGE[a.dtype.name][1] + 1.0)
    n, low_bits = _nearest(a, _LOG2_E, form)
    half = _half_width(form)
    power = bits(shifted_left(plus(low_bits, form.bias - half - 1), form.mantissa), form.dtype)
    return times(times(_grown(_rest(a, n)), power), 2.0**half)


def cosh_of(x: UOp) -> UOp:
    """(exp|x| + exp(-|x|)) / 2."""
    grown = _half_exp(absolute(x))
    return plus(grown, over(0.25, grown))


def sinh_of(x: UOp) -> UOp:
    """(exp|x| - exp(-|x|)) / 2, and a polynomial for small x."""
    a, z = absolute(x), times(x, x)
    grown = _half_exp(a)
    large = minus(grown, over(0.25, grown))
    small = fma(times(fitted(z, SINH), z), a, a)
    return with_sign(where(test("lt", a, 1.0), small, large), x)


exp = real_function(
    "exp",
    "Exponential.",
    exp_of,
    np.exp,
    lambda y, x: y,
    precision=full,
    below_zero=exp_of_negative,
)
exp2 = real_function(
    "exp2",
    "Power of two.",
    exp2_of,
    np.exp2,
    lambda y, x: y * math.log(2),
    kinds="f",
    precision=full,
)
expm1 = real_function(
    "expm1", "`exp(x) - 1`, exact near 0.", expm1_of, np.expm1, lambda y, x: y + 1, precision=full
)
sinh = real_function(
    "sinh", "Hyperbolic sine.", sinh_of, np.sinh, lambda y, x: x.cosh(), precision=full
)
cosh = real_function(
    "cosh", "Hyperbolic cosine.", cosh_of, np.cosh, lambda y, x: x.sinh(), precision=full
)
tanh = real_function("tanh", "Hyperbolic tangent.", tanh_of, np.tanh, lambda y, x: 1 - y * y)


def _small_sigmoid(x: Array) -> Array:
    """exp(x) / (1 + exp(x)) for negative x, where the plain form would overflow."""
    grown = np.exp(-np.abs(x))
    return np.where(np.isnan(x), x, grown / (1 + grown))


sigmoid = real_function(
    "sigmoid",
    "Logistic function `1 / (1 + exp(-x))`.",
    sigmoid_of,
    lambda x: np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), _small_sigmoid(x)),
    lambda y, x: y * (1 - y),
    kinds="f",
)
