"""Normalisations: BatchNorm, InstanceNorm (with running statistics), LayerNorm, RMSNorm, GroupNorm.

Elsewhere: the ops (`ops/composite`).
"""

from __future__ import annotations

from math import prod
from typing import Any

from adjoint.errors import ArgumentError, ShapeError
from adjoint.ir.dtype import dtypes, promote
from adjoint.nn import init
from adjoint.nn.checks import check_axis, check_float, check_positive, check_rank
from adjoint.nn.module import Module
from adjoint.nn.running_statistics import update_buffers
from adjoint.nn.spatial import Spatial
from adjoint.tensor import Tensor
from adjoint.tensor.array_api import finfo
from adjoint.tensor.types import DTypeLike


def _affine(
    shape: tuple[int, ...],
    scales: bool,
    shifts: bool,
    device: str | tuple[str, ...] | None,
    dtype: DTypeLike | None,
) -> tuple[Tensor | None, Tensor | None]:
    """A weight of ones and a bias of zeros, where they are wanted."""
    weight = init.ones(shape, device=device, dtype=dtype).requires_grad_() if scales else None
    bias = init.zeros(shape, device=device, dtype=dtype).requires_grad_() if shifts else None
    return weight, bias


class _RunningNorm(Module):
    """What batch and instance norm share: weight, bias and running statistics per channel."""

    _buffers = ("running_mean", "running_var", "num_batches_tracked")
    _repr_fields = ("eps", "momentum", "affine", "track_running_stats")
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        check_positive(type(self).__name__, num_features=num_features)
        _check_order(type(self).__name__, eps, momentum, affine, track_running_stats)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.weight, self.bias = _affine((num_features,), affine, affine, device, dtype)
        self.reset_running_stats(device, dtype)

    def reset_running_stats(
        self, device: str | tuple[str, ...] | None = None, dtype: DTypeLike | None = None
    ) -> None:
        """Reset the running statistics to mean 0 and variance 1."""
        self.running_mean = self.running_var = self.num_batches_tracked = None
        if self.track_running_stats:
            made: dict[str, Any] = {"device": device, "dtype": dtype}
            self.running_mean = init.zeros(self.num_features, **made).requires_grad_(False)
            self.running_var = init.ones(self.num_features, **made).requires_grad_(False)
            count = init.zeros((), device=device, dtype=dtypes.int64)
            self.num_batches_tracked = count.requires_grad_(False)

    def _spread_known(self, x: Tensor, count: int) -> None:
        if count == 1:
            problem = "one value per channel has no variance"
            fix = "give a larger batch, or .eval() a layer that has running statistics"
            raise ShapeError("E3006", problem, op=type(self).__name__, x=x, help=fix)

    def _keep(self, mean: Tensor, var: Tensor, factor: Any) -> None:
        """Move the running statistics towards those of a batch."""
        if self.running_mean is not None and self.running_var is not None:
            old = (self.running_mean, self.running_var)
            pairs = zip(old, (mean, var), strict=True)
            new = [(1 - factor) * was + factor * now for was, now in pairs]
            update_buffers(type(self).__name__, old, new)

    def extra_repr(self) -> str:
        return f"{self.num_features}, {super().extra_repr()}"


def _check_order(op: str, eps: Any, momentum: Any, *flags: Any) -> None:
    """Other libraries have other orders of these options: numbers are no flags."""
    numbers = {"eps": eps, "momentum": 0.0 if momentum is None else momentum}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            fix = "name the options: momentum=0.1, affine=True"
            raise ArgumentError("E2001", f"{name} is a number, not {value!r}", op=op, help=fix)
    if not all(isinstance(flag, bool) for flag in flags):
        problem = f"affine and track_running_stats are True or False, not {flags}"
        raise ArgumentError("E2001", problem, op=op)


