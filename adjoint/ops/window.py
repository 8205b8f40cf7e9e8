"""WINDOW, sliding windows along axes, and its adjoint FOLD."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import BoundsError, ShapeError
from adjoint.ir.arg import Arg
from adjoint.ir.axes import Letters, letters
from adjoint.ir.batch import Flags, Sources, shifted
from adjoint.ir.derivative import Linear
from adjoint.ir.dtype import raw_bits
from adjoint.ir.kernel_kind import At, Read, Reduce, Space, View
from adjoint.ir.opdef import Bad, define
from adjoint.ir.uop import UOp
from adjoint.ops.leaves import checked_shape
from adjoint.ops.movement import Shape, checked_axes, checked_axis
from adjoint.ops.samples import given, real


class WindowArg(Arg):
    axis: Shape
    size: Shape
    stride: Shape
    dilation: Shape


def _window(x: UOp, axis: Any, size: Any, stride: Any = 1, dilation: Any = 1) -> UOp:
    axes = checked_axes("window", axis, x)
    per_axis = [_per_axis(v, len(axes), x) for v in (size, stride, dilation)]
    return UOp(window, (x,), WindowArg(axes, *per_axis))


def _per_axis(value: Any, count: int, x: UOp) -> Shape:
    listed = (value,) * count if isinstance(value, int) else tuple(value)
    if len(listed) != count:
        problem = f"takes {count} values, one per axis, got {len(listed)}"
        raise BoundsError("E4007", problem, op="window", x=x)
    return listed


def window_count(extent: int, size: int, stride: int, dilation: int) -> int:
    """How many windows fit an axis."""
    return (extent - (size - 1) * dilation - 1) // stride + 1


def _window_type(src: tuple[UOp, ...], arg: WindowArg) -> tuple[Shape, Any]:
    (x,) = src
    shape = list(x.shape)
    for axis, size, stride, dilation in zip(*arg, strict=True):
        if min(size, stride, dilation) < 1:
            raise ShapeError("E3006", "sizes, strides and dilations are positive", op="window", x=x)
        if shape[axis] < (size - 1) * dilation + 1:
            span = (size - 1) * dilation + 1
            problem = f"a window of extent {span} does not fit axis {axis} of size {shape[axis]}"
            raise ShapeError("E3003", problem, op="window", x=x)
        shape[axis] = window_count(shape[axis], size, stride, dilation)
    return (*shape, *arg.size), x.dtype


def _window_reference(x: Any, axis: Any, size: Any, stride: Any = 1, dilation: Any = 1) -> Any:
    x = np.asarray(x)
    axes = [a % x.ndim for a in ((axis,) if isinstance(axis, int) else axis)]
    sizes, steps, gaps = (
        (v,) * len(axes) if isinstance(v, int) else v for v in (size, stride, dilation)
    )
    spans = [(s - 1) * d + 1 for s, d in zip(sizes, gaps, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(raw_bits(x), spans, tuple(axes)).view(x.dtype)
    places: list[slice] = [slice(None)] * view.ndim
    for i, a in enumerate(axes):
        places[a], places[x.ndim + i] = slice(None, None, steps[i]), slice(None, None, gaps[i])
    return view[tuple(places)]


def _window_map(node: UOp, at: At, space: Space) -> tuple[Read]:
    base = len(node.src[0].shape)
    place = list(at[:base])
    for i, (axis, _, stride, dilation) in enumerate(zip(*node.arg, strict=True)):
        place[axis] = at[axis] * stride + at[base + i] * dilation
    return (Read(node.src[0], tuple(place)),)


def _window_axes(node: UOp) -> Letters:
    term = _other_axes(len(node.src[0].shape), node.arg.axis)
    return Letters((term,), term + "." * len(node.arg.size))


def _fold_axes(node: UOp) -> Letters:
    term = _other_axes(len(node.shape), node.arg.axis)
    return Letters((term + "." * len(node.arg.size),), term)


def _other_axes(rank: int, windowed: Shape) -> str:
    return "".join("." if d in windowed else c for d, c in enumerate(letters(rank)))


window = define(
    "window",
    "Sliding windows: the axes index the windows, new last axes the elements inside one.",
    arg=WindowArg,
    call=_window,
    infer=_window_type,
    ad=Linear(
        lambda g, x, axis, size, stride, dilation: g.fold(x.shape, axis, size, stride, dilation)
    ),
    reference=_window_reference,
    samples=given(
        (real(2, 7), (1,), 3),
        (real(6, 7), (0, 1), (2, 3), (2, 1), (1, 2)),
        (real(0, 5), (1,), 2),
    ),
    errors=(
        Bad("E3003", (real(2, 3), (1,), 4), match="does not fit"),
        Bad("E3006", (real(2, 3), (1,), 2, 0), match="positive"),
        Bad("E4007", (real(2, 3), (0, 1), (1,)), match="per axis"),
    ),
    batch=shifted("axis"),
    kernel=View(_window_map),
    axes=_window_axes,
)


class FoldArg(Arg):
    shape: Shape
    axis: Shape
    size: Shape
    stride: Shape
    dilation: Shape


def _fold(x: UOp, shape: Any, axis: Any, size: Any, stride: Any = 1, dilation: Any = 1) -> UOp:
    target = checked_shape("fold", shape)
    listed = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(checked_axis("fold", a, len(target), x) for a in listed)
    per_axis = [_per_axis(v, len(axes), x) for v in (size, stride, dilation)]
    return UOp(fold, (x,), FoldArg(target, axes, *per_axis))


def _fold_type(src: tuple[UOp, ...], arg: FoldArg) -> tuple[Shape, Any]:
    (x,) = src
    expected = list(arg.shape)
    for axis, size, stride, dilation in zip(*arg[1:], strict=True):
        expected[axis] = window_count(arg.shape[axis], size, stride, dilation)
    if x.shape != (*expected, *arg.size):
        problem = f"windows of {list(arg.shape)} have the shape {[*expected, *arg.size]}"
        raise ShapeError("E3003", problem, op="fold", x=x)
    return arg.shape, x.dtype


def _fold_reference(
    x: Any, shape: Any, axis: Any, size: Any, stride: Any = 1, dilation: Any = 1
) -> Any:
    axes = [a % len(shape) for a in ((axis,) if isinstance(axis, int) else axis)]
    sizes, steps, gaps = (
        (v,) * len(axes) if isinstance(v, int) else v for v in (size, stride, dilation)
    )
    out = np.zeros(shape, np.asarray(x).dtype)
    for offsets in np.ndindex(*sizes):
        places: list[slice] = [slice(None)] * len(shape)
        for a, at, step, gap in zip(axes, offsets, steps, gaps, strict=True):
            last = at * gap + (np.shape(x)[a] - 1) * step + 1
            places[a] = slice(at * gap, last, step)
        out[tuple(places)] += x[(Ellipsis, *offsets)]
    return out


def _batched_fold(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    shape, axis, *rest = node.arg
    return UOp(node.op, src, FoldArg((size, *shape), tuple(a + 1 for a in axis), *rest))


def _fold_map(node: UOp, at: At, loops: At) -> tuple[Read]:
    """The windows that have the element at this offset, if one begins there."""
    arg, place = node.arg, list(at)
    steps = [0] * len(node.src[0].shape)
    for d, stride, dilation, offset in zip(arg.axis, arg.stride, arg.dilation, loops, strict=True):
        place[d], steps[d] = at[d] + offset * -dilation, stride
    return (Read(node.src[0], (*place, *loops), tuple(steps)),)


fold = define(
    "fold",
    "The adjoint of WINDOW: adds the windows up at their positions.",
    arg=FoldArg,
    call=_fold,
    infer=_fold_type,
    ad=Linear(
        lambda g, x, shape, axis, size, stride, dilation: g.window(axis, size, stride, dilation)
    ),
    reference=_fold_reference,
    samples=given(
        (real(2, 5, 3), (2, 7), (1,), 3),
        (real(3, 3, 2, 3), (6, 7), (0, 1), (2, 3), (2, 1), (1, 2)),
    ),
    errors=(Bad("E3003", (real(2, 5, 3), (2, 8), (1,), 3), match="have the shape"),),
    kinds="iufc",
    batch=_batched_fold,
    kernel=Reduce(
        "add",
        lambda dtype: 0,
        sizes=lambda node: node.arg.size,
        index_map=_fold_map,
        apart=True,
    ),
    axes=_fold_axes,
)
