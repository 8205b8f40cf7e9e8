"""The logarithm of |Γ(x)|.

From 8 on Stirling's series; below, the recurrence leads to the interval around 2, where
lgamma(2 + t) is t times a polynomial, so that the zeros at 1 and 2 are good to the last bits. A
negative x is reflected. float32 is computed in float64.
"""

from __future__ import annotations

import math

from adjoint.ir.dtype import dtypes
from adjoint.ir.uop import UOp
from adjoint.kernel.mathematics.coefficients import COS, LGAMMA, SIN, STIRLING
from adjoint.kernel.mathematics.log import log
from adjoint.kernel.mathematics.nodes import (
    absolute,
    apply,
    cast,
    fitted,
    fma,
    like,
    minus,
    over,
    pick,
    plus,
    test,
    times,
    where,
)

_STIRLING_FROM = 8.0
_CONSTANT = math.log(2 * math.pi) / 2 - 0.5


def lgamma(x: UOp) -> UOp:
    """log |Γ(x)|."""
    if x.dtype is dtypes.float64:
        return _lgamma(x)
    return cast(_lgamma(cast(x, dtypes.float64)), x.dtype)


def _lgamma(x: UOp) -> UOp:
    a = absolute(x)
    near = test("lt", a, _STIRLING_FROM)
    low, factors, polynomial = _near(a)
    logarithm = log(where(near, factors, a))
    close = plus(polynomial, where(low, apply("neg", logarithm), logarithm))
    value = where(near, close, _stirling(a, logarithm))
    reflected = minus(log(over(math.pi, times(a, _sine_of_turns(a)))), value)
    value = where(test("lt", x, -(2.0**-54)), reflected, value)
    return where(test("eq", a, math.inf), math.inf, value)


def _stirling(a: UOp, logarithm: UOp) -> UOp:
    inverse = over(1.0, a)
    series = fma(fitted(times(inverse, inverse), STIRLING), inverse, _CONSTANT)
    return fma(minus(a, 0.5), minus(logarithm, 1.0), series)


def _near(a: UOp) -> tuple[UOp, UOp, UOp]:
    """With a = c + t: whether c is below 2, the product of the factors between Γ(a) and Γ(2 + t),
    and lgamma(2 + t). t is exact. From 1.25 on c is 2, since the terms for c = 1 cancel there."""
    c = apply("maximum", apply("round", a), pick(test("le", like(1.25, a), a), 2.0, 0.0, a.dtype))
    t = minus(a, c)
    product = like(1.0, a)
    for factor in range(2, int(_STIRLING_FROM)):
        taken = test("lt", like(float(factor), c), c)
        product = where(taken, times(product, plus(t, float(factor))), product)
    below = where(test("eq", c, 0.0), times(a, plus(a, 1.0)), a)
    low = test("lt", c, 1.5)
    return low, where(low, below, product), times(t, fitted(t, LGAMMA))


def _sine_of_turns(a: UOp) -> UOp:
    """sin(π·a) without its sign: a less its nearest integer is exact."""
    r = absolute(minus(a, apply("round", a)))
    steep = test("lt", like(0.25, r), r)
    r = times(where(steep, minus(0.5, r), r), math.pi)
    z = times(r, r)
    sine = fma(times(z, r), fitted(z, SIN), r)
    cosine = fma(times(z, z), fitted(z, COS), fma(z, -0.5, 1.0))
    return where(steep, cosine, sine)
