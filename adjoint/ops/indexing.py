"""GATHER and SCATTER by integer arrays, and ARGSORT.

One form serves every kind of indexing: index arrays of one shape I, one per indexed axis, read or
write `x[axes] = index`; the result of GATHER has shape I + the remaining axes, as NumPy's advanced
indexing has. Indices are in [0, n): the public functions wrap negative ones first, and what is
still outside is E6001 when it runs. SCATTER applies updates in the order of the flattened index, so
repeated indices have one defined result.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from adjoint.errors import (
    ArgumentError,
    AxisError,
    BoundsError,
    DTypeError,
    IndexKindError,
    ShapeError,
)
from adjoint.ir.arg import Arg
from adjoint.ir.axes import axes_but
from adjoint.ir.batch import Flags, Sources, broadcast_batch, broadcast_batches, shifted
from adjoint.ir.broadcast import broadcast_shapes
from adjoint.ir.derivative import Jvp, Linear, ZeroGradient
from adjoint.ir.dtype import DType, dtypes, fits, promote
from adjoint.ir.kernel_kind import Algorithm, Gather, filled_value, is_filled
from adjoint.ir.opdef import Bad, define, op_named
from adjoint.ir.precision import widest
from adjoint.ir.storage import refuse_storage
from adjoint.ir.uop import UOp
from adjoint.ops.movement import checked_axis
from adjoint.ops.samples import SPECIAL, given, real, rough, whole

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


class GatherArg(Arg):
    axes: Shape


def positions(n: int, axis: int, rank: int, device: str | tuple[str, ...] | None) -> UOp:
    """0 … n-1 along one axis of an otherwise size-1 shape."""
    kind = dtypes.int32 if n <= dtypes.int32.max else dtypes.int64
    ones = UOp._apply("const", 1, kind, (n,), device)
    shape = [1] * rank
    shape[axis] = n
    return (ones.scan_sum(0) - 1).reshape(shape)


def counts_up(node: UOp) -> bool:
    """Whether the node is 0, 1, 2, … as `positions` writes it, before it gives it a shape."""
    if node.op is not op_named("sub") or len(node.shape) != 1:
        return False
    total, one = node.src
    if total.op is not op_named("scan_sum") or not is_filled(one) or total.arg.reverse:
        return False
    return bool(filled_value(one) == 1 == filled_value(total.src[0]))


def wrapped(index: UOp, n: int) -> UOp:
    """Negative indices counted from the end."""
    if index.dtype.kind == "u":
        return index
    if not fits(n, index.dtype):  # an int8 index into 200 elements
        index = index.cast(dtypes.int64)
    return (index < 0).where(index + n, index)


def unwrapped(index: UOp, n: int) -> UOp:
    """The index that `wrapped` was given for n elements, if this is what it made."""
    return index.src[2] if _is_wrapped(index, n) else index


def _is_wrapped(index: UOp, n: int) -> bool:
    """Whether the index is what `wrapped` makes of another for n elements."""
    if index.op.name != "where":
        return False
    below, moved, given = index.src
    if below.op.name != "lt" or moved.op.name != "add" or given not in moved.src:
        return False
    zero, more = below.src[1], moved.src[moved.src[0] is given]
    filled = is_filled(zero) and is_filled(more)
    return below.src[0] is given and filled and filled_value(zero) == 0 and filled_value(more) == n


class RangeError(BoundsError):
    """What a gather or scatter met: which of its indices, the value, the axis and its size."""

    def __init__(self, number: int, value: int, axis: int, size: int, place: list[int]):
        self.met = (number, value, axis, size, place)
        problem = f"index {value} is out of range for axis {axis} of size {size}"
        problem += f", at {place} of the index" if place else ""
        super().__init__("E6001", problem, op="gather")

    def as_given(self, node: UOp) -> BoundsError:
        """The same about the index as the user gave it: one below 0 has had the size added."""
        number, value, axis, size, place = self.met
        if value < 0 and _is_wrapped(node.src[1 + number], size):
            value -= size
        error = RangeError(number, value, axis, size, place)
        return BoundsError("E6001", error.problem, op=node.op.name)


def gathered(x: UOp, indices: tuple[UOp, ...], axes: Shape) -> UOp:
    """GATHER with index arrays broadcast to one shape."""
    shape = broadcast_shapes("gather", *indices)
    full = tuple(i if i.shape == shape else i.expand(shape) for i in indices)
    return UOp(gather, (x, *full), GatherArg(axes))


def check_index(op: str, x: UOp, index: UOp) -> None:
    """An index is an integer tensor."""
    if not index.dtype.is_int:
        problem = f"an index is an integer tensor, not {index.dtype.name}"
        raise IndexKindError("E4011", problem, op=op, x=x, index=index)


def along(op: str, x: UOp, dim: int, index: UOp) -> tuple[tuple[UOp, ...], Shape]:
    """Index arrays for every axis that reproduce `take_along_axis` with this index."""
    axis = checked_axis(op, dim, len(x.shape), x)
    check_index(op, x, index)
    small = len(index.shape) == len(x.shape) and all(
        i <= n for d, (i, n) in enumerate(zip(index.shape, x.shape, strict=True)) if d != axis
    )
    if not small:
        problem = "the index has the operand's rank and is no larger outside the axis"
        raise ShapeError("E3003", problem, op=op, x=x, index=index)
    rank = len(index.shape)
    if rank == 0:
        return (), ()
    full = tuple(
        wrapped(index, x.shape[axis])
        if d == axis
        else positions(index.shape[d], d, rank, index.device)
        for d in range(rank)
    )
    return full, tuple(range(rank))


def _gather(x: UOp, dim: int, index: UOp) -> UOp:
    indices, axes = along("gather", x, dim, index)
    return gathered(x, indices, axes) if axes else x


def _index_shape(op: str, x: UOp, indices: tuple[UOp, ...], axes: Shape) -> Shape:
    if not indices or len(indices) != len(axes):
        raise ArgumentError("E2007", "takes one index per indexed axis", op=op)
    shape = indices[0].shape
    for index in indices:
        check_index(op, x, index)
        if index.shape != shape:
            raise ShapeError("E3003", "index shapes differ", op=op, x=x)
    if len(set(axes)) != len(axes) or not all(0 <= a < len(x.shape) for a in axes):
        raise AxisError("E3004", f"axes {axes} do not fit", op=op, x=x)
    return (*shape, *(n for a, n in enumerate(x.shape) if a not in axes))


def _gather_type(src: tuple[UOp, ...], arg: GatherArg) -> tuple[Shape, DType]:
    return _index_shape("gather", src[0], src[1:], arg.axes), src[0].dtype


def _places(x: Array, indices: tuple[Array, ...], axes: Shape) -> tuple[Any, ...]:
    for number, (index, axis) in enumerate(zip(indices, axes, strict=True)):
        n = x.shape[axis]
        bad = (index < 0) | (index >= n)
        if np.any(bad):
            place = [int(i) for i in np.argwhere(bad)[0]]
            raise RangeError(number, int(index[bad].flat[0]), axis, n, place)
    return tuple(indices)


def _front(x: Array, axes: Shape) -> Array:
    return np.moveaxis(x, axes, range(len(axes)))


def _gather_reference(x: Any, *rest: Any, axes: Shape | None = None) -> Array:
    x = np.asarray(x)
    if axes is not None:
        return _front(x, axes)[_places(x, rest, axes)]
    dim, index = rest
    cut = tuple(slice(None if d == dim % max(x.ndim, 1) else n) for d, n in enumerate(index.shape))
    return np.take_along_axis(x[cut], index, dim) if x.ndim else x


def _scatter_zeros(g: UOp, x: UOp, *indices: UOp, axes: Shape) -> UOp:
    zeros = UOp._apply("const", 0, g.dtype, x.shape, g.device)
    return scattered(zeros, indices, g, axes, "add")


def _batched_gather(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    """An axis on the indices only stays in front by itself; one on x is indexed by its position."""
    x, *indices = src
    axes = node.arg.axes
    full = tuple(
        broadcast_batch(i, flag, size) for i, flag in zip(indices, batched[1:], strict=True)
    )
    if not batched[0]:
        return UOp(node.op, (x, *full), node.arg)
    return gathered(x, (_rows(full[0], size), *full), (0, *(a + 1 for a in axes)))


def _rows(index: UOp, size: int) -> UOp:
    """The position along the first axis, in the shape of an index that has it."""
    return positions(size, 0, len(index.shape), index.device)


def _batched_scatter(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    x, *indices, updates = broadcast_batches(src, batched, size)
    mode = "add" if node.op is scatter_add else node.arg.mode
    axes = (0, *(a + 1 for a in node.arg.axes))
    return scattered(x, (_rows(indices[0], size), *indices), updates, axes, mode)


gather = define(
    "gather",
    "Elements of x at `index` along `dim`: `x.gather(dim, index)`.",
    arg=GatherArg,
    call=_gather,
    infer=_gather_type,
    ad=Linear(
        lambda g, x, *indices, axes: (_scatter_zeros(g, x, *indices, axes=axes),),
        tangent=lambda t, y, x, *indices, axes: gathered(t[0], indices, axes),
    ),
    reference=_gather_reference,
    samples=given(
        (real(4, 3), 0, whole(2, 3, hi=4)),
        (real(4, 3), 1, whole(2, 2, lo=-3, hi=3)),
        (real(4), -1, whole(6, hi=4)),
        (real(4, 3), 0, whole(0, 3, hi=4)),
    ),
    errors=(
        Bad("E4011", (real(4), 0, real(2)), match="integer"),
        Bad("E3003", (real(4, 3), 0, whole(2)), match="rank"),
        Bad("E3004", (real(4), 1, whole(2)), match="axis 1"),
        Bad("E6001", (real(4), 0, np.array([4])), match="out of range"),
    ),
    batch=_batched_gather,
    kernel=Gather(),
)


class ScatterArg(Arg):
    axes: Shape
    mode: str


MODES = {"mul": np.multiply, "min": np.minimum, "max": np.maximum, "set": None}


def scattered(
    x: UOp, indices: tuple[UOp, ...], updates: UOp, axes: Shape, mode: str = "set"
) -> UOp:
    """SCATTER with index arrays broadcast to one shape and updates broadcast and cast to fit."""
    shape = broadcast_shapes("scatter", *indices)
    full = tuple(i if i.shape == shape else i.expand(shape) for i in indices)
    rest = tuple(n for a, n in enumerate(x.shape) if a not in axes)
    src = (x, *full, updates.cast(x.dtype).expand((*shape, *rest)))
    if mode == "add":
        return UOp(scatter_add, src, GatherArg(axes))
    return UOp(scatter, src, ScatterArg(axes, mode))


_REDUCE = {None: "set", "add": "add", "multiply": "mul"}


def covering(op: str, index: UOp, src: UOp) -> UOp:
    """The part of `src` that the index speaks of."""
    sized = len(src.shape) == len(index.shape) and all(
        s >= i for s, i in zip(src.shape, index.shape, strict=True)
    )
    if not sized:
        problem = "src is at least as large as the index along every axis"
        raise ShapeError("E3003", problem, op=op, src=src, index=index)
    return src.shrink([(0, i) for i in index.shape])


def _scatter(x: UOp, dim: int, index: UOp, src: Any, reduce: str | None = None) -> UOp:
    if reduce not in _REDUCE:
        problem = f'reduce {reduce!r} is not None, "add" or "multiply"'
        raise ArgumentError(
            "E2008", problem, op="scatter", help="see scatter_reduce for the others"
        )
    indices, axes = along("scatter", x, dim, index)
    if not isinstance(src, UOp):
        src = UOp._apply("const", src, promote(x.dtype, x.dtype), index.shape, x.device)
    updates = covering("scatter", index, src)
    if not axes:
        axes, x = (0,), x.reshape(1)
        indices = (UOp._apply("const", 0, dtypes.int32, (1,), x.device),)
        return scattered(x, indices, updates.reshape(1), axes, _REDUCE[reduce]).reshape(())
    return scattered(x, indices, updates, axes, _REDUCE[reduce])


def _scatter_type(src: tuple[UOp, ...], arg: Any) -> tuple[Shape, DType]:
    x, indices, updates = src[0], src[1:-1], src[-1]
    if len(arg) > 1 and arg.mode not in MODES:
        problem = f"mode {arg.mode!r} is not one of {', '.join(MODES)}"
        raise ArgumentError("E2008", problem, op="scatter")
    if len(arg) > 1 and arg.mode != "set":
        refuse_storage("scatter", (x,))
    shape = _index_shape("scatter", x, indices, arg.axes)
    if updates.shape != shape:
        problem = f"updates have the shape {list(shape)}"
        raise ShapeError("E3003", problem, op="scatter", x=x, updates=updates)
    if updates.dtype is not x.dtype:
        raise DTypeError("E2004", "dtypes differ", op="scatter", x=x, updates=updates)
    return x.shape, x.dtype


def _scatter_reference(
    x: Any, *rest: Any, axes: Shape | None = None, mode: str = "set", reduce: str | None = None
) -> Array:
    out = np.array(x)
    if axes is None:
        return _scatter_along(out, rest, reduce)
    *indices, updates = rest
    view, places = _front(out, axes), _places(out, tuple(indices), axes)
    if mode == "set":
        view[places] = updates  # NumPy assigns in order: the last of equal indices stays
    else:
        {**MODES, "add": np.add}[mode].at(view, places, updates)  # type: ignore[union-attr]
    return out


def _scatter_along(out: Array, call: tuple[Any, ...], reduce: str | None) -> Array:
    """The plain loop that defines it."""
    dim, index, src = call
    values = np.broadcast_to(src, index.shape) if np.ndim(src) == 0 else src
    for at in np.ndindex(*index.shape):
        place = list(at)
        if at:
            place[dim] = index[at]
        where = tuple(place)
        if reduce == "add":
            out[where] += values[at]
        elif reduce == "multiply":
            out[where] *= values[at]
        else:
            out[where] = values[at]
    return out


def _scatter_jvp(t: Any, y: UOp, x: UOp, *rest: UOp, axes: Shape, mode: str) -> UOp:
    *indices, updates = rest
    tx = t[0] if t[0] is not None else zeros_of(x)
    tu = t[-1] if t[-1] is not None else zeros_of(updates)
    places = tuple(indices)
    if mode == "set":
        hit = scattered(zeros_of(x, dtypes.bool_), places, zeros_of(updates).eq(0), axes, "set")
        won = _last_writer(x, places, axes, updates)
        return scattered(hit.where(0, tx), places, won.where(tu, 0), axes, "add")
    if mode == "mul":
        return _scatter_mul_jvp(tx, tu, x, updates, places, axes)
    return _scatter_extreme_jvp(tx, tu, y, x, updates, places, axes)


def zeros_of(x: UOp, dtype: DType | None = None) -> UOp:
    """Zeros of the node's shape."""
    return UOp._apply("const", 0, dtype or x.dtype, x.shape, x.device)


