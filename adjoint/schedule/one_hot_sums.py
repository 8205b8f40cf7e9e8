"""Sums along an axis with one non-zero element become that element.

Before: sum(where(column == t, u, 0)) over the columns, in the gradient of a loss that picks one of
many classes: a loop over all of them.
After: u if t is one of the columns, else 0, plus 0.

Zeros change no sum but the sign of a zero, so no bit changes. What may live here: this rewrite.
"""

from __future__ import annotations

from adjoint.ir.kernel_kind import filled_value, is_constant
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, rebuild
from adjoint.kernel.counting import counts_along
from adjoint.ops.casts import cast
from adjoint.ops.movement import expand
from adjoint.schedule.classify import POINTWISE, kind_of

_EQ, _WHERE, _NEG = (OPS[name] for name in ("eq", "where", "neg"))
_DEEPEST = 8  # ops above what is the same along the axis


def one_hot_sum(node: UOp) -> UOp | None:
    """sum(where(positions == t, u, 0)) = where(0 <= t < n, u, 0) + 0"""
    x, dims = node.src[0], node.arg.axis
    if len(dims) != 1 or not node.dtype.is_float or node.dtype is not x.dtype:
        return None
    picked, above = x, []
    while picked.op is _NEG or (picked.op is cast and picked.src[0].dtype.is_float):
        above.append(picked)
        picked = picked.src[0]
    if picked.op is not _WHERE or picked.src[0].op is not _EQ or not _is_zero(picked.src[2]):
        return None
    (axis,), (left, right) = dims, picked.src[0].src
    counter, place = (left, right) if counts_along(left) == axis else (right, left)
    if counts_along(counter) != axis:
        return None
    at, value = _row(place, axis, 0), _row(picked.src[1], axis, 0)
    if at is None or value is None:
        return None
    for op in reversed(above):  # which leave zeros what they are
        value = -value if op.op is _NEG else value.cast(op.dtype)
    inside = (at >= 0).logical_and(at < x.shape[axis])
    return (inside.where(value, 0.0) + 0.0).reshape(node.shape)


def _is_zero(node: UOp) -> bool:
    value = filled_value(node)
    return value is not None and float(value) == 0


def _row(node: UOp, axis: int, depth: int) -> UOp | None:
    """The value of a node everywhere along an axis, of which one element is left; None if it
    differs.
    """
    shape = tuple(1 if d == axis else n for d, n in enumerate(node.shape))
    if is_constant(node):
        found: UOp = OPS["const"](node.arg.value, node.dtype, shape, node.device)
        return found
    if node.op is expand:
        source: UOp = node.src[0]
        same = len(source.shape) == len(shape) and source.shape[axis] == 1
        return source.expand(shape) if same else None
    if kind_of(node) != POINTWISE or depth > _DEEPEST or not node.src:
        return None
    operands = [_row(source, axis, depth + 1) for source in node.src]
    if any(operand is None for operand in operands):
        return None
    return rebuild(node, tuple(operand for operand in operands if operand is not None))
