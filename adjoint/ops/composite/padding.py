"""Padding: constant, mirrored, repeated at the edge or wrapped around; and to a given shape.

All are derived: they build PAD, SHRINK, FLIP and CAT nodes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, BoundsError, ShapeError
from adjoint.ir.dtype import DType, fits
from adjoint.ir.opdef import Bad, check_scalar, derived
from adjoint.ir.uop import UOp
from adjoint.ops.composite.concatenate import interleaved, joined, listed, part_of, whole_number
from adjoint.ops.leaves import checked_shape
from adjoint.ops.movement import padded, sliced, unpacked
from adjoint.ops.samples import real, whole

Array = np.ndarray[Any, Any]
_MATRIX, _VECTOR = np.ones((2, 3)), np.ones(3)


def _amounts(x: UOp, padding: Any) -> list[tuple[int, int]]:
    """(before, after) per axis, from such pairs or from PyTorch's flat list, last axis first."""
    rank = len(x.shape)
    if not isinstance(padding, (tuple, list)):
        problem = f"padding is a tuple of ints or of pairs, got {padding!r}"
        raise ArgumentError("E2001", problem, op="pad", x=x)
    pairs: list[Any]
    if any(p is None or isinstance(p, (tuple, list)) for p in padding):
        pairs = [(0, 0) if p is None else p for p in padding]
    else:
        pairs = [padding[i : i + 2] for i in range(0, len(padding), 2)][::-1]
        pairs = [(0, 0)] * (rank - len(pairs)) + pairs
    sized = len(pairs) == rank and all(isinstance(p, (tuple, list)) and len(p) == 2 for p in pairs)
    if not sized:
        problem = f"padding {padding!r} does not fit rank {rank}"
        fix = "give one (before, after) or None per axis, or an even flat list, last axis first"
        raise BoundsError("E4007", problem, op="pad", x=x, help=fix)
    name = "an amount of padding"
    return [(whole_number("pad", name, b), whole_number("pad", name, a)) for b, a in pairs]


def _fill(op: str, dtype: DType, value: Any) -> Any:
    """The value, if the dtype has it."""
    number = check_scalar(op, value)
    if dtype.is_complex or (dtype.is_float and not isinstance(number, complex)):
        return number
    fine = not isinstance(number, complex) and number == number and abs(number) != float("inf")
    if fine and not dtype.is_float and int(number) == number and fits(int(number), dtype):
        return number
    problem = f"{value} is not a value of {dtype.name}"
    raise ArgumentError("E2006", problem, op=op, help="cast the tensor first")


def _cropped(x: UOp, amounts: Sequence[tuple[int, int]]) -> UOp:
    """The tensor without what negative amounts remove."""
    start = [max(-b, 0) for b, _ in amounts]
    stop = [n + min(a, 0) for n, (_, a) in zip(x.shape, amounts, strict=True)]
    if any(a > b for a, b in zip(start, stop, strict=True)):
        problem = f"padding {tuple(amounts)} removes more than there is"
        raise ShapeError("E3006", problem, op="pad", x=x)
    return sliced(x, start, stop, (1,) * len(start))


def _reflected(x: UOp, axis: int, before: int, after: int) -> UOp:
    n = x.shape[axis]
    _check_room(x, axis, before, after, n - 1, "reflect")
    left = part_of(x, axis, 1, before + 1).flip(axis) if before else None
    right = part_of(x, axis, n - 1 - after, n - 1).flip(axis) if after else None
    return _around(x, axis, left, right)


def _replicated(x: UOp, axis: int, before: int, after: int) -> UOp:
    n = x.shape[axis]
    if n == 0:
        _check_room(x, axis, before, after, 0, "replicate")
    left = interleaved(part_of(x, axis, 0, 1), axis, before) if before else None
    right = interleaved(part_of(x, axis, n - 1, n), axis, after) if after else None
    return _around(x, axis, left, right)


