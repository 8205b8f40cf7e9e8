"""The polynomials of adjoint/ops/mathematics/, fitted with mpmath.

`python bench/math_fit.py`, with mpmath installed, writes adjoint/ops/mathematics/polynomials.py.
Each fit interpolates a smooth quotient at Chebyshev points with 60 digits, so leading terms of a
series (the 1 of exp, the x of sin) stay exact; the coefficients are then rounded to the dtype.
"""

import struct
import textwrap
from pathlib import Path

import mpmath as mp

mp.mp.dps = 60
FILE = Path(__file__).parents[1] / "adjoint/ops/mathematics/polynomials.py"
HALF_LN2 = mp.log(2) / 2 * mp.mpf("1.001")
QUARTER = (mp.pi / 4 * mp.mpf("1.001")) ** 2
SQUARE_S = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.001")


def series(f, *tiny):
    """f, with its limit value near 0, where the quotient cancels."""
    return lambda x: tiny[0] if abs(x) < mp.mpf(10) ** -25 else f(x)


def in_square(f, limit):
    return series(lambda z: f(mp.sqrt(z)), limit)


exp_tail = series(lambda r: (mp.expm1(r) - r) / r**2, mp.mpf(1) / 2)
exp2_tail = series(lambda r: mp.expm1(r * mp.log(2)) / r, mp.log(2))
log_tail = series(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, mp.mpf(1) / 3)
log_even = in_square(lambda s: (2 * mp.atanh(s) / s - 2) / s**2, mp.mpf(2) / 3)
log2_even = in_square(lambda s: 2 * mp.atanh(s) / s / mp.log(2), 2 / mp.log(2))
log2_rest = in_square(
    lambda s: (2 * mp.atanh(s) / s - 2 - 2 * s * s / 3) / s**4 / mp.log(2),
    mp.mpf(2) / 5 / mp.log(2),
)
sin_tail = in_square(lambda r: (mp.sin(r) - r) / r**3, -mp.mpf(1) / 6)
cos_tail = in_square(lambda r: (mp.cos(r) - 1 + r * r / 2) / r**4, mp.mpf(1) / 24)
tanh_tail = in_square(lambda x: (mp.tanh(x) - x) / x**3, -mp.mpf(1) / 3)
sinh_tail = in_square(lambda x: (mp.sinh(x) - x) / x**3, mp.mpf(1) / 6)
atan_tail = in_square(lambda x: (mp.atan(x) - x) / x**3, -mp.mpf(1) / 3)
asin_tail = in_square(lambda x: (mp.asin(x) - x) / x**3, mp.mpf(1) / 6)
erf_even = in_square(lambda x: mp.erf(x) / x - 1, 2 / mp.sqrt(mp.pi) - 1)


def erfcx(t, c):
    """exp(a²) erfc(a) as a function of t = (a - c) / (a + c), times 1 + 2a, which tames it."""
    a = c * (1 + t) / (1 - t)
    return mp.exp(a * a) * mp.erfc(a) * (1 + 2 * a)


def erfinv_ratio(w):
    """erfinv(x) / x where w = -log(1 - x²)."""
    if w < mp.mpf(10) ** -25:
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    guess = mp.erfinv(mp.mpf(float(x))) if w < 20 else mp.sqrt(w - mp.log(mp.pi * w) / 2)
    rest = mp.erfc  # 1 - x by itself is short of digits
    wanted = mp.exp(-w) / (1 + x)
    for _ in range(8):
        step = (rest(guess) - wanted) * mp.sqrt(mp.pi) / 2 * mp.exp(guess**2)
        guess += step / (1 - guess * step)
    return guess / x


