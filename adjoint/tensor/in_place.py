"""In place: `x += y`, `x.add_(y)`, `x.zero_()`: a new value for a tensor and for its views.

A twin `name_` exists for every record whose result has the shape of its first operand, and its
dtype or truth values: its first sample tells. The result is cast to the tensor's dtype where NumPy
casts in place (to the same kind, or to a higher one). What may live here: that. What may not: how a
value reaches views (`views.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from adjoint.errors import AdjointError, DTypeError, ShapeError
from adjoint.ir.opdef import OPS, OpDef
from adjoint.ir.uop import UOp, _functions
from adjoint.tensor.from_data import stored
from adjoint.tensor.layouts import written
from adjoint.tensor.turning import end_history, turn
from adjoint.tensor.views import become

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
    from adjoint.tensor.types import Axis, Operand

_KINDS = "buifc"  # each can be written in place to itself and to those after it
_CONVERSIONS = frozenset(  # would change the dtype, which stays; or are no change of values
    {"cast", "bfloat16", "bool", "char", "double", "float", "half", "int", "long", "short", "uchar"}
    | {"assign", "contiguous", "contiguous_backward", "unique_identity", "copy", "shard"}
)


class InPlace:
    """Mixed into Tensor."""

    __slots__ = ()

    def _update(self: Any, result: Any, op: str = "in-place") -> Any:
        """`x += y`: this handle and its views get a new value; computed results keep the old
        one.
        """
        operands = [("x", self), ("result", result)]
        if result.shape != self.shape:
            problem = f"the in-place result has shape {list(result.shape)}, not {list(self.shape)}"
            fix = "write x = x op y"
            raise ShapeError("E3003", problem, op=op, operands=operands, help=fix)
        if _KINDS.index(result.dtype.kind) > _KINDS.index(self.dtype.kind):
            problem = f"the in-place result is {result.dtype.name}, which {self.dtype.name} is not"
            fix = "write x = x op y, or cast the operand"
            raise DTypeError("E2001", problem, op=op, operands=operands, help=fix)
        become(self, written(result.uop.cast(self.dtype), self.uop), result._requires_grad)
        return self

    def copy_(self, source: Operand, non_blocking: bool = False) -> Self:
        """Take the values of another tensor, which broadcasts, in this one's dtype; a gradient
        passes. `non_blocking` needs no word, since everything is lazy."""
        self[...] = source  # type: ignore[index]
        return self

    def fill_(self, value: Operand) -> Self:
        """All elements are `value`, a number or a tensor without axes."""
        shape = getattr(value, "shape", ())
        if shape != ():
            problem = f"fills with one value, not with {list(shape)}"
            raise ShapeError("E3002", problem, op="fill_", operands=[("value", value)])
        return self.copy_(value)

    def zero_(self) -> Self:
        """All elements are 0."""
        return self.copy_(0)

    def uniform_(self: Any, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Draw all elements from the uniform distribution on [low, high)."""
        own: Any = {"dtype": self.dtype, "device": self.device}
        return self.copy_(type(self).uniform(self.shape, low=low, high=high, **own))

    def normal_(self: Any, mean: float = 0.0, std: float = 1.0) -> Tensor:
        """Draw all elements from a normal distribution."""
        own: Any = {"dtype": self.dtype, "device": self.device}
        return self.copy_(type(self).normal(self.shape, mean=mean, std=std, **own))

    def detach_(self: Any) -> Tensor:
        """End its history here: no gradient passes from it to what made it."""
        return end_history(self)

    def squeeze_(self: Any, dim: Axis = None) -> Tensor:
        """Drop axes of size 1, all or those named."""
        return turn(self, "squeeze_", "squeeze", dim)

    def unsqueeze_(self: Any, dim: int) -> Tensor:
        """Insert an axis of size 1."""
        return turn(self, "unsqueeze_", "unsqueeze", dim)

    def t_(self: Any) -> Tensor:
        """Transpose a matrix; vectors and scalars stay."""
        if self.ndim > 2:
            problem = f"takes two axes at most, not {self.ndim}"
            raise ShapeError("E3002", problem, op="t_", operands=[("x", self)])
        return turn(self, "t_", "permute", tuple(reversed(range(self.ndim))))


def has_twin(name: str) -> bool:
    """Whether the method of that name can be had in place, as `name_`."""
    record = _functions.get(name)
    return isinstance(record, OpDef) and name not in _CONVERSIONS and _keeps_type(record)


def _keeps_type(record: OpDef) -> bool:
    """Whether the first sample's result could be stored where its first operand is."""
    if not record.public or record.views:
        return False
    sample = next(iter(record.samples()), None)
    if sample is None or not sample.args or not isinstance(sample.args[0], np.ndarray):
        return False
    args = [stored(a, "CPU") if isinstance(a, np.ndarray) else a for a in sample.args]
    try:
        result = OPS[record.name].call(*args, **sample.kwargs)
    except (AdjointError, TypeError):
        return False
    same = isinstance(result, UOp) and result.shape == args[0].shape
    return same and (result.dtype is args[0].dtype or result.dtype.is_bool)
