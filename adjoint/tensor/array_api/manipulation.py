"""The standard's manipulation functions: shapes, axes, joins and repeats."""

from __future__ import annotations

from adjoint.errors import ArgumentError, ShapeError
from adjoint.ops.leaves import checked_shape
from adjoint.tensor.array_api.calls import (
    Axis,
    apply,
    at_least,
    axes_of,
    axis_of,
    tensor_of,
    tensors_of,
)
from adjoint.tensor.tensor import Tensor

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]

Shape = tuple[int, ...]
Many = tuple[Tensor, ...] | list[Tensor]


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """The tensors, each expanded to their common shape."""
    tensors = [tensor_of("broadcast_arrays", a) for a in arrays]
    shape = broadcast_shapes(*(t.shape for t in tensors))
    return tuple(t.expand(*shape) for t in tensors)


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The common shape: right-aligned, equal or 1 in every dimension; () of nothing."""
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for i, extent in enumerate(shape, rank - len(shape)):
            if extent != 1 and result[i] not in (1, extent):
                found = " and ".join(str(list(s)) for s in shapes)
                problem = f"{found} differ in dimension {i}"
                raise ShapeError("E3001", problem, op="broadcast_shapes")
            result[i] = extent if extent != 1 else result[i]
    return tuple(result)


def broadcast_to(x: Tensor, /, shape: Shape) -> Tensor:
    """The tensor, repeated along axes of size 1 and new leading axes to fill the shape."""
    return tensor_of("broadcast_to", x).expand(*checked_shape("broadcast_to", shape))


def concat(arrays: Many, /, *, axis: int | None = 0) -> Tensor:
    """The tensors joined along an axis; with axis=None, flattened and joined."""
    tensors = tensors_of("concat", arrays)
    if axis is None:
        tensors, axis = [t.reshape(-1) if t.size else t.reshape(0) for t in tensors], 0
    at_least("concat", tensors[0], 1, "tensors with an axis (stack joins scalars)")
    number = axis_of("concat", axis, tensors[0].ndim, tensors[0])
    return apply("cat", *tensors, dim=number)


def expand_dims(x: Tensor, /, axis: int | Shape = 0) -> Tensor:
    """New axes of size 1 at these places of the result."""
    x = tensor_of("expand_dims", x)
    rank = x.ndim + (len(axis) if isinstance(axis, tuple) else 1)
    places = axes_of("expand_dims", axis, rank, x)
    rest = iter(x.shape)
    return x.reshape(*(1 if i in places else next(rest) for i in range(rank)))


def flip(x: Tensor, /, *, axis: Axis = None) -> Tensor:
    """Elements in reverse order along these axes, or along all."""
    x = tensor_of("flip", x)
    return apply("flip", x, axes_of("flip", axis, x.ndim, x))


def moveaxis(x: Tensor, source: int | Shape, destination: int | Shape, /) -> Tensor:
    """Axes moved to other places; the rest keep their order."""
    return apply("movedim", tensor_of("moveaxis", x), source, destination)


def permute_dims(x: Tensor, /, axes: Shape) -> Tensor:
    """The axes in another order."""
    return tensor_of("permute_dims", x).permute(*axes)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element repeated, in place; with axis=None, of the flattened tensor.

    A tensor of `repeats` is computed at once, since the shape depends on it.
    """
    x = tensor_of("repeat", x)
    return x.repeat_interleave(repeats, axis)


def reshape(x: Tensor, /, shape: Shape, *, copy: bool | None = None) -> Tensor:
    """The same elements in row-major order with another shape; one size may be -1."""
    result = tensor_of("reshape", x).reshape(*shape)
    return result.clone() if copy else result


def roll(x: Tensor, /, shift: int | Shape, *, axis: Axis = None) -> Tensor:
    """Elements moved along axes, what falls off one end entering at the other."""
    x = tensor_of("roll", x)
    if isinstance(axis, tuple) and isinstance(shift, int):
        shift = (shift,) * len(axis)
    return apply("roll", x, shift, axis)


def squeeze(x: Tensor, /, axis: int | Shape) -> Tensor:
    """The tensor without these axes, each of size 1."""
    x = tensor_of("squeeze", x)
    if axis is None:
        raise ArgumentError("E2001", "names the axes to remove; None is not allowed", op="squeeze")
    axes = axes_of("squeeze", axis, x.ndim, x)
    for number in axes:
        if x.shape[number] != 1:
            problem = f"axis {number} has size {x.shape[number]}, not 1"
            raise ShapeError("E3009", problem, op="squeeze", operands=[("x", x)])
    return x.reshape(*(n for i, n in enumerate(x.shape) if i not in axes))


def stack(arrays: Many, /, *, axis: int = 0) -> Tensor:
    """Tensors of one shape joined along a new axis."""
    return apply("stack", *tensors_of("stack", arrays), dim=axis)


def tile(x: Tensor, repetitions: Shape, /) -> Tensor:
    """The whole tensor repeated along each axis; missing counts in front are 1."""
    return apply("tile", tensor_of("tile", x), checked_shape("tile", repetitions))


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The tensor's slices along an axis, which disappears."""
    return apply("unbind", tensor_of("unstack", x), axis)