def _circled(x: UOp, axis: int, before: int, after: int) -> UOp:
    n = x.shape[axis]
    _check_room(x, axis, before, after, n, "circular")
    left = part_of(x, axis, n - before, n) if before else None
    right = part_of(x, axis, 0, after) if after else None
    return _around(x, axis, left, right)


def _check_room(x: UOp, axis: int, before: int, after: int, most: int, mode: str) -> None:
    if max(before, after) > max(most, 0):
        problem = (
            f"{mode} padding ({before}, {after}) is more than {max(most, 0)} along axis {axis}"
        )
        raise ShapeError("E3006", problem, op="pad", x=x)


def _around(x: UOp, axis: int, left: UOp | None, right: UOp | None) -> UOp:
    pieces = [p for p in (left, x, right) if p is not None]
    return joined(pieces, axis)


_PADS = {"reflect": _reflected, "replicate": _replicated, "circular": _circled}


def _pad_reference(x: Array, padding: Any, mode: str = "constant", value: Any = 0.0) -> Array:
    if x.ndim == 0:  # np.pad does not take an empty list
        return x
    grouped = any(p is None or isinstance(p, tuple) for p in padding)
    if grouped:
        pairs = [p or (0, 0) for p in padding]
    else:
        pairs = np.reshape(padding, (-1, 2))[::-1].tolist()
        pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    grow = [(max(b, 0), max(a, 0)) for b, a in pairs]
    cut = tuple(slice(max(-b, 0), min(a, 0) or None) for b, a in pairs)
    if mode == "constant":
        return np.pad(x[cut], grow, constant_values=value)
    if mode == "circular":
        return np.pad(x[cut], grow, "wrap")
    return (np.pad(x, grow, "reflect") if mode == "reflect" else np.pad(x, grow, "edge"))[cut]


def _pad_samples() -> list[Any]:
    modes = ("constant", "reflect", "replicate", "circular")
    each: list[Any] = [(real(3, 4), ((1, 2), (2, 0)), m) for m in modes]
    each += [(real(2, 4), (3, -1), m) for m in modes[::2]] + [(real(5), (-1, 2), m) for m in modes]
    return [
        *each,
        (real(2, 3), (1, 0, 0, 2)),
        (real(2, 3), (None, (1, 1)), "constant", 1),
        (real(2, 3), (1, 1), {"value": 1.0}),
        (real(4, 3), ((-1, -2), None)),
        (real(2, 3), ()),
        (real(), ()),
        (real(0, 3), ((1, 1), (0, 1))),
        (real(0, 3), (1, 1), "circular"),
        (real(3), (3, 3), "circular"),
        (real(1), (2, 2), "replicate"),
    ]


@derived(
    reference=_pad_reference,
    samples=_pad_samples,
    errors=(
        Bad("E4007", (_MATRIX, (1, 2, 3)), match="does not fit rank 2"),
        Bad("E4007", (_MATRIX, ((1, 2),)), match="does not fit rank 2"),
        Bad("E4007", (_VECTOR, (1, 1, 1, 1)), match="does not fit rank 1"),
        Bad("E2001", (_MATRIX, 1), match="tuple of ints or of pairs"),
        Bad("E2001", (_VECTOR, (1.5, 0)), match="is an int"),
        Bad("E2008", (_VECTOR, (1, 1)), {"mode": "mirror"}, match="mode 'mirror'"),
        Bad("E3006", (_VECTOR, (3, 0), "reflect"), match="more than 2 along axis 0"),
        Bad("E3006", (_VECTOR, (0, 4), "circular"), match="more than 3 along axis 0"),
        Bad("E3006", (np.ones(0), (1, 0), "replicate"), match="more than 0"),
        Bad("E3006", (_VECTOR, (-2, -2)), match="removes more"),
        Bad("E2006", (whole(3), (1, 1), "constant", 0.5), match="not a value of int64"),
        Bad("E2006", (np.ones(3, np.uint8), (1, 1), "constant", 300), match="uint8"),
        Bad("E2006", (_VECTOR, (1, 1), "constant", 1j), match="not a value"),
    ),
)
def pad(x: UOp, padding: Any, mode: str = "constant", value: Any = 0.0) -> UOp:
    """Elements added around the tensor, by one (before, after) or None per axis.

    A flat tuple is read as PyTorch does, last axis first. Negative amounts remove elements. Modes:
    constant, reflect, replicate, circular.
    """
    amounts = _amounts(x, padding)
    if mode != "constant" and mode not in _PADS:
        problem = f"mode {mode!r} is not one of constant, {', '.join(_PADS)}"
        raise ArgumentError("E2008", problem, op="pad")
    grow = [(max(b, 0), max(a, 0)) for b, a in amounts]
    if mode == "constant":
        before, after = [b for b, _ in grow], [a for _, a in grow]
        return padded(_cropped(x, amounts), before, after, None, _fill("pad", x.dtype, value))
    # A circle closes over what is left; mirrors and edges see the whole tensor first.
    y = _cropped(x, amounts) if mode == "circular" else x
    for axis, (b, a) in enumerate(grow):
        y = _PADS[mode](y, axis, b, a) if b or a else y
    return y if mode == "circular" else _cropped(y, amounts)