def _last_writer(x: UOp, places: tuple[UOp, ...], axes: Shape, updates: UOp) -> UOp:
    """Whether each update is the one that stays."""
    shape = places[0].shape
    order = positions(prod(shape), 0, 1, x.device).reshape(shape)
    flat = tuple(x.shape[a] for a in axes)
    none = UOp._apply("const", -1, dtypes.int32, flat, x.device)
    axes_all = tuple(range(len(axes)))
    last = gathered(scattered(none, places, order, axes_all, "set"), places, axes_all).eq(order)
    rest = len(updates.shape) - len(shape)
    return last.reshape(*shape, *([1] * rest)).expand(updates.shape)


def _scatter_mul_jvp(
    tx: UOp, tu: UOp, x: UOp, updates: UOp, places: tuple[UOp, ...], axes: Shape
) -> UOp:
    """y = x Π u: the product of all other factors times each tangent.

    Where one other factor is 0 the product is 0, but it changes with that factor.
    """
    ones = zeros_of(x) + 1
    factor = scattered(ones, places, updates, axes, "mul")
    zero = updates.eq(0)
    plain = scattered(ones, places, zero.where(1, updates), axes, "mul")
    zeros = scattered(zeros_of(x), places, zero.cast(x.dtype), axes, "add")
    other_zeros = gathered(zeros, places, axes) - zero.cast(x.dtype)
    vanishing = zero.where(updates, 0)
    together = scattered(zeros_of(x), places, vanishing, axes, "add")
    factors = other_zeros.eq(1).where(gathered(together, places, axes) - vanishing, 0)
    rest = gathered(plain, places, axes) / zero.where(1, updates)
    others = rest * other_zeros.eq(0).where(1, factors)
    return tx * factor + x * scattered(zeros_of(x), places, tu * others, axes, "add")


