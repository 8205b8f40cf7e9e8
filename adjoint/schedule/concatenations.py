"""A concatenation of many operands as a tree of concatenations of few.

Before: cat(x1, …, x1000): one kernel reads all thousand operands for each element, and selects one.
After: cat(copy(cat(x1, …, x8)), …): every level is in memory, so an element costs a few reads a
level, and kernels of equal operands share their code.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.ir.uop import UOp
from adjoint.ops.logic import copied

_MANY = 16  # operands that one kernel reads; another level of memory costs more up to here
_TOGETHER = 8  # operands of a kernel, where there are more


def in_levels(node: UOp) -> UOp | None:
    """cat of many operands = cat of copies of cats of a few, in turn"""
    if len(node.src) <= _MANY:
        return None
    parts: Sequence[UOp] = node.src
    while len(parts) > _TOGETHER:
        groups = [parts[i : i + _TOGETHER] for i in range(0, len(parts), _TOGETHER)]
        parts = [copied(UOp(node.op, tuple(g), node.arg)) if len(g) > 1 else g[0] for g in groups]
    return UOp(node.op, tuple(parts), node.arg)
