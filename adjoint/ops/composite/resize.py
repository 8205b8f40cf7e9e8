"""Images of another size: interpolation, and channels traded for pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, ShapeError
from adjoint.ir.dtype import accumulator, dtypes, to_float
from adjoint.ir.opdef import Bad, composite, derived
from adjoint.ir.precision import full
from adjoint.ir.uop import UOp
from adjoint.ops.composite.unfold import each, per_axis
from adjoint.ops.indexing import gathered, positions
from adjoint.ops.movement import inverse
from adjoint.ops.samples import real

Array = np.ndarray[Any, Any]


def taken(x: UOp, axis: int, index: UOp) -> UOp:
    """x at an array of positions along one axis; the index's axes take that axis's place."""
    y = gathered(x, (index,), (axis,))
    k = index.ndim
    order = (*range(k, k + axis), *range(k), *range(k + axis, y.ndim))
    return y.permute(order)


_MODES = ("linear", "nearest", "nearest-exact")


def _interpolate_reference(
    x: Array, size: Any, mode: str = "linear", align_corners: bool = False
) -> Array:
    """Every element of the result from its position in the input."""
    sizes = each(size, 1)
    lead, extents = x.ndim - len(sizes), x.shape[x.ndim - len(sizes) :]
    out = np.zeros((*x.shape[:lead], *sizes))
    for at in np.ndindex(*sizes):
        total = np.zeros(x.shape[:lead])
        sources = [
            _source(*axis, mode, align_corners) for axis in zip(at, extents, sizes, strict=True)
        ]
        for corner in np.ndindex(*map(len, sources)):
            picks = [s[c] for s, c in zip(sources, corner, strict=True)]
            total = total + x[(..., *(p[0] for p in picks))] * prod(p[1] for p in picks)
        out[(..., *at)] = total
    return np.rint(out).astype(x.dtype) if x.dtype.kind in "iu" else out


def _source(i: int, n: int, m: int, mode: str, corners: bool) -> list[tuple[int, float]]:
    """(position, weight) of the elements that element i of m is made of."""
    if mode != "linear":
        return [((2 * i + 1) * n // (2 * m) if mode == "nearest-exact" else i * n // m, 1.0)]
    real_place = i * (n - 1) / max(m - 1, 1) if corners else max((i + 0.5) * n / m - 0.5, 0.0)
    low = min(int(real_place), n - 1)
    high = min(low + 1, n - 1)
    return [(low, 1 - (real_place - low)), (high, real_place - low)]


def _nearest(x: UOp, sizes: Sequence[int], exact: bool) -> UOp:
    """The last axes at the nearest positions."""
    first = x.ndim - len(sizes)
    found: dict[int, UOp] = {}
    for axis, size in enumerate(sizes, first):
        n = x.shape[axis]
        if size % n == 0:
            x = _repeated(x, axis, size // n)
            continue
        at = _places(size, n, x.device)
        found[axis] = (at * 2 + 1) * n // (2 * size) if exact else at * n // size
    return _taken_together(x, found) if found else x


def _taken_together(x: UOp, found: dict[int, UOp]) -> UOp:
    """x at positions along several axes, by one gather: gathers one after another would leave rows
    far apart in memory."""
    count = len(found)
    shapes = [[1] * i + [-1] + [1] * (count - i - 1) for i in range(count)]
    indices = (at.reshape(shape) for at, shape in zip(found.values(), shapes, strict=True))
    y = gathered(x, tuple(indices), tuple(found))
    others = (axis for axis in range(x.ndim) if axis not in found)
    return y.permute(inverse((*found, *others)))


def _places(size: int, n: int, device: Any) -> UOp:
    """0 … size-1, in a dtype that holds twice as many times n."""
    at = positions(size, 0, 1, device)
    return at if (2 * size + 1) * n <= dtypes.int32.max else at.cast(dtypes.int64)


def _interpolated(x: UOp, axis: int, size: int, align_corners: bool) -> UOp:
    n = x.shape[axis]
    if n == size:
        return x
    at = _places(size, n, x.device)
    top, bottom = (
        (at * (n - 1), max(size - 1, 1)) if align_corners else ((at * 2 + 1) * n - size, 2 * size)
    )
    top = top.maximum(0)
    low = top // bottom
    share = ((top % bottom).cast(x.dtype) / bottom).reshape(size, *[1] * (x.ndim - axis - 1))
    return taken(x, axis, low) * (1 - share) + taken(x, axis, (low + 1).minimum(n - 1)) * share


def _repeated(x: UOp, axis: int, count: int) -> UOp:
    """Every element of an axis so many times in turn."""
    before, n, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    apart = x.reshape(*before, n, 1, *after).expand((*before, n, count, *after))
    return apart.reshape(*before, n * count, *after)


@composite(
    reference=_interpolate_reference,
    samples=lambda: [
        (real(2, 5), (3,)),
        (real(2, 3), (7,)),
        (real(1, 3, 4), (5, 2)),
        (real(1, 3, 4), (2, 4)),
        (real(1, 2, 3, 2), (3, 2, 4)),
        (real(3), (1,)),
        (real(1, 3, 4), (5, 2), "linear", True),
        (real(3), (1,), "linear", True),
        (real(1, 1), (4,)),
        (real(1, 3, 4), (5, 3), "nearest"),
        (real(1, 3, 4), (2, 7), "nearest-exact"),
        (real(0, 3), (5,)),
        (real(2, 3), 5),
    ],
    kinds="iuf",
    errors=(
        Bad("E2008", (real(2, 3), (2,), "cubic"), match="cubic"),
        Bad("E2008", (real(2, 3), (2,), "nearest", True), match="align_corners"),
        Bad("E3002", (real(3), (2, 2)), match="rank 1"),
        Bad("E3006", (real(2, 3), (0,)), match="size"),
        Bad("E3006", (np.zeros((2, 0)), (3,)), match="empty"),
    ),
    precision=full,
)
def interpolate(x: UOp, size: Any, mode: str = "linear", align_corners: bool = False) -> UOp:
    """The last axes resized to `size`; linear in n axes is bilinear, trilinear and so on.

    `mode` is "linear", "nearest" or "nearest-exact"; with `align_corners` the outermost elements
    keep their place. Integers are rounded to the nearest.
    """
    op, count = "interpolate", 1 if isinstance(size, int) else len(size)
    if mode not in _MODES or (align_corners and mode != "linear"):
        which = ", ".join(_MODES)
        problem = f"mode {mode!r} is not one of {which}, or align_corners is set without linear"
        raise ArgumentError("E2008", problem, op=op)
    if not 1 <= count <= x.ndim:
        raise ShapeError("E3002", f"a size of {count} axes does not fit rank {x.ndim}", op=op, x=x)
    if 0 in x.shape[x.ndim - count :]:
        raise ShapeError("E3006", "a resized axis is empty", op=op, x=x)
    sizes = per_axis(op, "size", size, count, 1, "E3006")
    if mode != "linear":
        return _nearest(x, sizes, mode == "nearest-exact")
    y = x.cast(to_float(accumulator(x.dtype)))
    for axis, extent in enumerate(sizes, x.ndim - count):
        y = _interpolated(y, axis, extent, align_corners)
    return (y if x.dtype.is_float else y.round()).cast(x.dtype)


def _pixel_shuffle_reference(x: Array, upscale_factor: int) -> Array:
    r = upscale_factor
    *lead, c, h, w = x.shape
    out = np.zeros((*lead, c // r**2, h * r, w * r), x.dtype)
    for k, i, j in np.ndindex(*out.shape[-3:]):
        out[..., k, i, j] = x[..., (k * r + i % r) * r + j % r, i // r, j // r]
    return out


def _check_shuffle(op: str, x: UOp, factor: Any, fits: Callable[[], bool], rule: str) -> None:
    if not isinstance(factor, int) or factor < 1:
        raise ShapeError("E3006", f"the factor {factor!r} is not a positive int", op=op)
    if x.ndim < 3:
        raise ShapeError("E3002", f"takes (..., C, H, W), not rank {x.ndim}", op=op, x=x)
    if not fits():
        raise ShapeError("E3003", rule, op=op, x=x)


@derived(
    reference=_pixel_shuffle_reference,
    samples=lambda: [
        (real(1, 4, 2, 3), 2),
        (real(8, 1, 2), 2),
        (real(2, 1, 2, 2), 1),
        (real(0, 4, 1, 2), 2),
    ],
    errors=(
        Bad("E3003", (real(1, 3, 2, 2), 2), match="multiple of 4"),
        Bad("E3002", (real(4, 2), 2), match="rank 2"),
        Bad("E3006", (real(4, 2, 2), 0), match="factor"),
    ),
)
def pixel_shuffle(x: UOp, upscale_factor: int) -> UOp:
    """(..., C r², H, W) as (..., C, H r, W r): channels become pixels."""
    r = upscale_factor
    rule = f"the channels are a multiple of {r * r if isinstance(r, int) else r}"
    _check_shuffle("pixel_shuffle", x, r, lambda: x.shape[-3] % (r * r) == 0, rule)
    *lead, c, h, w = x.shape
    n = len(lead)
    parts = x.reshape(*lead, c // (r * r), r, r, h, w)
    order = (*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return parts.permute(order).reshape(*lead, c // (r * r), h * r, w * r)


def _pixel_unshuffle_reference(x: Array, downscale_factor: int) -> Array:
    r = downscale_factor
    *lead, c, h, w = x.shape
    out = np.zeros((*lead, c * r**2, h // r, w // r), x.dtype)
    for k, i, j in np.ndindex(c, h, w):
        out[..., (k * r + i % r) * r + j % r, i // r, j // r] = x[..., k, i, j]
    return out


@derived(
    reference=_pixel_unshuffle_reference,
    samples=lambda: [
        (real(1, 1, 4, 6), 2),
        (real(2, 2, 4), 2),
        (real(2, 1, 2, 2), 1),
        (real(0, 1, 2, 4), 2),
    ],
    errors=(
        Bad("E3003", (real(1, 3, 3, 2), 2), match="multiples of 2"),
        Bad("E3002", (real(4, 2), 2), match="rank 2"),
    ),
)
def pixel_unshuffle(x: UOp, downscale_factor: int) -> UOp:
    """(..., C, H r, W r) as (..., C r², H, W): the inverse of `pixel_shuffle`."""
    r = downscale_factor
    rule = f"height and width are multiples of {r}"
    _check_shuffle("pixel_unshuffle", x, r, lambda: not (x.shape[-2] % r or x.shape[-1] % r), rule)
    *lead, c, h, w = x.shape
    n = len(lead)
    parts = x.reshape(*lead, c, h // r, r, w // r, r)
    order = inverse((*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return parts.permute(order).reshape(*lead, c * r * r, h // r, w // r)
