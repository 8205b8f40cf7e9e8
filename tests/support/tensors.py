"""Short words for tensors: made of numbers, and compared with arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from adjoint import Tensor


def f64(values: ArrayLike) -> Tensor:
    """The numbers as float64."""
    return Tensor(np.asarray(values, np.float64))


def vector(*values: ArrayLike) -> Tensor:
    """The numbers, or rows of them, as float32."""
    return Tensor(np.array(values, np.float32))


def floats(*shape: int, seed: int = 0) -> Tensor:
    """Normally distributed float64 of that shape, the same for every seed."""
    return Tensor(np.random.default_rng(seed).normal(size=shape))


def same(tensor: Tensor, wanted: ArrayLike) -> None:
    """Equal to a few units in the last place of a float64."""
    np.testing.assert_allclose(tensor.numpy(), wanted, rtol=1e-14)


def near(tensor: Tensor, wanted: Tensor, atol: float = 1e-12) -> None:
    """Equal to an absolute difference, of numbers around one."""
    np.testing.assert_allclose(tensor.numpy(), wanted.numpy(), rtol=0, atol=atol)
