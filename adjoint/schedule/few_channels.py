"""Pictures of a few channels are padded to as many as tensor cores read at once.

Before: a convolution of 16-bit pictures of three channels, channels last: places begin anywhere,
and the library uses an engine that reads numbers one by one.
After: the kernels that write the picture and the weights write zeros behind the three channels;
the gradient by the weights has eight channels, of which its readers see three.

Zeros meet zeros, so a sum has the same terms and some zeros; an infinity meets none of them but in
channels of a gradient that nobody reads. What may live here: operands and results of such
convolutions. What may not: which convolutions have their channels last (`channels.py`).
"""

from __future__ import annotations

from adjoint.ir.uop import UOp
from adjoint.ops.convolve import FORWARD, WEIGHTS, product_count
from adjoint.ops.logic import copied
from adjoint.ops.movement import padded
from adjoint.schedule.convolutions import LARGEST

_LINE = 16  # bytes of a place that are read at once
_WORTH = 1 << 26  # products of numbers, below which longer copies of the operands cost more
_PADDED = {FORWARD: (0, 1), WEIGHTS: (0,)}  # the operands that have the channels of the picture


def with_whole_places(node: UOp) -> UOp:
    """A convolution with channels last, of pictures whose places fill what is read at once."""
    arg, channels, line = node.arg, node.src[0].shape[-1], _LINE // node.dtype.itemsize
    if arg.wanted not in _PADDED or arg.groups != 1 or not 0 < channels < line:
        return node
    if product_count(arg, node.src[0].shape, node.src[1].shape, node.shape) < _WORTH:
        return node
    if node.src[0].size // channels * line >= LARGEST:
        return node
    which = _PADDED[arg.wanted]
    src = [_filled(x, line - channels) if i in which else x for i, x in enumerate(node.src)]
    made = UOp(node.op, tuple(src), arg)
    return made if made.shape == node.shape else made.shrink([(0, n) for n in node.shape])


def _filled(x: UOp, count: int) -> UOp:
    """A copy with so many further channels of zeros."""
    none = [0] * len(x.shape)
    return copied(padded(x, none, [*none[1:], count], value=0))
