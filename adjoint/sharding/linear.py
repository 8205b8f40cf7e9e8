"""Which ops keep a pending reduction pending: the operands in which an op is linear.

A pending sum stays pending through linear ops; a pending maximum, minimum or product through ops
that only move elements. In the fixed order, linear ops that round are applied to each piece of the
sum (see `joins.py`), because otherwise the bits would depend on the number of members: sums,
differences, scaled values and sums over other dimensions. A matrix product would become as many
products, so its operands are joined first. The fast order ignores pieces.
"""

from __future__ import annotations

from adjoint.ir.derivative import Bilinear, Linear
from adjoint.ir.kernel_kind import Identity, Reduce, View, filled_value, is_filled
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp

TOGETHER, EACH, FIRST, NONE = "together", "each", "first", "none"
_TOGETHER = {OPS[name] for name in ("add", "sub", "cat")}
_EACH = {OPS["mul"]}
_FIRST = {OPS[name] for name in ("true_div", "gather", "wait")}
_MOVING = {OPS["gather"], OPS["neg"]}
_PIECEWISE = {OPS[name] for name in ("add", "sub", "mul", "true_div")}  # cost what a join costs
_NEVER = {OPS[name] for name in ("cast", "scatter_add", "pad_constant", "shard", "assign")}


def linear_in(node: UOp) -> str:
    """The operands in which a node is linear: all of them together, each by itself, the first,
    none.
    """
    op, ad = node.op, node.op.ad
    if op in _TOGETHER:
        return TOGETHER
    if op in _EACH or isinstance(ad, Bilinear):
        return EACH
    if op in _FIRST:
        return FIRST
    if op is OPS["neg"] or (
        op not in _NEVER and type(op.kernel) is Identity and len(node.src) == 1
    ):
        return FIRST
    if op in _NEVER or not isinstance(ad, Linear) or ad.tangent is not None:
        return NONE
    return FIRST if len(node.src) == 1 else NONE


def keeps(node: UOp, kind: str, order: str, size: int, apart: bool) -> bool:
    """Whether the op may be done before so many pending elements of operands are joined, and no
    more have to be joined then. `apart`: the pieces of the operands can be had."""
    if node.size > size:
        return False
    if kind != "sum":
        return is_exact(node) and node.op is not OPS["neg"] and not fills(node)
    if is_exact(node) or order == "fast":
        return True
    return apart and (node.op in _PIECEWISE or _is_sum(node))


def is_exact(node: UOp) -> bool:
    """Whether an op that is linear does not round: it moves elements, or they are integers, which
    are added without rounding in any order."""
    moves = node.op in _MOVING or type(node.op.kernel) in (View, Identity)
    return moves or not node.dtype.is_inexact


def _is_sum(node: UOp) -> bool:
    kernel = node.op.kernel
    return type(kernel) is Reduce and kernel.join == "add" and len(node.src) == 1


def fills(node: UOp) -> bool:
    """Whether a view makes elements of its own."""
    kernel = node.op.kernel
    return type(kernel) is View and kernel.fill is not None


def is_zero(node: UOp) -> bool:
    """Whether a node is zeros."""
    return is_filled(node) and filled_value(node) == 0
