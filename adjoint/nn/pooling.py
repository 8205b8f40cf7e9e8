"""Pools: MaxPool and its inverse, AvgPool, LPPool and the adaptive forms in 1, 2, 3 dimensions.

Elsewhere: the ops (`ops/composite`).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, ShapeError
from adjoint.nn.checks import check_float, check_tensor
from adjoint.nn.spatial import Spatial
from adjoint.ops.composite.unfold import axis_windows, per_axis
from adjoint.tensor import Tensor


class _Pool(Spatial):
    """The kernel size, the stride and the padding of a pool."""

    _repr_fields: tuple[str, ...] = ("kernel_size", "stride", "padding", "ceil_mode")

    def _set_up(self, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool) -> None:
        op, n = type(self).__name__, self._rank
        self.kernel_size = per_axis(op, "kernel_size", kernel_size, n, 1, "E3006")
        chosen = self.kernel_size if stride is None else stride
        self.stride = per_axis(op, "stride", chosen, n, 1, "E3006")
        self.padding = per_axis(op, "padding", padding, n, 0, "E3006")
        self.ceil_mode = ceil_mode
        for pad, size in zip(self.padding, self.kernel_size, strict=True):
            if pad > size // 2:
                problem = f"padding {self.padding} is more than half of the kernel"
                fix = "pad at most half of each kernel size"
                raise ShapeError("E3006", problem, op=op, help=fix)


class _MaxPool(_Pool):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        self._set_up(kernel_size, stride, padding, ceil_mode)
        self.dilation = per_axis(type(self).__name__, "dilation", dilation, self._rank, 1, "E3006")
        self.return_indices = return_indices

    def forward(self, x: Tensor) -> Any:
        check_tensor(type(self).__name__, x)
        self._check_space(x)
        where = (self.kernel_size, self.stride, self.dilation, self.padding, self.ceil_mode)
        return x.max_pool2d(*where, self.return_indices)


class MaxPool1d(_MaxPool, rank=1):
    """The largest element of each window of (N, C, L) or (C, L)."""


class MaxPool2d(_MaxPool, rank=2):
    """The largest element of each window of (N, C, H, W) or (C, H, W)."""


class MaxPool3d(_MaxPool, rank=3):
    """The largest element of each window of (N, C, D, H, W) or (C, D, H, W)."""


class _MaxUnpool(_Pool):
    """The elements that a max pool found, at their places; zeros elsewhere."""

    _repr_fields = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0):
        self._set_up(kernel_size, stride, padding, False)

    def forward(self, x: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        check_tensor(type(self).__name__, x)
        check_tensor(type(self).__name__, indices)
        self._check_space(x)
        sizes = None if output_size is None else tuple(output_size)[-self._rank :]
        where = (self.kernel_size, self.stride, 1, self.padding, sizes)
        return x.max_unpool2d(indices, *where)


class MaxUnpool1d(_MaxUnpool, rank=1):
    """The elements of (N, C, L) or (C, L) at the places that `MaxPool1d` gave, zeros elsewhere."""


class MaxUnpool2d(_MaxUnpool, rank=2):
    """The elements of (N, C, H, W) or (C, H, W) at the places that `MaxPool2d` gave, zeros
    elsewhere."""


class MaxUnpool3d(_MaxUnpool, rank=3):
    """The elements of (N, C, D, H, W) or (C, D, H, W) at the places that `MaxPool3d` gave, zeros
    elsewhere."""


class _AvgPool(_Pool):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ):
        self._set_up(kernel_size, stride, padding, ceil_mode)
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override
        if divisor_override is not None and divisor_override < 1:
            problem = f"divisor_override is at least 1, not {divisor_override}"
            raise ShapeError("E3006", problem, op=type(self).__name__)

    def forward(self, x: Tensor) -> Tensor:
        check_float(type(self).__name__, x)
        self._check_space(x)
        where = (self.kernel_size, self.stride, 1, self.padding, self.ceil_mode)
        if self.divisor_override is None:
            return x.avg_pool2d(*where, self.count_include_pad)
        return x.avg_pool2d(*where, False) * self._counts(x) / self.divisor_override

    def _counts(self, x: Tensor) -> Tensor:
        """How many elements of the input each window holds."""
        counts = np.ones(())
        axes = zip(x.shape[-self._rank :], self.kernel_size, self.stride, self.padding, strict=True)
        for n, k, s, p in axes:
            windows = axis_windows(n, k, s, 1, (p, p), self.ceil_mode)
            held = [sum(0 <= place < n for place in window) for window in windows]
            counts = np.multiply.outer(counts, held)
        return Tensor(counts, device=x.device, dtype=x.dtype)


class AvgPool1d(_AvgPool, rank=1):
    """The mean of each window of (N, C, L) or (C, L)."""


class AvgPool2d(_AvgPool, rank=2):
    """The mean of each window of (N, C, H, W) or (C, H, W)."""


class AvgPool3d(_AvgPool, rank=3):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W)."""


