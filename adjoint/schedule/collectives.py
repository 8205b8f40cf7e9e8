"""Collectives as moves of whole rows, for a target whose library only carries bytes.

Before: all_reduce(x), sum over 4 members; all_gather(x, dim 1).
After: all_to_all of 4 parts, ((p0 + p1) + (p2 + p3)), all_gather; rows in front, all_gather, back.

Kernels join the members' values, in the order of `runtime/comm/joins.py`: neighbours first, then
pairs of pairs. So the bits are those of every other engine, for every dtype. What may live here:
moves for collectives. What may not: calls of a library.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, substitute, toposort
from adjoint.ops.collective import (
    COLLECTIVES,
    all_gather,
    all_reduce,
    all_to_all,
    reduce_scatter,
)

_JOINS = {"sum": "add", "max": "maximum", "min": "minimum", "prod": "mul"}


def collectives_as_moves(roots: Sequence[UOp]) -> list[UOp]:
    """The roots with collectives along the first dimension, of which none joins values."""
    for node in toposort(roots):
        if node.op in COLLECTIVES:
            break
    else:
        return list(roots)
    made: dict[UOp, UOp] = {}
    for node in toposort(roots):
        if node.op in _MOVES:
            (source,) = substitute([node.src[0]], made)
            made[node] = _MOVES[node.op](UOp(node.op, (source,), node.arg))
    return list(substitute(roots, made))


def _reduced(node: UOp) -> UOp:
    x, (axes, size, by) = node.src[0], node.arg
    count = int(prod(x.shape))
    if size == 1 or not count:
        return x
    rows = -(-count // size)
    flat = x.reshape(count).pad_constant([0], [rows * size - count])
    part = _joined(all_to_all(flat.reshape(size, rows), axes, size, 0, 0), size, by)
    whole = all_gather(part, axes, size, 0)
    return whole.reshape(rows * size).shrink([(0, count)]).reshape(x.shape)


def _scattered(node: UOp) -> UOp:
    x, (axes, size, dim, by) = node.src[0], node.arg
    if size == 1 or 0 in x.shape:
        return x.shrink([(0, n) for n in node.shape])
    parts = in_front(x, dim, size)
    rows = parts.reshape(size, prod(parts.shape[1:]))
    return _joined(all_to_all(rows, axes, size, 0, 0), size, by).reshape(node.shape)


def _joined(rows: UOp, size: int, by: str) -> UOp:
    """Rows of all members as one: neighbours, then pairs of pairs, a remaining one last."""
    join = OPS[_JOINS[by]]
    level = [rows.shrink([(i, i + 1), (0, rows.shape[1])]) for i in range(size)]
    while len(level) > 1:
        pairs = range(0, len(level) - 1, 2)
        level = [join(level[i], level[i + 1]) for i in pairs] + level[2 * (len(level) // 2) :]
    return level[0]


def _gathered(node: UOp) -> UOp:
    x, (axes, size, dim) = node.src[0], node.arg
    if dim == 0 or size == 1 or 0 in x.shape:
        return node
    first = [dim, *(d for d in range(len(x.shape)) if d != dim)]
    found = all_gather(x.permute(first), axes, size, 0)
    return found.permute([first.index(d) for d in range(len(first))])


def _turned(node: UOp) -> UOp:
    x, (axes, size, split, joined) = node.src[0], node.arg
    if (split == 0 == joined and x.shape[0] == size) or size == 1 or 0 in x.shape:
        return node
    parts = in_front(x, split, size)
    rows = parts.reshape(size, prod(parts.shape[1:]))
    came = all_to_all(rows, axes, size, 0, 0).reshape(parts.shape)
    order = [*range(1, joined + 1), 0, *range(joined + 1, len(parts.shape))]
    return came.permute(order).reshape(node.shape)


def in_front(x: UOp, dim: int, size: int) -> UOp:
    """A dimension in equal parts, which are a new first dimension."""
    shape = (*x.shape[:dim], size, x.shape[dim] // size, *x.shape[dim + 1 :])
    order = [dim, *(d for d in range(len(shape)) if d != dim)]
    return x.reshape(shape).permute(order)


_MOVES = {
    all_reduce: _reduced,
    reduce_scatter: _scattered,
    all_gather: _gathered,
    all_to_all: _turned,
}
