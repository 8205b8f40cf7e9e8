"""Powers of floats and of integers, roots, and hypot.

xʸ = 2 ** (y·log₂ x). The logarithm of a float64 is a sum of two floats with about 68 good bits, so
that the product with y has an error well below one unit; float32 is computed in float64.
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from adjoint.ir.broadcast import elementwise
from adjoint.ir.dtype import DType, dtypes, to_float
from adjoint.ir.kernel_kind import BASIC, EXPENSIVE
from adjoint.ir.precision import full
from adjoint.ir.uop import UOp
from adjoint.ops.mathematics.exp import exp2_of_sum
from adjoint.ops.mathematics.log import split
from adjoint.ops.mathematics.nodes import (
    DOUBLE,
    absolute,
    apply,
    bits,
    both,
    cast,
    clamped,
    either,
    fitted,
    fma,
    is_nan,
    like,
    masked,
    minus,
    negated,
    number,
    over,
    pick,
    plus,
    power_of_two,
    test,
    times,
    where,
    with_sign,
)
from adjoint.ops.mathematics.polynomials import EXP2_SHORT, LOG2_REST, LOG2_SHORT
from adjoint.ops.mathematics.real_function import as_float, real_function
from adjoint.ops.samples import binary

_FIRST = (2.8853900817779268, 4.0710547481862066e-17)  # 2 / ln 2
_SECOND = (0.9617966939259756, 5.0577616648125907e-17)  # 2 / (3 ln 2)
_SMALL = 4  # exponents up to which products are sooner than a logarithm


def _log2_pair(x: UOp) -> tuple[UOp, UOp]:
    """log₂ of a positive finite float64 as a sum of two: k + s·(c₀ + c₁ s² + s⁴ q(s²))."""
    k, m = split(x)
    top, bottom = minus(m, 1.0), plus(m, 1.0)
    bottom_low = minus(m, minus(bottom, 1.0))
    s = over(top, bottom)
    less = apply("neg", s)
    s_low = over(fma(less, bottom_low, fma(less, bottom, top)), bottom)
    z = times(s, s)
    z_low = fma(plus(s, s), s_low, fma(s, s, apply("neg", z)))
    inner = _product(z, z_low, *_sum(_SECOND, times(z, fitted(z, LOG2_REST))))
    part, part_low = _product(s, s_low, *_sum(_FIRST, *inner))
    count = cast(k, x.dtype)
    total = plus(count, part)
    return total, plus(plus(minus(count, total), part), part_low)


def _sum(c: tuple[float, float], b: UOp, b_low: UOp | None = None) -> tuple[UOp, UOp]:
    """A constant plus a smaller number."""
    first = like(c[0], b)
    total = plus(first, b)
    lost = plus(plus(minus(first, total), b), c[1])
    return total, lost if b_low is None else plus(lost, b_low)


def _product(a: UOp, a_low: UOp, b: UOp, b_low: UOp) -> tuple[UOp, UOp]:
    total = times(a, b)
    return total, fma(a, b_low, fma(a_low, b, fma(a, b, apply("neg", total))))


def _magnitude(a: UOp, y: UOp) -> UOp:
    """a ** y for float64 a > 0, finite."""
    log, log_low = _log2_pair(a)
    power = times(y, log)
    low = fma(y, log_low, fma(y, log, apply("neg", power)))
    bound = clamped(power, -1080.0, 1030.0)
    inside = test("eq", bound, power)
    return exp2_of_sum(bound, where(inside, low, 0.0))


def _magnitude_single(a: UOp, y: UOp) -> UOp:
    """The same for float32, given as float64, good to about 40 bits; a may be 0 or infinite."""
    k, m = split(a, subnormal=False)
    s = over(minus(m, 1.0), plus(m, 1.0))
    log = fma(s, fitted(times(s, s), LOG2_SHORT), cast(k, a.dtype))
    power = clamped(times(y, log), -160.0, 130.0)
    shifted = plus(power, DOUBLE.magic)
    r = minus(power, minus(shifted, DOUBLE.magic))
    grown = fma(fitted(r, EXP2_SHORT), r, 1.0)
    scale = power_of_two(bits(shifted, dtypes.int64), DOUBLE)
    return cast(times(grown, scale), dtypes.float32)


def _float_power(x: UOp, y: UOp) -> UOp:
    a = absolute(x)
    if x.dtype is dtypes.float32:
        wide = _magnitude_single(cast(a, dtypes.float64), cast(y, dtypes.float64))
    else:
        wide = _magnitude(a, y)
    return _ends(x, y, a, wide)


def _ends(x: UOp, y: UOp, a: UOp, value: UOp) -> UOp:
    """Zeros, infinities, NaN and negative bases, as C's pow has them."""
    up = test("lt", like(0.0, y), y)
    zero, infinite = test("eq", a, 0.0), test("eq", a, math.inf)
    value = where(zero, pick(up, 0.0, math.inf, x.dtype), value)
    value = where(infinite, pick(up, math.inf, 0.0, x.dtype), value)
    endless = test("eq", absolute(y), math.inf)
    grows = test("lt", like(1.0, a), a)
    unbounded = where(
        apply("logical_xor", grows, up), number(0.0, x.dtype), number(math.inf, x.dtype)
    )
    one = test("eq", a, 1.0)
    value = where(endless, where(one, 1.0, unbounded), value)
    whole = test("eq", apply("trunc", y), y)
    half = times(y, 0.5)
    odd = both(whole, test("ne", apply("trunc", half), half))
    value = where(odd, with_sign(value, x), value)
    refused = both(both(test("lt", x, 0.0), test("lt", a, math.inf)), negated(whole))
    value = where(either(refused, either(is_nan(x), is_nan(y))), math.nan, value)
    return where(either(test("eq", x, 1.0), test("eq", y, 0.0)), 1.0, value)