def stirling(z):
    """x·(lgamma(x) - (x - ½) log x + x - log(2π)/2) where z = 1 / x²."""
    if z < mp.mpf(10) ** -18:
        return mp.mpf(1) / 12 - z / 360
    x = 1 / mp.sqrt(z)
    return x * (mp.loggamma(x) - (x - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


near_two = series(lambda t: mp.loggamma(2 + t) / t, 1 - mp.euler)


def span(c, lo, hi):
    return [(mp.mpf(a) - c) / (mp.mpf(a) + c) for a in (lo, hi)]


SINGLE, DOUBLE = "float32", "float64"
FITS = [
    ("EXP", exp_tail, [-HALF_LN2, HALF_LN2], {SINGLE: 4, DOUBLE: 9}),
    ("EXP2", exp2_tail, [-0.5, 0.5], {SINGLE: 5, DOUBLE: 10}),
    ("LOG", log_tail, [mp.sqrt(0.5) - 1 - 1e-3, mp.sqrt(2) - 1 + 1e-3], {SINGLE: 8}),
    ("LOG_EVEN", log_even, [0, SQUARE_S], {DOUBLE: 6}),
    ("LOG2_SHORT", log2_even, [0, SQUARE_S], {DOUBLE: 6}),
    ("LOG2_REST", log2_rest, [0, SQUARE_S], {DOUBLE: 7}),
    ("EXP2_SHORT", exp2_tail, [-0.5, 0.5], {DOUBLE: 6}),
    ("SIN", sin_tail, [0, QUARTER], {SINGLE: 2, DOUBLE: 5}),
    ("COS", cos_tail, [0, QUARTER], {SINGLE: 2, DOUBLE: 5}),
    ("SIN_SHORT", sin_tail, [0, QUARTER], {DOUBLE: 3}),
    ("COS_SHORT", cos_tail, [0, QUARTER], {DOUBLE: 3}),
    ("TANH", tanh_tail, [0, mp.mpf("0.626") ** 2], {SINGLE: 5}),
    ("SINH", sinh_tail, [0, mp.mpf("1.01") ** 2], {SINGLE: 3, DOUBLE: 6}),
    ("ATAN", atan_tail, [0, (mp.sqrt(2) - 1) ** 2 * mp.mpf("1.001")], {SINGLE: 4, DOUBLE: 11}),
    ("ASIN", asin_tail, [0, mp.mpf("0.2501")], {SINGLE: 5, DOUBLE: 12}),
    ("ERF", erf_even, [0, 1], {SINGLE: 6, DOUBLE: 11}),
    ("ERF_TAIL", lambda a: mp.log(mp.erfc(a)), [mp.mpf("0.99"), 4], {SINGLE: 8}),
    ("ERFCX", lambda t: erfcx(t, mp.mpf(3)), span(mp.mpf(3), "0.99", "6.1"), {DOUBLE: 15}),
    ("ERFINV", lambda u: erfinv_ratio(u + 2.5), [-2.5, 2.5], {SINGLE: 10}),
    ("ERFINV_FAR", lambda u: erfinv_ratio((u + 3) ** 2), [-0.77, 1.0], {SINGLE: 9}),
    ("ERFINV_WIDE", lambda u: erfinv_ratio(u + 3.125), [-3.125, 3.125], {DOUBLE: 24}),
    ("ERFINV_WIDE_FAR", lambda u: erfinv_ratio((u + 3.25) ** 2), [-0.76, 0.76], {DOUBLE: 20}),
    ("ERFINV_WIDE_LAST", lambda u: erfinv_ratio((u + 5) ** 2), [-1.01, 1.01], {DOUBLE: 20}),
    ("LGAMMA", near_two, [-0.75, 0.5], {DOUBLE: 20}),
    ("STIRLING", stirling, [mp.mpf(0), mp.mpf(1) / 63], {DOUBLE: 6}),
]


def rounded(value, kind):
    number = float(value)
    return struct.unpack("f", struct.pack("f", number))[0] if kind == SINGLE else number


def fit(function, interval, degree):
    """Coefficients, highest power first, and the largest error on the interval."""
    return mp.chebyfit(function, [mp.mpf(v) for v in interval], degree + 1, error=True)


def turns(scale, widths=(27, 56, 85)):
    """2/π times 2 ** scale, less a multiple of 4, in four pieces; all but the last are short."""
    value = 2 / mp.pi * mp.mpf(2) ** scale
    value -= 4 * mp.nint(value / 4)
    pieces = []
    for width in widths:
        pieces.append(mp.nint(value * mp.mpf(2) ** width) / mp.mpf(2) ** width)
        value -= pieces[-1]
    return tuple(float(v) for v in (*pieces, value))


def words(count=19, start=-29):
    """The binary digits of 2/π as 64-bit words; the first digit stands for 2 ** -start."""
    mp.mp.prec = 64 * count + 200
    digits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (64 * count + start - 1)))
    return [digits >> (64 * (count - 1 - i)) & (2**64 - 1) for i in range(count)]


HEADER = '''"""Polynomials, highest power first, and the digits of 2/π.

Written by `python bench/math_fit.py`, which knows what each of them is of; not to be edited.
"""

# fmt: off
'''


def rows(start, numbers, end):
    """The numbers in lines, as many in each as fit, between the first text and the last."""
    options = {"break_long_words": False, "break_on_hyphens": False}
    text = f"({', '.join(map(str, numbers))}){end}".replace("  # error ", "__#_error_")
    lines = textwrap.wrap(text, 100, initial_indent=start, subsequent_indent=" " * 8, **options)
    return [line.replace("__#_error_", "  # error ") for line in lines]


def tables():
    """The lines of all tables."""
    for name, function, interval, degrees in FITS:
        yield f"{name} = {{"
        for kind, degree in degrees.items():
            values, error = fit(function, interval, degree)
            numbers, end = (
                (repr(rounded(v, kind)) for v in values),
                f",  # error {mp.nstr(error, 2)}",
            )
            yield from rows(f'    "{kind}": ', numbers, end)
        yield "}"
    yield "TURNS = (  # quarter turns in 1 and in 2 ** 53"
    for scale in (0, 53):
        yield f"    {turns(scale)!r},"
    yield ")"
    yield from rows("TURN_WORDS = ", (f"0x{word:016X}" for word in words()), "")


if __name__ == "__main__":
    FILE.write_text(HEADER + "\n".join(tables()) + "\n", encoding="utf-8")
