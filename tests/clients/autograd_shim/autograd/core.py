"""`make_vjp`, `make_jvp` and `vspace` over Adjoint's transforms.

Both libraries mean the same by the gradient of a complex number.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import adjoint
from adjoint import Tensor

from .trees import as_tensor, conj, given_back, inside, is_complex, leaves_of, tree_map


def make_vjp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The pullback of a function at a point, and its value there."""
    value, pullback = adjoint.vjp(inside(fun), tree_map(as_tensor, x))

    def vjp(g: Any) -> Any:
        (result,) = pullback(tree_map(_cotangent, value, g))
        return given_back(result)

    return vjp, given_back(value)


def _cotangent(value: Any, g: Any) -> Any:
    return as_tensor(g).cast(value.dtype).reshape(value.shape)


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """The function from a tangent to the value and its tangent."""
    primal = tree_map(as_tensor, x)

    def jvp(v: Any) -> tuple[Any, Any]:
        tangent = tree_map(lambda p, t: as_tensor(t).cast(p.dtype), primal, v)
        return given_back(adjoint.jvp(inside(fun), (primal,), (tangent,)))

    return jvp


class VSpace:
    """The vector space of trees like a given one."""

    def __init__(self, value: Any) -> None:
        self.like = tree_map(lambda leaf: _Leaf(np.shape(leaf), is_complex(leaf)), value)
        self.leaves = leaves_of(self.like)
        self.iscomplex = any(leaf.complex for leaf in self.leaves)
        self.size = sum(leaf.size for leaf in self.leaves)
        self.shape = self.leaves[0].shape if len(self.leaves) == 1 else None

    def zeros(self) -> Any:
        return tree_map(lambda leaf: np.zeros(leaf.shape, leaf.dtype)[()], self.like)

    def ones(self) -> Any:
        return tree_map(lambda leaf: np.full(leaf.shape, leaf.one, leaf.dtype)[()], self.like)

    def randn(self) -> Any:
        return tree_map(_Leaf.randn, self.like)

    def standard_basis(self) -> Iterator[Any]:
        for number, leaf in enumerate(self.leaves):
            for unit in leaf.basis():
                count = itertools.count()
                yield tree_map(
                    lambda each, n=number, u=unit, c=count: (
                        u if next(c) == n else np.zeros(each.shape, each.dtype)[()]
                    ),
                    self.like,
                )

    def add(self, x: Any, y: Any) -> Any:
        return tree_map(lambda a, b: a + b, x, y)

    def scalar_mul(self, x: Any, a: float) -> Any:
        return tree_map(lambda leaf: leaf * a, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        pairs = zip(leaves_of(x), leaves_of(y), strict=True)
        return sum(_inner(a, b) for a, b in pairs)

    def covector(self, x: Any) -> Any:
        return tree_map(conj, x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VSpace) and bool(self.like == other.like)

    __hash__ = None

    def __repr__(self) -> str:
        return f"VSpace({self.like})"


def _inner(a: Any, b: Any) -> Any:
    if not (isinstance(a, Tensor) or isinstance(b, Tensor)):
        return np.real(np.vdot(a, b))
    whole = adjoint.sum(conj(as_tensor(a)) * as_tensor(b))
    return adjoint.real(whole) if whole.dtype.is_complex else whole


class _Leaf:
    def __init__(self, shape: tuple[int, ...], of_complex: bool) -> None:
        self.shape, self.complex = tuple(shape), of_complex
        self.dtype = np.complex128 if of_complex else np.float64
        self.one = 1 + 1j if of_complex else 1.0  # the sum of the basis
        self.size = int(np.prod(shape)) * (2 if of_complex else 1)

    def randn(self) -> Any:
        real = np.array(np.random.randn(*self.shape))[()]
        return real + 1j * np.array(np.random.randn(*self.shape))[()] if self.complex else real

    def basis(self) -> Iterator[Any]:
        for index in np.ndindex(*self.shape):
            for unit in (1.0, 1.0j) if self.complex else (1.0,):
                value = np.zeros(self.shape, self.dtype)
                value[index] = unit
                yield value[()]

    def __eq__(self, other: object) -> bool:
        mine = (self.shape, self.complex)
        return isinstance(other, _Leaf) and mine == (other.shape, other.complex)

    __hash__ = None

    def __repr__(self) -> str:
        return f"{self.dtype.__name__}{list(self.shape)}"


def vspace(value: Any) -> VSpace:
    """The space that a value belongs to."""
    return VSpace(value)


primitive_vjps: dict[Any, Any] = {}  # autograd's table of rules; Adjoint's are in its records
