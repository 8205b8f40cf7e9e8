"""Checks that layers share, so that bad sizes and inputs are errors that name the layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, BoundsError, DTypeError, ShapeError
from adjoint.ir.values import is_known, known_value
from adjoint.tensor import Tensor


def check_tensor(op: str, x: Any) -> None:
    """The input of a layer is a tensor."""
    if not isinstance(x, Tensor):
        problem = f"takes a Tensor, got {type(x).__name__}"
        raise ArgumentError("E2001", problem, op=op, help="Tensor(x) makes one")


def check_float(op: str, x: Any) -> None:
    """The input of a layer with weights is a tensor of floats."""
    check_tensor(op, x)
    if not x.dtype.is_inexact:
        problem = f"takes floats, got {x.dtype.name}"
        raise DTypeError("E2005", problem, op=op, x=x, help=".cast('float32')")


def check_rank(op: str, x: Tensor, ranks: Sequence[int], layout: str) -> None:
    """The input has one of these ranks."""
    check_tensor(op, x)
    if x.ndim not in ranks:
        wanted = " or ".join(str(rank) for rank in ranks)
        raise ShapeError("E3002", f"takes {layout}, rank {wanted}, got rank {x.ndim}", op=op, x=x)


def check_axis(op: str, x: Tensor, axis: int, size: int, what: str) -> None:
    """An axis of the input has the size that the layer was made for."""
    check_tensor(op, x)
    if not -x.ndim <= axis < x.ndim or x.shape[axis] != size:
        found = x.shape[axis] if -x.ndim <= axis < x.ndim else "none"
        problem = f"takes {size} {what} on axis {axis}, got {found}"
        fix = f"make the layer for {found} {what}" if found != "none" else "add an axis"
        raise ShapeError("E3003", problem, op=op, x=x, help=fix)


def check_positive(op: str, **sizes: Any) -> None:
    """Sizes of layers are whole numbers above 0."""
    for name, value in sizes.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise ArgumentError("E2001", f"{name} is a whole number, not {value!r}", op=op)
        if value < 1:
            raise ShapeError("E3006", f"{name} is at least 1, not {value}", op=op)


def check_probability(op: str, p: Any) -> float:
    """A chance is a number from 0 to 1."""
    if not isinstance(p, (int, float)) or not 0 <= p <= 1:
        raise ArgumentError("E2006", f"p is a probability, from 0 to 1, not {p!r}", op=op)
    return float(p)


def check_range(
    op: str, index: Tensor, size: int, what: str, of: str, ignored: int | None = None
) -> None:
    """Every index is from 0 to size - 1, where its value is known without computing anything.

    Where it is not, the op that uses the index checks it when it runs.
    """
    if not is_known(index.uop) or isinstance(index.uop.device, tuple):
        return
    values = np.asarray(known_value(index.uop))
    bad = (values < 0) | (values >= size)
    if ignored is not None:
        bad &= values != ignored
    if bad.any():
        place = [int(i) for i in np.argwhere(bad)[0]]
        problem = f"{what} {int(values[bad].flat[0])} at {place} is not one of {size} {of}"
        more = int(bad.sum()) - 1
        problem += f"; neither are {more} more" if more else ""
        fix = f"an {what} is" if what[0] in "aeiou" else f"a {what} is"
        fix += f" from 0 to {size - 1}"
        raise BoundsError("E6001", problem, op=op, operands=[(what, index)], help=fix)
