"""Products of 8-bit integers as float products, which add a limited number of them exactly.

Before: contract(cast(a), cast(b)), a and b int8, sums in int32.
After: cast(contract(float32(a), float32(b))), if no sum can have more than 24 bits; else the sum of
such products over parts of the summed axis.

Every order of adding gives the same bits, those of the integers, so tiles or a library may compute
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from math import prod

from adjoint.ir import axes
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.kernel_kind import View
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.ops.casts import cast
from adjoint.ops.movement import pad_constant

_EXACT = 1 << 24  # whole numbers up to here are float32
_MOST_PARTS = 16  # products of which one is made
_NARROW = (dtypes.int8, dtypes.uint8)


def by_floats(node: UOp, product: Callable[[UOp], UOp]) -> UOp | None:
    """The same product, if both operands have 8 bits a number; `product` is what becomes of a
    contraction of floats."""
    found = narrow_operands(node) if node.dtype.is_int else None
    if found is None or varies(*node.shape, *node.src[0].shape):
        return None
    a, b = (x.cast(dtypes.float32) for x in found)
    largest, other = map(largest_number, found)
    parts = list(_parts(node, _EXACT // (largest * other)))
    if not 0 < len(parts) <= _MOST_PARTS:
        return None
    sums = [
        product(_part(a, left).contract(_part(b, right), node.arg.spec)).cast(dtypes.int32)
        for left, right in parts
    ]
    return reduce(lambda x, y: x + y, sums).cast(node.dtype)


def narrow_operands(node: UOp, kinds: tuple[DType, ...] = _NARROW) -> tuple[UOp, UOp] | None:
    """The operands of a contraction in one of these dtypes, if their numbers are such."""
    a, b = (_narrow(x, kinds) for x in node.src)
    return None if a is None or b is None else (a, b)


def largest_number(x: UOp) -> int:
    """How large the numbers of an operand can be, whatever their sign."""
    return int(max(-x.dtype.min, x.dtype.max))


def _narrow(x: UOp, kinds: tuple[DType, ...]) -> UOp | None:
    """An operand below the casts of its numbers to a wider dtype, seen through the same views."""
    if x.dtype in kinds:
        return x
    if x.op is cast:
        return _narrow(x.src[0], kinds) if x.src[0].dtype in kinds and _holds(x) else None
    moves = type(x.op.kernel) is View and len(x.src) == 1
    if not moves or (x.op.kernel.fill is not None and not _fills_zeros(x)):
        return None
    below = _narrow(x.src[0], kinds)
    return None if below is None else UOp(x.op, (below,), x.arg)


def _holds(x: UOp) -> bool:
    """Whether a cast changes no number."""
    narrow, wide = x.src[0].dtype, x.dtype
    if narrow.is_float:
        return wide is dtypes.float32
    return bool(wide.is_int) and wide.min <= narrow.min and narrow.max <= wide.max


def _fills_zeros(x: UOp) -> bool:
    return x.op is pad_constant and not x.arg.value


def _parts(node: UOp, most: int) -> Iterator[tuple[list[slice], list[slice]]]:
    """Where the operands are cut, so that no more than `most` products are added up in a part."""
    spec = axes.parse(node.arg.spec)
    sizes = dict(zip(spec.lhs, node.src[0].shape, strict=True))
    letter = max(spec.summed, key=lambda c: sizes[c])
    step = most // prod(sizes[c] for c in spec.summed if c != letter)
    for start in range(0, sizes[letter], step) if step else ():
        cut = {letter: slice(start, min(start + step, sizes[letter]))}
        left, right = ([cut.get(c, slice(None)) for c in term] for term in spec.terms)
        yield left, right


def _part(x: UOp, cuts: list[slice]) -> UOp:
    bounds = [cut.indices(n)[:2] for cut, n in zip(cuts, x.shape, strict=True)]
    return x if all(b == (0, n) for b, n in zip(bounds, x.shape, strict=True)) else x.shrink(bounds)
