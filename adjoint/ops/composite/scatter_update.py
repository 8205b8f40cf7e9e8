"""Placing: values written, added or reduced into a tensor by index or by mask.

All are made of SCATTER, GATHER and SCAN. An index outside its axis is E6001 when it runs; negative
indices count from the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, DTypeError, ShapeError
from adjoint.ir.broadcast import broadcast_shapes
from adjoint.ir.dtype import dtypes, promote
from adjoint.ir.opdef import Bad, derived, scalar_like
from adjoint.ir.precision import widest
from adjoint.ir.uop import UOp
from adjoint.ops.composite.concatenate import own_axis
from adjoint.ops.indexing import along, check_index, covering, gathered, scattered, wrapped
from adjoint.ops.samples import SPECIAL, real, rough, whole

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
_MATRIX, _VECTOR, _OUT = np.ones((2, 3)), np.ones(3), np.array([0, 3])


def index_of(op: str, x: UOp, index: Any) -> UOp:
    """The index, if it is an integer tensor."""
    if not isinstance(index, UOp):
        problem = f"an index is an integer tensor, got {type(index).__name__}"
        raise ArgumentError("E2001", problem, op=op, x=x, index=index)
    check_index(op, x, index)
    return index


def _like(op: str, x: UOp, source: Any) -> UOp:
    """A source whose values fit the tensor's dtype."""
    if not isinstance(source, UOp):
        problem = f"the source is a tensor, got {type(source).__name__}"
        raise ArgumentError("E2001", problem, op=op, x=x)
    if promote(x.dtype, source.dtype) is not x.dtype:
        problem = f"values of {source.dtype.name} do not fit into {x.dtype.name}"
        fix = f".cast('{x.dtype.name}') the source, or cast the tensor first"
        raise DTypeError("E2004", problem, op=op, x=x, source=source, help=fix)
    return source


def places_of(op: str, x: UOp, dim: int, index: Any) -> tuple[int, UOp]:
    """The axis, and a vector of indices along it with negative ones counted from the end."""
    axis, places = own_axis(op, dim, x), index_of(op, x, index)
    if len(places.shape) > 1:
        raise ShapeError("E3002", "the index is a vector", op=op, x=x, index=places)
    return axis, wrapped(places.reshape(places.size), x.shape[axis])


def _aside(op: str, x: UOp, axis: int, places: UOp, source: Any) -> UOp:
    """The source with its axis in front, checked to have one slice per index."""
    node = _like(op, x, source)
    shape = (*x.shape[:axis], places.size, *x.shape[axis + 1 :])
    if node.shape != shape:
        problem = f"the source has the shape {list(shape)}: one slice per index"
        raise ShapeError("E3003", problem, op=op, x=x, index=places, source=node)
    return node.movedim(axis, 0)


def _placements() -> list[Any]:
    return [
        (real(4, 3), 0, np.array([2, 0, 2]), real(3, 3, seed=1)),
        (real(2, 3, 2), 1, np.array([-1, 0]), real(2, 2, 2, seed=1)),
        (real(4, 3), -1, whole(0), real(4, 0)),
    ]


_MISPLACED = (
    Bad("E6001", (_MATRIX, 1, _OUT, np.ones((2, 2))), match="out of range"),
    Bad("E3003", (_MATRIX, 1, _OUT, _MATRIX), match="one slice per index"),
    Bad("E2004", (whole(2, 2), 0, whole(2), np.ones((2, 2))), match="do not fit into int64"),
    Bad("E4011", (_MATRIX, 1, _VECTOR, _MATRIX), match="integer"),
    Bad("E2001", (_MATRIX, 1, _OUT, 1.0), match="source is a tensor"),
)


def _placed_by_loop(x: Array, dim: int, index: Array, source: Array, put: Any) -> Array:
    out = np.moveaxis(np.array(x), dim, 0)
    for i, row in zip(index, np.moveaxis(source, dim, 0), strict=True):
        out[i] = put(out[i], row)
    return np.moveaxis(out, 0, dim)


def _index_add_reference(x: Array, dim: int, index: Array, source: Array, alpha: Any = 1) -> Array:
    return _placed_by_loop(x, dim, index, source, lambda a, b: a + b * a.dtype.type(alpha))


@derived(
    reference=_index_add_reference,
    samples=lambda: [*_placements(), (*_placements()[0], {"alpha": 2})],
    errors=(
        *_MISPLACED,
        Bad("E2004", (whole(2), 0, whole(2), whole(2)), {"alpha": 0.5}, match="do not fit"),
    ),
    kinds="iuf",
    precision=widest,
)
def index_add(x: UOp, dim: int, index: UOp, source: UOp, alpha: Any = 1) -> UOp:
    """`alpha * source` added to the slices along `dim` that `index` names; repeats accumulate."""
    axis, places = places_of("index_add", x, dim, index)
    rows = _aside("index_add", x, axis, places, source)
    if isinstance(alpha, UOp) or alpha != 1:
        rows = _like("index_add", x, rows * alpha)
    return scattered(x, (places,), rows, (axis,), "add")


