"""Functions of the package that users of torch know: `adjoint.randn(2, 3)`.

Each is a method of `Tensor` under the same name. What may live here: such functions. What may not:
ops, or names that mean something else in the array API standard.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import ArgumentError
from adjoint.tensor.tensor import Tensor


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


def rand(*size: Any, **named: Any) -> Tensor:
    """Uniform in [0, 1)."""
    return Tensor.rand(*size, **named)


def randn(*size: Any, **named: Any) -> Tensor:
    """Standard normal."""
    return Tensor.randn(*size, **named)


def rand_like(x: Tensor, **named: Any) -> Tensor:
    """Uniform in [0, 1) in the shape, dtype and device of x."""
    return x.rand_like(**named)


def randn_like(x: Tensor, **named: Any) -> Tensor:
    """Standard normal in the shape, dtype and device of x."""
    return x.randn_like(**named)


def randint(low: int, high: Any = None, size: Any = None, **named: Any) -> Tensor:
    """Integers in [low, high) of that size, or in [0, low): `randint(10, (3,))`."""
    if size is None and isinstance(high, (tuple, list)):
        low, high, size = 0, low, high
    if not isinstance(size, (tuple, list)) or high is None:
        problem = f"takes (low, high, size) or (high, size), got size {size!r}"
        raise ArgumentError("E2007", problem, op="randint", help="randint(0, 10, (3,))")
    return Tensor.randint(*size, low=low, high=high, **named)


def randperm(n: int, **named: Any) -> Tensor:
    """A random permutation of 0 … n-1."""
    return Tensor.randperm(n, **named)
