"""The error function and its inverse."""

from __future__ import annotations

import math

import numpy as np

from adjoint.ir.dtype import dtypes
from adjoint.ir.uop import UOp
from adjoint.ops.mathematics.exp import exp_of_negative
from adjoint.ops.mathematics.log import log_of_normal
from adjoint.ops.mathematics.nodes import (
    absolute,
    apply,
    clamped,
    fitted,
    fma,
    like,
    minus,
    over,
    plus,
    test,
    times,
    where,
    with_sign,
)
from adjoint.ops.mathematics.real_function import Array, mapped, real_function

# Polynomials, highest power first; from bench/math_fit.py.
ERF = {
    "float32": (  # error 1.2e-9
        7.875874871388078e-05,
        -0.000801686430349946,
        0.005189087241888046,
        -0.02685421146452427,
        0.11283594369888306,
        -0.3761262595653534,
        0.12837916612625122,
    ),
    "float64": (  # error 7.4e-18
        -7.795898827002142e-10,
        1.3720064546777686e-08,
        -1.6208483801871705e-07,
        1.6447424703317362e-06,
        -1.492473690741966e-05,
        0.00012055294904839707,
        -0.0008548325975389692,
        0.0052239776071164225,
        -0.02686617064323777,
        0.11283791670945006,
        -0.37612638903183543,
        0.12837916709551256,
    ),
}
ERF_TAIL = {
    "float32": (  # error 1.7e-8
        1.6386372863053111e-06,
        -4.6087447117315605e-05,
        0.0005970529746264219,
        -0.004760747775435448,
        0.02642437070608139,
        -0.11008568108081818,
        -0.6318202614784241,
        -1.1302367448806763,
        0.0003209143760614097,
    ),
}
ERFCX = {
    "float64": (  # error 3.0e-17
        2.303871102204911e-06,
        -1.0090455177638378e-06,
        -1.9705425642924564e-05,
        5.103784025642847e-06,
        0.00012504365563560505,
        -0.00010518785010970023,
        -0.000779828441144131,
        0.001888692825117423,
        0.002529391688090826,
        -0.023770515030096282,
        0.06830802734579407,
        -0.11927366341288673,
        0.12964515870275323,
        -0.04756229435347071,
        -0.13562110612458117,
        1.2530080582697296,
    ),
}
ERFINV = {
    "float32": (  # error 4.0e-9
        4.671932285482683e-10,
        -8.739010404212877e-09,
        1.5984305434812995e-08,
        4.6541740061911696e-07,
        -3.4234142276545754e-06,
        -4.959691978001501e-06,
        0.00021825773001182824,
        -0.0012527485378086567,
        -0.0041773198172450066,
        0.24664029479026794,
        1.5014092922210693,
    ),
}
ERFINV_FAR = {
    "float32": (  # error 2.1e-8
        0.00012999828322790563,
        -0.0003209548012819141,
        -7.669993647141382e-05,
        0.0014983729925006628,
        -0.003587686223909259,
        0.005682274233549833,
        -0.007639134302735329,
        0.009445789270102978,
        1.001675009727478,
        2.832976818084717,
    ),
}
ERFINV_WIDE = {
    "float64": (  # error 6.8e-18
        -3.5932028927020693e-22,
        3.194015548136271e-21,
        1.999259988861535e-20,
        -3.4734793888538036e-19,
        6.075050702072414e-19,
        1.5510787009902526e-17,
        -1.2215637192404172e-16,
        -3.94018812230432e-17,
        6.521333511502239e-15,
        -4.0020031087558496e-14,
        -8.07192593899004e-14,
        2.6305268312595183e-12,
        -1.2978805369932565e-11,
        -5.414303283919504e-11,
        1.051223377050429e-09,
        -4.1126604371632185e-09,
        -2.907039127564132e-08,
        4.23478816822246e-07,
        -1.3654691758785656e-06,
        -1.3882523393957483e-05,
        0.00018673420801981186,
        -0.0007407025341546431,
        -0.006033670871426851,
        0.24015818242558834,
        1.6536545626831027,
    ),
}
ERFINV_WIDE_FAR = {
    "float64": (  # error 4.9e-18
        7.633691428917867e-09,
        -1.5405442548741828e-08,
        -2.079552944126927e-08,
        1.3184413710135048e-07,
        -2.456259700489211e-07,
        -2.7895486741709117e-08,
        1.481672536807299e-06,
        -3.985541911448451e-06,
        2.9325525810809953e-06,
        1.246497096070878e-05,
        -4.732067527913043e-05,
        6.828712942963752e-05,
        2.403151221089547e-05,
        -0.0003550378152652618,
        0.0009532893416222481,
        -0.0016882755353507652,
        0.002491442097955697,
        -0.0037512085082276724,
        0.005370914553555044,
        1.0052589676941655,
        3.0838856104922208,
    ),
}
ERFINV_WIDE_LAST = {
    "float64": (  # error 4.5e-19
        -8.386079927583452e-13,
        5.884901337606249e-12,
        -1.621001252755971e-11,
        1.4698723892630268e-11,
        6.066972996391104e-11,
        -3.806782460418581e-10,
        1.3265490517346892e-09,
        -3.5342960259053947e-09,
        7.813797701443221e-09,
        -1.5213533204942146e-08,
        2.902210640893715e-08,
        -6.757279877137554e-08,
        2.2905185526440076e-07,
        -9.930254796537951e-07,
        4.5260526812513625e-06,
        -1.96817711977443e-05,
        7.599527808399826e-05,
        -0.00021503011979910516,
        -0.00013871931837973613,
        1.0103004648645448,
        4.849906401408584,
    ),
}


