"""The logarithm of |Γ(x)|.

From 8 on Stirling's series; below, the recurrence leads to the interval around 2, where lgamma(2 + t)
is t times a polynomial, so that the zeros at 1 and 2 are good to the last bits. A negative x is
reflected. float32 is computed in float64.
"""

from __future__ import annotations

import math

from adjoint.ir.dtype import dtypes
from adjoint.ir.uop import UOp
from adjoint.kernel.math_coefficients import COS, LGAMMA, SIN, STIRLING
from adjoint.kernel.math_log import log
from adjoint.kernel.math_nodes import (
    absolute,
    apply,
    cast,
    fitted,
    fma,
    like,
    minus,
    over,
    plus,
    test,
    times,
    where,
)

_STIRLING_FROM = 8.0
_STEPS_DOWN, _STEPS_UP = 6, 2
_CONSTANT = math.log(2 * math.pi) / 2 - 0.5


def lgamma(x: UOp) -> UOp:
    """log |Γ(x)|."""
    if x.dtype is dtypes.float64:
        return _lgamma(x)
    return cast(_lgamma(cast(x, dtypes.float64)), x.dtype)


def _lgamma(x: UOp) -> UOp:
    a = absolute(x)
    value = where(test("lt", a, _STIRLING_FROM), _near(a), _stirling(a))
    reflected = minus(log(over(math.pi, times(a, _sine_of_turns(a)))), value)
    value = where(test("lt", x, -(2.0**-54)), reflected, value)
    return where(test("eq", a, math.inf), math.inf, value)


def _stirling(a: UOp) -> UOp:
    inverse = over(1.0, a)
    series = fma(fitted(times(inverse, inverse), STIRLING), inverse, _CONSTANT)
    return fma(minus(a, 0.5), minus(log(a), 1.0), series)


def _near(a: UOp) -> UOp:
    """Γ(y) = (y - 1)·Γ(y - 1): the factors on the way to 1.5 ≤ y < 2.5 are one logarithm."""
    y, down, up = a, like(1.0, a), like(1.0, a)
    for _ in range(_STEPS_DOWN):
        move = test("le", like(2.5, y), y)
        less = minus(y, 1.0)
        y, down = where(move, less, y), where(move, times(down, less), down)
    for _ in range(_STEPS_UP):
        move = test("lt", y, 1.5)
        up, y = where(move, times(up, y), up), where(move, plus(y, 1.0), y)
    low = test("lt", a, 1.5)
    factors = log(where(low, up, down))
    t = minus(y, 2.0)
    return fma(t, fitted(t, LGAMMA), where(low, apply("neg", factors), factors))


def _sine_of_turns(a: UOp) -> UOp:
    """sin(π·a) without its sign: a less its nearest integer is exact."""
    r = absolute(minus(a, apply("round", a)))
    steep = test("lt", like(0.25, r), r)
    r = times(where(steep, minus(0.5, r), r), math.pi)
    z = times(r, r)
    sine = fma(times(z, r), fitted(z, SIN), r)
    cosine = fma(times(z, z), fitted(z, COS), fma(z, -0.5, 1.0))
    return where(steep, cosine, sine)
