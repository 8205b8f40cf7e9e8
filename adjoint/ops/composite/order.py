"""Statistics of order and frequency: median, mode, quantile, histc, bincount.

Ties go to the smallest value; NaN sorts last, and makes a median or a quantile NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, ShapeError
from adjoint.ir.derivative import ZeroGradient
from adjoint.ir.dtype import DType, dtypes, to_float
from adjoint.ir.opdef import Bad, OpDef, Sample, composite, derived
from adjoint.ir.precision import full
from adjoint.ir.uop import UOp
from adjoint.ops.composite.concatenate import part_of
from adjoint.ops.composite.elementary import in_float, widened
from adjoint.ops.indexing import check_index, gathered, positions, scattered
from adjoint.ops.movement import checked_axes, checked_axis
from adjoint.ops.samples import given, real, rough, whole

Array = np.ndarray[Any, Any]
_TIES = np.array([[2.0, 1.0, 2.0, 1.0, 3.0], [0.0, 0.0, 5.0, 5.0, 5.0]])
_GAPS = np.array([[1.0, np.nan, 2.0, 0.0], [np.nan] * 4, [4.0, 2.0, 3.0, 1.0]])


def _some(op: str, x: UOp, axis: int | None) -> None:
    """An order statistic needs an element."""
    if (x.size if axis is None else x.shape[axis] if x.shape else 1) == 0:
        raise ShapeError("E3006", "an empty axis has no such element", op=op, x=x)


def _rows(op: str, x: UOp, dim: int | None) -> tuple[UOp, int]:
    """x with an axis to work along: the one named, or that of the flattened tensor."""
    axis = None if dim is None else checked_axis(op, dim, len(x.shape), x)
    _some(op, x, axis)
    return (x, axis) if axis is not None and x.shape else (x.reshape(-1), 0)


def _picked(x: UOp, rows: UOp, axis: int, index: UOp, keepdim: bool) -> tuple[UOp, UOp]:
    """The elements at an index of size 1 along the axis, and the index, in the result's shape."""
    value = rows.gather(axis, index)
    shape = tuple(n for a, n in enumerate(rows.shape) if a != axis)
    if keepdim:
        shape = index.shape if len(rows.shape) == len(x.shape) else (1,) * len(x.shape)
    return value.reshape(shape), index.reshape(shape)


