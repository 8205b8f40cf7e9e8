"""sin, cos and tan from the quadrant and the remainder of an angle (see `reduction.py`)."""

from __future__ import annotations

import numpy as np

from adjoint.ir.dtype import dtypes
from adjoint.ir.precision import full
from adjoint.ir.uop import UOp
from adjoint.ops.mathematics.nodes import (
    DOUBLE,
    absolute,
    apply,
    bits,
    cast,
    fitted,
    fma,
    format_of,
    masked,
    minus,
    over,
    plus,
    shifted_left,
    test,
    times,
    where,
)
from adjoint.ops.mathematics.polynomials import COS, COS_SHORT, SIN, SIN_SHORT
from adjoint.ops.mathematics.real_function import real_function
from adjoint.ops.mathematics.reduction import HALF_PI, quadrant, quarter_turns


def _reduced(x: UOp) -> tuple[UOp, UOp, UOp | None]:
    """The quadrant in the low bits of an integer, and the rest: one float32 or two float64."""
    a = absolute(x)
    if x.dtype is dtypes.float64:
        return quadrant(a)
    whole, rest = quarter_turns(a)
    return _whole(whole), cast(times(rest, HALF_PI[0]), dtypes.float32), None


def _whole(n: UOp) -> UOp:
    """The low bits of a small whole float64 as an int32; NaN gives some bits, where a CAST of it
    would not be defined."""
    return cast(bits(plus(n, DOUBLE.magic), dtypes.int64), dtypes.int32)


def _sine(r: UOp, low: UOp | None) -> tuple[UOp, UOp]:
    """sin(r + low) as r plus a smaller term."""
    z = times(r, r)
    cube = times(z, r)
    if low is None:
        return r, times(cube, fitted(z, SIN))
    return r, fma(cube, fitted(z, SIN), fma(times(low, -0.5), z, low))


def _cosine(r: UOp, low: UOp | None) -> tuple[UOp, UOp]:
    """cos(r + low) as 1 - r²/2, rounded, plus a smaller term."""
    z = times(r, r)
    first = fma(z, -0.5, 1.0)
    lost = fma(z, -0.5, minus(1.0, first))
    if low is None:
        return first, fma(times(z, z), fitted(z, COS), lost)
    square_low = fma(r, r, apply("neg", z))
    more = fma(square_low, -0.5, fma(apply("neg", r), low, lost))
    return first, fma(times(z, z), fitted(z, COS), more)


def _odd(q: UOp) -> UOp:
    return test("ne", masked(q, 1), 0)


def _flipped(value: UOp, q: UOp) -> UOp:
    """The value, negated if bit 1 of q is set."""
    form = format_of(value)
    sign = shifted_left(masked(q, 2), form.mantissa + (7 if form.mantissa == 23 else 10))
    return bits(apply("bitwise_xor", bits(value, form.signed), sign), form.dtype)


def sin_of(x: UOp) -> UOp:
    """The sine."""
    q, r, low = _reduced(x)
    value = where(_odd(q), plus(*_cosine(r, low)), plus(*_sine(r, low)))
    return _with_sign_of(_flipped(value, q), x)


def _with_sign_of(value: UOp, x: UOp) -> UOp:
    """The value, negated for a negative x."""
    form = format_of(x)
    sign = apply("bitwise_xor", bits(x, form.signed), bits(absolute(x), form.signed))
    return bits(apply("bitwise_xor", bits(value, form.signed), sign), form.dtype)


def cos_of(x: UOp) -> UOp:
    """The cosine: a quarter turn more than the sine."""
    q, r, low = _reduced(x)
    value = where(_odd(q), plus(*_sine(r, low)), plus(*_cosine(r, low)))
    return _flipped(value, plus(q, 1))


def tan_of(x: UOp) -> UOp:
    """The tangent."""
    value = _tan_wide(x) if x.dtype is dtypes.float64 else _tan_single(x)
    return _with_sign_of(value, x)


def _tan_single(x: UOp) -> UOp:
    """sin / cos in float64."""
    whole, rest = quarter_turns(absolute(x))
    r = times(rest, HALF_PI[0])
    z = times(r, r)
    sine = fma(times(z, r), fitted(z, SIN_SHORT), r)
    cosine = fma(times(z, z), fitted(z, COS_SHORT), fma(z, -0.5, 1.0))
    odd = _odd(_whole(whole))
    top, bottom = where(odd, apply("neg", cosine), sine), where(odd, sine, cosine)
    return cast(over(top, bottom), dtypes.float32)


def _pair(parts: tuple[UOp, UOp]) -> tuple[UOp, UOp]:
    """The rounded sum, and what was rounded away; the first part is the larger."""
    total = plus(*parts)
    return total, minus(parts[1], minus(total, parts[0]))


def _tan_wide(x: UOp) -> UOp:
    """sin / cos, and a step that makes good what was rounded away."""
    q, r, low = quadrant(absolute(x))
    odd = _odd(q)
    sine, sine_low = _pair(_sine(r, low))
    cosine, cosine_low = _pair(_cosine(r, low))
    top = where(odd, apply("neg", cosine), sine)
    top_low = where(odd, apply("neg", cosine_low), sine_low)
    bottom, bottom_low = where(odd, sine, cosine), where(odd, sine_low, cosine_low)
    ratio = over(top, bottom)
    less = apply("neg", ratio)
    rest = plus(fma(less, bottom, top), fma(less, bottom_low, top_low))
    return plus(ratio, over(rest, bottom))


sin = real_function("sin", "Sine.", sin_of, np.sin, lambda y, x: x.cos())
cos = real_function("cos", "Cosine.", cos_of, np.cos, lambda y, x: -x.sin())
tan = real_function(
    "tan", "Tangent.", tan_of, np.tan, lambda y, x: 1 + y * y, -1.4, 1.4, precision=full
)
