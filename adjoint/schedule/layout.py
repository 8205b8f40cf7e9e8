"""Matrices in memory: whether a view can be handed to the library as it lies."""

from __future__ import annotations

from adjoint.ir.affine import LINEAR, ZERO, Affine, IndexVar, flattened, strides_of, var
from adjoint.ir.dtype import dtypes
from adjoint.ir.kernel_kind import Algorithm, Gather, View, is_constant
from adjoint.ir.uop import UOp
from adjoint.ops.casts import cast
from adjoint.ops.indexing import counts_up, unwrapped
from adjoint.schedule import classify
from adjoint.stages import Gemm


def matrix_base(node: UOp) -> UOp:
    """What must be in memory for a matrix operand: below its views, or the operand itself."""
    return _operand(node)[0]


def _operand(node: UOp) -> tuple[UOp, tuple[int, ...]]:
    """What must be in memory for a matrix operand, and the strides at which it is read there."""
    strides = _as_it_lies(node)
    return (node, strides_of(node.shape)) if strides is None else (base_of(node), strides)


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
    while _is_strided(node):
        node = node.src[0]
    return node


def _is_strided(node: UOp) -> bool:
    kernel = node.op.kernel
    return type(kernel) is View and kernel.strided


def _through(node: UOp, index: tuple[Affine, ...]) -> tuple[Affine, ...]:
    """The index into the operand of a view that keeps strides."""
    (read,) = node.op.kernel.index_map(node, index, LINEAR)
    return read.place


def strides_over(node: UOp) -> tuple[int, ...] | None:
    """The strides of a view over its base, in elements; None if it has none, or an offset."""
    counters = [IndexVar(n) for n in node.shape]
    index: tuple[Affine, ...] = tuple(map(var, counters))
    below = node
    while _is_strided(below):
        index = _through(below, index)
        below = below.src[0]
    if is_constant(below) or classify.kind_of(below) == classify.VIEW:
        return None
    place = flattened(index, below.shape)
    factors = [place.factor(c) if c.size > 1 else 0 for c in counters]
    if any(f is None for f in factors) or place.const:
        return None  # an operand begins where its memory begins
    return tuple(f or 0 for f in factors)


def counts_along(node: UOp) -> int | None:
    """The axis along which the elements are 0, 1, 2, …; None if they are something else."""
    counters = [IndexVar(n) for n in node.shape]
    index: tuple[Affine, ...] = tuple(map(var, counters))
    least = dtypes.int64.max  # what the narrowest dtype on the way holds
    while _is_strided(node) or node.op is cast:
        if not node.dtype.is_int:
            return None
        least = min(least, node.dtype.max)
        if node.op is not cast:
            index = _through(node, index)
        node = node.src[0]
    if not counts_up(node) or len(index) != 1 or node.size > min(least, node.dtype.max):
        return None
    return next((d for d, c in enumerate(counters) if index[0] == var(c) != ZERO), None)


def gemm_of(node: UOp) -> tuple[Gemm, tuple[UOp, UOp]]:
    """The library call for a product "bmk,bkn->bmn", and its operands as `matrix_base` says."""
    (a, left), (b, right) = map(_operand, node.src)
    batch, m, n = map(int, node.shape)
    summed, out = int(node.src[0].shape[2]), (m * n, n, 1)
    return Gemm(node.dtype, batch, m, n, summed, _ints(left), _ints(right), out), (a, b)


def _ints(strides: tuple[int, ...]) -> tuple[int, int, int]:
    batch, row, column = map(int, strides)
    return batch, row, column


def sorts(node: UOp) -> UOp | None:
    """The ARGSORT of x if the node is x in that order, else None."""
    if type(node.op.kernel) is not Gather or node.shape != node.src[0].shape:
        return None
    for axis, index in zip(node.arg.axes, node.src[1:], strict=True):
        index = unwrapped(index)
        order = _is_order(index) and index.arg.axis == axis
        if order and index.src[0] is node.src[0]:
            rest = zip(node.arg.axes, node.src[1:], strict=True)
            plain = all(counts_along(i) == a or node.shape[a] == 1 for a, i in rest if a != axis)
            return index if plain and node.arg.axes == tuple(range(len(node.shape))) else None
    return None


def _is_order(node: UOp) -> bool:
    kernel = node.op.kernel
    return type(kernel) is Algorithm and kernel.name == "sort"