def _target(op: str, x: UOp, shape: tuple[Any, ...]) -> tuple[int, ...]:
    given = unpacked(shape)
    if len(given) != len(x.shape):
        problem = f"takes one size per axis: {len(x.shape)}, got {len(given)}"
        raise ShapeError("E3002", problem, op=op, x=x)
    sizes = [n if s is None else s for s, n in zip(given, x.shape, strict=True)]
    return checked_shape(op, sizes)


def _sizes(x: Array, shape: tuple[Any, ...]) -> list[int]:
    return [n if s is None else s for s, n in zip(listed(*shape), x.shape, strict=True)]


@derived(
    reference=lambda x, *shape: x[tuple(slice(s) for s in _sizes(x, shape))],
    samples=lambda: [(real(4, 3), 2, None), (real(4, 3), (4, 0)), (real(0, 3), 0, 2), (real(), ())],
    errors=(
        Bad("E3006", (_MATRIX, 2, 4), match="larger than the tensor"),
        Bad("E3002", (_MATRIX, 2), match="one size per axis"),
    ),
)
def shrink_to(x: UOp, *shape: Any) -> UOp:
    """The leading part of this shape; None keeps an axis."""
    target = _target("shrink_to", x, shape)
    if any(s > n for s, n in zip(target, x.shape, strict=True)):
        raise ShapeError("E3006", f"{list(target)} is larger than the tensor", op="shrink_to", x=x)
    return x.shrink([(0, s) for s in target])


def _pad_to_reference(x: Array, *shape: Any, value: Any = 0) -> Array:
    out = np.full(_sizes(x, shape), value, x.dtype)
    out[tuple(slice(n) for n in x.shape)] = x
    return out


@derived(
    reference=_pad_to_reference,
    samples=lambda: [
        (real(2, 3), 4, None),
        (real(2, 3), (2, 5), {"value": 1}),
        (real(0, 3), 2, 3),
        (real(), ()),
        (real(2), 4, {"value": 1.0}),
    ],
    errors=(
        Bad("E3006", (_MATRIX, 2, 2), match="smaller than the tensor"),
        Bad("E3002", (_MATRIX, 2), match="one size per axis"),
    ),
)
def pad_to(x: UOp, *shape: Any, value: Any = 0) -> UOp:
    """The tensor filled up at the end of each axis to this shape; None keeps an axis."""
    target = _target("pad_to", x, shape)
    after = [s - n for s, n in zip(target, x.shape, strict=True)]
    if min(after, default=0) < 0:
        raise ShapeError("E3006", f"{list(target)} is smaller than the tensor", op="pad_to", x=x)
    return padded(x, [0] * len(after), after, None, _fill("pad_to", x.dtype, value))