def _scatter_extreme_jvp(
    tx: UOp, tu: UOp, y: UOp, x: UOp, updates: UOp, places: tuple[UOp, ...], axes: Shape
) -> UOp:
    """The mean tangent of those equal to the result; NaNs are."""
    mine = x.eq(y) | x.ne(x)
    theirs = updates.eq(gathered(y, places, axes)) | updates.ne(updates)
    count = scattered(mine.cast(tx.dtype), places, theirs.cast(tx.dtype), axes, "add")
    total = scattered(mine.where(tx, 0), places, theirs.where(tu, 0), axes, "add")
    return total / count


def _scatter_add_transpose(g: UOp, x: UOp, *rest: UOp, axes: Shape) -> tuple[Any, ...]:
    indices = rest[:-1]
    return (g, *([None] * len(indices)), gathered(g, indices, axes))


def _scatter_add_tangent(t: Any, y: UOp, x: UOp, *rest: UOp, axes: Shape) -> UOp:
    *indices, updates = rest
    tx = t[0] if t[0] is not None else zeros_of(x)
    tu = t[-1] if t[-1] is not None else zeros_of(updates)
    return scattered(tx, tuple(indices), tu, axes, "add")


def _scatter_add(x: UOp, dim: int, index: UOp, src: Any) -> UOp:
    return _scatter(x, dim, index, src, "add")


