"""The first few elements of a row's order, without sorting the row.

A long row is cut into blocks. The element that comes first in a block is the key of the block; the
first k elements of the row lie in the k blocks whose keys come first, since each of those has an
element (its key) that comes before every element of all other blocks. Equal elements come in the
order of their indices, and so do blocks with equal keys. So a row of n elements costs one pass, a
sort of its n / b keys, and a sort of k b candidates. What may live here: that selection. What may
not: signatures of users (`sort_select.py`).
"""

from __future__ import annotations

from math import isqrt
from typing import Any

from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.ops.composite.concatenate import part_of
from adjoint.ops.indexing import positions
from adjoint.ops.movement import padded

_SHORT = 512  # elements of a row that is sorted whole
_FEWER = 4  # times fewer are sorted, or all are


def first_in_order(x: UOp, axis: int, count: int, descending: bool) -> UOp:
    """The indices along an axis of the first elements in order."""
    block = 0 if varies(*x.shape) else _block_size(x.shape[axis], count)
    if block:
        return _by_blocks(x, axis, count, descending, block)
    return part_of(x.argsort(axis, descending), axis, 0, count)


def _block_size(n: int, count: int) -> int:
    """How long blocks are; 0 where a sort of the row is as fast."""
    if n < _SHORT or not count:
        return 0
    block = max(isqrt(n // count), 1)
    return block if block > 1 and _FEWER * (n // block + count * block) <= n else 0


def _by_blocks(x: UOp, axis: int, count: int, descending: bool, block: int) -> UOp:
    rank = len(x.shape)
    blocks = _blocks(x, axis, block, descending)
    first = part_of(_keys(blocks, axis + 1, descending).argsort(axis, descending), axis, 0, count)
    chosen = first.sort(axis).values  # candidates keep the order of their indices
    shape = (*x.shape[:axis], count, block, *x.shape[axis + 1 :])
    at = chosen.reshape((*shape[: axis + 1], 1, *shape[axis + 2 :]))
    flat = (*shape[:axis], count * block, *shape[axis + 2 :])
    candidates = blocks.gather(axis, at.expand(shape)).reshape(flat)
    places = (at * block + positions(block, axis + 1, rank + 1, x.device)).reshape(flat)
    order = part_of(candidates.argsort(axis, descending), axis, 0, count)
    return places.gather(axis, order)


def _blocks(x: UOp, axis: int, block: int, descending: bool) -> UOp:
    """The row in blocks, filled up with what comes last in any order."""
    n, rank = x.shape[axis], len(x.shape)
    behind = [-n % block * (d == axis) for d in range(rank)]
    full = padded(x, [0] * rank, behind, value=_last(x, descending))
    return full.reshape((*x.shape[:axis], -(-n // block), block, *x.shape[axis + 1 :]))


def _last(x: UOp, descending: bool) -> Any:
    """The value that comes last: a NaN counts as the largest."""
    if x.dtype.is_float:
        return float("-inf") if descending else float("nan")
    return x.dtype.min if descending else x.dtype.max


def _keys(blocks: UOp, axis: int, descending: bool) -> UOp:
    """The element that comes first in each block."""
    if descending:
        return blocks.max(axis)  # of which a NaN is the largest
    if not blocks.dtype.is_float:
        return blocks.min(axis)
    missing = blocks.isnan()
    least = missing.where(float("inf"), blocks).min(axis)
    return missing.all(axis).where(float("nan"), least)