@derived(
    reference=lambda x, dim, index, source: _placed_by_loop(x, dim, index, source, lambda a, b: b),
    samples=_placements,
    errors=_MISPLACED,
    precision=widest,
)
def index_copy(x: UOp, dim: int, index: UOp, source: UOp) -> UOp:
    """The slices along `dim` that `index` names, replaced; of equal indices the last write wins."""
    axis, places = places_of("index_copy", x, dim, index)
    return scattered(x, (places,), _aside("index_copy", x, axis, places, source), (axis,))


def _index_fill_reference(x: Array, dim: int, index: Array, value: Any) -> Array:
    out = np.array(x)
    np.moveaxis(out, dim, 0)[index] = value
    return out


@derived(
    reference=_index_fill_reference,
    samples=lambda: [
        (real(4, 3), 0, np.array([2, -4]), 1),
        (real(4, 3), -1, np.array([1, 1]), real()),
        (real(4), 0, whole(0), 1),
    ],
    errors=(
        Bad("E6001", (_MATRIX, 1, _OUT, 1), match="out of range"),
        Bad("E2004", (whole(2), 0, whole(2), 0.5), match="do not fit"),
        Bad("E3002", (_MATRIX, 1, _OUT, _VECTOR), match="one value"),
    ),
    kinds="iufc",
    precision=widest,
)
def index_fill(x: UOp, dim: int, index: UOp, value: Any) -> UOp:
    """The slices along `dim` that `index` names, filled with one value."""
    axis, places = places_of("index_fill", x, dim, index)
    fill = value if isinstance(value, UOp) else scalar_like("index_fill", value, x)
    if fill.shape:
        raise ShapeError("E3002", "fills with one value", op="index_fill", x=x, value=fill)
    return scattered(x, (places,), _like("index_fill", x, fill), (axis,))


@derived(
    reference=lambda x, mask, value: np.where(mask, value, x),
    samples=lambda: [
        (real(2, 3), real(2, 3, seed=1) > 0, 1),
        (real(2, 3), real(3, seed=1) > 0, real(seed=2)),
        (real(3), real(2, 1, seed=1) > 0, real(3, seed=2)),
        (real(), np.array(False), 0),
        (real(0, 3), real(3) > 0, 0),
        rough(SPECIAL, np.isnan(SPECIAL), 0),
    ],
    errors=(
        Bad("E3001", (_MATRIX, np.ones(2) > 0, 0), match="dimension 1"),
        Bad("E2005", (_MATRIX, _MATRIX, 0), match="mask is bool"),
        Bad("E2001", (_MATRIX, True, 0), match="mask is a bool tensor"),
    ),
    kinds="iufc",
)
def masked_fill(x: UOp, mask: UOp, value: Any) -> UOp:
    """`value` where the mask holds, x elsewhere."""
    return _mask("masked_fill", x, mask).where(value, x)


def _mask(op: str, x: UOp, mask: Any) -> UOp:
    if not isinstance(mask, UOp):
        raise ArgumentError("E2001", "the mask is a bool tensor", op=op, x=x, mask=mask)
    if mask.dtype is not dtypes.bool_:
        problem = f"the mask is bool, not {mask.dtype.name}"
        raise DTypeError("E2005", problem, op=op, x=x, mask=mask, help="mask.ne(0)")
    return mask


def _masked_scatter_reference(x: Array, mask: Array, source: Array) -> Array:
    x, mask = np.broadcast_arrays(x, mask)
    out = np.array(x)
    out[mask] = source.ravel()[: mask.sum()]
    return out


@derived(
    reference=_masked_scatter_reference,
    samples=lambda: [
        (real(2, 3), real(2, 3, seed=1) > 0, real(6, seed=2)),
        (real(2, 3), real(3, seed=1) > 0, real(2, 4, seed=2)),
        (real(3), real(2, 1, seed=1) > -9, real(6, seed=2)),
        (real(3), real(3) > 9, real(0)),
        (real(0, 3), real(3) > 0, real(2)),
        (real(), np.array(True), real(2, seed=1)),
    ],
    errors=(
        Bad("E6001", (_VECTOR, _VECTOR > 0, np.ones(2)), match="out of range"),
        Bad("E2005", (_VECTOR, _VECTOR, _VECTOR), match="mask is bool"),
        Bad("E2004", (whole(3), _VECTOR > 0, _VECTOR), match="do not fit"),
    ),
    precision=widest,
)
def masked_scatter(x: UOp, mask: UOp, source: UOp) -> UOp:
    """The elements of `source`, in order, where the mask holds; x elsewhere."""
    op = "masked_scatter"
    shape = broadcast_shapes(op, x, _mask(op, x, mask))
    test = mask.expand(shape)
    number = test.reshape(-1).cast(dtypes.int32).scan_sum(0).reshape(shape)
    flat = _like(op, x, source).reshape(-1).cast(x.dtype)
    # The k-th place reads element k; where the mask fails, an element 0 put in front.
    values = gathered(flat.pad_constant([1], [0]), (test.where(number, 0),), (0,))
    return test.where(values, x)


