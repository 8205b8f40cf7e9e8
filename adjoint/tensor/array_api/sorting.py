"""The standard's sorting functions: sort and argsort."""

from __future__ import annotations

from adjoint.tensor.array_api.calls import apply, at_least, axis_of, tensor_of
from adjoint.tensor.tensor import Tensor

__all__ = ["argsort", "sort"]


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The indices that sort along an axis; always stable. NaN counts as the largest."""
    x = at_least("argsort", tensor_of("argsort", x), 1, "a tensor with an axis")
    return apply("argsort", x, axis_of("argsort", axis, x.ndim, x), descending)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along an axis; always stable. NaN counts as the largest."""
    x = at_least("sort", tensor_of("sort", x), 1, "a tensor with an axis")
    values, _ = apply("sort", x, axis_of("sort", axis, x.ndim, x), descending)
    return values
