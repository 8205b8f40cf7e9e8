"""Ops whose results are exactly defined: integer division, shifts, casts, signs, bits, THREEFRY.

Every case that the basic ops leave open is closed here: a divisor of 0, the least integer divided
by -1, shifts by the width or more, floats that no integer holds.
"""

from __future__ import annotations

import math

from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.uop import UOp
from adjoint.ops.mathematics import bytes as math_bytes
from adjoint.ops.mathematics.nodes import (
    NARROW,
    absolute,
    apply,
    bits,
    both,
    cast,
    compute_dtype,
    either,
    format_of,
    is_nan,
    like,
    masked,
    minus,
    negated,
    number,
    plus,
    shifted_left,
    shifted_right,
    single,
    test,
    where,
    with_sign,
)


def _known(x: UOp) -> int | None:
    return int(x.arg.value) if x.op.name == "const" else None


def unsigned_of(dtype: DType) -> DType:
    """The unsigned integers of the same width."""
    kind: DType = getattr(dtypes, f"uint{dtype.bits}")
    return kind


# ---- integer division


def _guarded(b: UOp) -> tuple[UOp, UOp | None]:
    """A divisor that cannot fail, and whether it was 0; None if it is known not to be.

    -1 becomes 1 too: the least integer divided by -1 overflows, and the others are negated after.
    """
    known = _known(b)
    if known is not None and known not in (0, -1):
        return b, None
    zero = test("eq", b, 0)
    unsafe = either(zero, test("eq", b, -1)) if b.dtype.kind == "i" else zero
    return where(unsafe, 1, b), zero


def idiv(a: UOp, b: UOp) -> UOp:
    """The quotient rounded towards zero; 0 for a divisor of 0."""
    safe, zero = _guarded(b)
    quotient = apply("idiv", a, safe)
    if zero is None:
        return quotient
    if b.dtype.kind == "i":
        quotient = where(test("eq", b, -1), apply("neg", a), quotient)
    return where(zero, 0, quotient)


def fmod(a: UOp, b: UOp) -> UOp:
    """The remainder with the sign of the dividend; 0 for a divisor of 0."""
    return apply("fmod", a, _guarded(b)[0])  # the remainder by 1 is 0


def _uneven(remainder: UOp, b: UOp) -> UOp:
    """Whether a quotient was rounded up towards zero."""
    opposite = test("lt", apply("bitwise_xor", remainder, b), 0)
    return both(test("ne", remainder, 0), opposite)


def floordiv(a: UOp, b: UOp) -> UOp:
    """The quotient rounded down; 0 for a divisor of 0."""
    if b.dtype.kind == "u":
        return idiv(a, b)
    quotient, remainder = idiv(a, b), fmod(a, b)
    return where(_uneven(remainder, b), minus(quotient, 1), quotient)


def mod(a: UOp, b: UOp) -> UOp:
    """The remainder with the sign of the divisor; 0 for a divisor of 0."""
    remainder = fmod(a, b)
    if b.dtype.kind == "u":
        return remainder
    return where(_uneven(remainder, b), plus(remainder, b), remainder)


# ---- shifts


def _shift(name: str, x: UOp, n: UOp) -> UOp:
    known, width = _known(n), x.dtype.bits
    left = name == "lshift"
    beyond = like(0, x) if left or x.dtype.kind == "u" else shifted_right(x, width - 1)
    if known is not None:
        return apply(name, x, n) if 0 <= known < width else beyond
    inside = test("lt", bits(n, unsigned_of(n.dtype)), width)
    return where(inside, apply(name, x, where(inside, n, 0)), beyond)


def lshift(x: UOp, n: UOp) -> UOp:
    """`x << n`; by the width or more, or by a negative amount, 0."""
    return _shift("lshift", x, n)


def rshift(x: UOp, n: UOp) -> UOp:
    """`x >> n`; by the width or more, or by a negative amount, all bits are the sign."""
    return _shift("rshift", x, n)


# ---- casts


def convert(x: UOp, source: DType, target: DType) -> UOp:
    """CAST of a held value of dtype `source` to the held value of dtype `target`."""
    if source.is_storage:
        return convert(math_bytes.widened(x, source), dtypes.float32, target)
    if target.is_storage:
        return math_bytes.narrowed(convert(x, source, dtypes.float32), target)
    if target.is_bool:
        return x if source.is_bool else test("ne", x, 0)
    if target.is_int and source.is_float:
        return _saturated(x, target)
    if target in NARROW and source is not target:
        return _narrowed(x, source, target)
    return cast(x, compute_dtype(target))


def _narrowed(x: UOp, source: DType, target: DType) -> UOp:
    """To a narrow float and back: a float64 is rounded to float16 at once, all else by float32."""
    if source is dtypes.float64 and target is dtypes.float16:
        x = _odd_rounded(x)
    wide = cast(x, dtypes.float32)
    return cast(cast(wide, target), dtypes.float32)


def _odd_rounded(x: UOp) -> UOp:
    """A float64 cut to the bits of a float32; the last bit is set if any was lost, so that a
    second rounding sees on which side of a tie the number was."""
    raw = bits(x, dtypes.int64)
    lost = test("ne", masked(raw, (1 << 29) - 1), 0)
    kept = masked(raw, -(1 << 29))
    return bits(apply("bitwise_or", kept, where(lost, 1 << 29, like(0, raw))), dtypes.float64)