_IDENTITY: dict[str, Any] = {"sum": 0, "prod": 1, "mean": 0}
_MODE = {"sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"}


def _scatter_reduce_reference(
    x: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool = True
) -> Array:
    """The plain loop: every place collects its values, then reduces them."""
    out = np.array(x)
    found: dict[Any, list[Any]] = {}
    for at in np.ndindex(*index.shape):
        place = list(at)
        if at:
            place[dim] = index[at] % x.shape[dim]
        found.setdefault(tuple(place), []).append(src[at])
    for where, values in found.items():
        out[where] = _reduced(([x[where]] if include_self else []) + values, reduce)
    return out


def _reduced(values: list[Any], reduce: str) -> Any:
    array = np.array(values)
    if reduce == "mean" and array.dtype.kind in "iu":
        return array.sum(dtype=array.dtype) // array.dtype.type(len(values))
    return getattr(np, reduce)(array)


def _scatter_reduce_samples() -> list[Any]:
    index = np.array([[0, 2, 0], [-1, 1, 0], [0, 2, 3]])
    small: dict[str, Any] = {"lo": 1.0, "hi": 3.0}
    each: list[Any] = [
        (real(4, 3, **small), 0, index, real(3, 3, seed=1, **small), r, keep)
        for r in _MODE
        for keep in (True, False)
    ]
    odd = np.array([np.nan, 1.0, -np.inf, np.inf, 2.0])
    special = [
        rough(odd, 0, np.array([0, 2, 2, 4, 4]), odd[::-1].copy(), r, False)
        for r in ("sum", "amax", "amin", "mean")
    ]
    return [
        *each,
        *special,
        (real(4, **small), 0, np.array([1, 1]), real(3, seed=1, **small), "amax"),
        (real(2, 3), -1, whole(0, 2), real(0, 2), "sum"),
        (real(**small), 0, np.array(0), real(seed=1, **small), "mean"),
    ]


@derived(
    reference=_scatter_reduce_reference,
    samples=_scatter_reduce_samples,
    errors=(
        Bad("E2008", (_VECTOR, 0, whole(2), _VECTOR, "avg"), match="'avg' is not one of"),
        Bad("E6001", (_VECTOR, 0, _OUT, _VECTOR, "sum"), match="out of range"),
        Bad("E3003", (_VECTOR, 0, whole(4, hi=3), _VECTOR, "sum"), match="at least as large"),
        Bad("E4011", (_VECTOR, 0, _VECTOR, _VECTOR, "sum"), match="integer"),
        Bad("E2004", (whole(3), 0, whole(3, hi=3), _VECTOR, "sum"), match="do not fit"),
    ),
    kinds="iuf",
    precision=widest,
)
def scatter_reduce(
    x: UOp, dim: int, index: UOp, src: UOp, reduce: str, include_self: bool = True
) -> UOp:
    """Each place of x with the values of `src` sent there reduced: sum, prod, mean, amax, amin.

    Without `include_self` the old value takes no part; places that get nothing keep it. A mean of
    integers is rounded down.
    """
    op = "scatter_reduce"
    if reduce not in _MODE:
        raise ArgumentError("E2008", f"reduce {reduce!r} is not one of {', '.join(_MODE)}", op=op)
    if not x.shape:
        one = (v.reshape(1) for v in (x, index_of(op, x, index), _like(op, x, src)))
        first, *rest = one
        return first.scatter_reduce(dim, *rest, reduce, include_self).reshape(())
    places, axes = along(op, x, dim, index_of(op, x, index))
    updates = covering(op, index, _like(op, x, src))
    start = x
    if not include_self:
        limit = x.dtype.min if reduce == "amax" else x.dtype.max
        neutral = UOp._apply("const", _IDENTITY.get(reduce, limit), x.dtype, (), x.device)
        start = scattered(x, places, neutral, axes)
    total = scattered(start, places, updates, axes, _MODE[reduce])
    return _divided(total, places, axes, include_self) if reduce == "mean" else total


def _divided(total: UOp, places: tuple[UOp, ...], axes: Shape, include_self: bool) -> UOp:
    """Sums by counts, which are kept as integers so that none is lost in a narrow float."""
    first = UOp._apply("const", int(include_self), dtypes.int32, total.shape, total.device)
    one = UOp._apply("const", 1, dtypes.int32, (), total.device)
    count = scattered(first, places, one, axes, "add").maximum(1).cast(total.dtype)
    return total / count if total.dtype.is_inexact else total // count
