"""Methods that no record can be: their result's shape or type depends on values, or their arguments
are formulas, functions or names.

Where a shape depends on values those are computed at once; what is picked by them stays a lazy
graph, so gradients flow. What may live here: such methods. What may not: indexing (`getitem.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from adjoint.errors import (
    BoundsError,
    DTypeError,
    IndexKindError,
    ShapeError,
    UnknownNameError,
    did_you_mean,
)
from adjoint.ir.broadcast import broadcast_shapes
from adjoint.ir.dtype import dtypes, plain, to_float
from adjoint.ir.opdef import OPS, OpDef
from adjoint.ir.spelling import spelled
from adjoint.ir.uop import UOp
from adjoint.ops.indexing import gathered, positions, scattered
from adjoint.ops.movement import checked_axis, padded
from adjoint.tensor.index import host_values
from adjoint.tensor.lift import Lifter
from adjoint.tensor.places import distinct, nonzero_places

if TYPE_CHECKING:
    from adjoint.tensor._methods import ByAxisOrNone
    from adjoint.tensor.tensor import Tensor
    from adjoint.tensor.types import DTypeLike, Operand

Array = np.ndarray[Any, Any]


class DataDependent:
    """Mixed into Tensor."""

    __slots__ = ()

    # ---- places

    def nonzero(self: Any, size: int | None = None, fill_value: int = 0) -> Tensor:
        """The indices of the nonzero elements, one row each; NaN counts as nonzero.

        With `size` there are so many rows, cut or filled with `fill_value`: nothing is computed.
        """
        if size is None:
            return _places(self, nonzero_places(host_values(self.uop)))
        index, valid = _first_places(self.uop.ne(0), _count("nonzero", size))
        columns = [
            valid.where(index // stride % n if n else index, fill_value)
            for n, stride in zip(self.shape, _strides(self.shape), strict=True)
        ]
        if not columns:
            return _places(self, np.empty((size, 0)))
        node = columns[0].reshape(size, 1)
        return type(self)(node.cat(*(c.reshape(size, 1) for c in columns[1:]), dim=1))

    def argwhere(self) -> Tensor:
        """As `nonzero`."""
        return self.nonzero()

    def masked_select(
        self: Any, mask: Operand, size: int | None = None, fill_value: Any = 0
    ) -> Tensor:
        """The elements where the mask holds, in order, as a vector.

        With `size` there are so many, cut or filled with `fill_value`: nothing is computed.
        """
        chosen = _operand(self, mask)
        if not chosen.dtype.is_bool:
            problem = f"a mask is bool, not {chosen.dtype.name}"
            operands = [("x", self), ("mask", chosen)]
            raise DTypeError("E2005", problem, op="masked_select", operands=operands)
        shape = broadcast_shapes("masked_select", self.uop, chosen.uop)
        x, where = self.uop.expand(shape), chosen.uop.expand(shape)
        if size is None:
            return Lifter(type(self)).wrap(x, [self._requires_grad])[type(self)(where)]
        index, valid = _first_places(where, _count("masked_select", size))
        filled = padded(x.reshape(-1), (0,), (1,), value=fill_value)
        node = gathered(filled, (valid.where(index, x.size),), (0,))
        return Lifter(type(self)).wrap(node, [self._requires_grad])

    # ---- counting

    @overload
    def unique(self) -> Tensor: ...
    @overload
    def unique(
        self, return_inverse: bool = ..., return_counts: bool = ..., *, return_index: bool = ...
    ) -> tuple[Tensor, ...]: ...
    def unique(
        self: Any,
        return_inverse: bool = False,
        return_counts: bool = False,
        *,
        return_index: bool = False,
    ) -> Any:
        """The distinct values in ascending order, each NaN by itself and last.

        With a flag a tuple: the values, then the first index of each in the flattened tensor, where
        each element is among the values, and how often each occurs.
        """
        array = plain(host_values(self.uop).reshape(-1))
        wanted = {"index": True, "inverse": return_inverse, "counts": return_counts}
        found = distinct(array, wanted)
        values = self.reshape(-1)[found["index"]]
        if return_inverse:
            found["inverse"] = found["inverse"].reshape(self.shape)
        wanted["index"] = return_index
        more = [_places(self, found[name]) for name, flag in wanted.items() if flag]
        return (values, *more) if more else values

    def bincount(self: Any, weights: Operand | None = None, minlength: int = 0) -> Tensor:
        """How often 0, 1, 2, … occur in a vector of integers, or the sums of their weights."""
        _count("bincount", minlength)
        length = max(_top("bincount", self) + 1, minlength)
        if weights is None:
            ones = OPS["const"](1, dtypes.index, self.shape, self.device)
            return type(self)(_tally(self, ones, length))
        w = _operand(self, weights)
        if w.shape != self.shape:
            operands = [("x", self), ("weights", w)]
            raise ShapeError("E3003", "one weight per element", op="bincount", operands=operands)
        node = _tally(self, w.uop.cast(to_float(w.dtype)), length)
        return Lifter(type(self)).wrap(node, [w._requires_grad])

    def one_hot(self: Any, num_classes: int = -1) -> Tensor:
        """A last axis of `num_classes` that is 1 at the element's value and 0 elsewhere; -1 counts
        the classes from the largest value."""
        if num_classes == -1:
            if not self.uop.size:
                problem = "no elements to count classes from"
                fix = "give num_classes"
                raise ShapeError("E3006", problem, op="one_hot", operands=[("x", self)], help=fix)
            num_classes = _top("one_hot", self.reshape(-1)) + 1
        return Lifter(type(self))(OPS["one_hot"], (self, num_classes), None)

    @spelled
    def repeat_interleave(
        self: Any,
        repeats: Operand | Sequence[int],
        dim: int | None = None,
        **names: Unpack[ByAxisOrNone],
    ) -> Tensor:
        """Each element (or slice along `dim`) repeated; a tensor gives a number for each."""
        if isinstance(repeats, int) and not isinstance(repeats, bool):
            return Lifter(type(self))(OPS["repeat_interleave"], (self, repeats, dim), None)
        counts = _repeats(self, _operand(self, repeats))
        x = self.reshape(-1) if dim is None else self
        axis = checked_axis("repeat_interleave", 0 if dim is None else dim, x.ndim, x.uop)
        if counts.size not in (1, x.shape[axis]):
            problem = f"{counts.size} counts for an axis of size {x.shape[axis]}"
            raise ShapeError("E3003", problem, op="repeat_interleave", operands=[("x", self)])
        index = np.repeat(np.arange(x.shape[axis]), counts)
        return x[(slice(None),) * axis + (index,)]

    # ---- answers in Python, and calls by name

    def allclose(
        self: Any, other: Operand, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> bool:
        """Whether all elements are close: `|x - other| <= atol + rtol * |other|`."""
        result = Lifter(type(self))(OPS["allclose"], (self, other, rtol, atol, equal_nan), None)
        return bool(result.item())

    def sequential(self, ll: Sequence[Callable[[Any], Any]]) -> Tensor:
        """The functions applied one after the other."""
        start: Any = self
        return reduce(lambda x, fn: fn(x), ll, start)

    @classmethod
    def einsum(
        cls: Any,
        formula: str,
        *operands: Operand | Sequence[Operand],
        dtype: DTypeLike | None = None,
    ) -> Tensor:
        """Sums of products by Einstein's convention: `Tensor.einsum("ij,jk->ik", a, b)`."""
        first = operands[0] if len(operands) == 1 else None
        given = tuple(first) if isinstance(first, (list, tuple)) else operands
        return Lifter(cls)(OPS["einsum"], (formula, *given), {"dtype": dtype})

    def alu(self: Any, op: str | OpDef, *operands: Operand) -> Tensor:
        """The op of that name applied to this tensor and others: `x.alu("add", y)`."""
        name = op.name if isinstance(op, OpDef) else op
        if name not in OPS:
            near = did_you_mean(name, OPS)
            raise UnknownNameError("E2002", f"no op {name!r}", op="alu", help=near)
        return Lifter(type(self))(OPS[name], (self, *operands), None)


