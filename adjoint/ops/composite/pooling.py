"""Pools: one number for each window of an image, and the inverse of the maximum.

All work on the last axes, one per entry of the kernel; an int kernel means two axes. Elsewhere:
anything with weights (see `convolution.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from adjoint.errors import ShapeError
from adjoint.ir.dtype import accumulator, dtypes, to_float
from adjoint.ir.opdef import Bad, OpDef, composite, derived
from adjoint.ir.uop import UOp
from adjoint.ops.composite.resize import taken
from adjoint.ops.composite.unfold import (
    WindowPlan,
    axis_windows,
    bordered,
    each,
    each_side,
    kernel_of,
    padding_pairs,
    per_axis,
    window_plan,
)
from adjoint.ops.indexing import check_index, positions, scattered
from adjoint.ops.samples import real, rough, whole

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


def _counts(x: UOp, plan: WindowPlan, padding_counts: bool) -> UOp:
    """How many elements each window averages; what ceil mode adds to the padding never counts."""
    inside = [
        n + (b + a) * padding_counts
        for n, (b, a) in zip(x.shape[plan.axes[0] :], plan.pairs, strict=True)
    ]
    shape = (*[1] * plan.axes[0], *inside)
    ones = UOp._apply("const", 1, to_float(accumulator(x.dtype)), shape, x.device)
    sides = [
        (0, e - a) if padding_counts else (b, e)
        for (b, a), (_, e) in zip(plan.pairs, plan.sides, strict=True)
    ]
    return plan.windows(bordered("avg_pool2d", ones, sides)).reduce_sum(plan.inner)


def _pool_reference(fn: Callable[..., Any], dtype: Any = None) -> Callable[..., Array]:
    """A pool from `fn(values, padded count)` of the elements of one window, in order."""

    def reference(
        x: Array,
        kernel_size: Any = (2, 2),
        stride: Any = None,
        dilation: Any = 1,
        padding: Any = 0,
        ceil_mode: bool = False,
        *rest: Any,
        **more: Any,
    ) -> Array:
        kernel = each(kernel_size, 2)
        n = len(kernel)
        steps, gaps = each(kernel if stride is None else stride, n), each(dilation, n)
        extents, pads = x.shape[x.ndim - n :], each_side(padding, n)
        places = [
            axis_windows(*axis, ceil_mode)
            for axis in zip(extents, kernel, steps, gaps, pads, strict=True)
        ]
        out = np.zeros((*x.shape[: x.ndim - n], *map(len, places)), dtype or x.dtype)
        for at in np.ndindex(*out.shape):
            lead, spots = at[: x.ndim - n], at[x.ndim - n :]
            ranges = [list(p[i]) for p, i in zip(places, spots, strict=True)]
            inside = [[i for i in r if 0 <= i < e] for r, e in zip(ranges, extents, strict=True)]
            bound = zip(ranges, extents, pads, strict=True)
            size = prod(sum(-b <= i < e + a for i in r) for r, e, (b, a) in bound)
            out[at] = fn(x[lead][np.ix_(*inside)], inside, size, extents, *rest, **more)
        return out

    return reference


def _average(
    values: Array, inside: Any, size: int, extents: Any, count_include_pad: bool = True
) -> Any:
    return values.astype(np.float64).sum() / (size if count_include_pad else values.size)


def _pool_samples() -> list[Any]:
    image = real(1, 2, 5, 4)
    return [
        (image,),
        (image, 2),
        (image, (3, 2)),
        (image, (2, 2), 1),
        (image, (2, 2), (2, 1), (1, 2)),
        (image, (3, 2), {"padding": 1}),
        (image, (3, 3), {"padding": (1, 0), "stride": 2}),
        (image, (3, 3), {"padding": (1, 0, 0, 2), "stride": 2}),
        (image, (2, 3), {"ceil_mode": True}),
        (image, (3, 3), {"ceil_mode": True, "padding": 1, "stride": 2}),
        (image, (2, 2), {"ceil_mode": True, "padding": 1, "stride": 3}),
        (real(2, 7), (3,), {"padding": 1}),
        (real(7), (2,), {"ceil_mode": True}),
        (real(1, 3, 3, 3), (2, 2, 2), 1),
        (real(3, 4), 2, {"stride": 1}),
        (real(0, 2, 4, 4), 2),
    ]


_POOL_ERRORS = (
    Bad("E3002", (real(4), (2, 2)), match="rank 1"),
    Bad("E3003", (real(1, 2, 2), (3, 3)), match="does not fit"),
    Bad("E3006", (real(2, 2), (0, 1)), match="kernel_size"),
    Bad("E3006", (real(2, 2), (1, 1), 0), match="stride"),
    Bad("E3006", (real(2, 2), (1, 1)), {"dilation": 0}, match="dilation"),
    Bad("E3006", (real(2, 2), (1, 1)), {"padding": -1}, match="negative"),
    Bad("E2007", (real(2, 2), (1, 1)), {"padding": (1, 1, 1)}, match="padding"),
    Bad("E2001", (real(2, 2), (1, 1.5)), match="ints"),
)


@composite(
    reference=_pool_reference(_average, np.float64),
    samples=lambda: [
        *_pool_samples(),
        (real(1, 5, 4), (3, 2), {"padding": 1, "count_include_pad": False}),
        (
            real(1, 5, 4),
            (3, 3),
            {"padding": 1, "stride": 2, "ceil_mode": True, "count_include_pad": False},
        ),
    ],
    kinds="biuf",
    errors=_POOL_ERRORS,
)
def avg_pool2d(
    x: UOp,
    kernel_size: Any = (2, 2),
    stride: Any = None,
    dilation: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> UOp:
    """The mean of each window; `stride` defaults to the kernel.

    `ceil_mode` keeps a last, partial window; without `count_include_pad` only real elements count.
    """
    plan = window_plan("avg_pool2d", x, kernel_size, stride, dilation, padding, ceil_mode)
    taps = plan.windows(bordered("avg_pool2d", x.cast(accumulator(x.dtype)), plan.sides))
    whole_windows = count_include_pad and not ceil_mode
    count = prod(plan.kernel) if whole_windows else _counts(x, plan, count_include_pad)
    return (taps.reduce_sum(plan.inner) / count).cast(to_float(x.dtype))


def _holed() -> Array:
    image = real(1, 4, 4)
    image[0, 0, 1], image[0, 3, 3], image[0, 2:, 0] = np.nan, np.inf, -np.inf
    return image


@composite(
    reference=_pool_reference(lambda values, *rest: np.max(values)),
    samples=lambda: [
        *_pool_samples(),
        rough(_holed(), 2),
        rough(_holed(), 2, 1, {"padding": 1}),
        rough(np.ones((1, 4, 4)), 2),
    ],
    kinds="biuf",
    errors=_POOL_ERRORS,
)
def max_pool(
    x: UOp,
    kernel_size: Any = (2, 2),
    stride: Any = None,
    dilation: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
) -> UOp:
    """The largest element of each window; NaN if there is one. Ties share the gradient equally."""
    plan = window_plan("max_pool", x, kernel_size, stride, dilation, padding, ceil_mode)
    return plan.windows(bordered("max_pool", x, plan.sides, x.dtype.min)).max(plan.inner)


def _first_place(values: Array, inside: Any, size: int, extents: Any) -> int:
    spot = np.unravel_index(np.argmax(values), values.shape)
    place = [axis[i] for axis, i in zip(inside, spot, strict=True)]
    return int(np.ravel_multi_index(place, extents))


def _max_pool2d_reference(*args: Any, return_indices: bool = False, **kwargs: Any) -> Any:
    values = max_pool.reference(*args, **kwargs)
    if not return_indices:
        return values
    return values, _pool_reference(_first_place, np.int64)(*args, **kwargs)


def _indexed(sample: Any) -> Any:
    args, kwargs = (sample[:-1], sample[-1]) if isinstance(sample[-1], dict) else (sample, {})
    return (*args, {**kwargs, "return_indices": True})


@derived(
    reference=_max_pool2d_reference,
    samples=lambda: [
        (real(1, 2, 4, 4), (2, 2)),
        *map(_indexed, _pool_samples()),
        rough(_holed(), 2, 1, {"padding": 1, "return_indices": True}),
        rough(np.ones((1, 4, 4)), 2, {"return_indices": True}),
        rough(np.full((1, 3), -np.inf), (3,), 1, {"padding": 1, "return_indices": True}),
    ],
    kinds="biuf",
    errors=_POOL_ERRORS,
)
def max_pool2d(
    x: UOp,
    kernel_size: Any = (2, 2),
    stride: Any = None,
    dilation: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> UOp | tuple[UOp, UOp]:
    """The largest element of each window; with `return_indices` also where it is.

    An index counts through the spatial axes in row-major order; of equal elements, and of NaNs, it
    is the first.
    """
    y = max_pool(x, kernel_size, stride, dilation, padding, ceil_mode)
    if not return_indices:
        return y
    plan = window_plan("max_pool2d", x, kernel_size, stride, dilation, padding, ceil_mode)
    taps = plan.windows(bordered("max_pool2d", x, plan.sides, x.dtype.min))
    spatial = x.shape[plan.axes[0] :]
    none = prod(spatial)
    place = positions(none, 0, 1, x.device).reshape(*[1] * plan.axes[0], *spatial)
    place = plan.windows(bordered("max_pool2d", place, plan.sides, none))
    top = y.reshape(*y.shape, *[1] * len(spatial))
    return y, (taps.eq(top) | taps.ne(taps)).where(place, none).min(plan.inner).cast(dtypes.index)


def _max_unpool2d_reference(
    x: Array,
    indices: Array,
    kernel_size: Any = (2, 2),
    stride: Any = None,
    dilation: Any = 1,
    padding: Any = 0,
    output_size: Any = None,
) -> Array:
    kernel = each(kernel_size, 2)
    n = len(kernel)
    steps, gaps = each(kernel if stride is None else stride, n), each(dilation, n)
    layout = zip(x.shape[-n:], steps, gaps, kernel, each_side(padding, n), strict=True)
    sizes = [(i - 1) * s + d * (k - 1) + 1 - b - a for i, s, d, k, (b, a) in layout]
    sizes = sizes if output_size is None else list(output_size[-n:])
    out = np.zeros((*x.shape[:-n], *sizes), x.dtype)
    for at in np.ndindex(*x.shape):
        out[(*at[:-n], *np.unravel_index(indices[at], sizes))] = x[at]
    return out


@composite(
    reference=_max_unpool2d_reference,
    samples=lambda: [
        (real(1, 1, 2, 2), np.array([[[[0, 3], [9, 14]]]])),
        (real(2, 1, 2), np.array([[[0, 3]], [[4, 5]]]), (2,), {"output_size": (7,)}),
        (real(1, 2, 2), np.array([[[0, 2], [6, 8]]]), (2, 2), 1),
        (real(1, 2, 2), np.array([[[0, 2], [6, 8]]]), 3, 2, 1, 1),
        (real(1, 1, 2, 2), np.array([[[[3, 3], [3, 9]]]]), {"output_size": (1, 1, 4, 5)}),
        (real(0, 1, 2, 2), whole(0, 1, 2, 2)),
    ],
    kinds="f",
    errors=(
        Bad("E6001", (real(1, 1, 2, 2), np.full((1, 1, 2, 2), 16)), match="out of range"),
        Bad("E6001", (real(1, 1, 2, 2), np.full((1, 1, 2, 2), -1)), match="out of range"),
        Bad("E4011", (real(1, 2, 2), real(1, 2, 2)), match="integer"),
        Bad("E3003", (real(1, 2, 2), whole(1, 2, 3)), match="one index"),
        Bad("E3003", (real(1, 1, 1), whole(1, 1, 1)), {"padding": 1}, match="positive"),
    ),
)
def max_unpool2d(
    x: UOp,
    indices: UOp,
    kernel_size: Any = (2, 2),
    stride: Any = None,
    dilation: Any = 1,
    padding: Any = 0,
    output_size: Any = None,
) -> UOp:
    """Elements put back where `max_pool2d(return_indices=True)` found them, zeros elsewhere.

    The spatial size is worked out from the pool's options, or is the last entries of
    `output_size`. Of elements with one index the last stays.
    """
    op, kernel = "max_unpool2d", kernel_of("max_unpool2d", x, kernel_size)
    check_index(op, x, indices)
    if indices.shape != x.shape:
        raise ShapeError("E3003", "takes one index per element", op=op, x=x, indices=indices)
    lead, n = x.shape[: x.ndim - len(kernel)], len(kernel)
    given = None if output_size is None else output_size[-n:]
    sizes = _unpooled(x, kernel, stride, dilation, padding) if given is None else given
    sizes = per_axis(op, "output_size", sizes, n, 1, "E3006")
    rows, columns = prod(lead), prod(x.shape[-n:])
    blank = UOp._apply("const", 0, x.dtype, (rows, prod(sizes)), x.device)
    places = (positions(rows, 0, 2, x.device), indices.reshape(rows, columns))
    y = scattered(blank, places, x.reshape(rows, columns), (0, 1))
    return y.reshape(*lead, *sizes)


def _unpooled(x: UOp, kernel: Shape, stride: Any, dilation: Any, padding: Any) -> Shape:
    op, n = "max_unpool2d", len(kernel)
    steps = kernel if stride is None else per_axis(op, "stride", stride, n, 1, "E3006")
    gaps = per_axis(op, "dilation", dilation, n, 1, "E3006")
    layout = zip(x.shape[-n:], steps, gaps, kernel, padding_pairs(op, padding, n), strict=True)
    sizes = tuple((i - 1) * s + d * (k - 1) + 1 - b - a for i, s, d, k, (b, a) in layout)
    if min(sizes) < 1:
        problem = f"the output size {list(sizes)} is not positive"
        raise ShapeError("E3003", problem, op=op, x=x, help="give output_size")
    return sizes


def _adaptive_reference(count: int, fn: Callable[..., Any], dtype: Any) -> Callable[..., Array]:
    def reference(x: Array, output_size: Any) -> Array:
        extents = x.shape[x.ndim - count :]
        sizes = [
            e if s is None else s for e, s in zip(extents, each(output_size, count), strict=True)
        ]
        out = np.zeros((*x.shape[: x.ndim - count], *sizes), dtype or x.dtype)
        for at in np.ndindex(*out.shape):
            spots = zip(at[x.ndim - count :], sizes, extents, strict=True)
            cut = tuple(slice(i * n // o, -(-(i + 1) * n // o)) for i, o, n in spots)
            out[at] = fn(x[at[: x.ndim - count]][cut])
        return out

    return reference


def _adapted(x: UOp, axis: int, size: int, reduce: str) -> UOp:
    """One axis in `size` parts, part i from floor(i n / size) to ceil((i + 1) n / size)."""
    n = x.shape[axis]
    mean = reduce == "avg"
    if n % size == 0:
        parts = x.reshape(*x.shape[:axis], size, n // size, *x.shape[axis + 1 :])
        return parts.reduce_sum(axis + 1) / (n // size) if mean else parts.max(axis + 1)
    most = max(-(-(i + 1) * n // size) - i * n // size for i in range(size))
    start = positions(size, 0, 2, x.device) * n // size
    stop = ((positions(size, 0, 2, x.device) + 1) * n + (size - 1)) // size
    place = start + positions(most, 1, 2, x.device)
    shape = (*[1] * axis, size, most, *[1] * (x.ndim - axis - 1))
    inside = (place < stop).reshape(shape)
    values = inside.where(taken(x, axis, place.minimum(n - 1)), 0 if mean else x.dtype.min)
    if not mean:
        return values.max(axis + 1)
    count = (stop - start).reshape(*[1] * axis, size, *[1] * (x.ndim - axis - 1))
    return values.reduce_sum(axis + 1) / count


def _adaptive(reduce: str, count: int) -> OpDef:
    name = f"adaptive_{reduce}_pool{count}d"

    def pool(x: UOp, output_size: Any) -> UOp:
        sizes = _output_size(name, x, output_size, count)
        y = x.cast(accumulator(x.dtype)) if reduce == "avg" else x
        for axis, size in enumerate(sizes, x.ndim - count):
            y = _adapted(y, axis, size, reduce)
        return y.cast(to_float(x.dtype)) if reduce == "avg" else y

    word = "mean" if reduce == "avg" else "largest element"
    pool.__doc__ = (
        f"The {word} of each of `output_size` parts of nearly equal size along the last "
        f"{'axis' if count == 1 else f'{count} axes'}; None keeps an axis."
    )
    spatial = (5, 4, 3)[:count]
    sizes = (3, 2, 2)[:count]
    return composite(
        name=name,
        reference=_adaptive_reference(
            count,
            np.max if reduce == "max" else lambda v: v.astype(np.float64).mean(),
            None if reduce == "max" else np.float64,
        ),
        samples=lambda: [
            (real(2, *spatial), sizes),
            (real(1, 2, *spatial), 1),
            (real(1, *spatial), (None, *sizes[1:])),
            (real(1, *spatial), 7 if count == 1 else (7, *sizes[1:])),
            (real(1, *(2 * s for s in sizes)), sizes),
            (real(0, *spatial), sizes),
            (real(*spatial), sizes),
        ],
        kinds="biuf",
        errors=(
            Bad("E3002", (real(*[2] * (count - 1)), 1), match="rank"),
            Bad("E3006", (real(*[2] * count), 0), match="output_size"),
            Bad("E2007", (real(*[2] * count), (1,) * (count + 1)), match="output_size"),
            Bad("E3006", (np.zeros([2] + [0] * count), 1), match="empty"),
        ),
    )(pool)


def _output_size(op: str, x: UOp, output_size: Any, count: int) -> Shape:
    if x.ndim < count:
        raise ShapeError("E3002", f"takes rank {count} or more, got rank {x.ndim}", op=op, x=x)
    extents = x.shape[x.ndim - count :]
    if 0 in extents:
        raise ShapeError("E3006", "a spatial axis is empty", op=op, x=x)
    listed = each(output_size, count)
    filled = tuple(e if s is None else s for e, s in zip(extents, listed, strict=False))
    return per_axis(op, "output_size", filled + listed[count:], count, 1, "E3006")


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (
    _adaptive("avg", n) for n in (1, 2, 3)
)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (
    _adaptive("max", n) for n in (1, 2, 3)
)
