"""Layers that only move elements: Flatten, Unflatten, Upsample and PixelShuffle."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from adjoint.errors import ArgumentError, ShapeError
from adjoint.nn.checks import check_tensor
from adjoint.nn.module import Module
from adjoint.tensor import Tensor


class Flatten(Module):
    """The axes from `start_dim` to `end_dim` as one."""

    _repr_fields = ("start_dim", "end_dim")

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        check_tensor("Flatten", x)
        return x.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """The axis `dim` as several, of these sizes; one of them may be -1."""

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
    """(N, C, *spatial) enlarged to a size or by a factor: nearest, linear, bilinear, trilinear."""

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
        return x.interpolate(self._sizes(x), mode, self.align_corners)

    def _sizes(self, x: Tensor) -> tuple[int, ...]:
        n = x.ndim - 2
        if self.size is not None:
            return self.size if isinstance(self.size, tuple) else (self.size,) * n
        given = self.scale_factor
        factors = given if isinstance(given, tuple) else (given,) * n
        if len(factors) != n:
            raise ShapeError("E3002", f"{len(factors)} factors for {n} axes", op="Upsample", x=x)
        return tuple(int(size * f) for size, f in zip(x.shape[2:], factors, strict=True))

    def extra_repr(self) -> str:
        way = f"size={self.size}" if self.size is not None else f"scale_factor={self.scale_factor}"
        return f"{way}, mode={self.mode!r}"


class PixelShuffle(Module):
    """(*, C r², H, W) as (*, C, H r, W r)."""

    _repr_fields = ("upscale_factor",)

    def __init__(self, upscale_factor: int):
        self.upscale_factor = upscale_factor

    def forward(self, x: Tensor) -> Tensor:
        check_tensor("PixelShuffle", x)
        return x.pixel_shuffle(self.upscale_factor)
