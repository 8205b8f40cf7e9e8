"""The standard's searching functions."""

from __future__ import annotations

from typing import Literal

from adjoint.errors import ShapeError, TextError
from adjoint.tensor.array_api.calls import Axis, Number, apply, at_least, of_kind, tensor_of
from adjoint.tensor.array_api.indexing import take
from adjoint.tensor.tensor import Tensor

__all__ = ["argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where"]


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Index of the first largest element along an axis, or of the flattened tensor."""
    return apply("argmax", tensor_of("argmax", x), axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Index of the first smallest element along an axis, or of the flattened tensor."""
    return apply("argmin", tensor_of("argmin", x), axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """How many elements along the axes are nonzero."""
    return apply("count_nonzero", tensor_of("count_nonzero", x), axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Where the nonzero elements are: one tensor of indices per axis, in row-major order.

    The elements are computed at once, since the shape depends on them.
    """
    x = at_least("nonzero", tensor_of("nonzero", x), 1, "a tensor with an axis")
    return apply("unbind", x.nonzero(), 1)


def searchsorted(
    x1: Tensor,
    x2: Tensor | Number,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Tensor | None = None,
) -> Tensor:
    """Where each element of x2 would go in the sorted vector x1, before or after its equals."""
    x1 = of_kind("searchsorted", tensor_of("searchsorted", x1), "biuf", "real numbers")
    if x1.ndim != 1:
        raise ShapeError("E3002", "x1 is a vector", op="searchsorted", operands=[("x1", x1)])
    if side not in ("left", "right"):
        problem = f'side is "left" or "right", got {side!r}'
        raise TextError("E2002", problem, op="searchsorted")
    ordered = x1 if sorter is None else take(x1, tensor_of("searchsorted", sorter))
    return apply("searchsorted", ordered, x2, side == "right")


def where(condition: Tensor, x1: Tensor | Number, x2: Tensor | Number, /) -> Tensor:
    """Elements of x1 where the condition holds, else of x2."""
    cond = of_kind("where", tensor_of("where", condition), "b", "a boolean condition")
    return apply("where", cond, x1, x2)
