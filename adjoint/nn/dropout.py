"""Dropout: while training, parts of the input are 0 at random and the rest is scaled up.

What may live here: layers that draw random numbers in `forward`.
"""

from __future__ import annotations

from adjoint.nn.checks import check_float, check_probability, check_rank
from adjoint.nn.module import Module
from adjoint.tensor import Tensor


class Dropout(Module):
    """Each element is 0 with probability p while training, and else divided by 1 - p."""

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        self.p, self.inplace = check_probability(type(self).__name__, p), inplace

    def forward(self, x: Tensor) -> Tensor:
        check_float(type(self).__name__, x)
        with Tensor.train(self.training):
            y = x.dropout(self.p)
        return y

    def extra_repr(self) -> str:
        return f"p={self.p}"


class _ChannelDropout(Dropout):
    """Whole channels at a time."""

    _ranks: tuple[int, int] = (2, 3)
    _layout = ""

    def forward(self, x: Tensor) -> Tensor:
        op = type(self).__name__
        check_float(op, x)
        check_rank(op, x, self._ranks, self._layout)
        channels = x.shape[: x.ndim - (self._ranks[1] - 2)]
        ones = Tensor.ones(*channels, dtype=x.dtype, device=x.device)
        with Tensor.train(self.training):
            keep = ones.dropout(self.p)
        return x * keep.reshape(*channels, *[1] * (x.ndim - len(channels)))


class Dropout1d(_ChannelDropout):
    """Whole channels of (N, C, L) or (C, L) are 0 at random while training."""

    _ranks, _layout = (2, 3), "(N, C, L) or (C, L)"


class Dropout2d(_ChannelDropout):
    """Whole channels of (N, C, H, W) or (C, H, W) are 0 at random while training."""

    _ranks, _layout = (3, 4), "(N, C, H, W) or (C, H, W)"


class Dropout3d(_ChannelDropout):
    """Whole channels of (N, C, D, H, W) or (C, D, H, W) are 0 at random while training."""

    _ranks, _layout = (4, 5), "(N, C, D, H, W) or (C, D, H, W)"
