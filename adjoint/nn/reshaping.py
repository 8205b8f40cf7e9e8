"""Layers that only move or repeat elements: Flatten, Unflatten, Upsample, the shuffles."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, ShapeError
from adjoint.ir.dtype import dtypes, promote
from adjoint.nn.checks import check_positive, check_rank, check_tensor
from adjoint.nn.module import Module
from adjoint.tensor import Tensor


class Flatten(Module):
    """Merges the axes from `start_dim` to `end_dim` into one."""

    _repr_fields = ("start_dim", "end_dim")

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        check_tensor("Flatten", x)
        return x.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """Splits the axis `dim` into axes of these sizes; one of them may be -1."""

    _repr_fields = ("dim", "unflattened_size")

    def __init__(self, dim: int, unflattened_size: Sequence[int]):
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x: Tensor) -> Tensor:
        check_tensor("Unflatten", x)
        sizes, known = self.unflattened_size, prod(n for n in self.unflattened_size if n != -1)
        fits = -x.ndim <= self.dim < x.ndim and sizes.count(-1) <= 1
        whole = x.shape[self.dim] if fits else 0
        if not fits or (whole % max(known, 1) if -1 in sizes else whole != known):
            problem = f"axis {self.dim} cannot be taken apart into {list(sizes)}"
            raise ShapeError("E3007", problem, op="Unflatten", x=x)
        return x.unflatten(self.dim, sizes)


class Upsample(Module):
    """Resizes (N, C, *spatial) to a size or by a factor: nearest, linear, bilinear, trilinear.

    A factor is the distance of elements, even if the resulting size is rounded down.
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
    ):
        if (size is None) == (scale_factor is None):
            raise ArgumentError("E2007", "takes either size or scale_factor", op="Upsample")
        if mode not in ("nearest", "linear", "bilinear", "trilinear"):
            problem = f"mode {mode!r} is not nearest, linear, bilinear or trilinear"
            raise ArgumentError("E2008", problem, op="Upsample")
        self.size = tuple(size) if isinstance(size, (list, tuple)) else size
        factors = isinstance(scale_factor, (list, tuple))
        self.scale_factor = tuple(scale_factor) if factors else scale_factor
        self.mode, self.align_corners = mode, bool(align_corners)

    def forward(self, x: Tensor) -> Tensor:
        check_tensor("Upsample", x)
        if not 3 <= x.ndim <= 5:
            problem = f"takes (N, C, *spatial) of rank 3 to 5, got rank {x.ndim}"
            raise ShapeError("E3002", problem, op="Upsample", x=x)
        mode = "nearest" if self.mode == "nearest" else "linear"
        n = x.ndim - 2
        if self.size is not None:
            sizes = self.size if isinstance(self.size, tuple) else (self.size,) * n
            return x.interpolate(sizes, mode, self.align_corners)
        factors = self._factors(x, n)
        wanted = [size * f for size, f in zip(x.shape[2:], factors, strict=True)]
        sizes = tuple(map(int, wanted))
        if self.align_corners or sizes == tuple(wanted):
            return x.interpolate(sizes, mode, self.align_corners)
        return _scaled(x, sizes, factors, mode)

    def _factors(self, x: Tensor, n: int) -> tuple[float, ...]:
        given = self.scale_factor
        factors = given if isinstance(given, tuple) else (given,) * n
        if len(factors) != n:
            raise ShapeError("E3002", f"{len(factors)} factors for {n} axes", op="Upsample", x=x)
        return factors

    def extra_repr(self) -> str:
        way = f"size={self.size}" if self.size is not None else f"scale_factor={self.scale_factor}"
        return f"{way}, mode={self.mode!r}"


class _Upsampling2d(Upsample):
    """(N, C, H, W) enlarged in one way."""

    def forward(self, x: Tensor) -> Tensor:
        check_tensor(type(self).__name__, x)
        check_rank(type(self).__name__, x, (4,), "(N, C, H, W)")
        return super().forward(x)


