"""From what stands between the brackets to a plan, checked against the shape it indexes.

The plan is the same for reading and writing: slices and ints are a view (SHRINK, FLIP, RESHAPE),
arrays and masks pick from axes of that view. A mask takes several axes as one, so every pick has
one axis and one index array. What may live here: the reading of an index and NumPy's rule for the
place of picked axes. What may not: graphs of values (see `getitem.py`).
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from adjoint.errors import AdjointError, BoundsError, DTypeError, IndexKindError
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.ir.values import known_value
from adjoint.ops.indexing import wrapped
from adjoint.runtime.device import Device
from adjoint.tensor import from_data as load
from adjoint.tensor import held
from adjoint.tensor.tracing import check_concrete

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


class Cut(NamedTuple):
    """`extent` elements of one axis, `step` apart, in reverse if `flip`; an int keeps no axis."""

    start: int
    step: int
    extent: int
    flip: bool = False
    keep: bool = True

    @property
    def stop(self) -> int:
        return self.start + ((self.extent - 1) * self.step + 1 if self.extent else 0)


class New(NamedTuple):
    """None: an axis of size 1."""


class Gap(NamedTuple):
    """An Ellipsis: even if it stands for no axis it separates the entries left and right of it."""


class Pick(NamedTuple):
    """An integer array or a mask over axes of these sizes (none for a mask without axes)."""

    sizes: Shape
    node: UOp

    @property
    def extent(self) -> int:
        return prod(self.sizes)

    @property
    def is_mask(self) -> bool:
        return self.node.dtype.is_bool

    def places(self) -> UOp:
        """Positions along the picked axis; a mask is computed here, for its count is a shape."""
        if not self.is_mask:
            return self.node
        found = np.flatnonzero(host_values(self.node))
        return load.stored(_narrow(found, self.extent), self.node.device or Device.DEFAULT)


Part = Cut | New | Gap | Pick


class IndexPlan(NamedTuple):
    """The parts of an index, one per entry and per axis that no entry names, and what they make."""

    parts: tuple[Part, ...]
    cuts: tuple[Cut, ...]  # the slice of every axis of the indexed tensor
    view_shape: Shape
    picks: tuple[Pick, ...]
    picked_axes: Shape  # of the view

    @staticmethod
    def of(parts: list[Part]) -> IndexPlan:
        cuts: list[Cut] = []
        shape: list[int] = []
        picks: list[Pick] = []
        axes: list[int] = []
        for part in parts:
            if isinstance(part, Cut):
                cuts.append(part)
                if part.keep:
                    shape.append(part.extent)
            elif isinstance(part, New):
                shape.append(1)
            elif isinstance(part, Pick):
                cuts.extend(Cut(0, 1, n) for n in part.sizes)
                axes.append(len(shape))
                picks.append(part)
                shape.append(part.extent)
        return IndexPlan(tuple(parts), tuple(cuts), tuple(shape), tuple(picks), tuple(axes))

    @property
    def rest(self) -> Shape:
        """The sizes of the view's axes that are not picked."""
        return tuple(n for i, n in enumerate(self.view_shape) if i not in self.picked_axes)

    @property
    def flipped(self) -> Shape:
        """The axes of the indexed tensor that are read backwards."""
        return tuple(i for i, c in enumerate(self.cuts) if c.flip)

    @property
    def position(self) -> int:
        """Where the picked axes go among the rest: in their place, or first where a slice, None or
        an Ellipsis separates them. Ints count with arrays here, as NumPy has it."""
        picking = [
            i
            for i, p in enumerate(self.parts)
            if isinstance(p, Pick) or (isinstance(p, Cut) and not p.keep)
        ]
        if picking[-1] - picking[0] >= len(picking):
            return 0
        return sum(isinstance(p, (Cut, New)) for p in self.parts[: picking[0]])


