"""Products with windows of padded pictures, if many of them are with the zero padding.

Before: contract(w, window(pad(x))), as matrices.
After: contract(where(f, w, w), window(pad(x))), where f says whether all numbers of w are finite.

No value changes. If f is true, the product's kernel may skip products with padding
(`kernel/margins.py`). If not, an infinity makes a NaN. What may live here: for which products this
pays. What may not: how they are computed.
"""

from __future__ import annotations

from math import prod

from adjoint.ir import axes
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.kernel.margins import ALIKE
from adjoint.ops.logic import with_question
from adjoint.ops.movement import flip, pad_constant, permute, reshape, shrink
from adjoint.ops.tree import BLOCK
from adjoint.ops.window import window
from adjoint.schedule.matrix_form import is_swapped
from adjoint.schedule.strategy import is_tiled
from adjoint.target import Target

_LEAST = 1 / 12  # of all products: below that, looking for infinities costs as much


def are_many_around(windows: UOp, columns: int) -> bool:
    """Whether many elements of windows are around their picture, and panels fit into columns that
    have the same ones."""
    return columns % ALIKE == 0 and zeros_of(windows) >= _LEAST


def zeros_of(windows: UOp) -> float:
    """How many elements of windows are around their picture, of all."""
    if windows.op is not window or varies(*windows.shape):
        return 0.0
    x, first = windows.src[0], [0] * len(windows.src[0].shape)
    if x.op is shrink and set(x.arg.step) == {1}:
        first, x = list(x.arg.start), x.src[0]
    if x.op is not pad_constant or any(x.arg.interior) or float(x.arg.value) != 0.0:
        return 0.0
    arg, size = windows.arg, x.src[0].shape
    steps = zip(arg.axis, arg.size, arg.stride, arg.dilation, strict=True)
    return 1 - prod(
        inside(size[a], first[a] - x.arg.before[a], (windows.shape[a], by), (taps, gap))
        for a, taps, by, gap in steps
    )


def inside(size: int, first: int, windows: tuple[int, int], taps: tuple[int, int]) -> float:
    """How much of all taps of all windows along an axis is inside of a picture of that size."""
    (count, stride), (reach, gap) = windows, taps
    places = [first + i * stride + t * gap for i in range(count) for t in range(reach)]
    return sum(0 <= place < size for place in places) / len(places)


def asking(product: UOp, node: UOp, target: Target) -> UOp:
    """A product of matrices that a contraction became, with a question about its rows if many of
    its products are with zeros, and the columns of a panel have the same ones."""
    spec = axes.parse(node.arg.spec)
    which = 0 if is_swapped(node.arg.spec, node.src[0].shape, node.src[1].shape) else 1
    last, own, other = spec.out[-1], spec.terms[which], spec.terms[1 - which]
    apart = last in own and last not in other
    if not apart or not are_many_around(node.src[which], node.shape[-1]):
        return product
    if not is_tiled(product, target):
        return product
    rows, columns = product.src
    finite = _total(_all_of(node.src[1 - which]) * 0.0).eq(0.0)  # zero times each is zero then
    return with_question(rows, finite).contract(columns, product.arg.spec)


def _total(x: UOp) -> UOp:
    """The sum of all elements; of blocks first, which threads share, where it is one of blocks."""
    blocks, left = divmod(x.size, BLOCK)
    return x.sum() if left or blocks < 2 else x.reshape(blocks, BLOCK).sum((1,)).sum()


def _all_of(x: UOp) -> UOp:
    """The same elements in memory order, so that several products share one test."""
    while x.op in (flip, permute, reshape):
        x = x.src[0]
    return x