scatter_add = define(
    "scatter_add",
    "x with `src` added at `index` along `dim`; repeated indices accumulate.",
    arg=GatherArg,
    call=_scatter_add,
    infer=_scatter_type,
    ad=Linear(_scatter_add_transpose, tangent=_scatter_add_tangent),
    reference=partial(_scatter_reference, mode="add", reduce="add"),
    samples=given(
        (real(4, 3), 1, whole(2, 3, lo=-3, hi=3), real(4, 3, seed=1)),
        (real(4), 0, whole(6, hi=4), real(6, seed=1)),
        (real(4), 0, whole(0, hi=4), real(0)),
    ),
    errors=(Bad("E4011", (real(4), 0, real(2), real(2)), match="integer"),),
    kinds="iuf",
    batch=_batched_scatter,
    kernel=Algorithm("scatter", lambda node: "add"),
    precision=widest,
)
_JOINS = {"add": "add", "mul": "mul", "max": "maximum", "min": "minimum"}
scatter = define(
    "scatter",
    "x with `src` written (or added, multiplied) at `index` along `dim`; of equal indices the "
    "last stays.",
    arg=ScatterArg,
    call=_scatter,
    infer=_scatter_type,
    ad=Jvp(_scatter_jvp),
    reference=_scatter_reference,
    samples=given(
        (real(4, 3), 0, whole(2, 3, hi=4), real(2, 3, seed=1)),
        (real(4, 3), 1, whole(2, 3, lo=-3, hi=3), real(4, 3, seed=1), {"reduce": "add"}),
        (real(4), 0, whole(6, hi=4), real(6, seed=1), {"reduce": "multiply"}),
        (real(4), 0, whole(6, hi=4), 1.5),
        (real(4), 0, whole(0, hi=4), real(0)),
    ),
    errors=(
        Bad("E4011", (real(4), 0, real(2), real(2)), match="integer"),
        Bad("E2008", (real(4), 0, whole(2), real(2)), {"reduce": "avg"}, match="reduce"),
        Bad("E3003", (real(4), 0, whole(3), real(2)), match="at least as large"),
        Bad("E6001", (real(4), 0, np.array([7]), real(1)), match="out of range"),
    ),
    kinds="iuf",
    batch=_batched_scatter,
    kernel=Algorithm("scatter", lambda node: _JOINS.get(node.arg.mode)),
    precision=widest,
)


