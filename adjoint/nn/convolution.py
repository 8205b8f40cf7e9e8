"""Convolutions and transposed convolutions in 1, 2 and 3 dimensions.

Elsewhere: the ops (`ops/composite`), pools.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any

from adjoint.errors import ArgumentError, ShapeError
from adjoint.nn.checks import check_axis, check_float, check_positive
from adjoint.nn.linear import uniform_start
from adjoint.nn.spatial import Spatial
from adjoint.ops.composite.unfold import per_axis
from adjoint.tensor import Tensor
from adjoint.tensor.types import DTypeLike

_MODES = ("zeros", "reflect", "replicate", "circular")


class _Conv(Spatial):
    """What all convolutions share: sizes, weights, checks."""

    _transposed = False

    def _set_up(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        output_padding: Any,
        dilation: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: str | tuple[str, ...] | None,
        dtype: DTypeLike | None,
    ) -> None:
        op, n = type(self).__name__, self._rank
        check_positive(op, in_channels=in_channels, out_channels=out_channels, groups=groups)
        _check_groups(op, in_channels, out_channels, groups)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = per_axis(op, "kernel_size", kernel_size, n)
        self.stride = per_axis(op, "stride", stride, n)
        self.dilation = per_axis(op, "dilation", dilation, n)
        self.padding = self._checked_padding(op, padding)
        self.output_padding = per_axis(op, "output_padding", output_padding, n, 0)
        self.padding_mode = self._checked_mode(op, padding_mode)
        outer, inner = (in_channels, out_channels)[:: 1 if self._transposed else -1]
        shape = (outer, inner // groups, *self.kernel_size)
        bound = 1 / sqrt(prod(shape[1:]))
        start = uniform_start(shape, out_channels, bound, bias, device, dtype)
        self.weight, self.bias = start

    def _checked_padding(self, op: str, padding: Any) -> str | tuple[int, ...]:
        if not isinstance(padding, str) or self._transposed:
            return per_axis(op, "padding", padding, self._rank, 0)
        if padding not in ("same", "valid"):
            problem = f"padding {padding!r} is not 'same', 'valid' or numbers"
            raise ArgumentError("E2008", problem, op=op)
        if padding == "same" and any(s != 1 for s in self.stride):
            problem = f"padding 'same' needs stride 1, not {self.stride}"
            raise ShapeError("E3006", problem, op=op, help="give the padding in numbers")
        return padding

    def _checked_mode(self, op: str, mode: str) -> str:
        known = ("zeros",) if self._transposed else _MODES
        if mode not in known:
            problem = f"padding_mode {mode!r} is not one of {', '.join(known)}"
            raise ArgumentError("E2008", problem, op=op)
        return mode

    def _check(self, x: Tensor) -> None:
        op = type(self).__name__
        check_float(op, x)
        self._check_space(x)
        check_axis(op, x, -self._rank - 1, self.in_channels, "channels")

    def extra_repr(self) -> str:
        ones, none = (1,) * self._rank, (0,) * self._rank
        options = {
            "padding": (self.padding, none),
            "output_padding": (self.output_padding, none),
            "dilation": (self.dilation, ones),
            "groups": (self.groups, 1),
            "bias": (self.bias is not None, True),
            "padding_mode": (self.padding_mode, "zeros"),
        }
        shown = [f"{name}={value!r}" for name, (value, usual) in options.items() if value != usual]
        sizes = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        return ", ".join([sizes, f"stride={self.stride}", *shown])


def _check_groups(op: str, in_channels: int, out_channels: int, groups: int) -> None:
    for name, count in (("in_channels", in_channels), ("out_channels", out_channels)):
        if count % groups:
            problem = f"{name}={count} does not divide into {groups} groups"
            raise ShapeError(
                "E3003", problem, op=op, help="groups divides both numbers of channels"
            )


class _Convolution(_Conv):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        shape = (in_channels, out_channels, kernel_size, stride, padding, 0, dilation)
        self._set_up(*shape, groups, bias, padding_mode, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        self._check(x)
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            sides = self._sides()
            x = x.pad([None] * (x.ndim - self._rank) + sides, mode=self.padding_mode)
            padding = 0
        steps = (self.stride, self.dilation, padding)
        return x.conv2d(self.weight, self.bias, self.groups, *steps)

    def _sides(self) -> list[Any]:
        """(before, after) of each axis in space."""
        if not isinstance(self.padding, str):
            return [(p, p) for p in self.padding]
        spans = zip(self.dilation, self.kernel_size, strict=True)
        more = [d * (k - 1) * (self.padding == "same") for d, k in spans]
        return [(m // 2, m - m // 2) for m in more]


class Conv1d(_Convolution, rank=1):
    """Convolution of (N, C, L) or (C, L); the weight is (out, in / groups, kernel).

    Weight and bias start uniform in ±1/√(in / groups · kernel).
    """


class Conv2d(_Convolution, rank=2):
    """Convolution of (N, C, H, W) or (C, H, W); the weight is (out, in / groups, *kernel).

    Weight and bias start uniform in ±1/√(in / groups · kernel's size).
    """


class Conv3d(_Convolution, rank=3):
    """Convolution of (N, C, D, H, W) or (C, D, H, W); the weight is (out, in / groups, *kernel)."""


class _Transposed(_Conv):
    _transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        shape = (in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation)
        self._set_up(*shape, groups, bias, padding_mode, device, dtype)

    def forward(self, x: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        self._check(x)
        extra = self.output_padding if output_size is None else self._extra(x, output_size)
        steps = (self.stride, self.dilation, self.padding, extra)
        return x.conv_transpose2d(self.weight, self.bias, self.groups, *steps)

    def _extra(self, x: Tensor, output_size: Sequence[int]) -> tuple[int, ...]:
        """The output padding that gives this size."""
        wanted = tuple(output_size)[-self._rank :]
        pads: Any = self.padding
        axes = zip(x.shape[-self._rank :], self.stride, pads, self.kernel_size, self.dilation)  # noqa: B905
        least = [(i - 1) * s - 2 * p + d * (k - 1) + 1 for i, s, p, k, d in axes]
        extra = tuple(w - n for w, n in zip(wanted, least, strict=False))
        bounds = zip(extra, self.stride, self.dilation, strict=False)
        if len(wanted) != self._rank or any(not 0 <= e < max(s, d) for e, s, d in bounds):
            most = [n + s - 1 for n, s in zip(least, self.stride, strict=True)]
            problem = f"output_size {wanted} is not between {least} and {most}"
            op, operands = type(self).__name__, [("x", x)]
            raise ShapeError("E3006", problem, op=op, operands=operands)
        return extra


class ConvTranspose1d(_Transposed, rank=1):
    """The adjoint of `Conv1d`: (N, C, L) or (C, L); the weight is (in, out / groups, kernel)."""


class ConvTranspose2d(_Transposed, rank=2):
    """The adjoint of `Conv2d`: (N, C, H, W) or (C, H, W).

    The weight is (in, out / groups, *kernel). `padding` is cut from the result, `output_padding`
    added after it.
    """


class ConvTranspose3d(_Transposed, rank=3):
    """The adjoint of `Conv3d`: (N, C, D, H, W) or (C, D, H, W)."""
