"""Patches of an image: how strides, dilations and paddings are written, and patches as columns.

Elsewhere: what is done with a patch (`convolution.py`, `pooling.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from adjoint.errors import AdjointError, ArgumentError, ShapeError, VerificationError
from adjoint.ir.opdef import Bad, derived
from adjoint.ir.uop import UOp
from adjoint.ops.samples import real
from adjoint.ops.window import window_count

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]


def per_axis(
    op: str, what: str, value: Any, count: int, least: int = 1, code: str = "E4010"
) -> Shape:
    """One int for each spatial axis, from an int or a tuple of them."""
    listed = (value,) * count if isinstance(value, int) else value
    if not isinstance(listed, (tuple, list)) or not all(isinstance(v, int) for v in listed):
        raise ArgumentError("E2001", f"{what} is an int or a tuple of ints, got {value!r}", op=op)
    if len(listed) != count:
        problem = f"{what} {tuple(listed)} has {len(listed)} values for {count} spatial axes"
        raise ArgumentError("E2007", problem, op=op)
    if min(listed, default=least) < least:
        problem = f"{what} {tuple(listed)} is below {least}"
        kind: type[AdjointError] = VerificationError if code.startswith("E4") else ShapeError
        raise kind(code, problem, op=op, help=f"every {what} is at least {least}")
    return tuple(listed)


def padding_pairs(op: str, padding: Any, count: int) -> Pairs:
    """(before, after) for each spatial axis, the first axis first.

    An int pads every side, `count` ints pad both sides of each axis, and 2 * `count` ints are the
    sides of the last axis, then of the one before it, and so on.
    """
    if isinstance(padding, int):
        return ((padding, padding),) * count
    plain = isinstance(padding, (tuple, list)) and all(isinstance(v, int) for v in padding)
    if not plain:
        raise ArgumentError("E2001", f"padding {padding!r} is not an int or a tuple of ints", op=op)
    if len(padding) == count:
        return tuple((p, p) for p in padding)
    if len(padding) == 2 * count:
        return tuple(zip(padding[::2], padding[1::2], strict=True))[::-1]
    problem = (
        f"padding has {len(padding)} values; {count} spatial axes take 1, {count} or {2 * count}"
    )
    raise ArgumentError("E2007", problem, op=op)


def bordered(op: str, x: UOp, pairs: Sequence[tuple[int, int]], value: Any = 0) -> UOp:
    """The last axes padded by (before, after); a negative amount removes elements."""
    lead = [0] * (x.ndim - len(pairs))
    start = [*lead, *(max(-b, 0) for b, _ in pairs)]
    cut = [*lead, *(max(-a, 0) for _, a in pairs)]
    stop = [n - c for n, c in zip(x.shape, cut, strict=True)]
    if any(b > e for b, e in zip(start, stop, strict=True)):
        raise ShapeError("E3003", f"padding {tuple(pairs)} removes more than there is", op=op, x=x)
    kept = x.shrink(list(zip(start, stop, strict=True)))
    before = [*lead, *(max(b, 0) for b, _ in pairs)]
    after = [*lead, *(max(a, 0) for _, a in pairs)]
    return kept.pad_constant(before, after, None, value)


def check_window(op: str, x: UOp, kernel: Shape, dilation: Shape, padded: Sequence[int]) -> None:
    """A window of this kernel fits the padded axes at least once."""
    if 0 in kernel:
        raise ShapeError("E3006", f"kernel {list(kernel)} is empty", op=op, x=x)
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    if any(s > n for s, n in zip(spans, padded, strict=True)):
        problem = f"the kernel spans {spans}, more than the padded input {list(padded)}"
        fix = "add padding, or use a smaller kernel or dilation"
        raise ShapeError("E3003", problem, op=op, x=x, help=fix)


class WindowPlan(NamedTuple):
    """Where the windows of a pool lie."""

    kernel: Shape
    stride: Shape
    dilation: Shape
    pairs: Pairs  # the padding asked for
    sides: Pairs  # what is added so that all windows fit: more, or less, in ceil mode
    axes: Shape

    @property
    def inner(self) -> Shape:
        """The axes inside a window, once there are windows."""
        rank = self.axes[-1] + 1
        return tuple(range(rank, rank + len(self.kernel)))

    def windows(self, x: UOp) -> UOp:
        """The windows of a tensor that already has its borders."""
        return x.window(self.axes, self.kernel, self.stride, self.dilation)


def window_plan(
    op: str, x: UOp, kernel_size: Any, stride: Any, dilation: Any, padding: Any, ceil: bool
) -> WindowPlan:
    """The windows of a pool over the last axes of x."""
    kernel = kernel_of(op, x, kernel_size)
    n = len(kernel)
    steps = kernel if stride is None else per_axis(op, "stride", stride, n, 1, "E3006")
    gaps = per_axis(op, "dilation", dilation, n, 1, "E3006")
    pairs = padding_pairs(op, padding, n)
    if any(p < 0 for pair in pairs for p in pair):
        raise ShapeError("E3006", f"padding {padding} is negative", op=op, x=x)
    layout = zip(x.shape[x.ndim - n :], kernel, steps, gaps, pairs, strict=True)
    sides = tuple(_side(op, x, ceil, *axis) for axis in layout)
    return WindowPlan(kernel, steps, gaps, pairs, sides, tuple(range(x.ndim - n, x.ndim)))


def kernel_of(op: str, x: UOp, kernel_size: Any) -> Shape:
    """The kernel's sizes, one per pooled axis; an int means two axes."""
    count = 2 if isinstance(kernel_size, int) else len(kernel_size)
    kernel = per_axis(op, "kernel_size", kernel_size, count, 1, "E3006")
    if not 1 <= count <= x.ndim:
        problem = f"a kernel of {count} axes does not fit rank {x.ndim}"
        raise ShapeError("E3002", problem, op=op, x=x)
    return kernel


