"""Small collectives of one kind are joined into few large ones: members meet once for many values.

Before: all_reduce(g1), all_reduce(g2), …, all_reduce(g28), sums over "dp" of some kilobytes each.
After: all_reduce(cat(g5, g4, …)), in the order in which the values are computed; each is a slice of
it.

Values are joined element by element, so no bit changes, and no byte is added. Only independent
collectives are joined: those with the same number of others on the longest path below them. What
may live here: which collectives go together. What may not: who sends what to whom.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from adjoint.ir.opdef import OPS
from adjoint.ir.origin import origin_scope
from adjoint.ir.uop import UOp, substitute, toposort
from adjoint.ops.collective import all_gather, all_reduce, reduce_scatter
from adjoint.schedule.collectives import in_front

SMALL = 1 << 16  # bytes of an operand, below which a collective goes with others
BUCKET = 1 << 18  # bytes of a bucket, at most
_CAT = OPS["cat"]
_JOINED = {all_reduce, all_gather, reduce_scatter}


def collectives_in_buckets(roots: Sequence[UOp]) -> list[UOp]:
    """The roots with small collectives put together."""
    order = toposort(roots)
    if sum(map(_is_small, order)) < 2:
        return list(roots)
    made: dict[UOp, UOp] = {}
    for bucket in _buckets(order):
        sources = substitute([node.src[0] for node in bucket], made)
        with origin_scope(bucket[0].raw_origin):
            made.update(zip(bucket, _together(bucket, sources), strict=True))
    return list(substitute(roots, made))


def _is_small(node: UOp) -> bool:
    if node.op not in _JOINED or node.arg.size == 1:
        return False
    return 0 < int(node.src[0].size) * node.dtype.itemsize < SMALL


def _buckets(order: Sequence[UOp]) -> Iterator[list[UOp]]:
    """What goes together, those first that others may need; in a bucket by readiness."""
    below, steps = _heights(order)
    groups: dict[tuple[Any, ...], list[UOp]] = {}
    for node in filter(_is_small, order):
        kind = (node.op.name, node.arg.axes, getattr(node.arg, "by", ""), node.dtype)
        groups.setdefault((below[node], *kind), []).append(node)
    for group in sorted(groups, key=lambda group: group[0]):
        ready = sorted(groups[group], key=steps.__getitem__)
        yield from (bucket for bucket in _filled(ready) if len(bucket) > 1)


def _heights(order: Sequence[UOp]) -> tuple[dict[UOp, int], dict[UOp, int]]:
    """For each node the most small collectives, and the most nodes, on a path below it."""
    below: dict[UOp, int] = {}
    steps: dict[UOp, int] = {}
    for node in order:
        below[node] = max((below[s] + _is_small(s) for s in node.src), default=0)
        steps[node] = max((steps[s] + 1 for s in node.src), default=0)
    return below, steps


def _filled(ready: Sequence[UOp]) -> Iterator[list[UOp]]:
    """Buckets that are no larger than they may be."""
    bucket: list[UOp] = []
    room = BUCKET
    for node in ready:
        nbytes = int(node.src[0].size) * node.dtype.itemsize
        if bucket and nbytes > room:
            yield bucket
            bucket, room = [], BUCKET
        bucket.append(node)
        room -= nbytes
    yield bucket


def _together(nodes: Sequence[UOp], sources: Sequence[UOp]) -> list[UOp]:
    """What members have after one collective of the sources of all nodes: as rows, side by side."""
    op, arg = nodes[0].op, nodes[0].arg
    rows = [_rows(node, source) for node, source in zip(nodes, sources, strict=True)]
    joined = _CAT(*rows, dim=1)
    along = (arg.by,) if op is all_reduce else (0, arg.by) if op is reduce_scatter else (0,)
    whole = op(joined, arg.axes, arg.size, *along)
    found, at = [], 0
    for node, row in zip(nodes, rows, strict=True):
        own = whole.shrink([(0, whole.shape[0]), (at, at + row.shape[1])])
        found.append(_from_rows(node, own))
        at += row.shape[1]
    return found


def _rows(node: UOp, source: UOp) -> UOp:
    """The operand with what belongs to each member in a row of its own."""
    if node.op is reduce_scatter:
        parts = in_front(source, node.arg.dim, node.arg.size)
        return parts.reshape(node.arg.size, prod(parts.shape[1:]))
    return source.reshape(1, prod(source.shape))


def _from_rows(node: UOp, rows: UOp) -> UOp:
    """The result from rows: those of a gather are concatenated along its dimension."""
    if node.op is not all_gather:
        return rows.reshape(node.shape)
    shape, dim = node.src[0].shape, node.arg.dim
    order = [*range(1, dim + 1), 0, *range(dim + 1, len(shape) + 1)]
    return rows.reshape(node.arg.size, *shape).permute(order).reshape(node.shape)
