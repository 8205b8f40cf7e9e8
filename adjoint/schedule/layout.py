"""Matrices in memory: whether a view can be handed to the library as it lies.

What may live here: strides of views over the memory below them. What may not: kernels.
"""

from __future__ import annotations

from adjoint.ir.affine import ZERO, Lin, Var, flattened, reshaped, strides_of, var
from adjoint.ir.dtype import dtypes
from adjoint.ir.uop import UOp
from adjoint.schedule import classify
from adjoint.stages import Gemm

_STRIDED = frozenset({"reshape", "permute", "shrink", "expand", "wait"})


def matrix_base(node: UOp) -> UOp:
    """What must be in memory for a matrix operand: below its views, or the operand itself."""
    return base_of(node) if _as_it_lies(node) is not None else node


def _as_it_lies(node: UOp) -> tuple[int, ...] | None:
    """The strides of a (batch, row, column) view that the library can take."""
    strides = strides_over(node)
    if strides is None:
        return None
    _, rows, columns = node.shape
    _, row, column = strides
    if column == 1 or columns == 1:
        fits = row >= columns or rows == 1
    else:
        fits = (row == 1 or rows == 1) and column >= rows
    return strides if fits else None


def base_of(node: UOp) -> UOp:
    """The node below the views that keep strides."""
    while node.op.name in _STRIDED:
        node = node.src[0]
    return node


def strides_over(node: UOp) -> tuple[int, ...] | None:
    """The strides of a view over its base, in elements; None if it has none, or an offset."""
    counters = [Var(n) for n in node.shape]
    index: tuple[Lin, ...] = tuple(map(var, counters))
    below = node
    while below.op.name in _STRIDED:
        index = _through(below, index)
        below = below.src[0]
    if below.op.name == "const" or classify.kind_of(below) == classify.VIEW:
        return None
    place = flattened(index, below.shape)
    factors = [place.factor(c) if c.size > 1 else 0 for c in counters]
    if any(f is None for f in factors) or place.const:
        return None  # an operand begins where its memory begins
    return tuple(f or 0 for f in factors)


def _through(node: UOp, index: tuple[Lin, ...]) -> tuple[Lin, ...]:
    x = node.src[0]
    if node.op.name == "reshape":
        return reshaped(index, node.shape, x.shape)
    if node.op.name == "permute":
        back = dict(zip(node.arg.order, index, strict=True))
        return tuple(back[a] for a in range(len(index)))
    if node.op.name == "shrink":
        start, _, step = node.arg
        return tuple(i * s + a for i, a, s in zip(index, start, step, strict=True))
    if node.op.name == "expand":
        lead = len(node.shape) - len(x.shape)
        return tuple(ZERO if n == 1 else index[lead + i] for i, n in enumerate(x.shape))
    return index


def counts_along(node: UOp) -> int | None:
    """The axis along which the elements are 0, 1, 2, …; None if they are something else."""
    counters = [Var(n) for n in node.shape]
    index: tuple[Lin, ...] = tuple(map(var, counters))
    least = dtypes.int64.max  # what the narrowest dtype on the way holds
    while node.op.name in _STRIDED or node.op.name == "cast":
        if not node.dtype.is_int:
            return None
        least = min(least, node.dtype.max)
        if node.op.name != "cast":
            index = _through(node, index)
        node = node.src[0]
    if not _is_counting(node) or len(index) != 1 or node.size > min(least, node.dtype.max):
        return None
    return next((d for d, c in enumerate(counters) if index[0] == var(c) != ZERO), None)


def _is_counting(node: UOp) -> bool:
    """`ones.scan_sum(0) - 1`, as `positions` writes it."""
    if node.op.name != "sub" or len(node.shape) != 1:
        return False
    total, one = node.src
    if total.op.name != "scan_sum" or not classify.is_filled(one) or total.arg.reverse:
        return False
    return classify.filled_value(one) == 1 == classify.filled_value(total.src[0])


def gemm_of(node: UOp) -> Gemm:
    """The library call for a product "bmk,bkn->bmn" whose operands lie as `matrix_base` says."""
    a, b = node.src
    batch, m, n = node.shape
    return Gemm(
        node.dtype,
        batch,
        m,
        n,
        a.shape[2],
        _operand_strides(a),
        _operand_strides(b),
        (m * n, n, 1),
    )


def _operand_strides(node: UOp) -> tuple[int, int, int]:
    batch, row, column = _as_it_lies(node) or strides_of(node.shape)
    return batch, row, column


def sorts(node: UOp) -> UOp | None:
    """The ARGSORT of x if the node is x in that order, else None."""
    if node.op.name != "gather" or node.shape != node.src[0].shape:
        return None
    for axis, index in zip(node.arg.axes, node.src[1:], strict=True):
        if index.op.name == "where":  # negative indices wrapped
            index = index.src[2]
        order = index.op.name == "argsort" and index.arg.axis == axis
        if order and index.src[0] is node.src[0]:
            rest = zip(node.arg.axes, node.src[1:], strict=True)
            plain = all(counts_along(i) == a or node.shape[a] == 1 for a, i in rest if a != axis)
            return index if plain and node.arg.axes == tuple(range(len(node.shape))) else None
    return None