def _side(
    op: str, x: UOp, ceil: bool, n: int, k: int, s: int, d: int, pair: tuple[int, int]
) -> tuple[int, int]:
    """In ceil mode a last, partial window counts, unless it starts after the input ends."""
    before, after = pair
    span = (k - 1) * d + 1
    count = window_count(n + before + after + (s - 1 if ceil else 0), k, s, d)
    if ceil and (count - 1) * s >= n + before:
        count -= 1
    if count < 1:
        problem = f"a window of extent {span} does not fit an axis of size {n + before + after}"
        raise ShapeError("E3003", problem, op=op, x=x)
    return (before, (count - 1) * s + span - n - before) if ceil else pair


def each(value: Any, n: int) -> tuple[Any, ...]:
    """For references: a value for each of n axes."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n


def each_side(padding: Any, n: int) -> list[tuple[int, int]]:
    """For references: (before, after) for each of n axes."""
    if not isinstance(padding, int) and len(padding) == 2 * n:
        return [(padding[2 * (n - 1 - i)], padding[2 * (n - 1 - i) + 1]) for i in range(n)]
    return [(p, p) for p in each(padding, n)]


def axis_windows(n: int, k: int, s: int, d: int, pad: tuple[int, int], ceil: bool) -> list[range]:
    """For references: the positions each window reads along one axis, some outside the input."""
    end, last = n + pad[1], d * (k - 1)
    starts = range(-pad[0], end, s)
    if ceil:  # as long as the window before leaves something over, and never beyond the input
        kept = [t for t in starts if t < n and t - s + last < end - 1]
    else:
        kept = [t for t in starts if t + last < end]
    return [range(t, t + last + 1, d) for t in kept]


def _im2col_reference(
    x: Array, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Array:
    if x.ndim == len(each(kernel_size, 2)) + 1:
        return np.asarray(_im2col_reference(x[None], kernel_size, dilation, padding, stride)[0])
    kernel = each(kernel_size, 2)
    places = _patches(x.shape[2:], kernel, dilation, padding, stride)
    out = np.zeros((*x.shape[:2], prod(kernel), len(places)), x.dtype)
    for column, patch in enumerate(places):
        for row, place in enumerate(patch):
            if all(0 <= p < e for p, e in zip(place, x.shape[2:], strict=True)):
                out[:, :, row, column] = np.moveaxis(x, (0, 1), (-2, -1))[tuple(place)]
    return out.reshape(x.shape[0], x.shape[1] * prod(kernel), len(places))


def _patches(
    extents: Shape, kernel: Shape, dilation: Any, padding: Any, stride: Any
) -> list[list[list[int]]]:
    """For every window in order, the place of every element in it."""
    n = len(kernel)
    steps = (each(stride, n), each(dilation, n), each_side(padding, n))
    axes = zip(extents, kernel, *steps, strict=True)
    windows = [axis_windows(*axis, False) for axis in axes]
    return [
        [[w[i][t] for w, i, t in zip(windows, at, tap, strict=True)] for tap in np.ndindex(*kernel)]
        for at in np.ndindex(*map(len, windows))
    ]


@derived(
    reference=_im2col_reference,
    samples=lambda: [
        (real(1, 2, 3, 4), 2),
        (real(1, 2, 3, 4), (2, 3)),
        (real(1, 1, 4, 4), (2, 2), 2, 1, (1, 2)),
        (real(2, 3, 3), (2, 2)),
        (real(2, 2, 5), (3,), {"padding": (1, 0)}),
        (real(0, 2, 3, 3), 2),
    ],
    errors=(
        Bad("E3002", (real(3, 3), 2), match="rank 2"),
        Bad("E3003", (real(1, 1, 2, 2), 3), match="does not fit"),
        Bad("E3006", (real(1, 1, 2, 2), 2), {"stride": 0}, match="stride"),
    ),
)
def im2col(x: UOp, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> UOp:
    """Patches of (N, C, *spatial) as columns: (N, C * kernel, windows)."""
    n = 2 if isinstance(kernel_size, int) else len(kernel_size)
    if x.ndim not in (n + 1, n + 2):
        problem = f"takes a batch axis (optional), a channel axis and {n} more, not rank {x.ndim}"
        raise ShapeError("E3002", problem, op="im2col", x=x)
    plan = window_plan("im2col", x, kernel_size, stride, dilation, padding, False)
    taps = plan.windows(bordered("im2col", x, plan.sides))
    lead = plan.axes[0]
    order = (*range(lead), *plan.inner, *plan.axes)
    rows, columns = x.shape[lead - 1] * prod(plan.kernel), prod(taps.shape[a] for a in plan.axes)
    return taps.permute(order).reshape(*x.shape[: lead - 1], rows, columns)


def _col2im_reference(
    x: Array,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Array:
    if x.ndim == 2:
        rest = (output_size, kernel_size, dilation, padding, stride)
        return np.asarray(_col2im_reference(x[None], *rest)[0])
    sizes = each(output_size, 2)
    kernel = each(kernel_size, len(sizes))
    out = np.zeros((x.shape[0], x.shape[1] // prod(kernel), *sizes), x.dtype)
    for column, patch in enumerate(_patches(sizes, kernel, dilation, padding, stride)):
        for row, place in enumerate(patch):
            if all(0 <= p < e for p, e in zip(place, sizes, strict=True)):
                np.moveaxis(out, (0, 1), (-2, -1))[tuple(place)] += x[
                    :, row :: prod(kernel), column
                ]
    return out


@derived(
    reference=_col2im_reference,
    samples=lambda: [
        (real(1, 8, 6), (3, 4), 2),
        (real(1, 6, 4), (3, 4), (2, 3)),
        (real(1, 4, 8), (4, 4), (2, 2), 2, 1, (1, 2)),
        (real(8, 4), 3, 2),
        (real(2, 6, 4), (5,), (3,), {"padding": (1, 0)}),
        (real(0, 8, 4), (3, 3), 2),
    ],
    kinds="iufc",
    errors=(
        Bad("E3003", (real(1, 8, 5), (3, 4), 2), match="6 windows"),
        Bad("E3003", (real(1, 7, 6), (3, 4), 2), match="multiple of 4"),
        Bad("E3002", (real(8), (3, 4), 2), match="rank 1"),
        Bad("E3003", (real(1, 9, 1), (2, 2), 3), match="does not fit"),
    ),
)
def col2im(
    x: UOp,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> UOp:
    """Columns of patches added back into an image: the adjoint of `im2col`."""
    op, n = "col2im", 2 if isinstance(output_size, int) else len(output_size)
    if x.ndim not in (2, 3):
        problem = f"takes (N, C * kernel, windows) or without N, not rank {x.ndim}"
        raise ShapeError("E3002", problem, op=op, x=x)
    sizes = per_axis(op, "output_size", output_size, n, 1, "E3006")
    kernel = per_axis(op, "kernel_size", kernel_size, n, 1, "E3006")
    lead, channels = x.shape[:-2], x.shape[-2] // prod(kernel)
    frame = UOp._apply("const", 0, x.dtype, (*lead, channels, *sizes), x.device)
    plan = window_plan(op, frame, kernel, stride, dilation, padding, False)
    full = bordered(op, frame, plan.pairs).shape
    windows = tuple(
        window_count(e, k, s, d)
        for e, k, s, d in zip(full[-n:], kernel, plan.stride, plan.dilation, strict=True)
    )
    if x.shape[-2] % prod(kernel) or x.shape[-1] != prod(windows):
        problem = f"rows are a multiple of {prod(kernel)}, columns are {prod(windows)} windows"
        raise ShapeError("E3003", problem, op=op, x=x)
    patches = x.reshape(*lead, channels, *kernel, *windows)
    first = len(lead) + 1
    split = tuple(range(first + n, first + 2 * n)) + tuple(range(first, first + n))
    taps = patches.permute(*range(first), *split)
    y = taps.fold(full, plan.axes, kernel, plan.stride, plan.dilation)
    return bordered(op, y, [(-b, -a) for b, a in plan.pairs])
