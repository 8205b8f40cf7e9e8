"""log, log2, log10, log1p and what is made of them: asinh, acosh, atanh, logaddexp.

x = 2ᵏ·(1 + f) with √½ ≤ 1 + f < √2. log(1 + f) = f - f²/2 + tail: a polynomial in float32; in
float64 the odd series of s = f / (2 + f), which needs half as many terms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ir.broadcast import elementwise
from adjoint.ir.derivative import Diagonal
from adjoint.ir.dtype import dtypes, to_float
from adjoint.ir.kernel_kind import EXPENSIVE
from adjoint.ir.precision import full
from adjoint.ir.uop import UOp
from adjoint.ops.mathematics.exp import LN2, exp_of_negative
from adjoint.ops.mathematics.nodes import (
    absolute,
    apply,
    bits,
    cast,
    fitted,
    fma,
    format_of,
    like,
    masked,
    minus,
    over,
    pick,
    plus,
    power_of_two,
    shifted_right,
    test,
    times,
    where,
    with_sign,
)
from adjoint.ops.mathematics.polynomials import LOG, LOG_EVEN
from adjoint.ops.mathematics.real_function import as_float, real_function
from adjoint.ops.samples import binary

_ROOT_HALF_BITS = {"float32": 0x3F3504F3, "float64": 0x3FE6A09E667F3BCD}
_LOG2_E = {
    "float32": (1.4426950216293335, 1.9259629911266175e-08),
    "float64": (1.4426950408889634, 2.0355273740931033e-17),
}
_LOG10_E = {
    "float32": (0.4342944920063019, -1.0103050052231683e-08),
    "float64": (0.4342944819032518, 1.098319650216765e-17),
}
_LOG10_2 = {  # the first piece is short, so that its product with an exponent is exact
    "float32": (0.301025390625, 4.605038981195214e-06),
    "float64": (0.30102999566383914, 1.42050232272661e-13),
}


def split(x: UOp, subnormal: bool = True) -> tuple[UOp, UOp]:
    """k as an integer and 1 + f, for positive x."""
    form = format_of(x)
    lift = form.mantissa + 1
    if subnormal:
        small = test("lt", x, form.tiny)
        x = where(small, times(x, 2.0**lift), x)
    offset = _ROOT_HALF_BITS[x.dtype.name]
    moved = minus(bits(x, form.signed), offset)
    k = shifted_right(moved, form.mantissa)
    if subnormal:
        k = plus(k, pick(small, -lift, 0, form.signed))
    significand = masked(moved, (1 << form.mantissa) - 1)
    return k, bits(plus(significand, offset), form.dtype)


def _half_square(f: UOp) -> UOp:
    return times(times(f, 0.5), f)


def _tail(f: UOp, half_square: UOp) -> UOp:
    """log(1 + f) - f + f²/2."""
    if f.dtype is dtypes.float32:
        return times(times(times(f, f), f), fitted(f, LOG))
    s = over(f, plus(f, 2.0))
    z = times(s, s)
    return times(s, fma(z, fitted(z, LOG_EVEN), half_square))


def _joined(k: UOp, f: UOp) -> UOp:
    """k·ln 2 + log(1 + f)."""
    high, low = LN2[f.dtype.name]
    half_square = _half_square(f)
    rest = minus(fma(k, low, _tail(f, half_square)), half_square)
    return fma(k, high, plus(f, rest))


def _ends(x: UOp, value: UOp) -> UOp:
    """What a logarithm is at 0, below, at infinity and at NaN."""
    value = where(test("lt", x, math.inf), value, x)
    value = where(test("eq", x, 0.0), -math.inf, value)
    return where(test("lt", x, 0.0), math.nan, value)


def log_of(x: UOp) -> UOp:
    """The natural logarithm."""
    k, m = split(x)
    return _ends(x, _joined(cast(k, x.dtype), minus(m, 1.0)))


def log_of_normal(x: UOp) -> UOp:
    """The natural logarithm of a number that is positive, finite and no subnormal."""
    k, m = split(x, subnormal=False)
    return _joined(cast(k, x.dtype), minus(m, 1.0))


def log1p_of(x: UOp) -> UOp:
    """log(1 + x): what 1 + x rounds away is added to f."""
    form = format_of(x)
    u = plus(x, 1.0)
    large = test("lt", like(1.0, x), absolute(x))
    lost = where(large, minus(1.0, minus(u, x)), minus(x, minus(u, 1.0)))
    k, m = split(u, subnormal=False)
    shrink = power_of_two(minus(0, apply("minimum", k, like(form.bias - 1, k))), form)
    value = _joined(cast(k, x.dtype), fma(lost, shrink, minus(m, 1.0)))
    return with_sign(_ends_of_one(x, u, value), x)


def _ends_of_one(x: UOp, u: UOp, value: UOp) -> UOp:
    value = where(test("lt", u, math.inf), value, x)
    value = where(test("eq", u, 0.0), -math.inf, value)
    return where(test("lt", u, 0.0), math.nan, value)


def _in_base(x: UOp, scale: tuple[float, float], two: tuple[float, float]) -> UOp:
    """log(x) in another base: `scale` is log(e) there and `two` is log(2), each in two pieces."""
    k, m = split(x)
    count, f = cast(k, x.dtype), minus(m, 1.0)
    half_square = _half_square(f)
    high = minus(f, half_square)
    low = plus(minus(minus(f, high), half_square), _tail(f, half_square))
    first = times(high, scale[0])
    rest = fma(high, scale[0], apply("neg", first))
    rest = fma(low, scale[0], fma(high, scale[1], rest))
    whole = count if two == (1.0, 0.0) else times(count, two[0])
    rest = rest if two == (1.0, 0.0) else fma(count, two[1], rest)
    total = plus(whole, first)
    rest = plus(rest, plus(minus(whole, total), first))
    return _ends(x, plus(total, rest))


def log2_of(x: UOp) -> UOp:
    """The logarithm to base 2."""
    return _in_base(x, _LOG2_E[x.dtype.name], (1.0, 0.0))


def log10_of(x: UOp) -> UOp:
    """The logarithm to base 10."""
    return _in_base(x, _LOG10_E[x.dtype.name], _LOG10_2[x.dtype.name])


def _in_double(function: Any) -> Any:
    """A function of float64 for float32 too, computed in float64."""

    def wide(x: UOp) -> UOp:
        if x.dtype is dtypes.float64:
            return function(x)
        return cast(function(cast(x, dtypes.float64)), x.dtype)

    return wide


_HUGE = 2.0**28  # from here on x² + 1 rounds to x²


@_in_double
def asinh_of(x: UOp) -> UOp:
    """log(|x| + √(x² + 1)) with the sign of x."""
    a = absolute(x)
    huge = test("lt", like(_HUGE, a), a)
    square = times(a, a)
    root = apply("sqrt", plus(square, 1.0))
    inner = plus(a, over(square, plus(root, 1.0)))
    value = log1p_of(where(huge, minus(a, 1.0), inner))
    return with_sign(where(huge, plus(value, LN2["float64"][0]), value), x)


@_in_double
def acosh_of(x: UOp) -> UOp:
    """log(x + √(x² - 1)); NaN below 1."""
    huge = test("lt", like(_HUGE, x), x)
    t = minus(x, 1.0)
    inner = plus(t, apply("sqrt", fma(t, t, plus(t, t))))
    value = log1p_of(where(huge, t, inner))
    value = where(huge, plus(value, LN2["float64"][0]), value)
    return where(test("lt", x, 1.0), math.nan, value)


@_in_double
def atanh_of(x: UOp) -> UOp:
    """log((1 + x) / (1 - x)) / 2."""
    a = absolute(x)
    value = log1p_of(over(plus(a, a), minus(1.0, a)))
    return with_sign(times(value, 0.5), x)


def logaddexp_of(a: UOp, b: UOp) -> UOp:
    """log(exp(a) + exp(b)) from the larger and the difference."""
    gap = apply("neg", absolute(minus(a, b)))
    more = log1p_of(exp_of_negative(gap))
    value = plus(apply("maximum", a, b), more)
    return where(test("eq", a, b), plus(a, LN2[a.dtype.name][0]), value)


def _acosh_partial(y: UOp, x: UOp) -> UOp:
    """`1 / sqrt(x² - 1)`; of complex numbers the roots have their branches each."""
    if x.dtype.is_complex:
        return (x - 1).rsqrt() * (x + 1).rsqrt()
    return ((x - 1) * (x + 1)).rsqrt()


log = real_function(
    "log",
    "Natural logarithm.",
    log_of,
    np.log,
    Diagonal(lambda d, y, x: (d / x,)),  # rounded once, where a product with 1 / x is rounded twice
    0.1,
    4,
    precision=full,
)
log2 = real_function(
    "log2",
    "Base-2 logarithm.",
    log2_of,
    np.log2,
    lambda y, x: 1 / (x * math.log(2)),
    0.1,
    4,
    precision=full,
)
log10 = real_function(
    "log10",
    "Base-10 logarithm.",
    log10_of,
    np.log10,
    lambda y, x: 1 / (x * math.log(10)),
    0.1,
    4,
    precision=full,
)
log1p = real_function(
    "log1p",
    "`log(1 + x)`, exact near 0.",
    log1p_of,
    np.log1p,
    lambda y, x: 1 / (x + 1),
    -0.9,
    precision=full,
)
asinh = real_function(
    "asinh", "Inverse of sinh.", asinh_of, np.arcsinh, lambda y, x: (x * x + 1).rsqrt()
)
acosh = real_function(
    "acosh",
    "Inverse of cosh.",
    acosh_of,
    np.arccosh,
    _acosh_partial,
    1.1,
    4,
)
atanh = real_function(
    "atanh", "Inverse of tanh.", atanh_of, np.arctanh, lambda y, x: 1 / (1 - x * x), -0.9, 0.9
)
logaddexp = elementwise(
    "logaddexp",
    "`log(exp(x) + exp(y))` without overflow.",
    cost=EXPENSIVE,
    kinds="f",
    cast=to_float,
    partials=lambda y, a, b: ((a - b).sigmoid(), (b - a).sigmoid()),
    body=logaddexp_of,
    reference=lambda a, b: np.logaddexp(as_float(a), as_float(b)),
    samples=binary(),
    precision=full,
)
