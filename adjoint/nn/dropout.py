"""Dropout: during training, random elements become 0 and the others are scaled up."""

from __future__ import annotations

from adjoint.errors import ShapeError
from adjoint.nn.checks import check_float, check_probability
from adjoint.nn.module import Module
from adjoint.nn.spatial import Spatial
from adjoint.tensor import Tensor


class Dropout(Module):
    """During training, zeroes each element with probability p and divides the others by 1 - p."""

    _repr_fields = ("p",)

    def __init__(self, p: float = 0.5, inplace: bool = False):
        self.p, self.inplace = check_probability(type(self).__name__, p), inplace

    def forward(self, x: Tensor) -> Tensor:
        check_float(type(self).__name__, x)
        with Tensor.train(self.training):
            y = x.dropout(self.p)
        return y


class _ChannelDropout(Dropout, Spatial):
    """Whole channels at a time."""

    def forward(self, x: Tensor) -> Tensor:
        check_float(type(self).__name__, x)
        self._check_space(x)
        channels = x.shape[: x.ndim - self._rank]
        ones = Tensor.ones(*channels, dtype=x.dtype, device=x.device)
        with Tensor.train(self.training):
            keep = ones.dropout(self.p)
        return x * keep.reshape(*channels, *[1] * (x.ndim - len(channels)))


class Dropout1d(_ChannelDropout, rank=1):
    """Whole channels of (N, C, L) or (C, L) are set to 0 at random during training."""


class Dropout2d(_ChannelDropout, rank=2):
    """Whole channels of (N, C, H, W) or (C, H, W) are set to 0 at random during training."""


class Dropout3d(_ChannelDropout, rank=3):
    """Whole channels of (N, C, D, H, W) or (C, D, H, W) are set to 0 at random during training."""


_FLOOR = -1.7580993408473766  # what SELU tends to at -inf: dropped elements have this value


class AlphaDropout(Dropout):
    """Dropout for SELU: it keeps the mean 0 and the variance 1 of its input.

    While training, each element becomes SELU's negative limit with probability p; then all are
    scaled and shifted.
    """

    def forward(self, x: Tensor) -> Tensor:
        check_float(type(self).__name__, x)
        if not self.training or self.p == 0:
            return x
        if self.p == 1:
            return x * 0
        scale = ((1 - self.p) * (1 + self.p * _FLOOR**2)) ** -0.5
        kept = self._kept(x)
        return kept.where(x, _FLOOR) * scale - scale * _FLOOR * self.p

    def _kept(self, x: Tensor) -> Tensor:
        """Where elements stay."""
        return x.detach().rand_like() >= self.p


class FeatureAlphaDropout(AlphaDropout):
    """`AlphaDropout` of whole channels of (N, C, *)."""

    def _kept(self, x: Tensor) -> Tensor:
        if x.ndim < 2:
            problem = f"takes (N, C, *) of rank 2 or more, got rank {x.ndim}"
            raise ShapeError("E3002", problem, op="FeatureAlphaDropout", x=x)
        channels = Tensor.rand(*x.shape[:2], device=x.device) >= self.p
        return channels.reshape(*x.shape[:2], *[1] * (x.ndim - 2))