class UpsamplingNearest2d(_Upsampling2d):
    """Resizes (N, C, H, W) to a size or by a factor; each element is the nearest one."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(_Upsampling2d):
    """Resizes (N, C, H, W) to a size or by a factor: bilinear, with the corners aligned."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor, "bilinear", align_corners=True)


def _scaled(x: Tensor, sizes: Sequence[int], factors: Sequence[float], mode: str) -> Tensor:
    """The last axes resized, with elements as far apart as the factors say."""
    if 0 in sizes or 0 in x.shape[2:]:
        raise ShapeError("E3006", "a resized axis is empty", op="Upsample", x=x)
    y = x.cast(promote(x.dtype, dtypes.float32)) if mode == "linear" else x
    for axis, (size, factor) in enumerate(zip(sizes, factors, strict=True), 2):
        y = (_nearest if mode == "nearest" else _between)(y, axis, size, factor)
    return y if mode == "nearest" or x.dtype.is_float else y.round().cast(x.dtype)


def _nearest(x: Tensor, axis: int, size: int, factor: float) -> Tensor:
    n, numbers = x.shape[axis], np.arange(size)
    if x.ndim == 4 and size in (n, 2 * n):
        places = numbers * n // size  # torch knows these sizes, of images
    else:  # and rounds others in float32
        places = (numbers.astype(np.float32) * np.float32(1 / factor)).astype(np.int64)
    return x.index_select(axis, _index(places, x, axis))


def _between(x: Tensor, axis: int, size: int, factor: float) -> Tensor:
    if size == x.shape[axis]:
        return x
    place = np.maximum((np.arange(size) + 0.5) / factor - 0.5, 0)
    low = np.minimum(place.astype(np.int64), x.shape[axis] - 1)
    share = Tensor(place - low, dtype=x.dtype, device=x.device)
    share = share.reshape(size, *[1] * (x.ndim - axis - 1))
    first, second = (x.index_select(axis, _index(at, x, axis)) for at in (low, low + 1))
    return first * (1 - share) + second * share


def _index(places: Any, x: Tensor, axis: int) -> Tensor:
    """Places along an axis, those behind its end at the end."""
    return Tensor(np.minimum(places, x.shape[axis] - 1), device=x.device)


class PixelShuffle(Module):
    """(*, C r², H, W) as (*, C, H r, W r)."""

    _repr_fields = ("upscale_factor",)

    def __init__(self, upscale_factor: int):
        self.upscale_factor = upscale_factor

    def forward(self, x: Tensor) -> Tensor:
        check_tensor("PixelShuffle", x)
        return x.pixel_shuffle(self.upscale_factor)


class PixelUnshuffle(Module):
    """(*, C, H r, W r) as (*, C r², H, W): the inverse of `PixelShuffle`."""

    _repr_fields = ("downscale_factor",)

    def __init__(self, downscale_factor: int):
        self.downscale_factor = downscale_factor

    def forward(self, x: Tensor) -> Tensor:
        check_tensor("PixelUnshuffle", x)
        return x.pixel_unshuffle(self.downscale_factor)


class ChannelShuffle(Module):
    """The channels (axis 1) of the groups, interleaved: the first of each group, the second, …"""

    _repr_fields = ("groups",)

    def __init__(self, groups: int):
        check_positive("ChannelShuffle", groups=groups)
        self.groups = groups

    def forward(self, x: Tensor) -> Tensor:
        check_tensor("ChannelShuffle", x)
        if x.ndim < 3:
            problem = f"takes (N, C, *) of rank 3 or more, got rank {x.ndim}"
            raise ShapeError("E3002", problem, op="ChannelShuffle", x=x)
        n, channels, *space = x.shape
        if channels % self.groups:
            problem = f"{channels} channels are no multiple of {self.groups} groups"
            raise ShapeError("E3003", problem, op="ChannelShuffle", x=x)
        parts = x.reshape(n, self.groups, channels // self.groups, *space)
        return parts.transpose(1, 2).reshape(*x.shape)
