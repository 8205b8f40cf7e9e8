"""The linear algebra of the main namespace; the extension is in `linalg.py`."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.errors import AxisError
from adjoint.tensor.array_api.calls import apply, at_least, tensor_of
from adjoint.tensor.tensor import Tensor

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Matrix product with broadcast batch axes; a vector counts as a row or a column."""
    return apply("matmul", tensor_of("matmul", x1), tensor_of("matmul", x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes swapped."""
    x = at_least("matrix_transpose", tensor_of("matrix_transpose", x), 2, "matrices")
    return x.permute(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)


def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """Sum of products over the last axes of x1 and the first of x2, or over axes named in pairs."""
    return apply("tensordot", tensor_of("tensordot", x1), tensor_of("tensordot", x2), axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Dot products along an axis, counted from the end; the other axes are broadcast together."""
    return apply("vecdot", *from_the_end("vecdot", x1, x2, axis), axis)


def from_the_end(op: str, x1: Tensor, x2: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Two tensors that both have this axis, counted from the end."""
    x1, x2 = tensor_of(op, x1), tensor_of(op, x2)
    least = -min(x1.ndim, x2.ndim)
    if not least <= axis < 0:
        problem = f"axis is from {least} to -1, got {axis}"
        raise AxisError("E3004", problem, op=op, operands=[("x1", x1), ("x2", x2)])
    return x1, x2
