"""Rules about shapes: broadcasting, axes, slices, convolution windows. Plain tuples in and out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.module.instruction import MAX_EXTENT, MAX_RANK, Shape, fault, size_of


def broadcast(a: Shape, b: Shape) -> Shape:
    """Right-aligned; extents are equal or one of them is 1."""
    if a == b or not b:
        return a
    if not a:
        return b
    rank = max(len(a), len(b))
    left, right = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    result = []
    for dim, (m, n) in enumerate(zip(left, right, strict=True)):
        if m != n and m != 1 and n != 1:
            problem = (
                f"Broadcasting failed at dimension {dim}: "
                f"shape {list(a)} incompatible with {list(b)}"
            )
            fix = f"{m} and {n} must be equal or one of them 1"
            raise fault("E3001", problem, fix)
        result.append(n if m == 1 else m)
    return tuple(result)


def summed_axes(shape: Shape, wide: Shape) -> Shape:
    """The axes of `wide` along which a value of `shape` was repeated, ascending."""
    lead = len(wide) - len(shape)
    inner = (lead + i for i, n in enumerate(shape) if n == 1 and wide[lead + i] != 1)
    return (*range(lead), *inner)


def normal_axes(op: str, axes: Sequence[int], rank: int, *, ordered: bool = False) -> Shape:
    """Axes counted from the front: in range [E3004], each once [E3005]; ascending if `ordered`."""
    result = []
    for axis in axes:
        if not -rank <= axis < rank:
            fix = f"axes go from {-rank} to {rank - 1}" if rank else "a scalar has no axes"
            raise fault("E3004", f"{op}: axis {axis} is out of range for rank {rank}", fix)
        result.append(axis % rank)
    if len(set(result)) != len(result):
        raise fault("E3005", f"{op}: an axis is named twice in {list(axes)}")
    return tuple(sorted(result)) if ordered else tuple(result)


def reduced(shape: Shape, axes: Shape, keepdims: bool) -> Shape:
    """The shape after a reduction; no axes mean all of them, whatever keepdims."""
    if not axes:
        return ()
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def check_extents(op: str, shape: Any, least: int = 0) -> Shape:
    """A shape that a value may have [E3006]."""
    if len(shape) > MAX_RANK:
        raise fault("E3002", f"{op}: rank {len(shape)} is more than {MAX_RANK}")
    for extent in shape:
        if extent < least or extent > MAX_EXTENT:
            what = "not positive" if extent <= 0 else f"more than {MAX_EXTENT}"
            raise fault("E3006", f"{op}: dimension {extent} is {what}")
    return tuple(shape)


def reshaped(shape: Shape, target: Shape) -> Shape:
    """The target with its -1 resolved [E3006, E3007]."""
    holes = target.count(-1)
    if holes != 1:
        check_extents("Reshape", target)
        if size_of(target) != size_of(shape):
            raise _wrong_count(shape, target)
        return target
    known = -size_of(target)
    check_extents("Reshape", [n for n in target if n != -1])
    if known == 0 or size_of(shape) % known:
        raise _wrong_count(shape, target)
    whole = size_of(shape) // known
    return tuple(whole if n == -1 else n for n in target)


def _wrong_count(shape: Shape, target: Shape) -> Exception:
    problem = f"Reshape: {size_of(shape)} elements do not fill the shape {list(target)}"
    return fault("E3007", problem, "element counts must be equal")


def expanded(shape: Shape, axes: Sequence[int]) -> tuple[Shape, Shape]:
    """The shape with 1s inserted in ascending axis order, and the axes counted from the front."""
    rank = len(shape) + len(axes)
    places = normal_axes("ExpandDims", axes, rank, ordered=True)
    result = list(shape)
    for axis in places:
        result.insert(axis, 1)
    return tuple(result), places


def squeezed(shape: Shape, axes: Sequence[int]) -> Shape:
    """The shape without axes of extent 1 [E3009]."""
    places = normal_axes("Squeeze", axes, len(shape), ordered=True)
    for axis in places:
        if shape[axis] != 1:
            problem = f"Squeeze: axis {axis} has extent {shape[axis]}, not 1"
            raise fault("E3009", problem)
    return tuple(n for i, n in enumerate(shape) if i not in places)


def slice_extent(start: int, end: int, step: int, extent: int) -> int:
    """How many elements a slice of one dimension has."""
    inside = 0 <= start <= extent and 0 <= end <= extent
    if step < 0:
        inside = 0 <= start < extent and -1 <= end < extent
    if not inside:
        raise fault("E6001", f"[{start}:{end}:{step}] is outside a dimension of extent {extent}")
    count = -((end - start) // -step)
    if count < 0:
        raise fault("E3006", f"the slice [{start}:{end}:{step}] has a negative extent")
    return count


def window_padding(
    padding: Any, extents: Sequence[int], kernel: Sequence[int], strides: Sequence[int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """(before, after) for each of the two spatial dimensions."""
    if padding == "Valid":
        return (0, 0), (0, 0)
    if padding != "Same":
        return padding
    first, second = (_same(n, k, s) for n, k, s in zip(extents, kernel, strides, strict=True))
    return first, second


def _same(extent: int, kernel: int, stride: int) -> tuple[int, int]:
    count = -(-extent // stride)
    total = max((count - 1) * stride + kernel - extent, 0)
    return total // 2, total - total // 2


def window_extents(
    padding: Any, extents: Sequence[int], kernel: Sequence[int], strides: Sequence[int]
) -> tuple[int, int]:
    """The spatial extents of a convolution's result."""
    result = []
    pads = window_padding(padding, extents, kernel, strides)
    for n, k, s, (before, after) in zip(extents, kernel, strides, pads, strict=True):
        room = n + before + after - k
        if room < 0:
            problem = f"Conv2d: a kernel of extent {k} does not fit {n + before + after}"
            raise fault("E3006", problem, "pad the input or use a smaller kernel")
        result.append(room // s + 1)
    return result[0], result[1]
