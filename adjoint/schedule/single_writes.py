"""Writes at one place of an axis become elementwise kernels, for targets with teams of threads.

Before: scatter(x, index of one element, u), a step of a growing cache: an algorithm for many
updates, in their order.
After: where(position == index, u, x), element by element, with a look-up of the index that detects
one out of range. No bit changes.

What may live here: this rewrite. `kernel/algorithms/team_scatter.py` has a kernel for few updates
of any kind. It reads them from memory, whereas this one computes them inline: without it every
write to a cache is two kernels.
"""

from __future__ import annotations

from functools import reduce

from adjoint.ir.uop import UOp
from adjoint.ops.indexing import gathered, positions


def single_write(node: UOp) -> UOp | None:
    """scatter(x, i, u) = where(position == i, u, x), for one i"""
    x, *indices, updates = node.src
    if node.arg.mode != "set" or not x.size or any(i.size != 1 for i in indices):
        return None
    axes, rank = node.arg.axes, len(x.shape)
    hits = [_hit(x, axis, index) for axis, index in zip(axes, indices, strict=True)]
    hit = reduce(lambda a, b: a.logical_and(b), hits)
    kept = tuple(1 if axis in axes else x.shape[axis] for axis in range(rank))
    return hit.where(updates.reshape(kept).expand(x.shape), x)


def _hit(x: UOp, axis: int, index: UOp) -> UOp:
    """Where the index points to, along an axis."""
    size, rank = x.shape[axis], len(x.shape)
    table = positions(size, 0, 1, index.device)
    place = gathered(table, (index,), (0,)).reshape((1,) * rank).expand(x.shape)
    return positions(size, axis, rank, x.device).expand(x.shape).eq(place)
