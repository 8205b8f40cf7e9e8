"""The standard's set functions. Unique values are computed at once: their number is a shape.

Values come back sorted; zeros of either sign are one value, every NaN is a value of its own.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoint.errors import ArgumentError
from adjoint.ir.dtype import promote
from adjoint.ir.uop import UOp
from adjoint.ops.indexing import gathered
from adjoint.tensor.array_api.calls import Number, apply, tensor_of
from adjoint.tensor.tensor import Tensor, lift

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: Tensor
    inverse_indices: Tensor


def isin(x1: Tensor | Number, x2: Tensor | Number, /, *, invert: bool = False) -> Tensor:
    """Whether each element of x1 is among those of x2 (or is not, with `invert`)."""
    if not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        raise ArgumentError("E2007", "takes at least one tensor", op="isin")
    found = lift(_member, (x1, x2), None)
    return apply("logical_not", found) if invert else found


def _member(x1: UOp | Number, x2: UOp | Number) -> UOp:
    if not isinstance(x1, UOp):
        assert isinstance(x2, UOp)
        return x2.eq(x1).any()
    if not isinstance(x2, UOp):
        return x1.eq(x2)
    kind = promote(x1.dtype, x2.dtype)
    wanted, known = x1.cast(kind), x2.cast(kind).reshape(x2.size)
    if kind.is_complex:  # they have no order to search in
        return wanted.reshape(*x1.shape, 1).eq(known).any(-1)
    return _found(wanted, known.sort(0)[0])


def _found(wanted: UOp, ordered: UOp) -> UOp:
    """Whether each value is in a sorted vector."""
    last = ordered.size - 1
    if last < 0:
        return wanted.ne(wanted) & False
    place = ordered.searchsorted(wanted).minimum(last)
    return gathered(ordered, (place,), (0,)).eq(wanted)


def unique_all(x: Tensor, /) -> UniqueAllResult:
    """Unique values, where each first occurs, which of them every element is, how often each is."""
    found = tensor_of("unique_all", x).unique(True, True, return_index=True)
    return UniqueAllResult(*found)


def unique_counts(x: Tensor, /) -> UniqueCountsResult:
    """Unique values and how often each occurs."""
    return UniqueCountsResult(*tensor_of("unique_counts", x).unique(return_counts=True))


def unique_inverse(x: Tensor, /) -> UniqueInverseResult:
    """Unique values and, for every element, which of them it is."""
    return UniqueInverseResult(*tensor_of("unique_inverse", x).unique(return_inverse=True))


def unique_values(x: Tensor, /) -> Tensor:
    """Unique values."""
    return tensor_of("unique_values", x).unique()
