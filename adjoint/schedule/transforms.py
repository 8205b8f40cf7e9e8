"""Fourier transforms for a library: of the last axes, at most three, without factors.

Before: dft(x) over axis 0 of three, divided by the root of its length.
After: TRANSFORM of x with that axis last, each part of the result times a number, and the axes back
in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod, sqrt

from adjoint.ir.dtype import real_of
from adjoint.ir.pattern import AnyNode
from adjoint.ir.rewrite import Rule, RuleSet
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.ops.fourier import dft, irdft, rdft
from adjoint.ops.indexing import positions
from adjoint.ops.movement import inverse
from adjoint.ops.transform import COMPLEX, FROM_REAL, TO_REAL, TransformArg, transform
from adjoint.target import Target

_MOST_AXES = 3  # that the library transforms at once


@cache
def transform_rules(target: Target) -> RuleSet:
    """The rules for a target: about the dtypes of which its library has transforms."""

    def takes(node: UOp) -> bool:
        wide = node.dtype if not node.dtype.is_complex else real_of(node.dtype)
        known = node.size and not varies(*node.shape, *node.src[0].shape)
        return bool(known) and target.computes("transform", wide)

    def whole(node: UOp) -> UOp | None:
        """dft(x) = transform(x) times a number, axes in another order"""
        return _complex(node) if takes(node) else None

    def half(node: UOp) -> UOp | None:
        """rdft(x) = transform(x) times a number, from reals"""
        return _from_real(node) if takes(node) else None

    def back(node: UOp) -> UOp | None:
        """irdft(x) = transform(x) times a number, to reals"""
        return _to_real(node) if takes(node) else None

    return RuleSet(
        (
            Rule("transform", AnyNode("node", (dft.name,)), whole),
            Rule("transform_of_reals", AnyNode("node", (rdft.name,)), half),
            Rule("transform_to_reals", AnyNode("node", (irdft.name,)), back),
        )
    )


def _complex(node: UOp) -> UOp:
    x, (dims, backwards, norm) = node.src[0], node.arg
    factor = _factor([x.shape[d] for d in dims], backwards, norm)
    for first in range(0, len(dims), _MOST_AXES):
        some = dims[first : first + _MOST_AXES]
        lengths = tuple(x.shape[d] for d in some)
        arg = TransformArg(COMPLEX, lengths, backwards)
        x = _of_last(x, some, arg)
    return _scaled(x, factor)


def _from_real(node: UOp) -> UOp:
    x, (axis, norm) = node.src[0], node.arg
    length = x.shape[axis]
    found = _of_last(x, (axis,), TransformArg(FROM_REAL, (length,)))
    return _scaled(found, _factor([length], False, norm))


def _to_real(node: UOp) -> UOp:
    x, (length, axis, norm) = node.src[0], node.arg
    found = _of_last(_mirrored(x, axis, length), (axis,), TransformArg(TO_REAL, (length,), True))
    return found * _factor([length], True, norm)


def _mirrored(x: UOp, axis: int, length: int) -> UOp:
    """Frequencies of real numbers: the first and the middle one are their own mirrors, so their
    imaginary parts are ignored. It is also a copy, because the library overwrites its operand.
    """
    place = positions(x.shape[axis], axis, len(x.shape), x.device)
    single = (place.eq(0) | (place * 2).eq(length)).expand(x.shape)
    made: UOp = x.real().complex(single.where(0, x.imag()))
    return made


def _of_last(x: UOp, dims: Sequence[int], arg: TransformArg) -> UOp:
    """The transform of axes that are made the last ones for it."""
    rank = len(x.shape)
    order = (*(d for d in range(rank) if d not in dims), *dims)
    turned = x if order == tuple(range(rank)) else x.permute(order)
    return UOp(transform, (turned,), arg).permute(inverse(order))


def _factor(lengths: Sequence[int], backwards: bool, norm: str) -> float:
    count = prod(lengths)
    if norm == "ortho":
        return 1 / sqrt(count)
    return 1 / count if (norm == "backward") is backwards else 1.0


def _scaled(x: UOp, factor: float) -> UOp:
    """Each part times a number."""
    if factor == 1.0:
        return x
    made: UOp = (x.real() * factor).complex(x.imag() * factor)
    return made
