"""Indices that count along an axis of theirs, whatever views are above 0, 1, 2, …

What may live here: how views that keep strides map an index. What may not: what follows from it.
"""

from __future__ import annotations

from adjoint.ir.affine import LINEAR, ZERO, Affine, IndexVar, var
from adjoint.ir.dtype import dtypes
from adjoint.ir.kernel_kind import View
from adjoint.ir.uop import UOp
from adjoint.ops.casts import cast
from adjoint.ops.indexing import counts_up


def is_strided(node: UOp) -> bool:
    """Whether the node is a view that keeps strides."""
    kernel = node.op.kernel
    return type(kernel) is View and kernel.strided


def through(node: UOp, index: tuple[Affine, ...]) -> tuple[Affine, ...]:
    """The index into the operand of a view that keeps strides."""
    (read,) = node.op.kernel.index_map(node, index, LINEAR)
    return read.place


def counts_along(node: UOp) -> int | None:
    """The axis along which the elements are 0, 1, 2, …; None if they are something else."""
    counters = [IndexVar(n) for n in node.shape]
    index: tuple[Affine, ...] = tuple(map(var, counters))
    least = dtypes.int64.max  # what the narrowest dtype on the way holds
    while is_strided(node) or node.op is cast:
        if not node.dtype.is_int:
            return None
        least = min(least, node.dtype.max)
        if node.op is not cast:
            index = through(node, index)
        node = node.src[0]
    if not counts_up(node) or len(index) != 1 or node.size > min(least, node.dtype.max):
        return None
    return next((d for d, c in enumerate(counters) if index[0] == var(c) != ZERO), None)