class _LPPool(_Pool):
    """(Σ xᵖ)^(1/p) of each window; where the sum is 0, so is the gradient."""

    _repr_fields = ("norm_type", "kernel_size", "stride", "ceil_mode")

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ):
        if not norm_type > 0:
            problem = f"norm_type is above 0, not {norm_type}"
            raise ArgumentError("E2006", problem, op=type(self).__name__)
        self.norm_type = float(norm_type)
        self._set_up(kernel_size, stride, 0, ceil_mode)

    def forward(self, x: Tensor) -> Tensor:
        check_float(type(self).__name__, x)
        self._check_space(x)
        means = (x**self.norm_type).avg_pool2d(self.kernel_size, self.stride, 1, 0, self.ceil_mode)
        totals = means * prod(self.kernel_size)
        live = totals.ne(0)
        return live.where(live.where(totals, 1) ** (1 / self.norm_type), 0)


class LPPool1d(_LPPool, rank=1):
    """(Σ xᵖ)^(1/p) over each window of (N, C, L) or (C, L)."""


class LPPool2d(_LPPool, rank=2):
    """(Σ xᵖ)^(1/p) over each window of (N, C, H, W) or (C, H, W)."""


class LPPool3d(_LPPool, rank=3):
    """(Σ xᵖ)^(1/p) over each window of (N, C, D, H, W) or (C, D, H, W)."""


class _Adaptive(Spatial):
    """Windows that divide each spatial axis into parts of nearly equal size."""

    _op = ""
    _repr_fields = ("output_size",)

    def __init_subclass__(cls, op: str = "", **named: Any) -> None:
        super().__init_subclass__(**named)
        cls._op = op or cls._op

    def __init__(self, output_size: Any):
        op, n = type(self).__name__, self._rank
        alike = output_size is None or isinstance(output_size, int)
        sizes = (output_size,) * n if alike else tuple(output_size)
        if len(sizes) != n:
            problem = f"output_size {sizes} has {len(sizes)} values for {n} axes"
            raise ArgumentError("E2007", problem, op=op)
        for size in sizes:
            if size is not None and (not isinstance(size, int) or size < 1):
                problem = f"output_size is numbers above 0, or None to keep a size, not {size!r}"
                raise ArgumentError("E2008", problem, op=op)
        self.output_size = sizes

    def forward(self, x: Tensor) -> Any:
        op, n = type(self).__name__, self._rank
        check_float(op, x)
        self._check_space(x)
        if 0 in x.shape[-n:]:
            raise ShapeError("E3006", "an axis in space is empty", op=op, x=x)
        found = x.shape[-n:]
        kept = zip(self.output_size, found, strict=True)
        sizes = tuple(size if out is None else out for out, size in kept)
        if all(size % out == 0 for size, out in zip(found, sizes, strict=True)):
            kernel = tuple(size // out for size, out in zip(found, sizes, strict=True))
            return getattr(x, self._op)(kernel)
        for axis, out in enumerate(sizes, start=x.ndim - n):
            x = _PARTS[self._op](x, axis, out)
        return x


def _split(x: Tensor, axis: int, out: int) -> tuple[Tensor, Any, Any]:
    """The parts of an axis along a new one after it, which of their places are real, how many.

    Shorter parts repeat their last element.
    """
    n = x.shape[axis]
    starts = [i * n // out for i in range(out)]
    ends = [-(-(i + 1) * n // out) for i in range(out)]
    longest = max(e - s for s, e in zip(starts, ends, strict=True))
    places = [
        [min(s + k, e - 1) for k in range(longest)] for s, e in zip(starts, ends, strict=True)
    ]
    inside = [[s + k < e for k in range(longest)] for s, e in zip(starts, ends, strict=True)]
    index = Tensor(np.array(places).reshape(-1), device=x.device)
    shape = (*x.shape[:axis], out, longest, *x.shape[axis + 1 :])
    return x.index_select(axis, index).reshape(*shape), np.array(inside), np.subtract(ends, starts)


def _means(x: Tensor, axis: int, out: int) -> Tensor:
    parts, inside, counts = _split(x, axis, out)
    after = [1] * (x.ndim - axis - 1)
    real = Tensor(inside.reshape(*inside.shape, *after), device=x.device)
    count = Tensor(counts.reshape(-1, *after), device=x.device, dtype=x.dtype)
    return real.where(parts, 0).sum(axis + 1) / count


def _largest(x: Tensor, axis: int, out: int) -> Tensor:
    return _split(x, axis, out)[0].max(axis + 1)


_PARTS = {"avg_pool2d": _means, "max_pool2d": _largest}


class AdaptiveAvgPool1d(_Adaptive, op="avg_pool2d", rank=1):
    """Means of (N, C, L) or (C, L) over `output_size` parts."""


class AdaptiveAvgPool2d(_Adaptive, op="avg_pool2d", rank=2):
    """Means of (N, C, H, W) or (C, H, W) over `output_size` parts of each axis; None keeps it."""


class AdaptiveAvgPool3d(_Adaptive, op="avg_pool2d", rank=3):
    """Means of (N, C, D, H, W) or (C, D, H, W) over `output_size` parts of each axis."""


class AdaptiveMaxPool1d(_Adaptive, op="max_pool2d", rank=1):
    """Largest elements of (N, C, L) or (C, L) in `output_size` parts."""


class AdaptiveMaxPool2d(_Adaptive, op="max_pool2d", rank=2):
    """Largest elements of (N, C, H, W) or (C, H, W) in `output_size` parts of each axis."""


class AdaptiveMaxPool3d(_Adaptive, op="max_pool2d", rank=3):
    """Largest elements of (N, C, D, H, W) or (C, D, H, W) in `output_size` parts of each axis."""
