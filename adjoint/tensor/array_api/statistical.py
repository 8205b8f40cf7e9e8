"""The standard's statistical functions, and NumPy's median, which its clients call.

Sums and products of integers have 64 bits unless a dtype is named; floats keep theirs.
"""

from __future__ import annotations

import math

from adjoint.errors import ShapeError
from adjoint.ir.dtype import DType
from adjoint.tensor.array_api.calls import (
    Axis,
    apply,
    at_least,
    axes_of,
    axis_of,
    of_kind,
    tensor_of,
)
from adjoint.tensor.array_api.creation import full
from adjoint.tensor.array_api.manipulation import concat
from adjoint.tensor.tensor import Tensor

__all__ = [
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "median",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Running products along an axis, which a vector need not name; a 1 in front if asked for."""
    return _cumulative("cumulative_prod", x, axis, dtype, 1 if include_initial else None)


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Running sums along an axis, which a vector need not name; a 0 in front if asked for."""
    return _cumulative("cumulative_sum", x, axis, dtype, 0 if include_initial else None)


_SCANS = {"cumulative_prod": "cumprod", "cumulative_sum": "cumsum"}


def _cumulative(
    op: str, x: Tensor, axis: int | None, dtype: DType | None, initial: int | None
) -> Tensor:
    x = at_least(op, tensor_of(op, x), 1, "a tensor with an axis")
    if axis is None and x.ndim > 1:
        problem = f"a tensor of rank {x.ndim} needs an axis"
        raise ShapeError("E3002", problem, op=op, operands=[("x", x)])
    number = axis_of(op, 0 if axis is None else axis, x.ndim, x)
    y = _as(apply(_SCANS[op], _as(x, dtype), number), dtype)
    if initial is None:
        return y
    shape = (*x.shape[:number], 1, *x.shape[number + 1 :])
    return concat([full(shape, initial, dtype=y.dtype, device=x.device), y], axis=number)


def _as(x: Tensor, dtype: DType | None) -> Tensor:
    return x if dtype is None else apply("cast", x, dtype)


def max(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The largest element along the axes; NaN if there is one. An empty axis is an error."""
    return apply("max", tensor_of("max", x), axis, keepdims)


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The mean along the axes."""
    return apply("mean", tensor_of("mean", x), axis, keepdims)


def median(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The middle element along the axes, or the mean of the two in the middle, as NumPy's is; NaN
    if there is one. An empty axis is an error. The method `x.median(dim)` is torch's."""
    x = of_kind("median", tensor_of("median", x), "biuf", "real numbers")
    axes = axes_of("median", axis, x.ndim, x)
    kept = [a for a in range(x.ndim) if a not in axes]
    count = math.prod(x.shape[a] for a in axes)
    if not count:
        problem = "an empty axis has no median"
        raise ShapeError("E3006", problem, op="median", operands=[("x", x)])
    y = _middle(x.permute(*kept, *axes).reshape(*(x.shape[a] for a in kept), count))
    return y.reshape(*(1 if a in axes else n for a, n in enumerate(x.shape))) if keepdims else y


def _middle(rows: Tensor) -> Tensor:
    """The median along the last axis. NaN is sorted to the end."""
    order, n = rows.sort(-1)[0], rows.shape[-1]
    if order.dtype.is_bool:
        order = order.cast("int8")
    middle = order[..., (n - 1) // 2 : n // 2 + 1].mean(-1)
    last = order[..., -1]
    return last.isnan().where(last, middle) if last.dtype.is_float else middle


def min(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The smallest element along the axes; NaN if there is one. An empty axis is an error."""
    return apply("min", tensor_of("min", x), axis, keepdims)


def prod(
    x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """The product along the axes, computed and returned in `dtype` if one is named."""
    return apply("prod", tensor_of("prod", x), axis, keepdims, dtype)


def std(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The standard deviation along the axes, dividing by the count less `correction`."""
    x = of_kind("std", tensor_of("std", x), "biuf", "real numbers")
    return apply("std", x, axis, keepdims, correction)


def sum(
    x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """The sum along the axes, computed and returned in `dtype` if one is named."""
    return apply("sum", tensor_of("sum", x), axis, keepdims, dtype)


def var(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The variance along the axes, dividing by the count less `correction`."""
    x = of_kind("var", tensor_of("var", x), "biuf", "real numbers")
    return apply("var", x, axis, keepdims, correction)
