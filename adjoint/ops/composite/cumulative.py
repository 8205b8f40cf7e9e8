"""What runs along one axis: differences, trapezoids, running sums, products and extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import ShapeError
from adjoint.ir.dtype import DType, as_dtype, dtypes, to_float, total_dtype
from adjoint.ir.opdef import Bad, OpDef, Sample, composite, derived
from adjoint.ir.precision import full
from adjoint.ir.uop import UOp
from adjoint.ops import scan
from adjoint.ops.composite.concatenate import part_of
from adjoint.ops.composite.elementary import in_float
from adjoint.ops.indexing import positions
from adjoint.ops.movement import checked_axis
from adjoint.ops.samples import SPECIAL, given, real, rough, whole

Array = np.ndarray[Any, Any]


def _diff_reference(
    x: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None
) -> Array:
    given = {"prepend": prepend, "append": append}
    return np.diff(x, n, dim, **{k: v for k, v in given.items() if v is not None})


@derived(
    reference=_diff_reference,
    samples=given(
        (real(2, 4),),
        (real(3, 2), 2, 0),
        (real(3), 4),
        (real(3), 0),
        (real(0, 3), 1, 0),
        (real(2, 3), 1, 1, real(2, 1, seed=1), real(2, 2, seed=2)),
        (real(2, 3), 0, 1, real(2, 1, seed=1)),
    ),
    errors=(
        Bad("E3006", (real(3), -1), match="n is"),
        Bad("E3004", (real(2, 3), 1, 2), match="axis 2"),
        Bad("E3002", (real(),), match="scalar"),
    ),
)
def diff(
    x: UOp, n: int = 1, dim: int = -1, prepend: UOp | None = None, append: UOp | None = None
) -> UOp:
    """Differences of neighbours along `dim`, n times; of bools, whether they differ."""
    axis = checked_axis("diff", dim, len(x.shape), x)
    if not x.shape:
        raise ShapeError("E3002", "a scalar has no neighbours", op="diff", x=x)
    if n < 0:
        raise ShapeError("E3006", f"n is ≥ 0, got {n}", op="diff", x=x)
    if n == 0:
        return x
    joined = [v for v in (prepend, x, append) if v is not None]
    y = joined[0].cat(*joined[1:], dim=axis)
    for _ in range(n):
        size = y.shape[axis]
        after, before = part_of(y, axis, min(1, size), size), part_of(y, axis, 0, max(size - 1, 0))
        y = after.ne(before) if y.dtype.is_bool else after - before
    return y


def _trapezoid_reference(y: Any, x: Any = None, dx: float = 1.0, dim: int = -1) -> Array:
    y = np.moveaxis(in_float(y), dim, -1)
    if x is None:
        width: Any = dx
    else:
        width = np.diff(in_float(x) if np.ndim(x) == 1 else np.moveaxis(in_float(x), dim, -1))
    return np.sum((y[..., 1:] + y[..., :-1]) * width / 2, -1)


@composite(
    reference=_trapezoid_reference,
    samples=given(
        (real(2, 5),),
        (real(2, 5), None, 0.5),
        (real(5, 2), real(5, seed=1), 1.0, 0),
        (real(2, 5), real(2, 5, seed=1)),
        (real(0),),
        (real(1),),
    ),
    errors=(
        Bad("E3004", (real(2, 3), None, 1.0, 2), match="axis 2"),
        Bad("E3002", (real(),), match="scalar"),
        Bad("E3001", (real(2, 3), real(4)), match="dimension"),
    ),
    kinds="iuf",
    precision=full,
)
def trapezoid(y: UOp, x: UOp | None = None, dx: float = 1.0, dim: int = -1) -> UOp:
    """The integral of y along `dim` by the trapezoidal rule, at the points x or at steps of dx."""
    axis = checked_axis("trapezoid", dim, len(y.shape), y)
    if not y.shape:
        raise ShapeError("E3002", "a scalar has no axis", op="trapezoid", y=y)
    heights, n = y.cast(to_float(y.dtype)), y.shape[axis]
    pairs = part_of(heights, axis, min(1, n), n) + part_of(heights, axis, 0, max(n - 1, 0))
    if x is None:
        return (pairs * (dx / 2)).reduce_sum(axis)
    places = x.cast(to_float(x.dtype))
    if len(x.shape) == 1:
        places = places.reshape([-1 if a == axis else 1 for a in range(len(y.shape))])
    return (pairs * (places.diff(1, axis) * 0.5)).reduce_sum(axis)


_SCANS = given(
    (real(2, 3), 1),
    (real(2, 3), 0),
    (real(2, 3), -1),
    (real(0, 3), 0),
    (real(), 0),
    rough(SPECIAL, 0),
)
_TYPED_SCANS = given(
    *_SCANS(),
    (real(2, 3), 1, dtypes.float64),
    rough(whole(2, 3), 1, {"dtype": dtypes.float32}),
    rough(whole(2, 3), 0, {"dtype": dtypes.int16}),
)
_SCAN_ERRORS = (Bad("E3004", (real(2, 3), 2), match="axis 2"),)


def _scan_reference(numpy: Any, x: Any, axis: int, dtype: DType | None) -> Array:
    x = np.asarray(x)
    if not x.ndim:
        return np.asarray(numpy(x, dtype=dtype.np if dtype else None)).reshape(())
    return numpy(x, axis=axis, dtype=dtype.np if dtype else None)


def _in_dtype(running: OpDef, x: UOp, axis: int, dtype: Any) -> UOp:
    kind = total_dtype(x.dtype) if dtype is None else as_dtype(dtype)
    return running(x.cast(kind), axis).cast(kind)


@derived(
    reference=lambda x, axis=0, dtype=None: _scan_reference(np.cumsum, x, axis, dtype),
    samples=_TYPED_SCANS,
    errors=_SCAN_ERRORS,
    kinds="iufc",
    precision=full,
)
def cumsum(x: UOp, axis: int = 0, dtype: Any = None) -> UOp:
    """Running sum along an axis, in `dtype` if given; else integers are summed in 64 bits."""
    number = checked_axis("cumsum", axis, len(x.shape), x)
    return _in_dtype(scan.scan_sum, x, number, dtype)


@derived(
    reference=lambda x, axis, dtype=None: _scan_reference(np.cumprod, x, axis, dtype),
    samples=_TYPED_SCANS,
    errors=_SCAN_ERRORS,
    kinds="iufc",
    precision=full,
)
def cumprod(x: UOp, axis: int, dtype: Any = None) -> UOp:
    """Running product along an axis, in `dtype` if given; else integers have 64 bits."""
    number = checked_axis("cumprod", axis, len(x.shape), x)
    return _in_dtype(scan.scan_prod, x, number, dtype)


def _running(name: str, accumulate: OpDef, better: Any, word: str) -> OpDef:
    """The running extreme and where it was first reached."""

    def extreme(x: UOp, axis: int = 0) -> tuple[UOp, UOp]:
        number = checked_axis(name, axis, len(x.shape), x)
        values = accumulate(x, number)
        n = x.shape[number] if x.shape else 1
        if n < 2:
            return values, UOp._apply("const", 0, dtypes.index, x.shape, x.device)
        before, after = part_of(values, number, 0, n - 1), part_of(values, number, 1, n)
        fresh = after.ne(before) & ~before.isnan()  # after the first NaN nothing changes
        place = positions(n - 1, number, len(x.shape), x.device) + 1
        front = [int(a == number) for a in range(len(x.shape))]
        marks = fresh.where(place, 0).pad_constant(front, [0] * len(front))
        return values, marks.scan_max(number).cast(dtypes.index)

    def reference(x: Any, axis: int = 0) -> tuple[Array, Array]:
        x = np.asarray(x)
        rows = np.moveaxis(x, axis, 0) if x.ndim else x.reshape(1)
        best, where = np.array(rows), np.zeros(rows.shape, np.int64)
        for i in range(1, len(rows)):
            wins = (better(rows[i], best[i - 1]) | np.isnan(rows[i])) & ~np.isnan(best[i - 1])
            best[i] = np.where(wins, rows[i], best[i - 1])
            where[i] = np.where(wins, i, where[i - 1])
        if not x.ndim:
            return best.reshape(()), where.reshape(())
        return np.moveaxis(best, 0, axis), np.moveaxis(where, 0, axis)

    extreme.__doc__ = f"The running {word} along an axis, and the index that first reached it."
    ties = rough(np.array([1.0, 1.0, 0.0, 2.0, 0.0, 2.0]), 0)
    samples = lambda: [*_SCANS(), ties, Sample((real(4),))]  # noqa: E731
    return derived(
        name=name, reference=reference, samples=samples, errors=_SCAN_ERRORS, kinds="iuf"
    )(extreme)


cummax = _running("cummax", scan.scan_max, np.greater, "maximum")
cummin = _running("cummin", scan.scan_min, np.less, "minimum")
