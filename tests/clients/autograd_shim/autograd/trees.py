"""Trees of numbers, arrays and tensors: tuples, lists and dicts of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint
from adjoint import Tensor

_depth = 0


def tree_map(fn: Callable[..., Any], first: Any, *rest: Any) -> Any:
    """`fn` of the leaves that stand in one place."""
    if isinstance(first, dict):
        return type(first)((k, tree_map(fn, v, *(r[k] for r in rest))) for k, v in first.items())
    if hasattr(first, "_fields"):
        return type(first)(*(tree_map(fn, *parts) for parts in zip(first, *rest, strict=True)))
    if isinstance(first, (list, tuple)):
        return type(first)(tree_map(fn, *parts) for parts in zip(first, *rest, strict=True))
    return fn(first, *rest)


def leaves_of(tree: Any) -> list[Any]:
    """The leaves, in order."""
    found: list[Any] = []
    tree_map(found.append, tree)
    return found


def as_tensor(leaf: Any) -> Any:
    """A tensor of the dtype that NumPy gives a number; integers are real numbers here."""
    if isinstance(leaf, Tensor):
        return leaf
    array = np.asarray(leaf)
    return Tensor(array.astype(np.float64) if array.dtype.kind in "iu" else array)


def inside(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn`, with results left as tensors by the derivatives that are taken in it."""

    def call(*args: Any) -> Any:
        global _depth
        _depth += 1
        try:
            return tree_map(as_tensor, fn(*args))
        finally:
            _depth -= 1

    return call


def given_back(tree: Any) -> Any:
    """What a user of autograd gets: NumPy's arrays and numbers, outside of all derivatives."""
    return tree if _depth else tree_map(_plain, tree)


def _plain(leaf: Any) -> Any:
    return leaf.numpy()[()] if isinstance(leaf, Tensor) else leaf


def conj(leaf: Any) -> Any:
    """The conjugate, of whatever holds numbers."""
    return adjoint.conj(leaf) if isinstance(leaf, Tensor) else np.conj(leaf)


def is_complex(leaf: Any) -> bool:
    """Whether a leaf holds complex numbers."""
    return leaf.dtype.is_complex if isinstance(leaf, Tensor) else np.iscomplexobj(leaf)
