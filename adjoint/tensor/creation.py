"""Tensors from nothing but a description: constants, ranges, identities.

What may live here: class methods that build a graph without operands.
"""

from __future__ import annotations

from math import ceil, isfinite
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from adjoint.errors import ArgumentError, ShapeError
from adjoint.ir.dtype import DType, as_dtype, dtype_of_scalar, dtypes
from adjoint.ir.kernel_kind import STORED
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ops.leaves import checked_shape
from adjoint.ops.movement import unpacked
from adjoint.runtime.device import Device

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
    from adjoint.tensor.types import DeviceLike, DTypeLike, Number, Operand, Sizes


class Creation:
    """Mixed into Tensor."""

    __slots__ = ()

    @classmethod
    def _from(cls, node: UOp, requires_grad: bool | None = None) -> Self:
        """A handle on a node that no other tensor has."""
        tensor: Any = cls(node if node.op.kernel is STORED else OPS["unique_identity"](node))  # type: ignore[call-arg]
        tensor.requires_grad = requires_grad
        return tensor

    @classmethod
    def full(
        cls,
        shape: Sizes,
        fill_value: Operand,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """A tensor whose elements are all `fill_value`."""
        value: Any = fill_value[()] if isinstance(fill_value, np.ndarray) else fill_value
        kind = dtype_of_scalar(value) if dtype is None else as_dtype(dtype)
        node = _full(checked_shape("full", shape), value, kind, device)
        return cls._from(node, requires_grad)

    @classmethod
    def zeros(
        cls,
        *shape: Sizes,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Zeros."""
        kind = dtype or dtypes.default_float
        named: Any = {"device": device, "requires_grad": requires_grad}
        return cls.full(unpacked(shape), 0.0, dtype=kind, **named)

    @classmethod
    def ones(
        cls,
        *shape: Sizes,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Ones."""
        kind = dtype or dtypes.default_float
        named: Any = {"device": device, "requires_grad": requires_grad}
        return cls.full(unpacked(shape), 1.0, dtype=kind, **named)

    @classmethod
    def empty(
        cls,
        *shape: Sizes,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """A tensor whose values do not matter; they are zeros, so that runs repeat."""
        return cls.zeros(*shape, dtype=dtype, device=device, requires_grad=requires_grad)

    @classmethod
    def arange(
        cls,
        start: float,
        stop: float | None = None,
        step: float = 1,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """`start`, `start + step`, … below `stop`."""
        first, last = (0, start) if stop is None else (start, stop)
        first, last, step = map(python_number, (first, last, step))
        count = _steps(first, last, step)
        floating = any(isinstance(v, float) for v in (first, last, step))
        kind = as_dtype(dtype) if dtype is not None else _range_dtype(first, last, floating)
        _check_range(kind, first, first + step * (count - 1), count)
        node = _affine(count, first, step, kind, Device.canonicalize(device))
        return cls._from(node, requires_grad)

    @classmethod
    def linspace(
        cls,
        start: float,
        stop: float,
        steps: int,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """`steps` evenly spaced values from `start` to `stop`, both included."""
        start, stop, steps = map(python_number, (start, stop, steps))
        if steps < 0:
            raise ShapeError("E3006", f"steps is ≥ 0, got {steps}", op="linspace")
        kind = as_dtype(dtype or dtypes.default_float)
        wide = dtypes.float64
        place = Device.canonicalize(device)
        index = counting(steps, dtypes.int64, place).cast(wide)
        step = (stop - start) / max(steps - 1, 1)
        values = (index * step + start).cast(wide)
        if steps > 1:  # the end is exact, whatever the rounding of the step
            values = index.eq(steps - 1).where(float(stop), values)
        return cls._from(values.cast(kind), requires_grad)

    @classmethod
    def eye(
        cls,
        n: int,
        m: int | None = None,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """The n × m identity."""
        rows, columns = checked_shape("eye", (n, n if m is None else m))
        place = Device.canonicalize(device)
        row = counting(rows, dtypes.int32, place).reshape(rows, 1).expand(rows, columns)
        column = counting(columns, dtypes.int32, place).expand(rows, columns)
        node = row.eq(column).cast(as_dtype(dtype or dtypes.default_float))
        return cls._from(node, requires_grad)

    def full_like(
        self: Any,
        fill_value: Operand,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Tensor:
        """`fill_value` in the shape, dtype and device of this tensor, unless others are named."""
        named: Any = {"dtype": dtype or self.dtype, "device": device or self.device}
        return type(self).full(self.shape, fill_value, **named, requires_grad=requires_grad)

    def zeros_like(
        self,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Tensor:
        """Zeros in the shape, dtype and device of this tensor, unless others are named."""
        return self.full_like(0, dtype=dtype, device=device, requires_grad=requires_grad)

    def ones_like(
        self,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Tensor:
        """Ones in the shape, dtype and device of this tensor, unless others are named."""
        return self.full_like(1, dtype=dtype, device=device, requires_grad=requires_grad)

    def empty_like(
        self,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Tensor:
        """As `zeros_like`."""
        return self.zeros_like(dtype=dtype, device=device, requires_grad=requires_grad)

    def const_like(self: Any, value: Number) -> Tensor:
        """A constant in the shape, dtype and device of this tensor, shared where it is equal."""
        node = OPS["const"](value, self.dtype, self.shape, self.device)
        return type(self)(node)


def _full(shape: tuple[int, ...], value: Any, kind: DType, device: DeviceLike) -> UOp:
    if hasattr(value, "uop"):
        return value.uop.cast(kind).expand(shape)
    if isinstance(value, (str, bytes)):
        raise ArgumentError("E2001", f"{value!r} is no number", op="full")
    return OPS["const"](value, kind, shape, Device.canonicalize(device))


def _check_range(kind: DType, first: Any, last: Any, count: int) -> None:
    """The first and the last value of a range are values of an integer dtype, or of bool."""
    if not count or kind.is_inexact:
        return
    low, high = (0, 1) if kind.is_bool else (kind.min, kind.max)
    if min(first, last) < low or max(first, last) > high:
        problem = f"{first} to {last} are not values of {kind.name} ({low} to {high})"
        raise ArgumentError("E2006", problem, op="arange", help="name a wider dtype")


def counting(n: int, dtype: DType, device: DeviceLike) -> UOp:
    """0 … n-1."""
    ones = OPS["const"](1, dtype, (n,), device)
    return ones.scan_sum(0) - 1


def _affine(count: int, first: Any, step: Any, kind: DType, device: str) -> UOp:
    if kind.is_int and not any(isinstance(v, float) for v in (first, step)):
        wide = dtypes.uint64 if kind is dtypes.uint64 else dtypes.int64
        return (counting(count, wide, device) * step + first).cast(kind)
    index = counting(count, dtypes.int64, device).cast(dtypes.float64)
    return (index * float(step) + float(first)).cast(kind)


def python_number(value: Any) -> Any:
    """Python's number for one of NumPy's, whose arithmetic wraps around in its own few bits."""
    return value.item() if isinstance(value, np.generic) else value


def _steps(first: Any, last: Any, step: Any) -> int:
    """How many values a range has; of ints exactly."""
    if step == 0:
        raise ArgumentError("E4008", "the step is not 0", op="arange")
    if all(isinstance(v, int) for v in (first, last, step)):
        return max(0, -(int(first - last) // int(step)))
    quotient = (last - first) / step
    if not isfinite(quotient):
        problem = f"no finite number of steps of {step} leads from {first} to {last}"
        raise ArgumentError("E2006", problem, op="arange")
    return max(0, ceil(quotient))


def _range_dtype(first: Any, last: Any, floating: bool) -> DType:
    if floating:
        return dtypes.default_float
    wide = [dtype_of_scalar(v) for v in (first, last)]
    return max(wide, key=lambda d: d.itemsize)
