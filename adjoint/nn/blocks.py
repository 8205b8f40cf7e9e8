"""Sliding blocks as columns, and back: Unfold and Fold.

Fold is Unfold transposed, so overlapping blocks add up.
"""

from __future__ import annotations

from typing import Any

from adjoint.errors import ArgumentError, ShapeError
from adjoint.nn.checks import check_float, check_rank, check_tensor
from adjoint.nn.module import Module
from adjoint.tensor import Tensor
from adjoint.transforms.reverse import vjp


def _pair(op: str, name: str, value: Any, least: int) -> tuple[int, int]:
    pair = (value, value) if isinstance(value, int) else tuple(value)
    if len(pair) != 2 or any(isinstance(n, bool) or not isinstance(n, int) for n in pair):
        problem = f"{name} is a whole number or two of them, not {value!r}"
        raise ArgumentError("E2008", problem, op=op)
    if min(pair) < least:
        raise ArgumentError("E2006", f"{name} is {least} or more, not {value!r}", op=op)
    return pair


def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """The sliding blocks of (N, C, H, W) as the columns of (N, C kh kw, L)."""
    op = "unfold"
    check_tensor(op, input)
    check_rank(op, input, (3, 4), "(N, C, H, W) or (C, H, W)")
    (kh, kw), (dh, dw) = (
        _pair(op, "kernel_size", kernel_size, 1),
        _pair(op, "dilation", dilation, 1),
    )
    (ph, pw), (sh, sw) = _pair(op, "padding", padding, 0), _pair(op, "stride", stride, 1)
    x = (input if input.ndim == 4 else input.unsqueeze(0)).pad((pw, pw, ph, ph))
    high, wide = (kh - 1) * dh + 1, (kw - 1) * dw + 1
    if x.shape[2] < high or x.shape[3] < wide:
        problem = f"a block of {high} × {wide} does not fit into {x.shape[2]} × {x.shape[3]}"
        raise ShapeError("E3006", problem, op=op, x=input)
    blocks = x.unfold(2, high, sh).unfold(3, wide, sw)[..., ::dh, ::dw]
    n, c, rows, columns = blocks.shape[:4]
    y = blocks.permute(0, 1, 4, 5, 2, 3).reshape(n, c * kh * kw, rows * columns)
    return y if input.ndim == 4 else y.squeeze(0)


def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """The columns of (N, C kh kw, L) added up at their places in (N, C, H, W)."""
    op = "fold"
    check_float(op, input)
    check_rank(op, input, (2, 3), "(N, C kh kw, L) or (C kh kw, L)")
    size, (kh, kw) = (
        _pair(op, "output_size", output_size, 1),
        _pair(op, "kernel_size", kernel_size, 1),
    )
    if input.shape[-2] % (kh * kw):
        problem = f"{input.shape[-2]} rows are not a multiple of the {kh * kw} of a block"
        raise ShapeError("E3007", problem, op=op, x=input)
    shape = (*input.shape[:-2], input.shape[-2] // (kh * kw), *size)
    blank = Tensor.zeros(shape, dtype=input.dtype, device=input.device)
    columns, back = vjp(lambda x: unfold(x, kernel_size, dilation, padding, stride), blank)
    if columns.shape != input.shape:
        problem = f"{list(size)} has {columns.shape[-1]} blocks, there are {input.shape[-1]}"
        raise ShapeError("E3003", problem, op=op, x=input)
    (y,) = back(input)
    return y


class Unfold(Module):
    """The sliding blocks of (N, C, H, W) as the columns of (N, C kh kw, L)."""

    _repr_fields: tuple[str, ...] = ("kernel_size", "dilation", "padding", "stride")

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, x: Tensor) -> Tensor:
        return unfold(x, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Unfold):
    """The columns of (N, C kh kw, L) added up at their places in (N, C, H, W)."""

    _repr_fields = ("output_size", *Unfold._repr_fields)

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ):
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, x: Tensor) -> Tensor:
        options = self.kernel_size, self.dilation, self.padding, self.stride
        return fold(x, self.output_size, *options)
