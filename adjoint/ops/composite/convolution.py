"""Convolution and its adjoint in any number of dimensions, and the linear layer.

Images are NC* (batch, channels, then one axis per spatial dimension), filters OI*. Elsewhere: how
windows lie (see `unfold.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import ShapeError, VerificationError
from adjoint.ir.opdef import Bad, composite
from adjoint.ir.precision import low
from adjoint.ir.uop import UOp
from adjoint.ops.composite.unfold import (
    bordered,
    check_window,
    each,
    each_side,
    padding_pairs,
    per_axis,
)
from adjoint.ops.samples import real, rough

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]
_MAX_SPATIAL = 6  # spatial axes, one letter each in the contraction


def _spatial_rank(op: str, x: UOp, weight: UOp) -> int:
    count = weight.ndim - 2
    if not 1 <= count <= _MAX_SPATIAL:
        problem = (
            f"the weight has rank {weight.ndim}: two channel axes and 1 to {_MAX_SPATIAL} spatial"
        )
        raise ShapeError("E3002", problem, op=op, operands=_sides(x, weight))
    if x.ndim not in (count + 1, count + 2):
        problem = f"the input has rank {x.ndim}; this weight takes {count + 2}"
        fix = f"a batch axis (optional), a channel axis and {count} spatial"
        raise ShapeError("E3002", problem, op=op, operands=_sides(x, weight), help=fix)
    return count


def _sides(x: UOp, weight: UOp) -> list[tuple[str, UOp]]:
    return [("x", x), ("weight", weight)]


def _check_channels(op: str, x: UOp, weight: UOp, groups: int, takes: int, split: int) -> None:
    """`takes` is what the weight expects of x; `split` are the weight's channels cut in groups."""
    channels = x.shape[1 - weight.ndim]
    if not isinstance(groups, int) or groups < 1 or split % groups:
        problem = f"{split} channels of the weight do not divide into {groups} groups"
    elif channels != takes:
        problem = (
            f"the input has {channels} channels; this weight with groups={groups} takes {takes}"
        )
    else:
        return
    fix = "the groups divide the channels of the input and of the output evenly"
    outs, ins = weight.shape[:2]
    if op == "conv2d" and ins and channels >= ins and not channels % ins | outs % (channels // ins):
        fix = f"this weight fits groups={channels // ins}"
    raise VerificationError("E4009", problem, op=op, operands=_sides(x, weight), help=fix)


def _biased(op: str, y: UOp, bias: UOp | None) -> UOp:
    if bias is None:
        return y
    if bias.shape != y.shape[1:2]:
        problem = f"the bias has one value per output channel: {y.shape[1]}"
        raise ShapeError("E3003", problem, op=op, bias=bias)
    return y + bias.reshape(-1 if bias.size else 0, *[1] * (y.ndim - 2))


def _conv_padding(padding: Any, kernel: Shape, stride: Shape, dilation: Shape) -> Pairs:
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if padding != "same":
        return padding_pairs("conv2d", padding, len(kernel))
    if any(s != 1 for s in stride):
        problem = f'padding="same" needs stride 1, got {stride}'
        raise VerificationError("E4010", problem, op="conv2d", help="give the padding as numbers")
    totals = [(k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
    return tuple((t // 2, t - t // 2) for t in totals)


def _letters(count: int, groups: int) -> tuple[str, str, str]:
    return "uvwxyz"[:count], "ijklmn"[:count], "" if groups == 1 else "g"


def _grouped(x: UOp, axis: int, groups: int) -> UOp:
    """One axis cut into (group, channel within it); nothing for a single group."""
    if groups == 1:
        return x
    each = x.shape[axis] // groups
    return x.reshape(*x.shape[:axis], groups, each, *x.shape[axis + 1 :])


def _conv_sides(padding: Any, kernel: Shape, dilation: Shape) -> list[tuple[int, int]]:
    if not isinstance(padding, str):
        return each_side(padding, len(kernel))
    spare = [d * (k - 1) * (padding == "same") for k, d in zip(kernel, dilation, strict=True)]
    return [(s // 2, s - s // 2) for s in spare]


def _conv2d_reference(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    groups: int = 1,
    stride: Any = 1,
    dilation: Any = 1,
    padding: Any = 0,
    dtype: Any = None,
) -> Array:
    """The sum that defines it, one product at a time; outside the input there is zero."""
    if x.ndim < weight.ndim:
        rest = (weight, bias, groups, stride, dilation, padding, dtype)
        return np.asarray(_conv2d_reference(x[None], *rest)[0])
    kernel = weight.shape[2:]
    steps, gaps = each(stride, len(kernel)), each(dilation, len(kernel))
    pads = _conv_sides(padding, kernel, gaps)
    sizes = [
        (n + b + a - d * (k - 1) - 1) // s + 1
        for n, (b, a), d, k, s in zip(x.shape[2:], pads, gaps, kernel, steps, strict=True)
    ]
    out = np.zeros((x.shape[0], weight.shape[0], *sizes), np.result_type(x, weight))
    for b, o, *at in np.ndindex(*out.shape):
        first = o // (weight.shape[0] // groups) * weight.shape[1]
        for c, *tap in np.ndindex(*weight.shape[1:]):
            place = [
                i * s - p[0] + k * d
                for i, s, p, k, d in zip(at, steps, pads, tap, gaps, strict=True)
            ]
            if all(0 <= p < n for p, n in zip(place, x.shape[2:], strict=True)):
                out[(b, o, *at)] += x[(b, first + c, *place)] * weight[(o, c, *tap)]
    return out if bias is None else out + np.reshape(bias, (-1, *[1] * len(kernel)))


def _conv_samples() -> list[Any]:
    image, filters = real(1, 2, 4, 5), real(3, 2, 2, 3, seed=1)
    holed = real(1, 1, 3, 3)
    holed[0, 0, 0, 1] = np.nan
    return [
        (image, filters),
        (image, filters, real(3, seed=2)),
        (real(1, 4, 3, 3), real(4, 2, 2, 2, seed=1), real(4, seed=2), 2),
        (real(1, 3, 3, 3), real(6, 1, 2, 2, seed=1), {"groups": 3}),
        (image, filters, {"stride": 2}),
        (image, filters, {"stride": (2, 1), "dilation": (1, 2), "padding": (1, 0)}),
        (image, filters, {"padding": 1}),
        (image, filters, {"padding": (0, 2, 1, 0)}),
        (image, filters, {"padding": "same"}),
        (image, filters, {"padding": "same", "dilation": 2}),
        (image, filters, {"padding": "valid"}),
        (image, filters, {"padding": (-1, 0, 0, 1)}),
        (
            real(2, 2, 6),
            real(3, 2, 3, seed=1),
            real(3, seed=2),
            {"stride": (2,), "padding": (1, 0)},
        ),
        (real(1, 1, 3, 2, 3), real(2, 1, 2, 2, 2, seed=1), {"padding": (0, 0, 1)}),
        (real(2, 3, 3), real(1, 2, 2, 2, seed=1), real(1, seed=2)),
        (real(2, 5), real(1, 2, 3, seed=1)),
        (real(0, 2, 3, 3), real(1, 2, 2, 2, seed=1), real(1, seed=2)),
        (real(1, 0, 3, 3), real(2, 0, 2, 2)),
        rough(holed, real(1, 1, 2, 2, seed=1), {"padding": 1}),
    ]


@composite(
    reference=_conv2d_reference,
    samples=_conv_samples,
    kinds="iufc",
    errors=(
        Bad("E3002", (real(1, 2, 4, 4), real(3, 2))),
        Bad("E3002", (real(4, 4), real(3, 2, 2, 2)), match="rank 2"),
        Bad("E4009", (real(1, 4, 3, 3), real(3, 2, 2, 2)), match="groups=1 takes 2"),
        Bad("E4009", (real(1, 4, 3, 3), real(3, 2, 2, 2)), {"groups": 2}, match="2 groups"),
        Bad("E4010", (real(1, 2, 3, 3), real(3, 2, 2, 2)), {"stride": 0}, match="stride"),
        Bad("E4010", (real(1, 2, 3, 3), real(3, 2, 2, 2)), {"dilation": (1, 0)}, match="dilation"),
        Bad("E4010", (real(1, 2, 3, 3), real(3, 2, 2, 2)), {"stride": 2, "padding": "same"}),
        Bad("E3003", (real(1, 2, 3, 3), real(3, 2, 4, 2)), match="kernel spans [4, 2]"),
        Bad("E3003", (real(1, 2, 3, 3), real(3, 2, 2, 2), real(2)), match="per output channel"),
        Bad("E3003", (real(1, 2, 3, 3), real(3, 2, 1, 1)), {"padding": -2}, match="removes"),
        Bad(
            "E2007", (real(1, 2, 3, 3), real(3, 2, 2, 2)), {"padding": (1, 1, 1)}, match="3 values"
        ),
        Bad("E2007", (real(1, 2, 3, 3), real(3, 2, 2, 2)), {"stride": (1, 1, 1)}, match="stride"),
        Bad("E2001", (real(1, 2, 3, 3), real(3, 2, 2, 2)), {"padding": "full"}, match="full"),
        Bad("E3006", (real(1, 2, 3, 3), real(3, 2, 0, 2)), match="empty"),
    ),
    precision=low,
)
def conv2d(
    x: UOp,
    weight: UOp,
    bias: UOp | None = None,
    groups: int = 1,
    stride: Any = 1,
    dilation: Any = 1,
    padding: Any = 0,
    dtype: Any = None,
) -> UOp:
    """Convolution of (N, C, *spatial) with (O, C / groups, *kernel), in 1 to 6 spatial dimensions.

    `padding` is an int, one per axis, (before, after) per axis from the last, "same" or "valid";
    negative amounts crop. `dtype` is what the operands are cast to first.
    """
    count, kernel = _spatial_rank("conv2d", x, weight), weight.shape[2:]
    _check_channels("conv2d", x, weight, groups, groups * weight.shape[1], weight.shape[0])
    steps = per_axis("conv2d", "stride", stride, count)
    gaps = per_axis("conv2d", "dilation", dilation, count)
    if dtype is not None:
        x, weight = x.cast(dtype), weight.cast(dtype)
        bias = None if bias is None else bias.cast(dtype)
    image = x if x.ndim == count + 2 else x.reshape(1, *x.shape)
    pictures = _grouped(image, 1, groups)
    first = pictures.ndim - count
    taps = bordered("conv2d", pictures, _conv_padding(padding, kernel, steps, gaps))
    check_window("conv2d", x, kernel, gaps, taps.shape[first:])
    out, inner, group = _letters(count, groups)
    windows = taps.window(tuple(range(first, first + count)), kernel, steps, gaps)
    spec = f"b{group}c{out}{inner},{group}oc{inner}->b{group}o{out}"
    y = windows.contract(_grouped(weight, 0, groups), spec)
    y = _biased("conv2d", y.reshape(image.shape[0], weight.shape[0], *y.shape[-count:]), bias)
    return y if image is x else y.reshape(y.shape[1:])


def _conv_transpose2d_reference(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    groups: int = 1,
    stride: Any = 1,
    dilation: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
) -> Array:
    """Every input element adds its multiple of the kernel to the output."""
    if x.ndim < weight.ndim:
        rest = (weight, bias, groups, stride, dilation, padding, output_padding)
        return np.asarray(_conv_transpose2d_reference(x[None], *rest)[0])
    kernel, n = weight.shape[2:], weight.ndim - 2
    steps, gaps, more = (each(v, n) for v in (stride, dilation, output_padding))
    pads = _conv_sides(padding, kernel, gaps)
    sizes = [
        (i - 1) * s - b - a + d * (k - 1) + e + 1
        for i, s, (b, a), d, k, e in zip(x.shape[2:], steps, pads, gaps, kernel, more, strict=True)
    ]
    outs, inputs = weight.shape[1], x.shape[1] // groups
    out = np.zeros((x.shape[0], outs * groups, *sizes), np.result_type(x, weight))
    for b, c, *at in np.ndindex(*x.shape):
        for o, *tap in np.ndindex(*weight.shape[1:]):
            place = [
                i * s - p[0] + k * d
                for i, s, p, k, d in zip(at, steps, pads, tap, gaps, strict=True)
            ]
            if all(0 <= p < m for p, m in zip(place, sizes, strict=True)):
                out[(b, c // inputs * outs + o, *place)] += x[(b, c, *at)] * weight[(c, o, *tap)]
    return out if bias is None else out + np.reshape(bias, (-1, *[1] * n))


def _transpose_samples() -> list[Any]:
    image, filters = real(1, 2, 2, 3), real(2, 3, 2, 3, seed=1)
    return [
        (image, filters),
        (image, filters, real(3, seed=2)),
        (real(1, 4, 2, 2), real(4, 1, 2, 2, seed=1), real(2, seed=2), 2, 2),
        (image, filters, {"stride": (2, 3), "padding": 1}),
        (image, filters, {"stride": 2, "output_padding": (1, 0)}),
        (image, filters, {"dilation": 3, "output_padding": 2}),
        (image, filters, {"dilation": (2, 1), "padding": (1, 2)}),
        (image, filters, {"padding": (0, 2, 1, 0), "stride": 2}),
        (real(2, 2, 3), real(2, 2, 3, seed=1), real(2, seed=2), {"stride": 2, "padding": 1}),
        (real(1, 1, 2, 1, 2), real(1, 2, 2, 2, 2, seed=1), {"stride": (1, 2, 1)}),
        (real(2, 2, 2), real(2, 1, 2, 2, seed=1)),
        (real(0, 2, 2, 2), real(2, 1, 2, 2, seed=1), real(1, seed=2)),
        rough(np.array([[[1.0, 2.0]]]), np.array([[[1.0, np.inf]]]), {"stride": 2}),
    ]


def _reach(x: UOp, kernel: Shape, stride: Shape, dilation: Shape) -> Shape:
    """How far the elements of x and their kernels extend."""
    if 0 in x.shape[2:] or 0 in kernel:
        problem = "an empty spatial axis or kernel has no transposed convolution"
        raise ShapeError("E3006", problem, op="conv_transpose2d", x=x)
    return tuple(
        (n - 1) * s + (k - 1) * d + 1
        for n, s, k, d in zip(x.shape[2:], stride, kernel, dilation, strict=True)
    )


@composite(
    reference=_conv_transpose2d_reference,
    samples=_transpose_samples,
    kinds="iufc",
    errors=(
        Bad("E3002", (real(1, 2, 4, 4), real(2, 2)), match="weight has rank 2"),
        Bad("E4009", (real(1, 4, 2, 2), real(3, 2, 2, 2)), match="groups=1 takes 3"),
        Bad("E4009", (real(1, 3, 2, 2), real(3, 2, 2, 2)), {"groups": 2}, match="2 groups"),
        Bad("E4010", (real(1, 2, 2, 2), real(2, 1, 2, 2)), {"stride": 0}, match="stride"),
        Bad("E3003", (real(1, 2, 2, 2), real(2, 1, 2, 2)), {"padding": 2}, match="removes"),
        Bad("E3003", (real(1, 2, 2, 2), real(2, 1, 2, 2), real(3)), match="per output channel"),
        Bad("E3006", (real(1, 2, 2, 2), real(2, 1, 2, 2)), {"output_padding": 1}, match="smaller"),
        Bad("E3006", (real(1, 2, 0, 2), real(2, 1, 2, 2)), match="empty"),
    ),
    precision=low,
)
def conv_transpose2d(
    x: UOp,
    weight: UOp,
    bias: UOp | None = None,
    groups: int = 1,
    stride: Any = 1,
    dilation: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
) -> UOp:
    """The adjoint of convolution: (N, C, *spatial) with (C, O / groups, *kernel).

    `padding` is removed from the result's sides, `output_padding` added after it.
    """
    op, kernel = "conv_transpose2d", weight.shape[2:]
    count = _spatial_rank(op, x, weight)
    _check_channels(op, x, weight, groups, weight.shape[0], weight.shape[0])
    steps, gaps = per_axis(op, "stride", stride, count), per_axis(op, "dilation", dilation, count)
    extra = _output_padding(output_padding, steps, gaps)
    pairs = padding_pairs(op, padding, count)
    image = x if x.ndim == count + 2 else x.reshape(1, *x.shape)
    out, inner, group = _letters(count, groups)
    # Products first, then FOLD: a zero inserted between elements would meet an infinite weight.
    spec = f"b{group}c{out},{group}co{inner}->b{group}o{out}{inner}"
    taps = _grouped(image, 1, groups).contract(_grouped(weight, 0, groups), spec)
    outs = groups * weight.shape[1]
    taps = taps.reshape(image.shape[0], outs, *taps.shape[-2 * count :])
    shape = (image.shape[0], outs, *_reach(image, kernel, steps, gaps))
    y = taps.fold(shape, tuple(range(2, count + 2)), kernel, steps, gaps)
    sides = [(-b, e - a) for (b, a), e in zip(pairs, extra, strict=True)]
    y = _biased(op, bordered(op, y, sides), bias)
    return y if image is x else y.reshape(y.shape[1:])


def _output_padding(value: Any, stride: Shape, dilation: Shape) -> Shape:
    op = "conv_transpose2d"
    extra = per_axis(op, "output_padding", value, len(stride), 0, "E3006")
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        problem = (
            f"output_padding {extra} is not smaller than stride {stride} or dilation {dilation}"
        )
        raise ShapeError("E3006", problem, op=op)
    return extra


def _linear_reference(
    x: Array, weight: Array, bias: Array | None = None, dtype: Any = None
) -> Array:
    y = x * weight if weight.ndim == 1 else np.matmul(x, weight)
    return y if bias is None else y + bias


@composite(
    reference=_linear_reference,
    samples=lambda: [
        (real(4, 3), real(3, 2, seed=1)),
        (real(4, 3), real(3, 2, seed=1), real(2, seed=2)),
        (real(3), real(3, 2, seed=1), real(2, seed=2)),
        (real(2, 4, 3), real(3, 2, seed=1), real(2, seed=2)),
        (real(2, 3), real(3, seed=1), real(3, seed=2)),
        (real(0, 3), real(3, 2, seed=1), real(2, seed=2)),
        (real(4, 3), real(3, 2, seed=1), real(seed=2)),
    ],
    kinds="iufc",
    errors=(
        Bad("E3003", (real(4, 3), real(2, 3)), match="(in, out)"),
        Bad("E3002", (real(4, 3), real()), match="rank"),
        Bad("E3001", (real(4, 3), real(3, 2), real(3)), match="dimension 1"),
    ),
    precision=low,
)
def linear(x: UOp, weight: UOp, bias: UOp | None = None, dtype: Any = None) -> UOp:
    """`x @ weight + bias` with a weight of shape (in, out); a 1-d weight scales elementwise.

    `dtype` is what the operands are cast to first.
    """
    if dtype is not None:
        x, weight = x.cast(dtype), weight.cast(dtype)
        bias = None if bias is None else bias.cast(dtype)
    if not weight.ndim or not x.ndim:
        problem = f"x and weight have rank 1 or more, got rank {x.ndim} and {weight.ndim}"
        raise ShapeError("E3002", problem, op="linear", operands=_sides(x, weight))
    if weight.ndim > 1 and x.shape[-1] != weight.shape[-2]:
        problem = (
            f"the weight is (in, out) and takes {weight.shape[-2]} features, not {x.shape[-1]}"
        )
        fix = "did you mean to transpose the weight (.T)?"
        fix = fix if x.shape[-1] == weight.shape[-1] else ""
        raise ShapeError("E3003", problem, op="linear", operands=_sides(x, weight), help=fix)
    y = x * weight if weight.ndim == 1 else x @ weight
    return y if bias is None else y + bias
