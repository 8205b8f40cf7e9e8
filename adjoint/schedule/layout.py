"""Matrices in memory: whether the library can read a view in place."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from operator import mul
from typing import NamedTuple

from adjoint.ir.affine import Affine, IndexVar, flattened, strides_of, var
from adjoint.ir.dtype import dtypes
from adjoint.ir.exactness import allow_tf32, deterministic
from adjoint.ir.kernel_kind import Algorithm, Gather, Identity, View, is_constant
from adjoint.ir.sizes import divides, is_one, varies
from adjoint.ir.uop import UOp
from adjoint.ir.values import is_known
from adjoint.kernel.counting import counts_along, is_strided, through
from adjoint.kernel.places import MOST_LISTED, place_tile
from adjoint.ops.casts import cast
from adjoint.ops.finished import finished_product
from adjoint.ops.indexing import unwrapped
from adjoint.ops.movement import expand, reshape
from adjoint.ops.window import window
from adjoint.schedule import classify
from adjoint.stages import Finish, Gemm
from adjoint.target import Target, Tile


def matrix_base(node: UOp, target: Target) -> UOp:
    """What must be in memory for a matrix operand: below its views, or the operand itself, without
    the batch if that only repeats it."""
    return _operand(node, target).base


_SHORTEST_RUN = 16  # numbers next to one another that are worth a loop of their own


def row_base(node: UOp, tile: Tile | None = None, beside: UOp | None = None) -> UOp:
    """The same for the rows of a tiled product: also below its views, if the summed numbers of a
    row are contiguous runs there, rows of a member of the batch and their numbers are at strides,
    or rows are repeated for parts of the batch; and if they are windows of pictures, or multiply
    windows `beside`, that tiles read in place (`kernel/places.py`).
    """
    if tile is not None and not varies(*node.shape):
        found = place_base(node, tile)
        if found is None and beside is not None and below_windows(beside) is not None:
            found = _steps_base(node)
        if found is not None:
            return found
    if _lies_in_runs(node) or _lies_in_rows(node):
        return base_of(node)
    if node.op is reshape and node.src[0].op is expand:
        return base_of(node.src[0].src[0])
    return _operand(node).base


def place_base(node: UOp, tile: Tile) -> UOp | None:
    """The pictures that rows of windows show, if tiles of places read them."""
    if node.op is not reshape or node.shape[2] > MOST_LISTED or below_windows(node) is None:
        return None
    rows, summed = [n for n in node.src[0].shape if n != 1], 1
    while rows and summed < node.shape[2]:
        summed *= rows.pop()
    fits = summed == node.shape[2] and rows and place_tile(rows[-1], tile) is not None
    return _steps_base(node) if fits else None


def _steps_base(node: UOp) -> UOp | None:
    """The node below views, windows included, if each axis advances in it by one step."""
    if node.op is not reshape:
        return None
    below = node.src[0]
    counters = [IndexVar(n) for n in below.shape]
    index: tuple[Affine, ...] = tuple(map(var, counters))
    while is_strided(below) or below.op is window:
        index, below = through(below, index), below.src[0]
    if is_of_none(below):
        return None
    place = flattened(index, below.shape)
    steps = [place.factor(counter) for counter in counters]
    return below if all(step is not None and step >= 0 for step in steps) else None


def _lies_in_rows(node: UOp) -> bool:
    if is_of_none(base_of(node)):
        return False
    counters = [IndexVar(n) for n in node.shape]
    place = _place_below(node, tuple(map(var, counters)))
    return all(place.factor(counter) is not None for counter in counters[1:])


def _lies_in_runs(node: UOp) -> bool:
    if node.op is not reshape or is_of_none(base_of(node)):
        return False
    batch, rows, summed = node.shape
    for length in accumulate(reversed(node.src[0].shape), mul):
        if length >= _SHORTEST_RUN and divides(length, summed):
            inner = IndexVar(length)
            along = var(IndexVar(summed // length)) * length + var(inner)
            place = _place_below(node, (var(IndexVar(batch)), var(IndexVar(rows)), along))
            return place.factor(inner) is not None
    return False


def _place_below(node: UOp, index: tuple[Affine, ...]) -> Affine:
    """The place of an element of a strided view in the node below."""
    while is_strided(node):
        index, node = through(node, index), node.src[0]
    return flattened(index, node.shape)


def is_of_none(node: UOp) -> bool:
    """Whether the elements below views are in no memory."""
    return is_constant(node) or classify.kind_of(node) == classify.VIEW


class _Operand(NamedTuple):
    """What must be in memory for a matrix operand, the strides at which it is read there, and how
    many elements are before its first."""

    base: UOp
    strides: tuple[int, ...]
    start: int = 0


def _operand(node: UOp, target: Target | None = None) -> _Operand:
    """The place of an operand in memory, for the libraries of a target, or for tiles."""
    steps = [library.starts for library in target.libraries] if target is not None else []
    found = _as_it_lies(node, min(steps, default=0) // max(node.dtype.itemsize, 1))
    if found is not None:
        return _Operand(base_of(node), *found)
    once = _once(node)
    batch, row, column = strides_of(node.shape)
    if once is None:
        shared = _shared_copy(node) if target is not None and target.team is not None else None
        return shared or _Operand(node, (batch, row, column))
    return _Operand(once, (0, row, column))


def _shared_copy(node: UOp) -> _Operand | None:
    """The copy nearest to memory that the library can read: other products of the same matrix,
    transposed or not, read the same copy.
    """
    found, view, views = None, node, [node]
    while is_strided(view) and is_strided(view.src[0]):
        view = view.src[0]
        views.append(view)
    for view in views[1:]:
        strides = _strides_above(node, view)
        if strides is not None and _fits(node, strides):
            found = _Operand(view, strides)
    return found


def _strides_above(node: UOp, base: UOp) -> tuple[int, ...] | None:
    """The strides of a view over one of the views below it, if that were in memory."""
    counters = [IndexVar(n) for n in node.shape]
    index: tuple[Affine, ...] = tuple(map(var, counters))
    while node is not base:
        index, node = through(node, index), node.src[0]
    place = flattened(index, base.shape)
    factors = [place.factor(c) if c.size > 1 else 0 for c in counters]
    return None if None in factors or place.const else tuple(f or 0 for f in factors)


def _once(node: UOp) -> UOp | None:
    """The one matrix that all of a batch is, if it is one that is repeated."""
    if node.op is not reshape or node.src[0].op is not expand:
        return None
    matrix: UOp = node.src[0].src[0]
    return matrix if matrix.size == node.shape[1] * node.shape[2] < node.size else None


def _as_it_lies(node: UOp, step: int) -> tuple[tuple[int, ...], int] | None:
    """The strides of a (batch, row, column) view that the library can take, and where it begins: at
    a multiple of `step` elements, or where its memory does."""
    found = placed(node)
    if found is None:
        return None
    strides, start = found
    if start and (not step or start % step):
        return None
    return found if _fits(node, strides) else None


def _fits(node: UOp, strides: tuple[int, ...]) -> bool:
    """Whether the library can read a matrix with this row-major or column-major layout."""
    _, rows, columns = node.shape
    _, row, column = strides
    if column == 1 or columns == 1:
        return row >= columns or rows == 1
    return (row == 1 or rows == 1) and column >= rows


def base_of(node: UOp) -> UOp:
    """The node below the views that keep strides."""
    while is_strided(node):
        node = node.src[0]
    return node


def below_windows(node: UOp) -> UOp | None:
    """The node that the windows of an operand show, each element many times; None without
    windows.
    """
    found = False
    while type(node.op.kernel) is View and len(node.src) == 1:
        found = found or node.op is window
        node = node.src[0]
    return node if found else None


def strides_over(node: UOp) -> tuple[int, ...] | None:
    """The strides of a view over its base, in elements; None if it has none, or an offset."""
    found = placed(node)
    return None if found is None or found[1] else found[0]


def placed(node: UOp) -> tuple[tuple[int, ...], int] | None:
    """The strides of a view over its base, and its offset; None if it has no strides."""
    counters = [IndexVar(n) for n in node.shape]
    if is_of_none(base_of(node)):
        return None
    place = _place_below(node, tuple(map(var, counters)))
    factors = [place.factor(c) if c.size > 1 else 0 for c in counters]
    if any(f is None for f in factors):
        return None
    return tuple(f or 0 for f in factors), place.const


def inner_axis(node: UOp) -> int | None:
    """The axis along which elements are adjacent in memory, below views and casts; None if they are
    along none.
    """
    counters = [IndexVar(n) for n in node.shape]
    index: tuple[Affine, ...] = tuple(map(var, counters))
    while not is_known(node) and (is_strided(node) or node.op is cast or _is_identity(node)):
        if is_strided(node):
            index = through(node, index)
        node = node.src[0]
    place = flattened(index, node.shape)
    near = [d for d, c in enumerate(counters) if not is_one(c.size) and place.factor(c) == 1]
    return near[-1] if near else None


def _is_identity(node: UOp) -> bool:
    return type(node.op.kernel) is Identity


def gemm_of(node: UOp, target: Target) -> tuple[Gemm, tuple[UOp, ...]]:
    """The library call for a product "bmk,bkn->bmn", and its operands as `matrix_base` says."""
    left, right = (_operand(x, target) for x in node.src[:2])
    batch, m, k = map(int, node.src[0].shape)
    n, dtype = int(node.src[1].shape[2]), node.src[0].dtype
    strides, out = (_ints(left.strides), _ints(right.strides)), (m * n, n, 1)
    made, finish = dtype, Finish()
    if node.op is finished_product:
        arg = node.arg
        made, finish = arg.dtype, Finish(float(arg.factor), arg.adds, tuple(arg.steps))
    gemm = Gemm(dtype, batch, m, n, k, *strides, out, None if made is dtype else made, finish)
    tf32 = dtype is dtypes.float32 and allow_tf32.allowed() and target.gpu
    gemm = replace(gemm, starts=(left.start, right.start), tf32=tf32)
    ordered = deterministic.allowed() or not target.gpu
    return replace(gemm, ordered=ordered), (left.base, right.base, *node.src[2:])


def _ints(strides: tuple[int, ...]) -> tuple[int, int, int]:
    batch, row, column = map(int, strides)
    return batch, row, column


def sorts(node: UOp) -> UOp | None:
    """The ARGSORT of x if the node is x in that order, else None."""
    if type(node.op.kernel) is not Gather or node.shape != node.src[0].shape:
        return None
    for axis, index in zip(node.arg.axes, node.src[1:], strict=True):
        index = unwrapped(index, node.src[0].shape[axis])
        order = _is_order(index) and index.arg.axis == axis
        if order and index.src[0] is node.src[0]:
            rest = zip(node.arg.axes, node.src[1:], strict=True)
            plain = all(counts_along(i) == a or node.shape[a] == 1 for a, i in rest if a != axis)
            return index if plain and node.arg.axes == tuple(range(len(node.shape))) else None
    return None


def _is_order(node: UOp) -> bool:
    kernel = node.op.kernel
    return type(kernel) is Algorithm and kernel.name == "sort"
