"""Angles as a quadrant and a remainder: |x| = (4m + q)·π/2 + r with |r| ≤ π/4, for every finite x.

float32 is reduced in float64: |x| times short pieces of 2/π is exact, and multiples of 4 are
subtracted piece by piece. float64 subtracts multiples of π/2 in three pieces; from 2²⁴ on it
multiplies the significand by those 192 binary digits of 2/π that matter, in integers.
"""

from __future__ import annotations

import math

from adjoint.ir.dtype import dtypes
from adjoint.ir.uop import UOp
from adjoint.ops.mathematics.nodes import (
    apply,
    bits,
    both,
    cast,
    fma,
    like,
    masked,
    minus,
    number,
    pick,
    plus,
    shifted_left,
    shifted_right,
    test,
    times,
    where,
)
from adjoint.ops.mathematics.polynomials import TURN_WORDS, TURNS

HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
_LARGE = 2.0**24
_FIRST_EXPONENT = 1023 + 24
_MASK32 = 0xFFFFFFFF


def _less_fours(t: UOp) -> UOp:
    return fma(apply("round", times(t, 0.25)), -4.0, t)


def quarter_turns(a: UOp) -> tuple[UOp, UOp]:
    """Of a float32 ≥ 0: quarter turns as a small whole float64, and the rest in quarter turns.

    From 2⁷⁶ on the number is a multiple of 2⁵³, so multiples of 4 may be left out of 2/π·2⁵³. The
    order of the sums is such that what cancels is exact.
    """
    wide = cast(a, dtypes.float64)
    far = test("le", number(2.0**76, wide.dtype), wide)
    scaled = times(wide, pick(far, 2.0**-53, 1.0, dtypes.float64))
    pieces = [pick(far, large, small, dtypes.float64) for small, large in zip(*TURNS, strict=True)]
    first, second, third = (_less_fours(times(scaled, piece)) for piece in pieces[:3])
    upper = plus(first, second)
    whole = apply("round", plus(upper, third))
    return whole, fma(scaled, pieces[3], plus(minus(upper, whole), third))


def quadrant(a: UOp) -> tuple[UOp, UOp, UOp]:
    """Of a float64 ≥ 0: the quadrant in the low two bits of an int64, and r as a sum of two."""
    shifted = fma(a, 2 / math.pi, 1.5 * 2.0**52)
    n, near = minus(shifted, 1.5 * 2.0**52), bits(shifted, dtypes.int64)
    first = fma(n, -HALF_PI[0], a)
    second = times(n, HALF_PI[1])
    second_low = fma(n, HALF_PI[1], apply("neg", second))
    high = minus(first, second)
    lost = minus(minus(minus(first, high), second), second_low)
    low = fma(n, -HALF_PI[2], lost)
    far, far_high, far_low = _far(a)
    large = both(test("le", like(_LARGE, a), a), test("lt", a, math.inf))
    return where(large, far, near), where(large, far_high, high), where(large, far_low, low)


def _window(start: UOp) -> list[UOp]:
    """Three words of the digits of 2/π from the digit `start` on: words are moved by 8, 4, 2, 1
    places as the bits of the word's number say, and then by single digits."""
    words: list[UOp] = [like(w, start) for w in TURN_WORDS]
    needed = 4
    sizes = [needed + step for step in (0, 1, 3, 7)][::-1]
    for step, size in zip((8, 4, 2, 1), sizes, strict=True):
        move = test("ne", masked(start, step * 64), 0)
        words = [where(move, words[i + step], words[i]) for i in range(size)]
    by = masked(start, 63)
    back = minus(63, by)
    return [
        apply(
            "bitwise_or",
            shifted_left(words[i], by),
            shifted_right(shifted_right(words[i + 1], 1), back),
        )
        for i in range(3)
    ]


def _high_product(low: UOp, high: UOp, word: UOp) -> UOp:
    """The upper 64 bits of (high·2³² + low)·word; high has 21 bits."""
    upper, lower = shifted_right(word, 32), masked(word, _MASK32)
    middle = plus(times(high, lower), shifted_right(times(low, lower), 32))
    carry = shifted_right(plus(times(low, upper), masked(middle, _MASK32)), 32)
    return plus(plus(times(high, upper), shifted_right(middle, 32)), carry)


def _high_product_nearly(low: UOp, high: UOp, word: UOp) -> UOp:
    """The same, at most three too small."""
    upper, lower = shifted_right(word, 32), masked(word, _MASK32)
    carries = plus(shifted_right(times(high, lower), 32), shifted_right(times(low, upper), 32))
    return plus(times(high, upper), carries)


def _far(a: UOp) -> tuple[UOp, UOp, UOp]:
    """The quadrant and r of a large number."""
    raw = bits(a, dtypes.uint64)
    start = minus(shifted_right(raw, 52), _FIRST_EXPONENT)
    m = apply("bitwise_or", masked(raw, (1 << 52) - 1), like(1 << 52, raw))
    low, high = masked(m, _MASK32), shifted_right(m, 32)
    w0, w1, w2 = _window(start)
    second = times(m, w1)
    fraction = plus(second, _high_product_nearly(low, high, w2))
    carry = cast(test("lt", fraction, second), dtypes.uint64)
    total = plus(plus(times(m, w0), _high_product(low, high, w1)), carry)
    turned = shifted_right(plus(total, 1 << 61), 62)
    rest = bits(minus(total, shifted_left(turned, 62)), dtypes.int64)
    return bits(turned, dtypes.int64), *_angle(rest, fraction)


def _angle(rest: UOp, fraction: UOp) -> tuple[UOp, UOp]:
    """(rest + fraction / 2⁶⁴) / 2⁶² quarter turns as an angle, a sum of two floats."""
    top = cast(rest, dtypes.float64)
    left = cast(minus(rest, cast(top, dtypes.int64)), dtypes.float64)
    more = fma(cast(fraction, dtypes.float64), 2.0**-64, left)
    turns = plus(top, more)
    turns_low = minus(more, minus(turns, top))
    scale = HALF_PI[0] * 2.0**-62
    high = times(turns, scale)
    low = fma(turns, scale, apply("neg", high))
    low = fma(turns_low, scale, fma(turns, HALF_PI[1] * 2.0**-62, low))
    return high, low
