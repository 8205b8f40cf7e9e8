"""Picking: sorts, selections by index, searches. What places values is in `scatter_update.py`.

All are made of GATHER and ARGSORT. An index outside its axis is E6001 when it runs,
never a silent zero; where Python indexing would, negative indices count from the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from adjoint.errors import ArgumentError, BoundsError, DTypeError, ShapeError
from adjoint.ir.broadcast import broadcast_shapes
from adjoint.ir.dtype import dtypes, promote
from adjoint.ir.opdef import Bad, composite, derived, scalar_like
from adjoint.ir.uop import UOp
from adjoint.ops.composite.concatenate import own_axis, part_of, whole_number
from adjoint.ops.composite.scatter_update import index_of, places_of
from adjoint.ops.composite.selection import first_in_order
from adjoint.ops.indexing import check_index, gathered, positions, wrapped
from adjoint.ops.movement import checked_axis
from adjoint.ops.samples import SPECIAL, given, real, rough, whole

Array = np.ndarray[Any, Any]
Value = TypeVar("Value")  # a node, a tensor or an array
_MATRIX, _VECTOR, _SCALAR = np.ones((2, 3)), np.ones(3), np.ones(())
_TIES = np.array([[1.0, 0.0, 1.0, 0.0, 2.0], [3.0, 3.0, 3.0, 0.0, 3.0]])


class Picked(NamedTuple, Generic[Value]):
    """Values, and where along the axis they came from."""

    values: Value
    indices: Value


# ---- sorting


def _order(x: Array, dim: int, descending: bool) -> Array:
    """A stable order from the ranks of the values, among which all NaN are one."""
    _, ranks = np.unique(x, return_inverse=True)
    ranks = ranks.reshape(x.shape)
    return np.argsort(-ranks if descending else ranks, axis=dim, kind="stable")


def _sort_reference(x: Array, dim: int = -1, descending: bool = False) -> tuple[Array, Array]:
    if x.ndim == 0:
        return x, np.zeros((), int)
    values = np.sort(x, axis=dim)
    return np.flip(values, dim) if descending else values, _order(x, dim, descending)


@derived(
    reference=_sort_reference,
    samples=lambda: [
        (real(2, 5),),
        (real(2, 5), 0, True),
        (real(2, 5), {"descending": True}),
        rough(_TIES),
        rough(_TIES, 1, True),
        rough(SPECIAL),
        rough(SPECIAL, 0, True),
        (real(),),
        (real(0, 3), 0),
        (real(2, 0),),
    ],
    errors=(Bad("E3004", (_MATRIX, 2), match="axis 2"),),
    kinds="biuf",
)
def sort(x: UOp, dim: int = -1, descending: bool = False) -> Picked:
    """The values in order along `dim`, and their indices. Stable; NaN counts as the largest."""
    order = x.argsort(dim, descending)
    return Picked(x.gather(dim, order), order)


def _check_places(op: str, kth: Any, x: UOp, axis: int) -> None:
    n = x.shape[axis]
    for place in kth if isinstance(kth, (tuple, list)) else (kth,):
        if not -n <= whole_number(op, "kth", place) < n:
            problem = f"kth {place} is out of range for axis {axis} of size {n}"
            raise BoundsError("E6001", problem, op=op, x=x)


_PLACES = given(
    (real(2, 5), 2),
    (real(2, 5), -1, 0),
    (real(5), (1, 3)),
    rough(SPECIAL, 3),
)
_NO_PLACE = (Bad("E6001", (_MATRIX, 3), match="kth 3"), Bad("E3002", (_SCALAR, 0), match="scalar"))


@derived(
    reference=lambda x, kth, dim=-1: np.sort(x, axis=dim),
    samples=_PLACES,
    errors=_NO_PLACE,
    kinds="biuf",
)
def partition(x: UOp, kth: int | Sequence[int], dim: int = -1) -> UOp:
    """The values along `dim` with the kth (or several) in its place of the order: none larger comes
    before it, none smaller behind. Here all values are sorted."""
    axis = own_axis("partition", dim, x)
    _check_places("partition", kth, x, axis)
    return x.sort(axis).values


@derived(
    reference=lambda x, kth, dim=-1: np.argsort(x, axis=dim, kind="stable").astype(np.int64),
    samples=_PLACES,
    errors=_NO_PLACE,
    kinds="biuf",
)
def argpartition(x: UOp, kth: int | Sequence[int], dim: int = -1) -> UOp:
    """The indices that `partition` takes the values from."""
    axis = own_axis("argpartition", dim, x)
    _check_places("argpartition", kth, x, axis)
    return x.argsort(axis)


@derived(
    reference=lambda x: np.sort(x, axis=0),
    samples=lambda: [(real(4, 2),), (real(4),), (real(0, 3),), rough(SPECIAL)],
    errors=(Bad("E3002", (_SCALAR,), match="scalar"),),
    kinds="biuf",
)
def msort(x: UOp) -> UOp:
    """The values in order along the first axis."""
    return x.sort(own_axis("msort", 0, x)).values


def _topk_reference(
    x: Array, k: int, dim: int = -1, largest: bool = True, sorted_: bool = True
) -> tuple[Array, Array]:
    if x.ndim == 0:
        return x, np.zeros((), int)
    first = np.take(_order(x, dim, largest), range(k), axis=dim)
    return np.take_along_axis(x, first, dim), first


@derived(
    reference=_topk_reference,
    samples=lambda: [
        (real(2, 5), 2),
        (real(5, 2), 3, 0, False),
        (real(2, 5), 5, -1, True, False),
        (real(2, 5), 0),
        rough(_TIES, 3),
        rough(_TIES, 3, 1, False),
        rough(SPECIAL, 3),
        rough(SPECIAL, 3, 0, False),
        (real(), 1),
        (real(0, 3), 2),
    ],
    errors=(
        Bad("E3006", (_MATRIX, 4), match="k = 4 is more than the 3 elements"),
        Bad("E3006", (_MATRIX, -1), match="k is at least 0"),
    ),
    kinds="biuf",
)
def topk(x: UOp, k: int, dim: int = -1, largest: bool = True, sorted_: bool = True) -> Picked:
    """The k largest (or smallest) values along `dim` in order, and their indices.

    Ties come in the order of their indices; NaN counts as the largest. The result is sorted
    whatever `sorted_` says.
    """
    axis, count = _count("topk", x, dim, k, 0)
    if not x.shape:
        return x.sort(dim, largest)
    order = first_in_order(x, axis, count, largest)
    return Picked(x.gather(axis, order), order)


def _count(op: str, x: UOp, dim: int, k: int, least: int) -> tuple[int, int]:
    axis = checked_axis(op, dim, len(x.shape), x)
    count, n = whole_number(op, "k", k, least), x.shape[axis] if x.shape else 1
    if count > n:
        problem = f"k = {count} is more than the {n} elements along axis {axis}"
        raise ShapeError("E3006", problem, op=op, x=x)
    return axis, count


def _kth_reference(x: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    values, order = _sort_reference(x, dim)
    if x.ndim == 0:
        return values, order
    take = [k - 1] if keepdim else k - 1
    return np.take(values, take, axis=dim), np.take(order, take, axis=dim)


@derived(
    reference=_kth_reference,
    samples=lambda: [
        (real(2, 5), 2),
        (real(2, 5), 1, 0, True),
        (real(0, 3), 3),
        (real(), 1),
        rough(_TIES, 4),
        rough(SPECIAL, 9),
    ],
    errors=(
        Bad("E3006", (_MATRIX, 0), match="k is at least 1"),
        Bad("E3006", (_MATRIX, 4), match="more than the 3 elements"),
    ),
    kinds="biuf",
)
def kthvalue(x: UOp, k: int, dim: int = -1, keepdim: bool = False) -> Picked:
    """The k-th smallest value along `dim`, counted from 1, and its index."""
    axis, count = _count("kthvalue", x, dim, k, 1)
    if not x.shape:
        return x.sort(dim)
    order = part_of(first_in_order(x, axis, count, False), axis, count - 1, count)
    rest = x.shape[:axis] + ((1,) if keepdim else ()) + x.shape[axis + 1 :]
    return Picked(x.gather(axis, order).reshape(rest), order.reshape(rest))


# ---- selecting


@derived(
    reference=lambda x, num_classes: np.eye(num_classes, dtype=np.int32)[x],
    samples=lambda: [(whole(2, 3), 5), (whole(hi=3), 3), (whole(0), 4), (whole(3, hi=1), 1)],
    errors=(
        Bad("E6001", (np.array([0, 5]), 5), match="out of range"),
        Bad("E6001", (np.array([0, -1]), 5), match="out of range"),
        Bad("E3006", (np.array([0]), -1), match="num_classes is at least 0"),
        Bad("E3006", (np.array([0]),), match="num_classes is at least 0"),
        Bad("E4011", (_VECTOR, 3), match="integer"),
    ),
    kinds="iu",
)
def one_hot(x: UOp, num_classes: int = -1) -> UOp:
    """Adds a last axis of size `num_classes`: 1 at the class that x gives, 0 elsewhere."""
    count = whole_number("one_hot", "num_classes", num_classes, 0)
    check_index("one_hot", x, x)
    # Reading 0 … n-1 at x gives x itself, and refuses classes that do not exist.
    named = gathered(positions(count, 0, 1, x.device), (x,), (0,))
    rank = len(x.shape)
    classes = positions(count, rank, rank + 1, x.device)
    return named.reshape(*x.shape, 1).eq(classes).cast(dtypes.default_int)


_OUT = np.array([0, 3])


@derived(
    reference=lambda x, dim, index: np.take(x, np.atleast_1d(index), axis=dim),
    samples=lambda: [
        (real(4, 3), 0, np.array([2, 0, 2])),
        (real(2, 3, 2), 1, np.array([-1, 0])),
        (real(4, 3), -1, np.array(1)),
        (real(4), 0, whole(0)),
        (real(0, 3), 1, np.array([2])),
    ],
    errors=(
        Bad("E6001", (_MATRIX, 1, _OUT), match="out of range"),
        Bad("E6001", (_MATRIX, 1, np.array([-4])), match="out of range"),
        Bad("E4011", (_MATRIX, 1, _VECTOR), match="integer"),
        Bad("E3002", (_MATRIX, 1, whole(2, 2)), match="vector"),
        Bad("E2001", (_MATRIX, 1, 0), match="integer tensor"),
    ),
)
def index_select(x: UOp, dim: int, index: UOp) -> UOp:
    """The slices along `dim` at a vector of indices."""
    axis, places = places_of("index_select", x, dim, index)
    return gathered(x, (places,), (axis,)).movedim(0, axis)


def _take_along_reference(x: Array, index: Array, dim: int | None = None) -> Array:
    if dim is None:
        return x.ravel()[index.ravel()]
    return np.take_along_axis(x, index, dim)


@derived(
    reference=_take_along_reference,
    samples=lambda: [
        (real(4, 3), whole(2, 3, hi=4), 0),
        (real(4, 3), whole(4, 2, lo=-3, hi=3), -1),
        (real(1, 3), whole(2, 5, hi=3), 1),
        (real(4, 3), whole(1, 2, hi=3), 1),
        (real(2, 3), whole(2, 2, lo=-6, hi=6)),
        (real(0, 3), whole(0, 2, hi=3), 1),
    ],
    errors=(
        Bad("E3002", (_MATRIX, whole(2), 0), match="rank"),
        Bad("E3001", (_MATRIX, whole(3, 1), 1), match="dimension 0"),
        Bad("E6001", (_MATRIX, np.array([6])), match="out of range"),
        Bad("E6001", (_MATRIX, np.array([[3]]), 1), match="out of range"),
    ),
)
def take_along_dim(x: UOp, indices: UOp, dim: int | None = None) -> UOp:
    """Elements at `indices` along `dim`, the other axes broadcast; without `dim`, of the flat x."""
    op = "take_along_dim"
    index = index_of(op, x, indices)
    if dim is None:
        return x.take(index.reshape(-1))
    axis = own_axis(op, dim, x)
    if len(index.shape) != len(x.shape):
        problem = f"the index has the tensor's rank, {len(x.shape)}"
        raise ShapeError("E3002", problem, op=op, x=x, index=index)
    shape = list(broadcast_shapes(op, _without(x, axis), _without(index, axis)))
    sizes = [(*shape[:axis], n.shape[axis], *shape[axis + 1 :]) for n in (x, index)]
    return x.expand(sizes[0]).gather(axis, index.expand(sizes[1]))


def _without(x: UOp, axis: int) -> UOp:
    """Something with this shape and 1 at the axis: only its shape is read."""
    return UOp._apply("const", 0, x.dtype, (*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.device)


@derived(
    reference=lambda x, index: np.ravel(x)[index],
    samples=lambda: [
        (real(2, 3), whole(2, 2, lo=-6, hi=6)),
        (real(2, 3), np.array(4)),
        (real(), whole(3, hi=1)),
        (real(2, 3), whole(0)),
    ],
    errors=(
        Bad("E6001", (_MATRIX, np.array([6])), match="out of range"),
        Bad("E4011", (_MATRIX, _VECTOR), match="integer"),
    ),
)
def take(x: UOp, index: UOp) -> UOp:
    """Elements of the flattened tensor, in the shape of the index."""
    places = wrapped(index_of("take", x, index), x.size)
    return gathered(x.reshape(x.size), (places,), (0,))


@composite(
    reference=lambda weight, idx, padding_idx=None: weight[idx],
    samples=lambda: [
        (real(5, 3), whole(2, 4)),
        (real(5, 3), np.array(2)),
        (real(5), whole(3)),
        (real(5, 3), whole(0, 2)),
        rough(real(5, 3), whole(4), {"padding_idx": -1}),
    ],
    errors=(
        Bad("E6001", (np.ones((3, 2)), _OUT), match="out of range"),
        Bad("E6001", (np.ones((3, 2)), np.array([-1])), match="out of range"),
        Bad("E4011", (_MATRIX, _VECTOR), match="integer"),
        Bad("E3002", (_SCALAR, _OUT), match="scalar"),
        Bad("E6001", (_MATRIX, _OUT), {"padding_idx": 2}, match="padding_idx"),
    ),
)
def embedding(weight: UOp, idx: UOp, padding_idx: int | None = None) -> UOp:
    """The rows of `weight` at the indices `idx`; the row `padding_idx` gets no gradient."""
    own_axis("embedding", 0, weight)
    check_index("embedding", weight, idx)
    rows = gathered(weight, (idx,), (0,))
    if padding_idx is None:
        return rows
    n, row = weight.shape[0], whole_number("embedding", "padding_idx", padding_idx)
    if not -n <= row < n:
        problem = f"padding_idx {row} is out of range for {n} rows"
        raise BoundsError("E6001", problem, op="embedding", weight=weight)
    blank = idx.eq(row % n)
    rest = [1] * (len(weight.shape) - 1)
    return blank.reshape(*idx.shape, *rest).where(rows.detach(), rows)


# ---- searching


def _search_reference(sequence: Array, values: Any, right: bool = False) -> Array:
    side: Any = "right" if right else "left"
    if sequence.ndim == 1:
        return np.searchsorted(sequence, values, side)
    rows = sequence.reshape(-1, sequence.shape[-1])
    wanted = np.reshape(values, (len(rows), -1))
    found = [np.searchsorted(r, v, side) for r, v in zip(rows, wanted, strict=True)]
    return np.array(found, int).reshape(np.shape(values))


def _search_samples() -> list[Any]:
    ladder = np.sort(real(7, lo=0.5, hi=9.0))
    calls = [
        (ladder, real(2, 3, lo=0.0, hi=10.0, seed=2)),
        (ladder, ladder),
        (np.array([1.0, 2.0, 2.0, 2.0]), np.array([2.0, 0.0, 3.0])),
        (np.array([0.0, 0.0, np.nan, np.nan]), np.array([0.0, np.nan, np.inf, -np.inf])),
        (ladder, real(lo=0.0, hi=9.0)),
        (np.zeros(0), real(3, lo=1.0)),
        (ladder, np.zeros(0)),
    ]
    return [rough(*call, right) for call in calls for right in (False, True)]


def _row_samples() -> list[Any]:
    rows = np.sort(real(2, 5, lo=0.5, hi=9.0, seed=1), axis=1)
    wanted = (real(2, 3, lo=0.0, hi=10.0, seed=2), rows[:, ::2].copy())
    return [rough(rows, values, r) for values in wanted for r in (False, True)]


@derived(
    reference=_search_reference,
    samples=lambda: [*_search_samples(), *_row_samples(), rough(np.arange(5.0), 2)],
    errors=(
        Bad("E3003", (_MATRIX, _MATRIX[:1]), match="leading axes"),
        Bad("E3002", (_SCALAR, _VECTOR), match="scalar"),
        Bad("E2005", (_VECTOR * 1j, _VECTOR), match="no order"),
    ),
    kinds="biuf",
)
def searchsorted(sorted_sequence: UOp, values: Any, right: bool = False) -> UOp:
    """The index at which each value keeps the last axis sorted: before its equals, or after.

    A vector serves all values; a sequence of higher rank has the leading axes of the values. NaN
    counts as the largest.
    """
    sequence, wanted = _comparable(sorted_sequence, values)
    n, rank = sequence.shape[-1], len(sequence.shape)
    lead = tuple(positions(sequence.shape[d], d, rank, wanted.device) for d in range(rank - 1))
    at = UOp._apply("const", 0, dtypes.index, wanted.shape, wanted.device)
    for bit in reversed(range(n.bit_length())):  # a binary search, all values in step
        probe = at + (1 << bit)
        found = gathered(sequence, (*lead, (probe - 1).minimum(n - 1)), tuple(range(rank)))
        at = ((probe <= n) & _precedes(found, wanted, right)).where(probe, at)
    return at


def _comparable(sequence: UOp, values: Any) -> tuple[UOp, UOp]:
    op = "searchsorted"
    own_axis(op, -1, sequence)
    wanted = values if isinstance(values, UOp) else scalar_like(op, values, sequence)
    operands = [("sorted_sequence", sequence), ("values", wanted)]
    if len(sequence.shape) > 1 and (
        len(wanted.shape) != len(sequence.shape) or wanted.shape[:-1] != sequence.shape[:-1]
    ):
        problem = "the leading axes of the sequence and of the values differ"
        raise ShapeError("E3003", problem, op=op, operands=operands)
    dtype = promote(sequence.dtype, wanted.dtype)
    if dtype.is_complex:
        raise DTypeError("E2005", "complex has no order", op=op, operands=operands)
    return sequence.cast(dtype), wanted.cast(dtype)


def _precedes(found: UOp, wanted: UOp, right: bool) -> UOp:
    """Whether an element of the sequence stays before the value, NaN being last of all."""
    plain = found <= wanted if right else found < wanted
    if not wanted.dtype.is_float:
        return plain
    late = wanted.isnan()
    return plain | (late if right else late & found.isnan().logical_not())


@derived(
    reference=lambda x, boundaries, right=False: _search_reference(boundaries, x, right),
    samples=lambda: [rough(s.args[1], s.args[0], *s.args[2:]) for s in _search_samples()],
    errors=(
        Bad("E3002", (_VECTOR, _MATRIX), match="boundaries are a vector"),
        Bad("E2001", (_VECTOR, 1.0), match="boundaries are a vector"),
    ),
    kinds="biuf",
)
def bucketize(x: UOp, boundaries: UOp, right: bool = False) -> UOp:
    """The index of the interval between boundaries that contains each element.

    Intervals include their upper boundary, or with `right` their lower one.
    """
    if not isinstance(boundaries, UOp) or len(boundaries.shape) != 1:
        kind = ShapeError if isinstance(boundaries, UOp) else ArgumentError
        code = "E3002" if isinstance(boundaries, UOp) else "E2001"
        raise kind(code, "the boundaries are a vector", op="bucketize", x=x, boundaries=boundaries)
    return boundaries.searchsorted(x, right)
