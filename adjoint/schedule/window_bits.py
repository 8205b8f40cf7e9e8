"""Truth values of the elements of windows are the bits of one number for each window.

Before: m = eq(window(x), max(window(x))), nine bools for each window of 3 × 3, which the forward
kernel writes; count = sum(m) and fold(where(m, g, 0)) read them.
After: b = sum(where(m, 2 << tap, 0)), two bytes for each window; both read (b & 2 << tap) != 0.

The values are the same. What may live here: which truth values are packed. What may not: how folds
are computed (`folds.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod

from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.kernel_kind import Pointwise, is_constant
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp, rebuild, toposort
from adjoint.ops.logic import copied
from adjoint.ops.movement import permute
from adjoint.ops.window import fold

Shape = tuple[int, ...]
_MOST_TAPS = 30  # bits of a number that kernels compute with, but for the sign and the lowest


def packed_windows(roots: Sequence[UOp]) -> list[UOp]:
    """The roots over packed truth values, where several nodes read those that folds select by."""
    nodes = toposort(roots)
    users = Counter(source for node in nodes for source in node.src)
    taps = {m: dims for node in nodes if node.op is fold for m, dims in _selecting(node)}
    made: dict[UOp, UOp] = {}
    for node in nodes:
        src = tuple([made[s] for s in node.src])
        made[node] = found = node if src == node.src else rebuild(node, src)
        if node in taps and users[node] > 1:
            made[node] = _unpacked(_packed(found, taps[node]), found.shape, taps[node])
    return [made[root] for root in roots]


def _selecting(node: UOp) -> Iterator[tuple[UOp, Shape]]:
    """The truth values that select what a fold adds, each with its axes inside a window."""
    rank, x = len(node.shape), node.src[0]
    if varies(*x.shape) or not 1 < prod(x.shape[rank:]) <= _MOST_TAPS:
        return
    stack, seen = [(x, tuple(range(rank, len(x.shape))))], set[UOp]()
    while stack:
        found, dims = stack.pop()
        if found in seen:
            continue
        seen.add(found)
        if type(found.op.kernel) is Pointwise and found.dtype.is_bool and not is_constant(found):
            yield found, dims
        elif type(found.op.kernel) is Pointwise:
            stack += [(s, dims) for s in found.src if s.shape == found.shape]
        elif found.op is permute:
            stack.append((found.src[0], tuple(sorted(found.arg.order[d] for d in dims))))


def _packed(values: UOp, dims: Shape) -> UOp:
    """A number for each window, of which a bit is a truth value."""
    bit = _bits(values.shape, dims, values.device)
    return copied(values.where(bit, 0).reduce_sum(dims, True).cast(_dtype(values.shape, dims)))


def _unpacked(numbers: UOp, shape: Shape, dims: Shape) -> UOp:
    """The truth values again, for every element of every window."""
    bit = _bits(shape, dims, numbers.device)
    return (numbers.cast(bit.dtype).expand(shape) & bit).ne(0)


def _bits(shape: Shape, dims: Shape, device: str | tuple[str, ...] | None) -> UOp:
    """2, 4, 8, … along the axes inside a window."""
    inside = [n if d in dims else 1 for d, n in enumerate(shape)]
    one: UOp = OPS["const"](1, dtypes.int32, (prod(inside),), device)
    return (one << one.scan_sum(0)).reshape(inside).expand(shape)


def _dtype(shape: Shape, dims: Shape) -> DType:
    """The narrowest dtype that has so many bits."""
    count = prod(shape[d] for d in dims)
    return dtypes.uint8 if count < 8 else dtypes.uint16 if count < 16 else dtypes.int32