def erf_of(x: UOp) -> UOp:
    """Near 0 an odd polynomial; further out 1 - erfc, a small term with few good bits to keep."""
    a, z = absolute(x), times(x, x)
    small = fma(a, fitted(z, ERF), a)
    tail = _tail_single(a) if x.dtype is dtypes.float32 else _tail(a)
    return with_sign(where(test("lt", a, 1.0), small, minus(1.0, tail)), x)


def _tail_single(a: UOp) -> UOp:
    """erfc(a) for 1 ≤ a: its logarithm is a polynomial."""
    return exp_of_negative(fitted(clamped(a, None, 4.0), ERF_TAIL))


def _tail(a: UOp) -> UOp:
    """erfc(a) = exp(-a²)·w((a - 3) / (a + 3)) / (1 + 2a) for 1 ≤ a."""
    a = clamped(a, None, 6.0)
    shape = fitted(over(minus(a, 3.0), plus(a, 3.0)), ERFCX)
    grown = exp_of_negative(times(a, apply("neg", a)))
    return over(times(grown, shape), fma(a, 2.0, 1.0))


def erfinv_of(x: UOp) -> UOp:
    """x times a smooth function of w = -log(1 - x²): a polynomial of w, or of √w for large w."""
    a = absolute(x)
    rest = times(minus(1.0, a), plus(a, 1.0))
    w = apply("neg", log_of_normal(rest))
    root = apply("sqrt", w)
    value = times(_ratio_single(w, root) if x.dtype is dtypes.float32 else _ratio(w, root), x)
    value = where(test("eq", a, 1.0), with_sign(like(math.inf, x), x), value)
    return where(test("lt", like(1.0, a), a), math.nan, value)


def _ratio_single(w: UOp, root: UOp) -> UOp:
    near, far = fitted(minus(w, 2.5), ERFINV), fitted(minus(root, 3.0), ERFINV_FAR)
    return where(test("lt", w, 5.0), near, far)


def _ratio(w: UOp, root: UOp) -> UOp:
    near = fitted(minus(w, 3.125), ERFINV_WIDE)
    far = fitted(minus(root, 3.25), ERFINV_WIDE_FAR)
    last = fitted(minus(root, 5.0), ERFINV_WIDE_LAST)
    return where(test("lt", w, 6.25), near, where(test("lt", w, 16.0), far, last))


_HALF_ROOT_PI = math.sqrt(math.pi) / 2
erf = real_function(
    "erf",
    "Error function.",
    erf_of,
    mapped(math.erf),
    lambda y, x: (-x * x).exp() * (1 / _HALF_ROOT_PI),
)


def _erfinv_reference(x: Array) -> Array:
    """Newton steps on erf from Winitzki's approximation, in float64."""
    wide = np.asarray(x, np.float64)
    inner = np.clip(wide, -1 + 1e-16, 1 - 1e-16)
    lead = np.log1p(-inner * inner)
    part = 2 / (math.pi * 0.147) + lead / 2
    y = np.copysign(np.sqrt(np.sqrt(part * part - lead / 0.147) - part), inner)
    errorf = mapped(math.erf)
    for _ in range(4):
        y = y - (errorf(y) - inner) * _HALF_ROOT_PI * np.exp(y * y)
    y = np.where(np.abs(wide) == 1, np.copysign(np.inf, wide), y)
    return np.where(np.abs(wide) > 1, np.nan, y).astype(np.asarray(x).dtype)


erfinv = real_function(
    "erfinv",
    "Inverse of the error function on (-1, 1).",
    erfinv_of,
    _erfinv_reference,
    lambda y, x: _HALF_ROOT_PI * (y * y).exp(),
    -0.9,
    0.9,
)
