"""The letters of GATHER and SCATTER, by hand.

Index arrays have one shape I; a gather has I and the axes that are not indexed. If an index counts
0, 1, 2, … along an axis of I that is as long as the axis it indexes, the two axes correspond: x[i,
j[i]] reads row i of x for row i of the result, so both may be split in the same way.
"""

from __future__ import annotations

from adjoint.ir.axes import Letters, letters
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ops.indexing import counts_up

_GATHER = OPS["gather"]
_RESHAPE, _EXPAND, _CAST = OPS["reshape"], OPS["expand"], OPS["cast"]


def counted_axis(index: UOp) -> int | None:
    """The axis along which an index array counts 0, 1, 2, …, and is repeated along all others."""
    shape, node = index.shape, index
    while node.op in (_RESHAPE, _EXPAND, _CAST):
        (node,) = node.src
    if not counts_up(node):
        return None
    places = [d for d, n in enumerate(shape) if n == node.shape[0]]
    for d in places:
        if _is_along(index, d):
            return d
    return None


def _is_along(index: UOp, axis: int) -> bool:
    """Whether the only axis of the array that is not repeated is this one."""
    node, at = index, axis
    while node.op in (_EXPAND, _CAST):
        (inner,) = node.src
        at -= len(node.shape) - len(inner.shape)
        node = inner
        if at < 0 or (node.op is not _CAST and node.shape[at] != index.shape[axis]):
            return False
    return not any(n != 1 for d, n in enumerate(node.shape) if d != at)


def indexed_axes(node: UOp) -> Letters:
    """The letters of a gather or scatter."""
    x, indices = node.src[0], node.src[1 : 1 + len(node.arg.axes)]
    rank = len(indices[0].shape)
    names = letters(rank + len(x.shape))
    place, rest = names[:rank], iter(names[rank:])
    own = {a: next(rest) for a in range(len(x.shape)) if a not in node.arg.axes}
    for axis, index in zip(node.arg.axes, indices, strict=True):
        along = counted_axis(index)
        same = along is not None and index.shape[along] == x.shape[axis]
        letter = place[along] if along is not None and same else "."
        own[axis] = "." if letter in own.values() else letter
    term = "".join(own[a] for a in range(len(x.shape)))
    inner = "".join(own[a] for a in range(len(x.shape)) if a not in node.arg.axes)
    if node.op is _GATHER:
        return Letters((term, *(place,) * len(indices)), place + inner)
    closed = "".join(c if c in term else "." for c in place)
    return Letters((term, *(closed,) * len(indices), closed + inner), term)