def _places(like: Any, array: Array) -> Any:
    """Indices or counts as a tensor beside another one."""
    return type(like)(array.astype(dtypes.index.np), device=like.device)


def _operand(tensor: Any, value: Any) -> Any:
    return value if hasattr(value, "uop") else type(tensor)(value, device=tensor.device)


def _count(op: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise ShapeError("E3006", f"a length is an int ≥ 0, got {value!r}", op=op)
    return int(value)


def _strides(shape: tuple[int, ...]) -> list[int]:
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(max(step, 1))
        step *= n
    return strides[::-1]


def _first_places(flags: UOp, size: int) -> tuple[UOp, UOp]:
    """The flat positions of the first `size` true elements, and which of them exist."""
    flat = flags.reshape(-1)
    keep = min(size, flat.size)
    order = flat.logical_not().argsort(0).shrink(((0, keep),))  # stable: the true ones in order
    count = flat.cast(dtypes.index).reduce_sum(0)
    return padded(order, (0,), (size - keep,)), positions(size, 0, 1, flags.device) < count


def _top(op: str, x: Any) -> int:
    """The largest of a vector of integers ≥ 0, computed now; -1 if there is none."""
    if x.ndim != 1:
        raise ShapeError("E3002", "takes a vector", op=op, operands=[("x", x)])
    if not x.dtype.is_int:
        problem = f"takes integers, not {x.dtype.name}"
        raise IndexKindError("E4011", problem, op=op, operands=[("x", x)])
    values = host_values(x.uop)
    if values.size and values.min() < 0:
        problem = f"{int(values.min())} is negative"
        raise BoundsError("E6001", problem, op=op, operands=[("x", x)])
    return int(values.max(initial=0)) if values.size else -1


def _tally(index: Any, weights: UOp, length: int) -> UOp:
    zeros = OPS["const"](0, weights.dtype, (length,), index.device)
    return scattered(zeros, (index.uop,), weights, (0,), "add")


def _repeats(x: Any, repeats: Any) -> Array:
    """Counts of repeats, computed now."""
    op, operands = "repeat_interleave", [("x", x), ("repeats", repeats)]
    if not repeats.dtype.is_int:
        raise IndexKindError("E4011", "repeats are integers", op=op, operands=operands)
    if repeats.ndim > 1:
        raise ShapeError("E3002", "repeats are a vector", op=op, operands=operands)
    counts = host_values(repeats.uop).reshape(-1).astype(np.int64)
    if (counts < 0).any():
        raise ShapeError("E3006", "repeats are ≥ 0", op=op, operands=operands)
    return counts
