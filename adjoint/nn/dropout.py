"""Dropout: while training, parts of the input are 0 at random and the rest is scaled up."""

from __future__ import annotations

from adjoint.nn.checks import check_float, check_probability
from adjoint.nn.module import Module
from adjoint.nn.spatial import Spatial
from adjoint.tensor import Tensor


class Dropout(Module):
    """Each element is 0 with probability p while training, and else divided by 1 - p."""

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
    """Whole channels of (N, C, L) or (C, L) are 0 at random while training."""


class Dropout2d(_ChannelDropout, rank=2):
    """Whole channels of (N, C, H, W) or (C, H, W) are 0 at random while training."""


class Dropout3d(_ChannelDropout, rank=3):
    """Whole channels of (N, C, D, H, W) or (C, D, H, W) are 0 at random while training."""
