"""Elementwise ops as basic ops: the record's formula for one element, on kernel values.

Renderers know only basic ops (see docs/math.md), so every target computes the same bits. Operands
and results are scalar kernel nodes. A float16 or bfloat16 value is held as a float32 that the
narrow dtype represents exactly; an op on such values is computed in float32 and rounded once.
"""

from __future__ import annotations

from typing import Any

from adjoint.errors import InternalError
from adjoint.ir.dtype import DType
from adjoint.ir.kernel_kind import BASIC, Pointwise, is_constant, pointwise_of
from adjoint.ir.opdef import OPS, OpDef, expand_composite
from adjoint.ir.uop import UOp, make_node, toposort
from adjoint.ops.mathematics.nodes import compute_dtype, rounded

Sources = tuple[UOp, ...]


def decompose(op: OpDef, src: Sources, arg: Any, dtype: DType, source: DType | None = None) -> UOp:
    """The op of result dtype `dtype` on scalar held operands, in basic ops.

    `source` is the dtype of the first operand, if it is not the dtype that the operand is held in.
    """
    kernel = pointwise_of(op)
    if kernel is None:
        raise InternalError(f"no way is known to compute {op.name!r} in a kernel")
    if kernel.of_types is not None:
        found: UOp = kernel.of_types(*src, source or src[0].dtype, dtype)
        return found
    value = _value(op, kernel, src, dtype)
    return rounded(value, dtype) if kernel.rounds else value


def _value(op: OpDef, kernel: Pointwise, src: Sources, dtype: DType) -> UOp:
    kind = src[-1].dtype
    own = kernel.on_bool if kind.is_bool else kernel.on_int if kind.is_int else None
    body = kernel.body if own is None else own
    if body is BASIC:
        return make_node(op, src, None, (), compute_dtype(dtype))
    if body is not None:
        found: UOp = body(*src)
        return found
    if kernel.formula is None:
        raise InternalError(f"no way is known to compute {op.name!r} of {kind.name} in a kernel")
    return _expanded(kernel.formula(*src), src)


def _expanded(root: UOp, src: Sources) -> UOp:
    """A formula whose ops are expanded in turn, by their own records."""
    known: dict[UOp, UOp] = {s: s for s in src}
    for node in toposort([root], stop=known.__contains__):
        if node not in known:
            known[node] = _one(node, tuple([known[s] for s in node.src]))
    return known[root]


def _one(node: UOp, src: Sources) -> UOp:
    if is_constant(node):
        return node
    if node.op.body is not None:
        return _expanded(expand_composite(UOp(node.op, src, node.arg)), src)
    return decompose(node.op, src, node.arg, node.dtype)


def decompose_node(node: UOp, src: Sources) -> UOp:
    """A node of any shape as one element of it: `src` are the elements of its sources."""
    kernel = pointwise_of(node.op)
    if kernel is not None and kernel.below_zero is not None and _is_below_zero(node.src[0]):
        return rounded(kernel.below_zero(*src), node.dtype)
    return decompose(node.op, src, node.arg, node.dtype, node.src[0].dtype)


def _is_below_zero(x: UOp) -> bool:
    """Whether it is a row less its maximum, as in softmax, or that less the logarithm of the sum of
    its exponentials, one of which is 1: not above 0, or NaN."""
    if x.op is not OPS["sub"]:
        return False
    row, less = x.src
    less = less.src[0] if less.op is OPS["expand"] else less
    if less.op is OPS["max"]:
        return less.src[0] is row and bool(less.arg.keepdim)
    if less.op is not OPS["log"] or less.src[0].op is not OPS["reduce_sum"]:
        return False
    total = less.src[0]
    of_row = total.src[0].op is OPS["exp"] and total.src[0].src[0] is row
    return of_row and bool(total.arg.keepdim) and _is_below_zero(row)
