"""A reduction over a split dimension: one member's part of it.

In the fixed order a dimension of n elements is cut into gcd(n, 8) equal pieces, whatever the mesh.
A member reduces each of its pieces, and joins them as a balanced tree; the same tree joins members.
So meshes of 1, 2, 4 and 8 members give the same bits, if their number divides that of the pieces.
In the fast order a member reduces its whole part.

Linear ops may be applied to the pieces before they are joined (`linear.py`): y * 3 is 3 times each
piece, y + z the sum of two pieces, whatever the number of members that have them.

Before: reduce_sum(x, axis 0), x split over 2 members.
After: t = reduce_sum of 4 pieces; (t0 + t1) + (t2 + t3), pending.
"""

from __future__ import annotations

from math import gcd

from adjoint.ir.axes import Letters
from adjoint.ir.kernel_kind import Library, Reduce
from adjoint.ir.mesh import Axes, Sharding
from adjoint.ir.opdef import OPS, OpDef
from adjoint.ir.uop import UOp
from adjoint.ops.contract import contract
from adjoint.sharding.convert import masked

PIECES = 8
_ADD = OPS["add"]


def piece_count(extent: int, parts: int) -> int:
    """The pieces of a dimension that one of this many members has; 1: they cannot be separated."""
    whole = gcd(extent, PIECES)
    return whole // parts if extent % parts == 0 and whole % parts == 0 else 1


def has_order(node: UOp) -> bool:
    """Whether bits depend on the order in which elements are joined."""
    kernel = node.op.kernel
    loops = kernel.loops if type(kernel) is Library else kernel
    return type(loops) is Reduce and loops.join in ("add", "mul") and node.dtype.is_inexact


def reduced_pieces(
    node: UOp, terms: Letters, local: list[UOp], operands: tuple[Sharding, ...], order: str
) -> list[UOp]:
    """A reduction or a contraction of a member's parts of its operands, a piece at a time."""
    split = _split_letters(node, terms, operands)
    for letter, axes, extent, parts in split:
        if extent % parts:
            local = [
                _filled(node, terms, i, x, letter, axes, extent, parts) for i, x in enumerate(local)
            ]
    if order != "fixed" or not has_order(node) or len(split) != 1:
        return [UOp(node.op, tuple(local), node.arg)]
    ((letter, _, extent, parts),) = split
    count = piece_count(extent, parts)
    if count == 1:
        return [UOp(node.op, tuple(local), node.arg)]
    pairs = list(zip(terms.terms, local, strict=True))
    return [
        UOp(node.op, tuple(_cut(t, x, letter, i, count) for t, x in pairs), node.arg)
        for i in range(count)
    ]


def _split_letters(
    node: UOp, terms: Letters, operands: tuple[Sharding, ...]
) -> list[tuple[str, Axes, int, int]]:
    """The letters that are reduced and split, with their axes, extents and parts."""
    found = {}
    for letter in terms.summed:
        for number, term in enumerate(terms.terms):
            dim = term.find(letter)
            axes = operands[number].axes(dim) if dim >= 0 else ()
            if axes:
                extent = node.src[number].shape[dim]
                found[letter] = (letter, axes, extent, operands[number].parts(dim))
    return list(found.values())


def _filled(
    node: UOp, terms: Letters, number: int, x: UOp, letter: str, axes: Axes, extent: int, parts: int
) -> UOp:
    """An operand whose padding does not count; a NaN there times zero would."""
    if letter not in terms.terms[number]:
        return x
    kernel = node.op.kernel
    start = 0 if node.op is contract else kernel.start(x.dtype)
    return masked(x, terms.terms[number].index(letter), extent, axes, parts, start)


def _cut(term: str, x: UOp, letter: str, piece: int, count: int) -> UOp:
    if letter not in term:
        return x
    dim = term.index(letter)
    extent = x.shape[dim] // count
    bounds = [(0, n) for n in x.shape]
    bounds[dim] = (piece * extent, (piece + 1) * extent)
    return x.shrink(bounds)


def joined_pieces(node: UOp, level: list[UOp]) -> UOp:
    """A member's part of a reduction, from its pieces."""
    kernel = node.op.kernel
    loops = kernel.loops if type(kernel) is Library else kernel
    join = OPS[loops.join if type(loops) is Reduce else "add"]
    return fewer_pieces(level, 1, join)[0]


def fewer_pieces(level: list[UOp], count: int, join: OpDef = _ADD) -> list[UOp]:
    """So many pieces from more: neighbours are joined first, then pairs of pairs."""
    while len(level) > count:
        level = [join(level[i], level[i + 1]) for i in range(0, len(level), 2)]
    return level


__all__ = ["PIECES", "fewer_pieces", "joined_pieces", "piece_count", "reduced_pieces"]