def _moments(x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """The mean and the (biased) variance along axes, which stay as 1, in float32 or wider."""
    wide = x.cast(dtypes.float32) if x.dtype.itemsize < 4 else x
    mean = wide.mean(axes, keepdim=True)
    centred = wide - mean
    return mean, (centred * centred).mean(axes, keepdim=True)


class _BatchNorm(_RunningNorm):
    _ranks: tuple[int, ...] = ()
    _layout = ""

    def forward(self, x: Tensor) -> Tensor:
        op = type(self).__name__
        check_float(op, x)
        check_rank(op, x, self._ranks, self._layout)
        check_axis(op, x, 1, self.num_features, "channels")
        wide = x.cast(promote(x.dtype, dtypes.float32))
        if self.running_mean is None or self.running_var is None or self.training:
            y = self._by_batch(wide)
        else:
            mean, scale = self.running_mean, (self.running_var + self.eps).rsqrt()
            known = mean.cast(wide.dtype), scale.cast(wide.dtype)
            y = wide.batchnorm(self.weight, self.bias, *known)
        return y.cast(x.dtype) if x.dtype.itemsize < 4 else y

    def _by_batch(self, x: Tensor) -> Tensor:
        """By the statistics of the batch, whose gradient is that of `layernorm`: two means."""
        axes = (0, *range(2, x.ndim))
        count = prod(x.shape[a] for a in axes)
        self._spread_known(x, count)
        self._track(x, axes, count)
        y, shape = x.layernorm(axes, self.eps), (self.num_features, *[1] * (x.ndim - 2))
        y = y if self.weight is None else y * self.weight.reshape(shape)
        return y if self.bias is None else y + self.bias.reshape(shape)

    def _track(self, x: Tensor, axes: tuple[int, ...], count: int) -> None:
        """The running statistics move towards those of the batch."""
        if self.training and self.num_batches_tracked is not None:
            mean, var = (m.reshape(-1) for m in _moments(x, axes))
            batches = self.num_batches_tracked + 1
            update_buffers(type(self).__name__, [self.num_batches_tracked], [batches])
            factor = 1 / batches.cast(mean.dtype) if self.momentum is None else self.momentum
            self._keep(mean.detach(), var.detach() * (count / max(count - 1, 1)), factor)


class BatchNorm(_BatchNorm):
    """`BatchNorm1d` for (N, C, *) of any rank."""

    _ranks, _layout = tuple(range(2, 10)), "(N, C, *)"


class BatchNorm1d(_BatchNorm):
    """Normalises each channel of (N, C) or (N, C, L) to mean 0 and variance 1 over the batch.

    Training updates the running statistics (by `momentum`; None: the average of all batches), which
    evaluation uses.
    """

    _ranks, _layout = (2, 3), "(N, C) or (N, C, L)"


class BatchNorm2d(_BatchNorm):
    """`BatchNorm1d` for (N, C, H, W)."""

    _ranks, _layout = (4,), "(N, C, H, W)"


class BatchNorm3d(_BatchNorm):
    """`BatchNorm1d` for (N, C, D, H, W)."""

    _ranks, _layout = (5,), "(N, C, D, H, W)"


class _InstanceNorm(_RunningNorm, Spatial):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        check_float(type(self).__name__, x)
        self._check_space(x)
        batched = x.ndim == self._rank + 2
        axis = 1 if batched else 0
        if self.affine or self.track_running_stats:
            check_axis(type(self).__name__, x, axis, self.num_features, "channels")
        y = self._normalised(x if batched else x.reshape(1, *x.shape))
        return y if batched else y.reshape(*x.shape)

    def _normalised(self, x: Tensor) -> Tensor:
        y: Tensor
        if self.running_mean is not None and self.running_var is not None and not self.training:
            scale = (self.running_var + self.eps).rsqrt()
            y = x.batchnorm(self.weight, self.bias, self.running_mean, scale)
            return y
        count = prod(x.shape[2:])
        self._spread_known(x, count)
        if self.training:
            mean, var = (m.mean(0).reshape(-1) for m in _moments(x, tuple(range(2, x.ndim))))
            unbiased = var.detach() * (count / max(count - 1, 1))
            self._keep(mean.detach(), unbiased, self.momentum or 0.0)
        y = x.instance_norm(self.weight, self.bias, self.eps)
        return y


class InstanceNorm1d(_InstanceNorm, rank=1):
    """Normalises each channel of each sample of (N, C, L) or (C, L) to mean 0 and variance 1."""


class InstanceNorm2d(_InstanceNorm, rank=2):
    """`InstanceNorm1d` for (N, C, H, W) or (C, H, W)."""


class InstanceNorm3d(_InstanceNorm, rank=3):
    """`InstanceNorm1d` for (N, C, D, H, W) or (C, D, H, W)."""


def _last_axes(op: str, x: Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that a norm over a shape works on."""
    check_float(op, x)
    if x.shape[-len(shape) :] != shape:
        problem = f"takes inputs that end in {list(shape)}, got {list(x.shape)}"
        raise ShapeError("E3003", problem, op=op, x=x)
    return tuple(range(-len(shape), 0))


def _shape_of(op: str, normalized_shape: Any) -> tuple[int, ...]:
    whole = isinstance(normalized_shape, int)
    shape = (normalized_shape,) if whole else tuple(normalized_shape)
    if not shape:
        raise ShapeError("E3002", "normalized_shape names at least one axis", op=op)
    for size in shape:
        check_positive(op, normalized_shape=size)
    return shape


class LayerNorm(Module):
    """Normalises the last axes (`normalized_shape`) to mean 0 and variance 1; then weight, bias."""

    _repr_fields = ("eps", "elementwise_affine")

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        self.normalized_shape = _shape_of("LayerNorm", normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        wanted = (elementwise_affine, elementwise_affine and bias)
        self.weight, self.bias = _affine(self.normalized_shape, *wanted, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        y = x.layernorm(_last_axes("LayerNorm", x, self.normalized_shape), self.eps)
        y = y if self.weight is None else y * self.weight
        return y if self.bias is None else y + self.bias

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, {super().extra_repr()}"


class RMSNorm(Module):
    """Normalises the last axes (`normalized_shape`) to mean square 1; then weight.

    The default of `eps` is the machine epsilon of the input's dtype.
    """

    _repr_fields = ("eps", "elementwise_affine")

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        self.normalized_shape = _shape_of("RMSNorm", normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        wanted = (elementwise_affine, False)
        self.weight, _ = _affine(self.normalized_shape, *wanted, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        axes = _last_axes("RMSNorm", x, self.normalized_shape)
        eps = finfo(x.dtype).eps if self.eps is None else self.eps
        y = x.rmsnorm(axes, eps)
        return y if self.weight is None else y * self.weight

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, {super().extra_repr()}"


class GroupNorm(Module):
    """Normalises groups of channels of (N, C, *) to mean 0 and variance 1; weight, bias per
    channel."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        check_positive("GroupNorm", num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups:
            problem = f"{num_channels} channels do not divide into {num_groups} groups"
            raise ShapeError("E3003", problem, op="GroupNorm")
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        self.weight, self.bias = _affine((num_channels,), affine, affine, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        check_float("GroupNorm", x)
        check_axis("GroupNorm", x, 1, self.num_channels, "channels")
        return x.group_norm(self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class LocalResponseNorm(Module):
    """x / (k + alpha · m)^beta, where m is the mean square of `size` neighbouring channels.

    The channels are axis 1; channels beyond either end count as 0.
    """

    _repr_fields = ("size", "alpha", "beta", "k")

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0):
        check_positive("LocalResponseNorm", size=size)
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, x: Tensor) -> Tensor:
        check_float("LocalResponseNorm", x)
        if x.ndim < 3:
            problem = f"takes (N, C, *) of rank 3 or more, got rank {x.ndim}"
            raise ShapeError("E3002", problem, op="LocalResponseNorm", x=x)
        n, channels = x.shape[:2]
        squares = x.square().reshape(n, 1, channels, prod(x.shape[2:]))
        ends = (self.size // 2, (self.size - 1) // 2)
        near = squares.pad((None, None, ends, None)).avg_pool2d((self.size, 1), 1)
        return x / (near.reshape(*x.shape) * self.alpha + self.k) ** self.beta