def _saturated(x: UOp, target: DType) -> UOp:
    """Floats outside the range become its ends, NaN becomes 0."""
    low, high = float(target.min), float(target.max)
    exact = int(high) == target.max
    if x.dtype is dtypes.float32:
        exact = exact and single(high) == high
    if exact:
        inner = apply("minimum", apply("maximum", x, like(low, x)), like(high, x))
        return cast(where(is_nan(x), 0.0, inner), target)
    over, under = test("le", like(high, x), x), test("le", x, low)
    inside = negated(either(either(over, under), is_nan(x)))
    value = cast(where(inside, x, 0.0), target)
    return where(over, target.max, where(under, target.min, value))


def reinterpret(x: UOp, source: DType, target: DType) -> UOp:
    """BITCAST between dtypes of one width; narrow floats leave and enter their held form."""
    if source in NARROW:
        x = cast(x, source)
    x = bits(x, target)
    return cast(x, dtypes.float32) if target in NARROW else x


# ---- signs and neighbours


def sign(x: UOp) -> UOp:
    """-1, 0, 1; NaN stays."""
    if x.dtype.kind == "u":
        return cast(test("ne", x, 0), x.dtype)
    up, down = test("lt", like(0, x), x), test("lt", x, 0)
    if x.dtype.kind == "i":
        return where(up, 1, where(down, -1, like(0, x)))
    rest = where(test("eq", x, 0.0), 0.0, x)
    return where(up, 1.0, where(down, -1.0, rest))


def relu(x: UOp) -> UOp:
    """The larger of x and 0."""
    return x if x.dtype.kind == "u" else apply("maximum", x, like(0, x))


def nextafter(x: UOp, y: UOp) -> UOp:
    """The next float after x towards y."""
    form = format_of(x)
    raw = bits(x, form.signed)
    outwards = apply("logical_xor", test("lt", x, y), test("lt", x, 0.0))
    moved = bits(plus(raw, where(outwards, 1, like(-1, raw))), form.dtype)
    least = with_sign(bits(number(1, form.signed), form.dtype), y)
    value = where(test("eq", x, 0.0), least, moved)
    value = where(test("eq", x, y), y, value)
    return where(either(is_nan(x), is_nan(y)), math.nan, value)


def nextafter_of(x: UOp, y: UOp, source: DType, target: DType) -> UOp:
    """The next value of the target dtype, which may be narrower than what it is held in."""
    return nextafter_narrow(x, y, target) if target in NARROW else nextafter(x, y)


def nextafter_narrow(x: UOp, y: UOp, dtype: DType) -> UOp:
    """The same for held values of a narrow dtype, whose neighbours are 16-bit integers apart."""
    raw = bits(cast(x, dtype), dtypes.int16)
    outwards = apply("logical_xor", test("lt", x, y), test("lt", x, 0.0))
    moved = bits(plus(raw, where(outwards, 1, like(-1, raw))), dtype)
    least = bits(number(1, dtypes.int16), dtype)
    value = cast(moved, dtypes.float32)
    value = where(test("eq", x, 0.0), with_sign(cast(least, dtypes.float32), y), value)
    value = where(test("eq", x, y), y, value)  # they differ where one is 0.0 and one -0.0
    return where(either(is_nan(x), is_nan(y)), math.nan, value)


# ---- tests


def isnan(x: UOp) -> UOp:
    """Whether x is NaN; integers are not."""
    return is_nan(x) if x.dtype.is_float else number(False, dtypes.bool_)


def isinf(x: UOp) -> UOp:
    """Whether x is an infinity."""
    if not x.dtype.is_float:
        return number(False, dtypes.bool_)
    return test("eq", absolute(x), math.inf)


def isfinite(x: UOp) -> UOp:
    """Whether x is neither NaN nor an infinity."""
    if not x.dtype.is_float:
        return number(True, dtypes.bool_)
    return test("lt", absolute(x), math.inf)


# ---- random bits

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(x: UOp, key: UOp) -> UOp:
    """Threefry-2x32 with 20 rounds; the low word comes first in counter, key and result."""
    low, high = _words(x)
    k0, k1 = _words(key)
    mixed = apply("bitwise_xor", apply("bitwise_xor", k0, k1), like(0x1BD11BDA, k0))
    keys = (k0, k1, mixed)
    low, high = plus(low, k0), plus(high, k1)
    for group in range(5):
        for by in _ROTATIONS[group % 2]:
            low = plus(low, high)
            turned = apply("bitwise_or", shifted_left(high, by), shifted_right(high, 32 - by))
            high = apply("bitwise_xor", turned, low)
        low = plus(low, keys[(group + 1) % 3])
        high = plus(plus(high, keys[(group + 2) % 3]), group + 1)
    upper = shifted_left(cast(high, dtypes.uint64), 32)
    return apply("bitwise_or", cast(low, dtypes.uint64), upper)


def _words(x: UOp) -> tuple[UOp, UOp]:
    return cast(x, dtypes.uint32), cast(shifted_right(x, 32), dtypes.uint32)
