"""Windows of pictures of a few channels have the taps of a row as channels.

Before: a convolution of 16-bit pictures of 3 channels by 7 × 7 taps, channels last: a tap takes the
library's engines as long as one of 16 channels.
After: kernels write the 7 taps of a row as 21 channels and 11 of zeros, of the picture and of the
weights; 7 × 1 taps are left. The gradient by the weights is computed from the same picture; its
readers see the taps again.

All products are those of the convolution, and some of zeros with zeros. Zero padding along rows is
written, so an infinite weight makes NaN there, as the record says. What may live here: operands and
results of such convolutions. What may not: which convolutions have their channels last
(`channels.py`).
"""

from __future__ import annotations

from adjoint.ir.uop import UOp
from adjoint.ops.convolve import FORWARD, WEIGHTS, ConvolveArg, product_count
from adjoint.ops.logic import copied
from adjoint.ops.movement import padded
from adjoint.ops.window import WindowArg, window
from adjoint.schedule.convolutions import LARGEST

_FEW = 8  # channels that a thread reads at once: a picture with as many is left as it is
_LINE = 32  # channels of which places have a multiple, unless most of them would be zeros
_MOST = 64  # channels of a tap, up to which it takes hardly longer
_WORTH = 1 << 26  # products of numbers, below which writing the windows costs more


def with_rows(node: UOp) -> UOp:
    """A convolution with channels last, over windows of rows if the picture has few channels."""
    arg, x, other = node.arg, *node.src
    channels = x.shape[-1]
    if arg.wanted not in (FORWARD, WEIGHTS) or arg.groups != 1 or not 0 < channels < _FEW:
        return node
    taps = (other.shape[1:-1] if arg.wanted == FORWARD else arg.size)[-1]
    if taps == 1 or taps * channels > _MOST:
        return node
    rows = _filled(_rows(x, arg, taps))
    if rows.size >= LARGEST or product_count(arg, x.shape, other.shape, node.shape) < _WORTH:
        return node
    return (_forward if arg.wanted == FORWARD else _weights)(node, rows)


def _forward(node: UOp, rows: UOp) -> UOp:
    weights = node.src[1]
    *lead, taps, channels = weights.shape
    turned = _filled(weights.reshape(*lead, 1, taps * channels))
    return UOp(node.op, (rows, turned), _by_rows(node.arg, node.arg.size))


def _weights(node: UOp, rows: UOp) -> UOp:
    *lead, taps, channels = node.shape
    arg = _by_rows(node.arg, (*node.arg.size[:-1], 1))
    made = UOp(node.op, (rows, node.src[1]), arg)
    kept = [*lead, 1, taps * channels]
    return made.shrink([(0, n) for n in kept]).reshape(node.shape)


def _by_rows(arg: ConvolveArg, size: tuple[int, ...]) -> ConvolveArg:
    """The attributes of a convolution whose last axis has one tap."""
    each = [(*values[:-1], last) for values, last in zip(arg[2:5], (1, 0, 1), strict=True)]
    return ConvolveArg(arg.wanted, size, each[0], each[1], each[2], *arg[5:])


def _rows(x: UOp, arg: ConvolveArg, taps: int) -> UOp:
    """The windows of a picture along its last axis: its taps before its channels."""
    axis, rank = len(x.shape) - 2, len(x.shape)
    stride, padding, dilation = (values[-1] for values in arg[2:5])
    margin = [padding if d == axis else 0 for d in range(rank)]
    windows = UOp(
        window, (padded(x, margin, margin),), WindowArg((axis,), (taps,), (stride,), (dilation,))
    )
    found = windows.permute(*range(rank - 1), rank, rank - 1)
    return found.reshape(*found.shape[:-2], taps * x.shape[-1])


def _filled(x: UOp) -> UOp:
    """A copy with channels of zeros behind its own."""
    count, none = x.shape[-1], [0] * len(x.shape)
    line = _LINE if 2 * count >= _LINE else _FEW
    return copied(padded(x, none, [*none[1:], -count % line], value=0))
