"""The standard's indexing functions: take and take_along_axis."""

from __future__ import annotations

from adjoint.errors import ShapeError
from adjoint.tensor.array_api.calls import apply, tensor_of
from adjoint.tensor.tensor import Tensor

__all__ = ["take", "take_along_axis"]


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The slices of x at a vector of `indices` along an axis, which a vector need not name."""
    x, indices = tensor_of("take", x), tensor_of("take", indices)
    if axis is None and x.ndim != 1:
        problem = f"a tensor of rank {x.ndim} needs an axis"
        raise ShapeError("E3002", problem, op="take", operands=[("x", x)])
    return apply("index_select", x, 0 if axis is None else axis, indices)


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Elements of x at `indices` along an axis; the other axes are broadcast together."""
    x, indices = (tensor_of("take_along_axis", t) for t in (x, indices))
    return apply("take_along_dim", x, indices, axis)
