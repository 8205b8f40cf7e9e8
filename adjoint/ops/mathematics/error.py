"""The error function and its inverse."""

from __future__ import annotations

import math

import numpy as np

from adjoint.ir.dtype import dtypes
from adjoint.ir.precision import full
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
from adjoint.ops.mathematics.polynomials import (
    ERF,
    ERF_TAIL,
    ERFCX,
    ERFINV,
    ERFINV_FAR,
    ERFINV_WIDE,
    ERFINV_WIDE_FAR,
    ERFINV_WIDE_LAST,
)
from adjoint.ops.mathematics.real_function import Array, mapped, real_function


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
    kinds="f",
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
    kinds="f",
    precision=full,
)
