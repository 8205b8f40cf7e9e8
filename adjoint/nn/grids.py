"""Pictures read at the points of a grid: `affine_grid` and `grid_sample`.

Points are (x, y) or (x, y, z) from -1 to 1: the last axis of the picture comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, ShapeError
from adjoint.nn.checks import check_float
from adjoint.tensor import Tensor

_MODES = ("bilinear", "nearest")
_PADDINGS = ("zeros", "border", "reflection")


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """The points that affine maps (N, 2, 3) or (N, 3, 4) give for the pixels of a picture.

    `size` is (N, C, H, W) or (N, C, D, H, W); the result is (N, H, W, 2) or (N, D, H, W, 3).
    """
    check_float("affine_grid", theta)
    n, space = len(size) - 2, tuple(size[2:])
    if n not in (2, 3) or theta.shape != (size[0], n, n + 1):
        problem = f"maps {list(theta.shape)} do not fit a picture of the size {list(size)}"
        fix = "give (N, 2, 3) for (N, C, H, W), or (N, 3, 4) for (N, C, D, H, W)"
        raise ShapeError("E3003", problem, op="affine_grid", theta=theta, help=fix)
    axes = np.meshgrid(*(_centres(extent, align_corners) for extent in space), indexing="ij")
    points = np.stack([*axes[::-1], np.ones(space)], -1).reshape(-1, n + 1)
    pixels = Tensor(points, device=theta.device, dtype=theta.dtype)
    return (pixels @ theta.mT).reshape(size[0], *space, n)


def _centres(extent: int, align_corners: bool) -> Any:
    """The coordinates of the pixels of an axis."""
    if align_corners:
        return np.linspace(-1, 1, extent) if extent > 1 else np.zeros(extent)
    return (2 * np.arange(extent) + 1) / extent - 1


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """(N, C, *space) read at the points of a grid (N, *shape, n), as (N, C, *shape).

    mode: "bilinear" (of 2 or 3 axes) or "nearest"
    padding_mode: what points outside read: "zeros", the nearest pixel of the "border", or the
        picture mirrored at its edges ("reflection")
    align_corners: whether -1 and 1 are the centres of the corner pixels, or their outer edges
    """
    _check(input, grid, mode, padding_mode)
    space, aligned = input.shape[2:], bool(align_corners)
    places = [_place(grid[..., -1 - a], extent, aligned) for a, extent in enumerate(space)]
    if padding_mode == "reflection":
        pairs = zip(places, space, strict=True)
        places = [_mirrored(p, extent, aligned) for p, extent in pairs]
    within = _or_outside if padding_mode == "zeros" else _at_border
    places = [within(p, extent) for p, extent in zip(places, space, strict=True)]
    if mode == "nearest":
        return _read(input, [p.round() for p in places])
    lower = [p.floor() for p in places]
    shares = [p - low for p, low in zip(places, lower, strict=True)]
    total: Tensor | None = None
    for corner in product((0, 1), repeat=len(space)):
        weight = _product([s if up else 1 - s for s, up in zip(shares, corner, strict=True)])
        value = _read(input, [low + up for low, up in zip(lower, corner, strict=True)])
        part = value * weight.unsqueeze(1)
        total = part if total is None else total + part
    assert total is not None
    return total


def _check(x: Tensor, grid: Tensor, mode: str, padding_mode: str) -> None:
    op = "grid_sample"
    check_float(op, x)
    check_float(op, grid)
    for name, value, known in (("mode", mode, _MODES), ("padding_mode", padding_mode, _PADDINGS)):
        if value not in known:
            problem = f"{name} {value!r} is not one of {', '.join(known)}"
            raise ArgumentError("E2008", problem, op=op)
    n = x.ndim - 2
    if n not in (2, 3) or grid.ndim != x.ndim or grid.shape[-1] != n:
        problem = "takes (N, C, H, W) with (N, H, W, 2), or (N, C, D, H, W) with (N, D, H, W, 3)"
        raise ShapeError("E3002", problem, op=op, input=x, grid=grid)
    if grid.shape[0] != x.shape[0]:
        raise ShapeError("E3003", "the batch sizes differ", op=op, input=x, grid=grid)
    if 0 in x.shape[2:]:
        raise ShapeError("E3006", "an axis in space is empty", op=op, input=x)


def _place(coordinate: Tensor, extent: int, aligned: bool) -> Tensor:
    """The place of a coordinate among the pixels of an axis."""
    if aligned:
        return (coordinate + 1) / 2 * (extent - 1)
    return ((coordinate + 1) * extent - 1) / 2


def _or_outside(place: Tensor, extent: int) -> Tensor:
    """The place, or one that reads zeros for all that are far outside, infinite or NaN."""
    return ((place > -2) & (place < extent + 1)).where(place, -2)


def _at_border(place: Tensor, extent: int) -> Tensor:
    return place.clip(0, extent - 1)


def _mirrored(place: Tensor, extent: int, aligned: bool) -> Tensor:
    """The place inside, mirrored at the centres (aligned) or at the outer edges of the ends."""
    low, span = (0.0, extent - 1.0) if aligned else (-0.5, float(extent))
    if not span:
        return place * 0
    apart = (place - low).abs()
    turns = (apart / span).floor()
    rest = apart - turns * span
    return (turns % 2).eq(0).where(rest + low, span - rest + low)


def _product(factors: Sequence[Tensor]) -> Tensor:
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


def _read(x: Tensor, places: Sequence[Tensor]) -> Tensor:
    """The pixels at whole places (N, *shape) per axis, as (N, C, *shape); outside they are 0."""
    n, channels, *space = x.shape
    inside: Any = None
    index: Any = 0
    for place, extent in zip(places, space, strict=True):
        held = (place >= 0) & (place <= extent - 1)  # False for NaN
        inside = held if inside is None else inside & held
        index = index * extent + held.where(place, 0).cast("int64")
    flat = x.reshape(n, channels, prod(space))
    where = index.reshape(n, 1, -1).expand(n, channels, prod(index.shape[1:]))
    found = flat.gather(2, where).reshape(n, channels, *index.shape[1:])
    return inside.unsqueeze(1).where(found, 0)
