"""asin, acos, atan and atan2.

atan: |x| is brought to [-tan π/8, tan π/8] by atan(x) = π/4 + atan((x - 1) / (x + 1)) or
π/2 - atan(1 / x). asin: for |x| > ½, asin(x) = π/2 - 2 asin(√((1 - x) / 2)).
"""

from __future__ import annotations

import math

import numpy as np

from adjoint.ir.broadcast import elementwise
from adjoint.ir.dtype import dtypes, to_float
from adjoint.ir.kernel_kind import EXPENSIVE
from adjoint.ir.precision import full, widest
from adjoint.ir.uop import UOp
from adjoint.ops.mathematics.nodes import (
    absolute,
    apply,
    cast,
    either,
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
    with_sign,
)
from adjoint.ops.mathematics.polynomials import ASIN, ATAN
from adjoint.ops.mathematics.real_function import as_float, real_function
from adjoint.ops.samples import binary

_HALF_PI = {
    "float32": (1.5707963705062866, -4.3711390001862426e-08),
    "float64": (1.5707963267948966, 6.123233995736766e-17),
}
_QUARTER_PI = (0.7853981633974483, 3.061616997868383e-17)
_TAN_EIGHTH = math.sqrt(2) - 1


def atan_of(x: UOp) -> UOp:
    """The arc tangent."""
    a = absolute(x)
    middle, far = test("lt", like(_TAN_EIGHTH, a), a), test("lt", like(1 / _TAN_EIGHTH, a), a)
    top = where(far, -1.0, where(middle, minus(a, 1.0), a))
    bottom = where(far, a, where(middle, plus(a, 1.0), 1.0))
    t = over(top, bottom)
    z = times(t, t)
    high, low = _HALF_PI[x.dtype.name]
    base = where(far, high, pick(middle, high / 2, 0.0, x.dtype))
    base_low = where(far, low, pick(middle, low / 2, 0.0, x.dtype))
    tail = fma(times(t, z), fitted(z, ATAN), base_low)
    return with_sign(plus(base, plus(t, tail)), x)


def atan2_of(y: UOp, x: UOp) -> UOp:
    """The angle of the point (x, y); float32 is computed in float64."""
    if x.dtype is dtypes.float64:
        return _angle(y, x)
    wide = _angle(cast(y, dtypes.float64), cast(x, dtypes.float64))
    return cast(wide, x.dtype)


def _angle(y: UOp, x: UOp) -> UOp:
    """A multiple of π/4, plus or minus the arc tangent of a small quotient."""
    t, eighths, flip = _octant(absolute(y), absolute(x))
    left = test("lt", with_sign(like(1.0, x), x), 0.0)
    eighths = where(left, minus(4.0, eighths), eighths)
    flip = where(left, apply("neg", flip), flip)
    z = times(t, t)
    high = times(eighths, _QUARTER_PI[0])
    low = fma(eighths, _QUARTER_PI[0], apply("neg", high))
    low = fma(eighths, _QUARTER_PI[1], low)
    tail = fma(times(t, z), fitted(z, ATAN), times(low, flip))
    return with_sign(fma(plus(t, tail), flip, high), y)


def _octant(a: UOp, b: UOp) -> tuple[UOp, UOp, UOp]:
    """atan(a / b) as t, n and ±1: n·π/4 ± atan(t)."""
    large = apply("maximum", a, b)
    scale = pick(test("lt", like(2.0**1000, a), large), 2.0**-100, 1.0, a.dtype)
    large, small = times(large, scale), times(apply("minimum", a, b), scale)
    endless = test("eq", small, math.inf)
    middle = either(test("lt", times(large, _TAN_EIGHTH), small), endless)
    top = where(middle, minus(small, large), small)
    bottom = where(middle, plus(small, large), large)
    top = where(endless, 0.0, top)
    bottom = where(test("eq", large, 0.0), 1.0, where(endless, 1.0, bottom))
    steep = test("lt", b, a)
    eighths = where(steep, pick(middle, 1.0, 2.0, a.dtype), pick(middle, 1.0, 0.0, a.dtype))
    return over(top, bottom), eighths, pick(steep, -1.0, 1.0, a.dtype)


def _asin_parts(x: UOp) -> tuple[UOp, UOp, UOp, UOp]:
    """|x|, whether it is large, s and t with asin(s + …) = s + t: s is |x| or √((1 - |x|) / 2)."""
    a = absolute(x)
    large = test("lt", like(0.5, a), a)
    z = where(large, times(minus(1.0, a), 0.5), times(a, a))
    root = apply("sqrt", z)
    lost = over(fma(apply("neg", root), root, z), plus(root, root))
    s = where(large, root, a)
    t = times(times(s, z), fitted(z, ASIN))
    exact = test("eq", root, 0.0)
    t = where(large, plus(t, where(exact, 0.0, lost)), t)
    return a, large, s, t


def asin_of(x: UOp) -> UOp:
    """The arc sine."""
    _, large, s, t = _asin_parts(x)
    high, low = _HALF_PI[x.dtype.name]
    first = fma(s, -2.0, high)
    lost = fma(s, -2.0, minus(high, first))
    outer = plus(first, plus(lost, fma(t, -2.0, low)))
    return with_sign(where(large, outer, plus(s, t)), x)


def acos_of(x: UOp) -> UOp:
    """The arc cosine."""
    _, large, s, t = _asin_parts(x)
    high, low = _HALF_PI[x.dtype.name]
    negative = test("lt", x, 0.0)
    sum_ = plus(s, t)
    twice = plus(sum_, sum_)
    first = fma(s, -2.0, 2 * high)
    lost = fma(s, -2.0, minus(2 * high, first))
    left = plus(first, plus(lost, fma(t, -2.0, 2 * low)))
    signed, tail = with_sign(s, x), where(negative, apply("neg", t), t)
    inner = minus(high, signed)
    inner = plus(inner, minus(minus(minus(high, inner), signed), minus(tail, low)))
    return where(large, where(negative, left, twice), inner)


asin = real_function(
    "asin",
    "Arc sine.",
    asin_of,
    np.arcsin,
    lambda y, x: (1 - x * x).rsqrt(),
    -0.9,
    0.9,
    precision=full,
)
acos = real_function(
    "acos",
    "Arc cosine.",
    acos_of,
    np.arccos,
    lambda y, x: -(1 - x * x).rsqrt(),
    -0.9,
    0.9,
    precision=full,
)
atan = real_function("atan", "Arc tangent.", atan_of, np.arctan, lambda y, x: 1 / (1 + x * x))
atan2 = elementwise(
    "atan2",
    "The angle of the point (y, x): `x.atan2(y)` reads x as the ordinate, as NumPy does.",
    cost=EXPENSIVE,
    kinds="f",
    cast=to_float,
    partials=lambda y, a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
    body=atan2_of,
    reference=lambda a, b: np.arctan2(as_float(a), as_float(b)),
    samples=binary(),
    precision=widest,
)
