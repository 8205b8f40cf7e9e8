"""Random tensors: lazy, reproducible, the same on any device and under any sharding.

Each device has a stream of keys: key n is Threefry(n) under the device's seed. A draw's key is a
leaf of the graph; its elements are Threefry of their global position under that key.
"""

from __future__ import annotations

import operator
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod, sqrt
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from adjoint.errors import ArgumentError, DTypeError, ShapeError
from adjoint.ir.dtype import DType, as_dtype, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ops.leaves import checked_shape
from adjoint.ops.movement import unpacked
from adjoint.ops.random import threefry2x32
from adjoint.runtime.device import Device
from adjoint.tensor.creation import counting
from adjoint.tensor.from_data import stored
from adjoint.tensor.tracing import good_once, register_key

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
    from adjoint.tensor.types import DeviceLike, DTypeLike, Sizes


class _Stream:
    """The seed and the number of keys drawn, per device."""

    def __init__(self, seed: int):
        self._lock = threading.Lock()
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Restart the stream; a traced function that does so does it at every call."""
        good_once("the seed of the random numbers is set")
        self.seed = seed & 0xFFFFFFFFFFFFFFFF
        self._drawn: dict[str, int] = {}

    def state(self) -> tuple[int, dict[str, int]]:
        """What `restore` needs to draw the same again: the seed, and the keys drawn by device."""
        good_once("the state of the random numbers is read")
        with self._lock:
            return self.seed, dict(self._drawn)

    def restore(self, seed: int, drawn: dict[str, int]) -> None:
        """Continue from where `state` was read."""
        good_once("the seed of the random numbers is set")
        with self._lock:
            self.seed, self._drawn = seed & 0xFFFFFFFFFFFFFFFF, dict(drawn)

    @property
    def drawn(self) -> int:
        """How many keys have been drawn, of all devices."""
        return sum(self._drawn.values())

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """Numbers drawn inside are drawn again afterwards."""
        before = dict(self._drawn)
        try:
            yield
        finally:
            self._drawn = before

    @contextmanager
    def undone_on_error(self) -> Iterator[None]:
        """Numbers drawn inside are drawn again afterwards if an error ends the block."""
        before = dict(self._drawn)
        try:
            yield
        except BaseException:
            self._drawn = before
            raise

    def next_key(self, device: str) -> int:
        with self._lock:
            count = self._drawn.get(device, 0)
            self._drawn[device] = count + 1
        index = int(device.partition(":")[2] or 0)  # CPU and GPU draw alike; CPU:1 has its own
        return threefry2x32(count, self.seed ^ (index << 32))


stream = _Stream(time.time_ns())


def key_node(device: str | tuple[str, ...]) -> UOp:
    """A fresh key, as a leaf."""
    first = device if isinstance(device, str) else device[0]
    key = stored(np.array(stream.next_key(first), np.uint64), device)
    register_key(key)
    return key


def split(key: UOp, count: int) -> UOp:
    """So many keys from one, along a new axis."""
    return counting(count, dtypes.uint64, key.device).threefry(key)


def _shape(op: str, shape: tuple[Any, ...]) -> tuple[int, ...]:
    return checked_shape(op, unpacked(shape))


def _float_dtype(op: str, dtype: DTypeLike | None) -> DType:
    kind = as_dtype(dtype or dtypes.default_float)
    if not kind.is_float:
        raise DTypeError("E2005", f"draws floats, not {kind.name}", op=op)
    return kind


class Random:
    """Mixed into Tensor."""

    __slots__ = ()

    @staticmethod
    def manual_seed(seed: int = 0) -> None:
        """Start every device's stream anew from this seed."""
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            problem = f"a seed is a whole number, got {seed!r}"
            raise ArgumentError("E2001", problem, op="manual_seed")
        stream.reset(operator.index(seed))

    @classmethod
    def _draw(
        cls,
        name: str,
        shape: Any,
        dtype: DTypeLike | None,
        device: DeviceLike,
        requires_grad: bool | None,
    ) -> Self:
        kind = _float_dtype(name, dtype)
        node = OPS[name](key_node(Device.canonicalize(device)), shape, kind)
        tensor: Any = cls(node)  # type: ignore[call-arg]
        tensor.requires_grad = requires_grad
        return tensor

    @classmethod
    def rand(
        cls,
        *shape: Sizes,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Uniform in [0, 1)."""
        return cls._draw("random_uniform", _shape("rand", shape), dtype, device, requires_grad)

    @classmethod
    def randn(
        cls,
        *shape: Sizes,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Standard normal."""
        return cls._draw("random_normal", _shape("randn", shape), dtype, device, requires_grad)

    @classmethod
    def normal(
        cls,
        *shape: Sizes,
        mean: float = 0.0,
        std: float = 1.0,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Normal with a mean and a standard deviation."""
        draw: Any = cls.randn(*shape, dtype=dtype, device=device)
        return (std * draw + mean).requires_grad_(requires_grad)

    @classmethod
    def uniform(
        cls,
        *shape: Sizes,
        low: float = 0.0,
        high: float = 1.0,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Uniform in [low, high); of an integer dtype, integers between integers."""
        kind = as_dtype(dtype or dtypes.default_float)
        if kind.is_int:
            ends: Any = {"low": low, "high": high}
            named: Any = {"dtype": kind, "device": device, "requires_grad": requires_grad}
            return cls.randint(*shape, **ends, **named)
        draw: Any = cls.rand(*shape, dtype=kind, device=device)
        return ((high - low) * draw + low).requires_grad_(requires_grad)

    @classmethod
    def randint(
        cls,
        *shape: Sizes,
        low: int = 0,
        high: int = 10,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Integers in [low, high)."""
        kind = as_dtype(dtype or dtypes.default_int)
        if not kind.is_int:
            raise DTypeError("E2005", f"draws integers, not {kind.name}", op="randint")
        if not isinstance(low, int) or not isinstance(high, int):
            problem = f"low and high are ints, got {low!r} and {high!r}"  # type: ignore[unreachable]
            raise ArgumentError("E2001", problem, op="randint")
        if high <= low:
            raise ShapeError("E3006", f"[{low}, {high}) is empty", op="randint")
        if low < kind.min or high - 1 > kind.max:
            problem = f"[{low}, {high}) is not in {kind.name} ({kind.min} to {kind.max})"
            raise ArgumentError("E2006", problem, op="randint", help="name a wider dtype")
        bits = key_node(Device.canonicalize(device)).random_bits(_shape("randint", shape))
        wide = dtypes.uint64 if kind is dtypes.uint64 else dtypes.int64
        tensor: Any = cls(((bits % (high - low)).cast(wide) + low).cast(kind))  # type: ignore[call-arg]
        return tensor.requires_grad_(requires_grad)

    @classmethod
    def scaled_uniform(
        cls,
        *shape: Sizes,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Uniform in ±1/√n for n elements in all."""
        sizes = _shape("scaled_uniform", shape)
        bound = max(prod(sizes), 1) ** -0.5
        named: Any = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return cls.uniform(sizes, low=-bound, high=bound, **named)

    @classmethod
    def glorot_uniform(
        cls,
        *shape: Sizes,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Glorot and Bengio's uniform for a weight of this shape."""
        sizes = _shape("glorot_uniform", shape)
        fan = max(sizes[0] + prod(sizes[1:]), 1) if sizes else 1
        named: Any = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return cls.uniform(sizes, low=-sqrt(6 / fan), high=sqrt(6 / fan), **named)

    @classmethod
    def kaiming_uniform(
        cls,
        *shape: Sizes,
        a: float = 0.01,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """He's uniform for a weight of this shape and a leaky slope `a`."""
        sizes = _shape("kaiming_uniform", shape)
        bound = sqrt(3.0) * sqrt(2.0 / (1 + a**2)) / sqrt(max(prod(sizes[1:]), 1))
        named: Any = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return cls.uniform(sizes, low=-bound, high=bound, **named)

    @classmethod
    def kaiming_normal(
        cls,
        *shape: Sizes,
        a: float = 0.01,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """He's normal for a weight of this shape and a leaky slope `a`."""
        sizes = _shape("kaiming_normal", shape)
        std = sqrt(2.0 / (1 + a**2)) / sqrt(max(prod(sizes[1:]), 1))
        named: Any = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return cls.normal(sizes, mean=0.0, std=std, **named)

    @classmethod
    def randperm(
        cls,
        n: int,
        *,
        device: DeviceLike = None,
        dtype: DTypeLike | None = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """A random permutation of 0 … n-1."""
        bits = key_node(Device.canonicalize(device)).random_bits(checked_shape("randperm", n))
        order = bits.argsort(0).cast(as_dtype(dtype or dtypes.index))
        tensor: Any = cls(order)  # type: ignore[call-arg]
        return tensor.requires_grad_(requires_grad)

    def rand_like(
        self: Any,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Tensor:
        """Uniform in [0, 1) in the shape, dtype and device of this tensor, unless others are
        named."""
        named: Any = {"dtype": dtype or self.dtype, "device": device or self.device}
        return type(self).rand(self.shape, **named, requires_grad=requires_grad)

    def randn_like(
        self: Any,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Tensor:
        """Standard normal in the shape, dtype and device of this tensor, unless others are
        named."""
        named: Any = {"dtype": dtype or self.dtype, "device": device or self.device}
        return type(self).randn(self.shape, **named, requires_grad=requires_grad)
