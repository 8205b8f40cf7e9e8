"""Functions of the package that users of torch know: `adjoint.randn(2, 3)`.

Each is a method of `Tensor` under the same name. What may live here: such functions. What may not:
ops, or names that mean something else in the array API standard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError
from adjoint.tensor.tensor import Tensor
from adjoint.tensor.types import DeviceLike, DTypeLike


def is_tensor(value: Any) -> bool:
    """Whether the value is a Tensor."""
    return isinstance(value, Tensor)


def from_numpy(array: Any) -> Tensor:
    """A tensor with the values of a NumPy array, which it does not share."""
    if not isinstance(array, np.ndarray):
        problem = f"takes a NumPy array, got {type(array).__name__}"
        raise ArgumentError("E2001", problem, op="from_numpy", help="Tensor(x) takes other data")
    return Tensor(array)


def manual_seed(seed: int) -> None:
    """Start every device's random numbers anew from this seed."""
    Tensor.manual_seed(seed)


rand, randn, randperm = Tensor.rand, Tensor.randn, Tensor.randperm


def rand_like(
    x: Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Uniform in [0, 1) in the shape, dtype and device of x."""
    return x.rand_like(dtype=dtype, device=device, requires_grad=requires_grad)


def randn_like(
    x: Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Standard normal in the shape, dtype and device of x."""
    return x.randn_like(dtype=dtype, device=device, requires_grad=requires_grad)


def randint(
    low: int,
    high: int | Sequence[int] | None = None,
    size: Sequence[int] | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Integers in [low, high) of that size, or in [0, low): `randint(10, (3,))`."""
    first, last, shape = (0, low, high) if isinstance(high, (tuple, list)) else (low, high, size)
    if not isinstance(shape, (tuple, list)) or last is None or (shape is high and size is not None):
        problem = f"takes (low, high, size) or (high, size), got size {size!r}"
        raise ArgumentError("E2007", problem, op="randint", help="randint(0, 10, (3,))")
    named: Any = {"high": last, "dtype": dtype, "device": device, "requires_grad": requires_grad}
    return Tensor.randint(*shape, low=first, **named)