def _constant(x: UOp) -> float | None:
    """The number that a node is, to be compared as one and not by its bits."""
    return +x.arg.value if x.op.name == "const" else None


def is_direct(y: float) -> bool:
    """Whether products and roots are a power of some dtype sooner than a logarithm."""
    return abs(y) <= _SMALL and (2 * y).is_integer()


def _float_power_of(x: UOp, y: float) -> UOp | None:
    """Exponents with a direct way, which is exact or nearly so."""
    if y == 0:
        return like(1.0, x)
    if y == 1:
        return x
    if y == 2:
        return times(x, x)
    if y == -1:
        return over(1.0, x)
    if y == 0.5:
        return _root(x)
    if x.dtype is dtypes.float32 and is_direct(y):
        return cast(_small_power(cast(x, dtypes.float64), y), x.dtype)
    return None


def _root(x: UOp) -> UOp:
    """x ** 0.5, where -0.0 counts as 0 and -inf as inf."""
    return where(test("eq", x, -math.inf), math.inf, apply("sqrt", plus(x, 0.0)))


def _small_power(x: UOp, y: float) -> UOp:
    """A power of a float32, given as float64, which rounds it far below the last bit of float32."""
    count, half = divmod(abs(y), 1)
    if half:  # a sign has no meaning below a root: -0.0 counts as 0 and -inf as inf
        root, x = _root(x), where(test("eq", x, -math.inf), math.inf, plus(x, 0.0))
    value = reduce(times, [x] * int(count) + ([root] if half else []))
    return over(1.0, value) if y < 0 else value


def pow_of(x: UOp, y: UOp) -> UOp:
    """x ** y."""
    known = _constant(y)
    if not x.dtype.is_float:
        return _int_power_of(x, int(known)) if known is not None else _int_power(x, y)
    direct = None if known is None else _float_power_of(x, known)
    return _float_power(x, y) if direct is None else direct


def _int_power_of(x: UOp, y: int) -> UOp:
    """Squares and products for an exponent that is known."""
    if y < 0:
        return where(test("eq", absolute(x), 1), x if y % 2 else 1, like(0, x))
    result, square = None, x
    while y:
        if y & 1:
            result = square if result is None else times(result, square)
        y >>= 1
        square = times(square, square) if y else square
    return like(1, x) if result is None else result


def _int_power(x: UOp, y: UOp) -> UOp:
    """Squares and products, one step per bit of the exponent; products wrap around."""
    base, exponent = x, y
    if x.dtype.kind == "i":
        unit = where(test("eq", absolute(x), 1), x, 0)
        base = where(test("lt", y, 0), unit, x)
        exponent = bits(absolute(y), _unsigned(y))
    result = like(1, x)
    for place in range(x.dtype.bits):
        taken = test("ne", masked(exponent, 1 << place), 0)
        result = where(taken, times(result, base), result)
        base = times(base, base)
    return result


def _unsigned(x: UOp) -> DType:
    """The unsigned integers of the same width."""
    kind: DType = getattr(dtypes, f"uint{x.dtype.bits}")
    return kind


def rsqrt_of(x: UOp) -> UOp:
    """1 / sqrt(x)."""
    return over(1.0, apply("sqrt", x))


def hypot_of(x: UOp, y: UOp) -> UOp:
    """√(x² + y²); float32 in float64, float64 scaled so that the squares stay in range."""
    a, b = absolute(x), absolute(y)
    if x.dtype is dtypes.float32:
        wide_a, wide_b = cast(a, dtypes.float64), cast(b, dtypes.float64)
        value = cast(apply("sqrt", fma(wide_a, wide_a, times(wide_b, wide_b))), x.dtype)
    else:
        value = _scaled_hypot(apply("maximum", a, b), apply("minimum", a, b))
    endless = either(test("eq", a, math.inf), test("eq", b, math.inf))
    return where(endless, math.inf, value)


def _scaled_hypot(large: UOp, small: UOp) -> UOp:
    huge, tiny = test("lt", like(2.0**500, large), large), test("lt", large, 2.0**-450)
    down = where(huge, 2.0**-600, pick(tiny, 2.0**600, 1.0, large.dtype))
    back = where(huge, 2.0**600, pick(tiny, 2.0**-600, 1.0, large.dtype))
    a, b = times(large, down), times(small, down)
    return times(apply("sqrt", fma(a, a, times(b, b))), back)


sqrt = real_function(
    "sqrt", "Square root; √'(0) = inf.", BASIC, np.sqrt, lambda y, x: 0.5 / y, 0.1, 4, cost=3
)
rsqrt = real_function(
    "rsqrt",
    "`1 / sqrt(x)`.",
    rsqrt_of,
    lambda x: 1 / np.sqrt(x),
    lambda y, x: -0.5 * y / x,
    0.1,
    4,
    cost=4,
    precision=full,
)
hypot = elementwise(
    "hypot",
    "`sqrt(x² + y²)` without overflow.",
    cost=EXPENSIVE,
    kinds="f",
    cast=to_float,
    partials=lambda y, a, b: (a / y, b / y),
    body=hypot_of,
    reference=lambda a, b: np.hypot(as_float(a), as_float(b)),
    samples=binary(0.3, 3),
)
