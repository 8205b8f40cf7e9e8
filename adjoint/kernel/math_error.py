"""The error function and its inverse."""

from __future__ import annotations

from adjoint.ir.dtype import dtypes
from adjoint.ir.uop import UOp
from adjoint.kernel.math_coefficients import ERF, ERF_TAIL, ERFCX
from adjoint.kernel.math_exp import exp_of_negative
from adjoint.kernel.math_nodes import (
    absolute,
    apply,
    clamped,
    fitted,
    fma,
    minus,
    over,
    plus,
    test,
    times,
    where,
    with_sign,
)


def erf(x: UOp) -> UOp:
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