def host_values(node: UOp) -> Array:
    """The node's values, computed now."""
    far = node.device is not None and not Device.is_host(node.device)
    near = OPS["copy"](node, "CPU") if far else node
    check_concrete([near])
    held.read(near)
    return known_value(near)


def plan_of(op: str, x: UOp, key: Any) -> IndexPlan:
    """The plan of `x[key]`."""
    entries = [_entry(op, x, e) for e in (key if isinstance(key, tuple) else (key,))]
    taken = sum(_axes_taken(e) for e in entries)
    if taken > len(x.shape):
        problem = f"{taken} indices for a tensor of rank {len(x.shape)}"
        raise BoundsError("E4006", problem, op=op, operands=[("x", x)])
    dots = [i for i, e in enumerate(entries) if e is Ellipsis]
    if len(dots) > 1:
        problem = "at most one Ellipsis (...) in an index"
        raise BoundsError("E4006", problem, op=op, operands=[("x", x)])
    at = dots[0] if dots else len(entries)
    fill = [_ALL] * (len(x.shape) - taken)
    tail = entries[at + 1 :]
    whole = [*entries[:at], *([Gap()] if dots else []), *fill, *tail]
    return IndexPlan.of(_resolved(op, x, whole))


def _axes_taken(entry: Any) -> int:
    if entry is None or entry is Ellipsis:
        return 0
    if isinstance(entry, UOp):
        return len(entry.shape) if entry.dtype.is_bool else 1
    return entry.ndim if isinstance(entry, np.ndarray) and entry.dtype == np.bool_ else 1


def _entry(op: str, x: UOp, entry: Any) -> Any:
    """One of: int, slice, None, Ellipsis, an integer or boolean array, or such a node."""
    if entry is None or entry is Ellipsis or isinstance(entry, slice):
        return entry
    if hasattr(entry, "uop"):
        return _checked(op, x, entry.uop, entry.dtype.kind)
    if isinstance(entry, (bool, np.bool_)):
        return np.asarray(entry)
    if not isinstance(entry, np.ndarray) and hasattr(entry, "__index__"):
        return entry.__index__()
    array = _array(op, x, entry)
    kind = "i" if array.size == 0 and not isinstance(entry, np.ndarray) else array.dtype.kind
    checked = _checked(op, x, array, kind, entry)
    return int(checked) if checked.ndim == 0 and kind in "iu" else checked


def _array(op: str, x: UOp, entry: Any) -> Array:
    try:
        sequence = isinstance(entry, (list, tuple))
        if sequence and load.mentions_tensor(entry):
            return load.array_of(entry, None)
        return np.asarray(entry)
    except AdjointError:
        raise
    except (TypeError, ValueError):
        raise _not_an_index(op, x, type(entry).__name__) from None


def _checked(op: str, x: UOp, value: Any, kind: str, entry: Any = None) -> Any:
    if kind in "biu":
        return value
    scalar = entry is not None and value.ndim == 0
    raise _not_an_index(op, x, type(entry).__name__ if scalar else f"{value.dtype} values")


def _not_an_index(op: str, x: UOp, got: str) -> DTypeError:
    problem = "an index is an int, a slice, None, ... or an integer or boolean array; got " + got
    fix = "round and cast floats first: .cast('int32')" if "float" in got else ""
    return IndexKindError("E4011", problem, op=op, operands=[("x", x)], help=fix)


def _resolved(op: str, x: UOp, entries: list[Any]) -> list[Part]:
    parts: list[Part] = []
    axis = 0
    for entry in entries:
        part = _part(op, x, entry, axis)
        axis += len(part.sizes) if isinstance(part, Pick) else isinstance(part, Cut)
        parts.append(part)
    return parts