def _middle(op: str, x: UOp, dim: int | None, keepdim: bool, skip: bool) -> Any:
    rows, axis = _rows(op, x, dim)
    order, n = rows.argsort(axis), rows.shape[axis]
    nan = rows.isnan()
    if skip:
        there = n - nan.reduce_sum(axis, True)
        index = order.gather(axis, ((there - 1) // 2).maximum(0))
    else:
        at = UOp._apply("const", (n - 1) // 2, dtypes.int32, nan.any(axis, True).shape, x.device)
        index = nan.any(axis, True).where(nan.argmax(axis, True), order.gather(axis, at))
    pair = _picked(x, rows, axis, index, keepdim)
    return pair[0] if dim is None else pair


def _median_row(row: Array, skip: bool) -> int:
    missing = np.isnan(row)
    if missing.any() and not skip:
        return int(np.argmax(missing))
    there = row.size - int(missing.sum())
    return int(np.argsort(row, kind="stable")[max(there - 1, 0) // 2])


def _by_row(pick: Any, x: Any, dim: int | None, keepdim: bool) -> Any:
    """Values and indices from a function of one row that gives an index."""
    x = np.asarray(x)
    rows = x.reshape(-1) if dim is None or not x.ndim else np.moveaxis(x, dim, -1)
    where = np.array([pick(r) for r in rows.reshape(-1, rows.shape[-1])], np.int64)
    where = where.reshape(rows.shape[:-1])
    values = np.take_along_axis(rows, where[..., None], -1)[..., 0]
    if keepdim and x.ndim:
        shape = [1] * x.ndim if dim is None else np.sum(x, axis=dim, keepdims=True).shape
        values, where = values.reshape(shape), where.reshape(shape)
    return values if dim is None else (values, where)


_MIDDLES = given(
    (real(2, 5),),
    (real(2, 4), 1),
    (real(4, 3), 0, True),
    (real(2, 3), None, True),
    (real(3, 4), -1),
    (real(),),
    (real(), 0),
    (real(0, 3), 1),
    rough(_TIES, 1),
    rough(_GAPS, 1),
    rough(_GAPS),
)
_EMPTY = (
    Bad("E3006", (np.zeros((0, 3)), 0), match="empty axis"),
    Bad("E3004", (real(2, 3), 2), match="axis 2"),
)


def _median(name: str, doc: str, skip: bool) -> OpDef:
    def call(x: UOp, dim: int | None = None, keepdim: bool = False) -> Any:
        return _middle(name, x, dim, keepdim, skip)

    def reference(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        return _by_row(lambda row: _median_row(row, skip), x, dim, keepdim)

    call.__doc__ = doc
    made = derived(name=name, reference=reference, samples=_MIDDLES, errors=_EMPTY, kinds="iuf")
    return made(call)


median = _median(
    "median",
    "The lower median: of all elements, or with `dim` (values, indices) along it. NaN wins.",
    skip=False,
)
nanmedian = _median(
    "nanmedian",
    "The lower median of the elements that are not NaN, as `median` gives it.",
    skip=True,
)


def _mode_row(row: Array) -> int:
    order = np.argsort(row, kind="stable")
    counts = np.array([np.sum(row == v) if v == v else 1 for v in row[order]])
    best = row[order][np.argmax(counts)]
    return int(np.flatnonzero(row == best)[-1]) if best == best else int(order[0])


@derived(
    reference=lambda x, dim=-1, keepdim=False: _by_row(_mode_row, x, dim, keepdim),
    samples=given(
        (real(2, 3),),
        (real(),),
        (real(0, 3), 1),
        rough(_TIES),
        rough(_TIES.T, 0, True),
        rough(_GAPS, -1),
        rough(np.zeros((2, 4)), 0),
    ),
    errors=_EMPTY,
    kinds="iuf",
)
def mode(x: UOp, dim: int = -1, keepdim: bool = False) -> tuple[UOp, UOp]:
    """The most frequent value along `dim` (of several the smallest) and its last index."""
    rows, axis = _rows("mode", x, dim)
    order, n = rows.argsort(axis), rows.shape[axis]
    sorted_ = rows.gather(axis, order)
    fresh = part_of(sorted_, axis, 0, n - 1).ne(part_of(sorted_, axis, 1, n))
    place = positions(n, axis, len(rows.shape), x.device)
    front = [int(a == axis) for a in range(len(rows.shape))]
    starts = fresh.pad_constant(front, [0] * len(front), None, True).where(place, 0)
    last = (place - starts.scan_max(axis)).argmax(axis, True)  # of the longest run, its end
    return _picked(x, rows, axis, order.gather(axis, last), keepdim)


_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _fractions(x: UOp, q: Any, wide: DType) -> UOp:
    """q as a node of rank 0 or 1."""
    if isinstance(q, UOp):
        if len(q.shape) > 1:
            raise ShapeError("E3002", "q has rank 0 or 1", op="quantile", q=q)
        return widened(q)
    listed = list(q) if isinstance(q, (tuple, list)) else [q]
    if not listed or not all(isinstance(v, (int, float)) and 0 <= v <= 1 for v in listed):
        raise ArgumentError("E2006", f"q lies between 0 and 1, got {q!r}", op="quantile", x=x)
    nodes = [UOp._apply("const", float(v), wide, (1,), x.device) for v in listed]
    joined = nodes[0].cat(*nodes[1:], dim=0)
    return joined if isinstance(q, (tuple, list)) else joined.reshape(())


def _quantile_reference(
    x: Any, q: Any, dim: int | None = None, keepdim: bool = False, interpolation: Any = "linear"
) -> Any:
    return np.quantile(in_float(x), in_float(q), axis=dim, keepdims=keepdim, method=interpolation)


def _quantile_samples() -> list[Sample]:
    x = real(4, 5)
    methods = [Sample((x, 0.37, 1), {"interpolation": m}) for m in _METHODS]
    ties = [Sample((x, 0.625, 1), {"interpolation": m}) for m in _METHODS]
    q = np.array([0.25, 0.5, 1.0])
    return [
        *methods,
        *ties,
        Sample((x, 0.37)),
        Sample((x, (0.0, 0.3, 1), 0)),
        Sample((x, [0.21, 0.9], 1, True)),
        Sample((x, 0.5, None, True)),
        rough(x, q, -1),
        Sample((real(), 0.5)),
        rough(_GAPS, 0.4, 1),
        rough(_TIES, 0.3, 1),
        rough(np.array([1.0, 2.0, np.inf]), 0.7, {"interpolation": "higher"}),
    ]


@derived(
    reference=_quantile_reference,
    samples=_quantile_samples,
    errors=(
        *(Bad(b.code, (b.args[0], 0.5, b.args[1]), match=b.match) for b in _EMPTY),
        Bad("E2006", (real(3), 1.5), match="between 0 and 1"),
        Bad("E2008", (real(3), 0.5), {"interpolation": "cubic"}, match="interpolation"),
        Bad("E3002", (real(3), real(2, 2)), match="rank 0 or 1"),
    ),
    kinds="iuf",
    precision=full,
)
def quantile(
    x: UOp, q: Any, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear"
) -> UOp:
    """The value below which a fraction q of the elements lies; several q give a leading axis."""
    if interpolation not in _METHODS:
        problem = f"interpolation {interpolation!r} is not one of {', '.join(_METHODS)}"
        raise ArgumentError("E2008", problem, op="quantile", x=x)
    flat, axis = _rows("quantile", x, dim)
    rows = widened(flat)
    sorted_ = rows.gather(axis, rows.argsort(axis))
    at = _fractions(x, q, rows.dtype) * (rows.shape[axis] - 1)
    y = _between(sorted_, axis, at, interpolation)
    last = _at(sorted_, axis, at * 0 + (rows.shape[axis] - 1))
    y = last.isnan().where(last, y).cast(to_float(x.dtype))
    if not keepdim:
        return y
    gone = (axis,) if dim is not None and x.shape else checked_axes("quantile", None, x)
    return y.reshape(*at.shape, *(1 if a in gone else n for a, n in enumerate(x.shape)))


def _at(rows: UOp, axis: int, place: UOp) -> UOp:
    """The elements at whole places along the axis; the axes of `place` come first."""
    return gathered(rows, (place.cast(dtypes.index),), (axis,))


def _between(rows: UOp, axis: int, at: UOp, way: str) -> UOp:
    if way == "nearest":
        return _at(rows, axis, at.round())
    low, high = _at(rows, axis, at.floor()), _at(rows, axis, at.ceil())
    if way in ("lower", "higher"):
        return low if way == "lower" else high
    if way == "midpoint":
        return low.eq(high).where(low, low * 0.5 + high * 0.5)
    part = (at - at.floor()).reshape(*at.shape, *([1] * (len(rows.shape) - 1)))
    return low.eq(high).where(low, low.lerp(high, part))  # two equal infinities have no middle


def _histc_reference(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Array:
    x = np.ravel(x)
    bounds = (min, max) if min != max else (np.min(x), np.max(x)) if x.size else (0, 1)
    bounds = bounds if bounds[0] != bounds[1] else (bounds[0] - 1, bounds[1] + 1)
    return np.histogram(x[np.isfinite(x)], bins, bounds)[0].astype(np.float64)


@composite(
    reference=_histc_reference,
    samples=given(
        (real(4, 5), 4),
        (real(30), 5, -1.99, 1.52),
        (real(6),),
        (real(0), 3),
        rough(np.ones(4), 4),
        rough(np.array([0.1, 0.9, np.nan, 2.0, 1.0, 0.0]), 3, 0, 1),
    ),
    ad=ZeroGradient("counts are piecewise constant"),
    errors=(
        Bad("E3006", (real(3), 0), match="bins"),
        Bad("E2008", (real(3), 4, 2, 1), match="min"),
    ),
    kinds="f",
)
def histc(x: UOp, bins: int = 100, min: float = 0, max: float = 0) -> UOp:
    """How many elements fall into each of `bins` equal bins of [min, max].

    With min equal to max the bins span the data. Elements outside and NaN are not counted.
    """
    if bins < 1:
        raise ShapeError("E3006", f"bins is ≥ 1, got {bins}", op="histc", x=x)
    if min > max:
        raise ArgumentError("E2008", f"min {min} is above max {max}", op="histc", x=x)
    counts = UOp._apply("const", 0, dtypes.int32, (bins,), x.device)
    flat = widened(x.reshape(-1))
    if x.size:
        low, high = _span(flat, float(min), float(max))
        inside = (flat >= low) & (flat <= high)
        place = ((flat - low) / (high - low) * bins).floor().minimum(bins - 1)
        index = inside.where(place, 0).cast(dtypes.int32)
        counts = scattered(counts, (index,), inside.cast(dtypes.int32), (0,), "add")
    return counts.cast(to_float(x.dtype))


def _span(x: UOp, low: float, high: float) -> tuple[Any, Any]:
    fixed = [UOp._apply("const", v, x.dtype, (), x.device) for v in (low, high)]
    if low < high:
        return fixed[0], fixed[1]
    least, most = x.min(), x.max()
    single = least.eq(most)
    return single.where(least - 1, least), single.where(most + 1, most)


def _bincount_reference(x: Any, length: int, weights: Any = None) -> Array:
    kind = np.int64 if weights is None else np.float64  # of nothing NumPy gives integers
    return np.bincount(x.astype(np.int64), weights, minlength=length).astype(kind)


@derived(
    reference=_bincount_reference,
    samples=given(
        (whole(6).astype(np.uint64), 5),
        (whole(6), 7, real(6, seed=1)),
        (whole(0), 3, real(0)),
        (whole(0).astype(np.uint64), 0),
    ),
    errors=(
        Bad("E4011", (real(3), 3), match="integer"),
        Bad("E3002", (whole(2, 3), 3), match="vector"),
        Bad("E3003", (whole(3), 5, real(2)), match="weight"),
        Bad("E6001", (np.array([4]), 3), match="out of range"),
    ),
    kinds="f",
)
def bincount_static(x: UOp, length: int, weights: UOp | None = None) -> UOp:
    """How often each of 0 … length - 1 occurs in an integer vector, or the sum of its weights."""
    check_index("bincount", x, x)
    operands = [("x", x)]
    if len(x.shape) != 1:
        problem = f"takes a vector, not rank {len(x.shape)}"
        raise ShapeError("E3002", problem, op="bincount", operands=operands)
    if weights is None:
        weights = UOp._apply("const", 1, dtypes.index, x.shape, x.device)
    if weights.shape != x.shape:
        problem = "takes one weight per element"
        operands.append(("weights", weights))
        raise ShapeError("E3003", problem, op="bincount", operands=operands)
    zeros = UOp._apply("const", 0, weights.dtype, (length,), x.device)
    return scattered(zeros, (x,), weights, (0,), "add")
