"""The logarithm of |Γ(x)|.

From 8 on Stirling's series; below, the recurrence leads to the interval around 2, where
lgamma(2 + t) is t times a polynomial, so that the zeros at 1 and 2 are good to the last bits. A
negative x is reflected. float32 is computed in float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.errors import ShapeError
from adjoint.ir.arg import Arg
from adjoint.ir.axes import same_axes
from adjoint.ir.batch import same_op
from adjoint.ir.derivative import Jvp
from adjoint.ir.dtype import dtypes, to_float
from adjoint.ir.opdef import Bad, define
from adjoint.ir.uop import UOp
from adjoint.ops.mathematics.log import log_of
from adjoint.ops.mathematics.nodes import (
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
from adjoint.ops.mathematics.polynomials import COS, LGAMMA, SIN, STIRLING
from adjoint.ops.mathematics.real_function import Array, as_float, mapped, real_function
from adjoint.ops.samples import given, real, rough

_STIRLING_FROM = 8.0
_CONSTANT = math.log(2 * math.pi) / 2 - 0.5


def lgamma_of(x: UOp) -> UOp:
    """log |Γ(x)|."""
    if x.dtype is dtypes.float64:
        return _lgamma(x)
    return cast(_lgamma(cast(x, dtypes.float64)), x.dtype)


def _lgamma(x: UOp) -> UOp:
    a = absolute(x)
    near = test("lt", a, _STIRLING_FROM)
    low, factors, polynomial = _near(a)
    logarithm = log_of(where(near, factors, a))
    close = plus(polynomial, where(low, apply("neg", logarithm), logarithm))
    value = where(near, close, _stirling(a, logarithm))
    reflected = minus(log_of(over(math.pi, times(a, _sine_of_turns(a)))), value)
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


lgamma = real_function(
    "lgamma",
    "Logarithm of |Γ(x)|.",
    lgamma_of,
    mapped(math.lgamma),
    lambda y, x: x.polygamma(0),
    0.3,
    4,
    kinds="f",
)


class PolygammaArg(Arg):
    n: int


def _polygamma(x: UOp, n: int) -> UOp:
    if not isinstance(n, int) or n < 0:
        raise ShapeError("E3006", f"the order is an int ≥ 0, got {n!r}", op="polygamma")
    operand = x if x.dtype.is_float else x.cast(to_float(x.dtype))
    return UOp(polygamma, (operand,), PolygammaArg(n))


def _polygamma_reference(x: Any, n: int) -> Array:
    """Reflection for x < 0, recurrence up to x ≥ 12, then the asymptotic series."""
    source = as_float(x)
    wide = np.array(source, np.float64)
    poles = (wide <= 0) & (wide == np.floor(wide))
    finite = np.where(np.isfinite(wide) & ~poles, wide, 1.0)
    total, shifted = np.zeros_like(wide), np.where(finite < 0, 1 - finite, finite)
    sign = (-1.0) ** (n + 1) * math.factorial(n)
    while np.any(shifted < 12):
        low = shifted < 12
        step = -1 / shifted if n == 0 else sign / shifted ** (n + 1)
        total, shifted = total + np.where(low, step, 0), np.where(low, shifted + 1, shifted)
    result = total + _polygamma_series(shifted, n)
    result = np.where(finite < 0, (-1.0) ** n * result - math.pi * _cotangent(finite, n), result)
    at_infinity = np.inf if n == 0 else 0.0
    result = np.where(np.isposinf(wide), at_infinity, result)
    result = np.where(np.isneginf(wide) | np.isnan(wide), np.nan, result)
    # For odd n both sides of a pole rise; for even n only a signed zero tells them apart.
    sided = np.where(wide == 0, -np.copysign(np.inf, wide), np.nan)
    result = np.where(poles & np.isfinite(wide), np.inf if n % 2 else sided, result)
    return result.astype(source.dtype)


def _cotangent(x: Array, n: int) -> Array:
    """The n-th derivative of cot(πx), which is a polynomial of the cotangent."""
    value = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        value = value.deriv() * np.polynomial.Polynomial([-math.pi, 0.0, -math.pi])
    turn = np.pi * (x - np.rint(x))  # exact for any x, where tan(πx) would see a rounded angle
    return np.asarray(value(1 / np.tan(np.where(turn == 0, 1.0, turn))))


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def _polygamma_series(x: Array, n: int) -> Array:
    if n == 0:
        terms = [b / (2 * k * x ** (2 * k)) for k, b in enumerate(_BERNOULLI, 1)]
        return np.log(x) - 0.5 / x - sum(terms)
    head = math.factorial(n - 1) / x**n + math.factorial(n) / (2 * x ** (n + 1))
    for k, b in enumerate(_BERNOULLI, 1):
        scale = math.factorial(2 * k + n - 1) / math.factorial(2 * k)
        head = head + b * scale / x ** (2 * k + n)
    return (-1.0) ** (n + 1) * head


polygamma = define(
    "polygamma",
    "The n-th derivative of the digamma function.",
    arg=PolygammaArg,
    call=_polygamma,
    infer=lambda src, arg: (src[0].shape, src[0].dtype),
    ad=Jvp(lambda t, y, x, n: t[0] * x.polygamma(n + 1)),
    reference=_polygamma_reference,
    samples=given(
        (real(2, 3, lo=0.3), 0),
        (real(3, lo=0.3), 1),
        (real(lo=0.3, hi=20), 2),
        (np.array([-0.25, -7.5, -20000.5]), 0),
        (np.array([-0.25, -7.5]), 3),
        rough(np.array([0.0, -0.0, -3.0, np.inf, -np.inf, np.nan]), 0),
        rough(np.array([0.0, -0.0, -3.0, np.inf, -np.inf, np.nan]), 1),
    ),
    errors=(Bad("E3006", (real(2), -1), match="order"),),
    kinds="f",
    batch=same_op,
    axes=same_axes,
)
