"""What every function of the namespace shares: checks of arguments, and calls of records.

What may live here: the way from a standard function to a record. What may not: any function of the
standard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, AxisError, DTypeError, ShapeError
from adjoint.ir.opdef import OPS
from adjoint.tensor.tensor import Tensor, lift

Axis = int | tuple[int, ...] | None
Number = bool | int | float | complex


def apply(name: str, *args: Any, **kwargs: Any) -> Any:
    """The record of that name on tensors."""
    return (lift.view if OPS[name].views else lift.op)(name, *args, **kwargs)


def tensor_of(op: str, x: Any) -> Tensor:
    """The argument, if it is a tensor; a NumPy array becomes one."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, np.ndarray):
        return Tensor(x)
    problem = f"takes a tensor, got {type(x).__name__}"
    raise ArgumentError("E2001", problem, op=op, help="adjoint.asarray(x) makes one")


def tensors_of(op: str, arrays: Any) -> list[Tensor]:
    """A list of at least one tensor."""
    if isinstance(arrays, Tensor) or not isinstance(arrays, Sequence) or not arrays:
        problem = f"takes a list or tuple of tensors, got {type(arrays).__name__}"
        raise ArgumentError("E2001", problem, op=op)
    return [tensor_of(op, a) for a in arrays]


def of_kind(op: str, x: Tensor, kinds: str, wanted: str) -> Tensor:
    """The tensor, if its dtype is of one of these kinds (see `DType.kind`)."""
    if x.dtype.kind in kinds:
        return x
    problem = f"takes {wanted}, not {x.dtype.name}"
    raise DTypeError("E2005", problem, op=op, operands=[("x", x)])


def axis_of(op: str, axis: Any, rank: int, x: Tensor | None = None) -> int:
    """A non-negative axis; one that is out of range is an IndexError."""
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise ArgumentError("E2001", f"an axis is an int, got {axis!r}", op=op)
    number = axis.__index__()
    if not -rank <= number < rank:
        fix = f"axes go from {-rank} to {rank - 1}" if rank else "a scalar has no axes"
        problem = f"axis {number} is out of range for rank {rank}"
        operands = [] if x is None else [("x", x)]
        raise AxisError("E3004", problem, op=op, operands=operands, help=fix)
    return number % rank


def axes_of(op: str, axes: Any, rank: int, x: Tensor | None = None) -> tuple[int, ...]:
    """Distinct non-negative axes; None means all."""
    if axes is None:
        return tuple(range(rank))
    listed = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    result = tuple(axis_of(op, a, rank, x) for a in listed)
    if len(set(result)) != len(result):
        operands = [] if x is None else [("x", x)]
        raise AxisError("E3005", f"duplicate axis in {listed}", op=op, operands=operands)
    return result


def at_least(op: str, x: Tensor, rank: int, what: str) -> Tensor:
    """The tensor, if it has that many axes."""
    if x.ndim >= rank:
        return x
    problem = f"takes {what}, got rank {x.ndim}"
    raise ShapeError("E3002", problem, op=op, operands=[("x", x)])


def named(function: Callable[..., Any], name: str, doc: str, module: str) -> Any:
    """The function under a name of its own, in tracebacks and origins too."""
    assert isinstance(function, FunctionType)
    code = function.__code__.replace(co_name=name, co_qualname=name)
    given = function.__defaults__
    copy = FunctionType(code, function.__globals__, name, given, function.__closure__)
    copy.__annotations__, copy.__kwdefaults__ = function.__annotations__, function.__kwdefaults__
    copy.__doc__, copy.__module__, copy.__qualname__ = doc, module, name
    return copy
