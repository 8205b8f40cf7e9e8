"""Rules for vmap: an op whose operands, or some of them, have one more axis, in front.

A rule is `rule(node, src, batched, size)`: the node without the axis, its operands with it where
`batched` says so, and the axis's size. It returns the result with the axis in front, or a pair of
the result and whether it has the axis. The rules of one op are beside its record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.ir.uop import UOp

Sources = tuple[UOp, ...]
Flags = tuple[bool, ...]
BatchRule = Callable[[UOp, Sources, Flags, int], Any]


def broadcast_batch(x: UOp, batched: bool, size: int) -> UOp:
    """The operand with the axis, repeated if it had none."""
    return x if batched else x.expand((size, *x.shape))


def broadcast_batches(src: Sources, batched: Flags, size: int) -> Sources:
    """Every operand with the axis."""
    return tuple(broadcast_batch(x, flag, size) for x, flag in zip(src, batched, strict=True))


def same_op(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    """The op unchanged: for elementwise ops, and ops that accept leading axes themselves."""
    return UOp(node.op, broadcast_batches(src, batched, size), node.arg)


def shifted(*fields: str) -> BatchRule:
    """The op with the axes named by these attributes moved up by one."""

    def rule(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
        moved = {name: _up(getattr(node.arg, name)) for name in fields}
        return UOp(node.op, broadcast_batches(src, batched, size), node.arg.replace(**moved))

    return rule


def _up(axes: Any) -> Any:
    return axes + 1 if isinstance(axes, int) else tuple(axis + 1 for axis in axes)


def prepend(**fields: Any) -> BatchRule:
    """The op with these values in front of its per-axis attributes; `...` is the axis's size."""

    def rule(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
        front = {
            name: (size if value is ... else value, *getattr(node.arg, name))
            for name, value in fields.items()
        }
        return UOp(node.op, broadcast_batches(src, batched, size), node.arg.replace(**front))

    return rule
