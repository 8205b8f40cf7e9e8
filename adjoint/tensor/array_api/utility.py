"""The standard's utility functions: all, any and diff."""

from __future__ import annotations

from adjoint.tensor.array_api.calls import Axis, apply, tensor_of
from adjoint.tensor.tensor import Tensor

__all__ = ["all", "any", "diff"]


def all(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether every element along the axes is nonzero; True of nothing."""
    return apply("all", tensor_of("all", x), axis, keepdims)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether some element along the axes is nonzero; False of nothing."""
    return apply("any", tensor_of("any", x), axis, keepdims)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours along an axis, taken `n` times."""
    return apply("diff", tensor_of("diff", x), n, axis, prepend, append)
