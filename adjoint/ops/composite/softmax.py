"""The softmax family: softmax, log_softmax, softmin, logsumexp, logcumsumexp.

All are worked out in float32 or wider and rounded once. `axis` is an int, a tuple or None (all).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.errors import DTypeError
from adjoint.ir.derivative import Jvp
from adjoint.ir.dtype import DType, as_dtype, dtypes, to_float
from adjoint.ir.opdef import Bad, composite
from adjoint.ir.precision import full
from adjoint.ir.uop import UOp
from adjoint.ops.composite.elementary import in_float, widened
from adjoint.ops.movement import checked_axes, checked_axis
from adjoint.ops.samples import AXIS_ERRORS, given, real, rough, whole

Array = np.ndarray[Any, Any]
Axis = int | tuple[int, ...] | None
_INF = math.inf
_EXTREMES = (
    rough(np.array([[1.0, -_INF, 2.0], [-_INF, -_INF, -_INF]]), 1),
    rough(np.array([[1.0, _INF, 2.0], [1.0, np.nan, 2.0]]), 1),
    rough(np.array([[300.0, 290.0, 0.0], [-300.0, -290.0, -280.0]]), 1),
)
_SAMPLES = given(
    (real(2, 3),),
    (real(2, 3), 0),
    (real(2, 3, 2), (0, -1)),
    (real(2, 3), None),
    (real(),),
    (real(2, 0),),
    (real(0, 3), 1),
    (real(2, 3), -1, dtypes.float64),
    rough(whole(2, 3), {"dtype": dtypes.float32}),
    *_EXTREMES,
)
_ERRORS = (
    Bad("E3004", (real(2, 3), 2), match="axis 2"),
    Bad("E2005", (real(2, 3),), {"dtype": dtypes.int32}, match="float dtype"),
)


def _result_dtype(op: str, x: UOp, dtype: Any) -> DType:
    kind = to_float(x.dtype) if dtype is None else as_dtype(dtype)
    if not kind.is_float:
        raise DTypeError("E2005", f"needs a float dtype, not {kind.name}", op=op, x=x)
    return kind


def _below_max(x: UOp, axes: tuple[int, ...]) -> UOp:
    """x less its largest element, in at least 32 bits: exp of it cannot overflow."""
    wide = widened(x)
    return wide if x.size == 0 else wide - wide.max(axes, True)


def _shifted(x: Any, axis: Any) -> Array:
    x = in_float(x)
    return x - np.max(x, axis=axis, keepdims=True, initial=-_INF)


def _along(x: Any, axis: Any) -> Any:
    return axis if np.ndim(x) else None


def _softmax_reference(x: Any, axis: Any = -1, dtype: DType | None = None) -> Array:
    grown = np.exp(_shifted(x, _along(x, axis)))
    return grown / np.sum(grown, axis=_along(x, axis), keepdims=True)


def _softmax_jvp(t: Any, y: UOp, x: UOp, axis: Axis, dtype: Any) -> UOp:
    p, d = widened(y), t[0].cast(widened(y).dtype)
    return (p * (d - (p * d).sum(axis, True))).cast(y.dtype)


@composite(
    reference=_softmax_reference,
    samples=_SAMPLES,
    ad=Jvp(_softmax_jvp),
    errors=_ERRORS,
    kinds="biuf",
    precision=full,
)
def softmax(x: UOp, axis: Axis = -1, dtype: Any = None) -> UOp:
    """`exp(x)` divided by its sum along `axis`, without overflow."""
    kind = _result_dtype("softmax", x, dtype)
    axes = checked_axes("softmax", axis, x)
    grown = _below_max(x.cast(kind), axes).exp()
    return (grown / grown.reduce_sum(axes, True)).cast(kind)


def _log_softmax_reference(x: Any, axis: Any = -1, dtype: DType | None = None) -> Array:
    low = _shifted(x, _along(x, axis))
    return low - np.log(np.sum(np.exp(low), axis=_along(x, axis), keepdims=True))


def _log_softmax_jvp(t: Any, y: UOp, x: UOp, axis: Axis, dtype: Any) -> UOp:
    wide = widened(y)
    d = t[0].cast(wide.dtype)
    return (d - (wide.exp() * d).sum(axis, True)).cast(y.dtype)


@composite(
    reference=_log_softmax_reference,
    samples=_SAMPLES,
    ad=Jvp(_log_softmax_jvp),
    errors=_ERRORS,
    kinds="biuf",
    precision=full,
)
def log_softmax(x: UOp, axis: Axis = -1, dtype: Any = None) -> UOp:
    """The logarithm of softmax, exact where softmax would be 0."""
    kind = _result_dtype("log_softmax", x, dtype)
    axes = checked_axes("log_softmax", axis, x)
    low = _below_max(x.cast(kind), axes)
    return (low - low.exp().reduce_sum(axes, True).log()).cast(kind)


@composite(
    reference=lambda x, axis=-1, dtype=None: _softmax_reference(-in_float(x), axis),
    samples=_SAMPLES,
    errors=_ERRORS,
    kinds="biuf",
    precision=full,
)
def softmin(x: UOp, axis: Axis = -1, dtype: Any = None) -> UOp:
    """The softmax of -x."""
    kind = _result_dtype("softmin", x, dtype)
    return (-x.cast(kind)).softmax(checked_axes("softmin", axis, x))


def _logsumexp_reference(x: Any, axis: Any = None, keepdim: bool = False) -> Array:
    add: Any = np.logaddexp
    return add.reduce(in_float(x), axis=_along(x, axis), keepdims=keepdim)


def _logsumexp_jvp(t: Any, y: UOp, x: UOp, axis: Axis, keepdim: bool) -> UOp:
    """Σ exp(x - y) t; a row of nothing but -inf has the gradient 0."""
    wide, axes = widened(x), checked_axes("logsumexp", axis, x)
    top = y.cast(wide.dtype).reshape([1 if a in axes else n for a, n in enumerate(x.shape)])
    weight = (wide - top.eq(-_INF).where(0, top)).exp()
    return (weight * t[0].cast(wide.dtype)).reduce_sum(axes, keepdim).cast(y.dtype)


@composite(
    reference=_logsumexp_reference,
    samples=given(
        (real(2, 3),),
        (real(2, 3), 1),
        (real(2, 3), (0, 1), True),
        (real(2, 3, 4), (0, -1)),
        (real(),),
        rough(real(0, 3), 0),
        (real(0, 3), 1),
        *_EXTREMES,
    ),
    ad=Jvp(_logsumexp_jvp),
    errors=AXIS_ERRORS,
    kinds="biuf",
    precision=full,
)
def logsumexp(x: UOp, axis: Axis = None, keepdim: bool = False) -> UOp:
    """`log(Σ exp(x))` over axes, without overflow; -inf for no elements."""
    axes, wide = checked_axes("logsumexp", axis, x), widened(x)
    if x.size == 0:
        return wide.exp().reduce_sum(axes, keepdim).log().cast(to_float(x.dtype))
    top = wide.max(axes, True)
    top = top.isfinite().where(top, 0)  # inf - inf would be NaN
    y = (wide - top).exp().reduce_sum(axes, True).log() + top
    flat = wide.reduce_sum(axes, keepdim).shape
    return y.reshape(flat).cast(to_float(x.dtype))


def _logcumsumexp_reference(x: Any, axis: int = 0) -> Array:
    x = in_float(x)
    return np.logaddexp.accumulate(x, axis=axis) if x.size and x.ndim else x


def _joined(a: UOp, b: UOp) -> UOp:
    """logaddexp whose gradient is 0, not NaN, where both are -inf."""
    nothing = a.eq(-_INF) & b.eq(-_INF)
    sums = nothing.where(0, a).logaddexp(nothing.where(0, b))
    return nothing.where(-_INF, sums)


@composite(
    reference=_logcumsumexp_reference,
    samples=given(
        (real(2, 5), 1),
        (real(4, 2),),
        (real(3), -1),
        (real(), 0),
        (real(0, 3), 0),
        (real(2, 1), 1),
        *_EXTREMES,
    ),
    errors=(Bad("E3004", (real(2, 3), 2), match="axis 2"),),
    kinds="biuf",
    precision=full,
)
def logcumsumexp(x: UOp, axis: int = 0) -> UOp:
    """The logarithm of the running sum of `exp(x)`, without overflow.

    Sums over 2, 4, 8 … neighbours are joined, so log2(n) steps do it.
    """
    number, y = checked_axis("logcumsumexp", axis, len(x.shape), x), widened(x)
    n, reach = (x.shape[number] if x.shape else 1), 1
    while reach < n:
        bounds = [(0, s - reach) if a == number else (0, s) for a, s in enumerate(x.shape)]
        front = [reach if a == number else 0 for a in range(len(x.shape))]
        y = _joined(y, y.shrink(bounds).pad_constant(front, [0] * len(front), None, -_INF))
        reach *= 2
    return y.cast(to_float(x.dtype))