class ArgsortArg(Arg):
    axis: int
    descending: bool = False


def _argsort(x: UOp, dim: int = -1, descending: bool = False) -> UOp:
    axis = checked_axis("argsort", dim, len(x.shape), x)
    if not x.shape:
        return UOp._apply("const", 0, dtypes.index, (), x.device)
    return UOp(argsort, (x,), ArgsortArg(axis, bool(descending)))


def _argsort_type(src: tuple[UOp, ...], arg: ArgsortArg) -> tuple[Shape, DType]:
    (x,) = src
    if x.dtype.is_complex:
        raise DTypeError("E2005", "complex has no order", op="argsort", x=x)
    return x.shape, dtypes.index


def _argsort_reference(
    x: Any, dim: int | None = None, descending: bool = False, axis: int = -1
) -> Array:
    """Stable in both directions: equal elements keep the order of their indices. NaN sorts last."""
    x, at = np.asarray(x), axis if dim is None else dim
    if x.ndim == 0:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(x, axis=at, kind="stable").astype(np.int64)
    n = x.shape[at]
    order = np.flip(np.argsort(np.flip(x, at), axis=at, kind="stable"), at)
    return (n - 1 - order).astype(np.int64)


argsort = define(
    "argsort",
    "The indices that sort along `dim`, stable; NaN counts as the largest.",
    arg=ArgsortArg,
    call=_argsort,
    infer=_argsort_type,
    ad=ZeroGradient("an index is piecewise constant"),
    reference=_argsort_reference,
    samples=given(
        (real(2, 5),),
        (real(2, 5), 0, True),
        rough(np.array([1.0, 0.0, 1.0, 0.0])),
        rough(np.array([1.0, 0.0, 1.0, 0.0]), 0, True),
        rough(SPECIAL),
        (real(),),
        (real(0, 3), 0),
    ),
    errors=(Bad("E3004", (real(2, 3), 2), match="axis 2"),),
    kinds="biuf",
    batch=shifted("axis"),
    kernel=Algorithm("sort"),
    axes=axes_but("axis"),
)