def _part(op: str, x: UOp, entry: Any, axis: int) -> Part:
    if entry is None:
        return New()
    if isinstance(entry, Gap):
        return entry
    if isinstance(entry, slice):
        return _slice(op, x, entry, axis)
    if isinstance(entry, int):
        _in_range(op, x, entry, entry, axis)
        return Cut(entry % x.shape[axis], 1, 1, keep=False)
    mask = entry.dtype == np.bool_ if isinstance(entry, np.ndarray) else entry.dtype.is_bool
    return _mask(op, x, entry, axis) if mask else _index(op, x, entry, axis)


_ALL = slice(None)


def _slice(op: str, x: UOp, entry: slice, axis: int) -> Cut:
    if entry is _ALL:
        return Cut(0, 1, x.shape[axis])
    try:
        bounds = [
            None if v is None else v.__index__() for v in (entry.start, entry.stop, entry.step)
        ]
    except (AttributeError, TypeError):
        problem = f"a slice is made of ints and None, got {entry!r}"
        raise IndexKindError("E4011", problem, op=op, operands=[("x", x)]) from None
    if bounds[2] == 0:
        raise BoundsError("E4008", "a slice step is not 0", op=op, operands=[("x", x)])
    if varies(x.shape[axis], *(b for b in bounds if b is not None)) and bounds[2] in (None, 1):
        return _varying_slice(bounds[0], bounds[1], x.shape[axis])
    start, stop, step = slice(*bounds).indices(x.shape[axis])
    count = len(range(start, stop, step))
    if count < 2:
        return Cut(start if count else 0, 1, count)
    if step > 0:
        return Cut(start, step, count)
    return Cut(start + (count - 1) * step, -step, count, flip=True)


def _varying_slice(first: int | None, last: int | None, extent: int) -> Cut:
    """A slice with dynamic bounds, or of a dynamic axis: the size of the result varies with
    them.
    """
    start, stop = 0 if first is None else first, extent if last is None else last
    start, stop = (max(i + extent, 0) if i < 0 else min(i, extent) for i in (start, stop))
    return Cut(start, 1, max(stop - start, 0))


def _in_range(op: str, x: UOp, low: int, high: int, axis: int) -> None:
    n = x.shape[axis]
    if -n <= low and high < n:
        return
    bad = low if low < -n else high
    problem = f"index {bad} is out of range for axis {axis} of size {n}"
    fix = f"indices go from {-n} to {n - 1}" if n else "the axis is empty"
    raise BoundsError("E6001", problem, op=op, operands=[("x", x)], help=fix)


def _index(op: str, x: UOp, entry: Any, axis: int) -> Pick:
    n = x.shape[axis]
    if isinstance(entry, UOp):
        return Pick((n,), _wrapped(entry, n))
    if entry.size:
        _in_range(op, x, int(entry.min()), int(entry.max()), axis)
    places = entry.astype(np.int64)
    node = load.stored(_narrow(np.where(places < 0, places + n, places), n), _home(x))
    return Pick((n,), node)


def _wrapped(index: UOp, n: int) -> UOp:
    """Negative values counted from the end, in a dtype that holds n."""
    if index.dtype.kind == "i":
        wide = dtypes.int64 if n > dtypes.int32.max else dtypes.int32
        index = index if index.dtype.itemsize >= wide.itemsize else index.cast(wide)
    return wrapped(index, n)


def _narrow(places: Array, n: int) -> Array:
    return places.astype(np.int32 if n <= dtypes.int32.max else np.int64)


def _home(x: UOp) -> Any:
    return x.device or Device.DEFAULT


def _mask(op: str, x: UOp, entry: Any, axis: int) -> Pick:
    sizes = x.shape[axis : axis + len(entry.shape)]
    if tuple(entry.shape) != sizes:
        problem = f"a mask of shape {list(entry.shape)} does not fit axes of sizes {list(sizes)}"
        raise BoundsError("E3003", problem, op=op, operands=[("x", x), ("mask", entry)])
    node = entry if isinstance(entry, UOp) else load.stored(np.array(entry), _home(x))
    return Pick(sizes, node)
