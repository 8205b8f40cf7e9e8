"""Reductions made of primitives: sums with a dtype, means, variances, norms, covariances.

`axis` is None (all), an int or a tuple. Means and norms of float16 and bfloat16 are worked out in
float32 and rounded once. The softmax family lives in `softmax.py`, what sorts or counts in
`order.py`, what runs along an axis in `cumulative.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, ShapeError
from adjoint.ir.derivative import ZeroGradient
from adjoint.ir.dtype import as_dtype, dtypes, real_of, to_float, total_dtype
from adjoint.ir.opdef import Bad, OpDef, Sample, alias, composite, derived
from adjoint.ir.precision import full
from adjoint.ir.uop import UOp
from adjoint.ops import reduce
from adjoint.ops.composite import cumulative, order, softmax
from adjoint.ops.composite.elementary import in_float, widened
from adjoint.ops.movement import checked_axes, checked_axis
from adjoint.ops.samples import AXIS_ERRORS, SPECIAL, Maker, given, real, rough, whole

Array = np.ndarray[Any, Any]
Axis = int | tuple[int, ...] | None


def over_axes(*more: tuple[Any, ...] | Sample) -> Maker:
    """Every way to name axes, size 0, and the special floats."""
    return given(
        (real(2, 3),),
        (real(2, 3), 1),
        (real(2, 3), (0, 1), True),
        (real(2, 3, 4), (0, -1)),
        (real(2, 3), -2, True),
        (real(3, 0), 0),
        rough(SPECIAL),
        *more,
    )


def _count(x: UOp, axes: tuple[int, ...]) -> int:
    return math.prod(x.shape[a] for a in axes)


def _in_dtype(reduction: OpDef, x: UOp, axes: tuple[int, ...], keepdim: bool, dtype: Any) -> UOp:
    kind = total_dtype(x.dtype) if dtype is None else as_dtype(dtype)
    return reduction(x.cast(kind), axes, keepdim).cast(kind)


def _typed(numpy: Any) -> Any:
    return lambda x, axis=None, keepdim=False, dtype=None: numpy(
        x, axis=axis, keepdims=keepdim, dtype=dtype.np if dtype else None
    )


_TYPED = over_axes(
    (real(2, 3), (), False),
    (real(),),
    (real(0, 3), 0),
    (real(2, 3), 1, False, dtypes.float64),
    rough(whole(2, 3), 1, {"dtype": dtypes.float32}),
    rough(whole(2, 3), {"dtype": dtypes.int16}),
)


@derived(
    reference=_typed(np.sum),
    samples=_TYPED,
    errors=(*AXIS_ERRORS, Bad("E2001", (real(2),), {"dtype": "f33"}, match="f33")),
    kinds="iuf",
    precision=full,
)
def sum_(x: UOp, axis: Axis = None, keepdim: bool = False, dtype: Any = None) -> UOp:
    """Sum over axes, in `dtype` if given; else integers are summed in 64 bits."""
    return _in_dtype(reduce.sum_, x, checked_axes("sum", axis, x), keepdim, dtype)


@derived(reference=_typed(np.prod), samples=_TYPED, errors=AXIS_ERRORS, kinds="iuf", precision=full)
def prod(x: UOp, axis: Axis = None, keepdim: bool = False, dtype: Any = None) -> UOp:
    """Product over axes, in `dtype` if given; else integers are multiplied in 64 bits."""
    return _in_dtype(reduce.prod, x, checked_axes("prod", axis, x), keepdim, dtype)


def _mean_reference(x: Any, axis: Any = None, keepdim: bool = False) -> Array:
    total = np.sum(in_float(x), axis=axis, keepdims=keepdim)
    return total / np.sum(np.ones(np.shape(x)), axis=axis, keepdims=keepdim)


@composite(
    reference=_mean_reference,
    samples=over_axes((real(),), rough(real(0, 3), 0), rough(real(2, 0))),
    errors=AXIS_ERRORS,
    precision=full,
)
def mean(x: UOp, axis: Axis = None, keepdim: bool = False) -> UOp:
    """Mean over axes; integers as floats. The mean of nothing is NaN."""
    axes = checked_axes("mean", axis, x)
    total = widened(x).reduce_sum(axes, keepdim)
    return (total / _count(x, axes)).cast(to_float(x.dtype))


def _var_reference(x: Any, axis: Any = None, keepdim: bool = False, correction: float = 1) -> Array:
    x = in_float(x)
    away = np.abs(x - _mean_reference(x, axis, True)) ** 2
    count = np.sum(np.ones(np.shape(x)), axis=axis, keepdims=keepdim)
    return np.sum(away, axis=axis, keepdims=keepdim) / np.maximum(count - correction, 0)


_SPREAD = over_axes(
    (real(2, 3), 1, False, 0),
    (real(2, 3), None, False, 2),
    (real(4, 2), 0, True, 0.5),
    rough(np.ones((2, 3)), 1),
    rough(real(2, 1), 1),
    rough(real()),
)


@composite(reference=_var_reference, samples=_SPREAD, errors=AXIS_ERRORS, precision=full)
def var(x: UOp, axis: Axis = None, keepdim: bool = False, correction: float = 1) -> UOp:
    """Variance over axes: squared distances from the mean, summed and divided by n - correction."""
    axes = checked_axes("var", axis, x)
    wide = widened(x)
    away = wide - wide.mean(axes, True)
    away = away.abs() if away.dtype.is_complex else away
    total = (away * away).reduce_sum(axes, keepdim)
    return (total / max(_count(x, axes) - correction, 0)).cast(real_of(to_float(x.dtype)))


@composite(
    reference=lambda x, axis=None, keepdim=False, correction=1: np.sqrt(
        _var_reference(x, axis, keepdim, correction)
    ),
    samples=_SPREAD,
    errors=AXIS_ERRORS,
    precision=full,
)
def std(x: UOp, axis: Axis = None, keepdim: bool = False, correction: float = 1) -> UOp:
    """Standard deviation over axes, the root of `var`; its gradient at 0 is 0."""
    kind = real_of(to_float(x.dtype))
    return (
        widened(x).var(checked_axes("std", axis, x), keepdim, correction).smooth_root().cast(kind)
    )


def _with_mean(name: str, spread: OpDef) -> OpDef:
    def pair(
        x: UOp, axis: Axis = None, keepdim: bool = False, correction: float = 1
    ) -> tuple[UOp, UOp]:
        return spread(x, axis, keepdim, correction), x.mean(axis, keepdim)

    def reference(
        x: Any, axis: Any = None, keepdim: bool = False, correction: float = 1
    ) -> tuple[Array, Array]:
        return spread.reference(x, axis, keepdim, correction), _mean_reference(x, axis, keepdim)

    pair.__doc__ = f"`{spread.name}` and `mean` over axes, as a pair."
    fields: dict[str, Any] = {"samples": spread.samples, "errors": AXIS_ERRORS, "precision": full}
    return derived(name=name, reference=reference, **fields)(pair)


var_mean = _with_mean("var_mean", var)
std_mean = _with_mean("std_mean", std)
alias(reduce.max_, "amax")
alias(reduce.min_, "amin")


@derived(
    reference=lambda x, axis=None, keepdim=False: (
        np.min(x, axis=axis, keepdims=keepdim),
        np.max(x, axis=axis, keepdims=keepdim),
    ),
    samples=over_axes(),
    errors=(*AXIS_ERRORS, Bad("E3006", (np.zeros((0, 3)), 0), match="empty axis")),
    kinds="biuf",
)
def aminmax(x: UOp, axis: Axis = None, keepdim: bool = False) -> tuple[UOp, UOp]:
    """The smallest and the largest element over axes, as a pair."""
    return x.min(axis, keepdim), x.max(axis, keepdim)


@composite(
    reference=lambda x, axis=None, keepdim=False: np.count_nonzero(x, axis=axis, keepdims=keepdim),
    samples=over_axes((whole(3, 4, hi=2), 0), (whole(),)),
    ad=ZeroGradient("a count is piecewise constant"),
    errors=AXIS_ERRORS,
)
def count_nonzero(x: UOp, axis: Axis = None, keepdim: bool = False) -> UOp:
    """The number of nonzero elements over axes; NaN is nonzero."""
    flags = x.ne(0).cast(dtypes.index)
    return flags.reduce_sum(checked_axes("count_nonzero", axis, x), keepdim)


_GAPS = (
    rough(np.array([[1.0, np.nan, 2.0], [np.nan, 3.0, 4.0]]), 1),
    rough(np.array([[1.0, np.nan], [2.0, np.nan]]), 0),
)


@composite(
    reference=lambda x, axis=None, keepdim=False: np.nansum(x, axis=axis, keepdims=keepdim),
    samples=over_axes(*_GAPS),
    errors=AXIS_ERRORS,
    kinds="iuf",
    precision=full,
)
def nansum(x: UOp, axis: Axis = None, keepdim: bool = False) -> UOp:
    """Sum over axes with NaN counted as 0."""
    kept = x.isnan().where(0, x).cast(total_dtype(x.dtype))
    return kept.reduce_sum(checked_axes("nansum", axis, x), keepdim)


def _nanmean_reference(x: Any, axis: Any = None, keepdim: bool = False) -> Array:
    x = in_float(x)
    there = np.sum(~np.isnan(x), axis=axis, keepdims=keepdim)
    return np.nansum(x, axis=axis, keepdims=keepdim) / there


@composite(
    reference=_nanmean_reference,
    samples=over_axes(*_GAPS),
    errors=AXIS_ERRORS,
    kinds="iuf",
    precision=full,
)
def nanmean(x: UOp, axis: Axis = None, keepdim: bool = False) -> UOp:
    """Mean over axes of the elements that are not NaN."""
    axes, wide = checked_axes("nanmean", axis, x), widened(x)
    there = (~wide.isnan()).cast(wide.dtype).reduce_sum(axes, keepdim)
    return (wide.nansum(axes, keepdim) / there).cast(to_float(x.dtype))


def _norm_reference(x: Any, p: float = 2, axis: Any = None, keepdim: bool = False) -> Array:
    size = np.abs(in_float(x))
    if np.isinf(p):
        return (np.max if p > 0 else np.min)(size, axis=axis, keepdims=keepdim)
    powers = (size != 0).astype(size.dtype) if p == 0 else size**p
    return np.sum(powers, axis=axis, keepdims=keepdim) ** (1 / p if p else 1)


_ORDERS = (2, 1, 0, 3, 1.5, math.inf, -math.inf)


@composite(
    reference=_norm_reference,
    samples=lambda: [
        *(Sample((real(2, 3), p, 1)) for p in _ORDERS),
        *(Sample((real(2, 3), p, None, True)) for p in _ORDERS),
        Sample((real(2, 3, 4), 2.0, (0, -1))),
        Sample((real(0, 3), 2, 0)),
        Sample((real(),)),
        rough(np.zeros((2, 3)), 2, 1),
        rough(np.array([1.0, np.inf, -1.0])),
        rough(np.array([1.0, np.nan]), math.inf),
    ],
    errors=(
        Bad("E3004", (real(2, 3), 2, 2), match="axis 2"),
        Bad("E2001", (real(2), "nuc"), match="ord"),
        Bad("E3006", (np.zeros((0, 3)), math.inf, 0), match="empty axis"),
    ),
    kinds="iufc",
    precision=full,
)
def vector_norm(x: UOp, ord: float = 2, axis: Axis = None, keepdim: bool = False) -> UOp:
    """`(Σ |x| ** ord) ** (1 / ord)` over axes; inf, -inf and 0 are the max, the min and a count."""
    if not isinstance(ord, (int, float)):
        raise ArgumentError("E2001", f"ord is a number, got {ord!r}", op="vector_norm")
    axes, p, wide = checked_axes("vector_norm", axis, x), float(ord), widened(x)
    size = wide.abs()
    if math.isinf(p):
        total = size.max(axes, keepdim) if p > 0 else size.min(axes, keepdim)
    elif p == 2:
        squares = size * size if wide.dtype.is_complex else wide * wide
        total = _root(squares.reduce_sum(axes, keepdim), p, _count(x, axes))
    elif p == 0:
        total = size.ne(0).cast(size.dtype).reduce_sum(axes, keepdim)
    elif p == 1:
        total = size.reduce_sum(axes, keepdim)
    else:
        powers = (size**p).reduce_sum(axes, keepdim)
        total = _root(powers, p, _count(x, axes))
    return total.cast(real_of(to_float(x.dtype)))


def _root(powers: UOp, p: float, count: int) -> UOp:
    """The p-th root of a sum; that of nothing is 0 and stays it."""
    if p < 0:
        return powers ** (1 / p)
    return powers.smooth_root(p) if count else powers


@derived(
    reference=lambda x, p="fro", dim=None, keepdim=False: _norm_reference(
        x, 2 if p == "fro" else p, dim, keepdim
    ),
    samples=given(
        (real(2, 3),),
        (real(2, 3), "fro", 1, True),
        (real(2, 3), 1, (0, 1)),
        (real(2, 3), math.inf, -1),
    ),
    errors=(
        Bad("E2008", (real(2, 3), "nuc"), match="nuc"),
        Bad("E3004", (real(2, 3), 2, 2), match="axis 2"),
    ),
    kinds="iufc",
    precision=full,
)
def norm(x: UOp, p: Any = "fro", dim: Axis = None, keepdim: bool = False) -> UOp:
    """The vector norm of order p over axes; "fro" is 2."""
    if isinstance(p, str) and p != "fro":
        fix = "norms of matrices are in linalg"
        raise ArgumentError("E2008", f'p {p!r} is not a number or "fro"', op="norm", help=fix)
    return x.vector_norm(2 if p == "fro" else p, dim, keepdim)


@composite(
    reference=lambda x, p=2.0, dim=1, eps=1e-12: (
        in_float(x) / np.maximum(_norm_reference(x, p, dim, True), eps)
    ),
    samples=given(
        (real(2, 3),),
        (real(2, 3), 1, 0),
        (real(2, 3), math.inf, -1),
        (real(2, 3, 4), 3.0, 1, 1e-6),
        (real(2, 3), 2.0, 1, 50.0),
        (real(0, 3),),
        rough(np.zeros((2, 3))),
        rough(np.array([[1.0, np.nan], [0.0, np.inf]]), 0),
    ),
    errors=(Bad("E3004", (real(3),), match="axis 1"),),
    kinds="iuf",
    precision=full,
)
def normalize(x: UOp, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> UOp:
    """x divided by its norm of order p along `dim`, or by eps where that is larger."""
    wide = widened(x)
    axis = checked_axis("normalize", dim, len(x.shape), x)
    return (wide / wide.vector_norm(p, axis, True).maximum(eps)).cast(to_float(x.dtype))


@derived(
    reference=lambda x, other, p=2: _norm_reference(np.subtract(x, other), p),
    samples=given(
        (real(2, 3), real(3, seed=1)), (real(4), 0.5, 1), (real(4), real(4, seed=1), math.inf)
    ),
    errors=(Bad("E3001", (real(2, 3), real(2, 4)), match="dimension 1"),),
    kinds="if",
    precision=full,
)
def dist(x: UOp, other: Any, p: float = 2) -> UOp:
    """The norm of order p of `x - other`."""
    return (x - other).vector_norm(p)


def _cov_reference(x: Any, correction: float = 1) -> Array:
    rows = in_float(x) if np.ndim(x) == 2 else in_float(x).reshape(1, -1)
    away = rows - _mean_reference(rows, 1, True)
    result = away @ away.T / max(rows.shape[1] - correction, 0)
    return result if np.ndim(x) == 2 else result.reshape(())


def _as_rows(op: str, x: UOp) -> UOp:
    if len(x.shape) > 2:
        problem = f"takes a matrix whose rows are variables, not rank {len(x.shape)}"
        raise ShapeError("E3002", problem, op=op, x=x)
    return widened(x if len(x.shape) == 2 else x.reshape(1, -1))


_RANK = (Bad("E3002", (real(2, 3, 4),), match="rank 3"),)


@composite(
    reference=_cov_reference,
    samples=given((real(3, 5),), (real(3, 5), 0), (real(6),), (real(1, 4), 2), (real(0, 3),)),
    errors=_RANK,
    kinds="iuf",
    precision=full,
)
def cov(x: UOp, correction: float = 1) -> UOp:
    """Covariances of the rows of a matrix; of a vector, its variance."""
    rows = _as_rows("cov", x)
    away = rows - rows.mean(1, True)
    y = away.contract(away, "ik,jk->ij") / max(rows.shape[1] - correction, 0)
    return (y if len(x.shape) == 2 else y.reshape(())).cast(to_float(x.dtype))


def _corrcoef_reference(x: Any) -> Array:
    spread = _cov_reference(x)
    scale = np.sqrt(np.diagonal(spread)) if np.ndim(x) == 2 else np.sqrt(spread)
    return np.clip(spread / (scale[:, None] * scale if np.ndim(x) == 2 else spread), -1, 1)


@composite(
    reference=_corrcoef_reference,
    samples=given((real(3, 5),), (real(6),), (real(0, 3),)),
    errors=_RANK,
    kinds="f",
    precision=full,
)
def corrcoef(x: UOp) -> UOp:
    """Correlations of the rows of a matrix, in [-1, 1]."""
    rows = _as_rows("corrcoef", x)
    away = rows - rows.mean(1, True)
    unit = away / (away * away).reduce_sum(1, True).sqrt()
    y = unit.contract(unit, "ik,jk->ij").clamp(-1, 1)
    return (y if len(x.shape) == 2 else y.reshape(())).cast(to_float(x.dtype))


__all__ = ["cumulative", "order", "softmax"]
