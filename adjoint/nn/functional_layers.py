"""Layers as functions, with the options of `torch.nn.functional`: pools, norms, resizing.

Each function makes the layer or calls the op of its name. Elsewhere: `functional.py`, which has the
others and which users import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.errors import ArgumentError, ShapeError
from adjoint.nn import activation, dropout, pooling, reshaping
from adjoint.nn.checks import check_axis, check_float, check_rank
from adjoint.nn.linear import Bilinear
from adjoint.nn.normalisation import (
    BatchNorm,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LocalResponseNorm,
    RMSNorm,
)
from adjoint.tensor import Tensor

_INSTANCE_NORMS = (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d)

# ---- pools


def _named(function: Callable[..., Any], name: str, like: Any) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = like.__doc__
    return function


def _max_pool(rank: int) -> Callable[..., Any]:
    layer = getattr(pooling, f"MaxPool{rank}d")

    def function(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return layer(kernel_size, stride, padding, dilation, return_indices, ceil_mode)(input)

    return _named(function, f"max_pool{rank}d", layer)


def _avg_pool(rank: int) -> Callable[..., Tensor]:
    layer = getattr(pooling, f"AvgPool{rank}d")

    def function(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        options = ceil_mode, count_include_pad, divisor_override
        y: Tensor = layer(kernel_size, stride, padding, *options)(input)
        return y

    return _named(function, f"avg_pool{rank}d", layer)


def _max_unpool(rank: int) -> Callable[..., Tensor]:
    layer = getattr(pooling, f"MaxUnpool{rank}d")

    def function(
        input: Tensor,
        indices: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Tensor:
        y: Tensor = layer(kernel_size, stride, padding)(input, indices, output_size)
        return y

    return _named(function, f"max_unpool{rank}d", layer)


def _lp_pool(rank: int) -> Callable[..., Tensor]:
    layer = getattr(pooling, f"LPPool{rank}d")

    def function(
        input: Tensor,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        y: Tensor = layer(norm_type, kernel_size, stride, ceil_mode)(input)
        return y

    return _named(function, f"lp_pool{rank}d", layer)


def _adaptive(kind: str, rank: int) -> Callable[..., Tensor]:
    layer = getattr(pooling, f"Adaptive{kind}Pool{rank}d")

    def function(input: Tensor, output_size: Any) -> Tensor:
        y: Tensor = layer(output_size)(input)
        return y

    return _named(function, f"adaptive_{kind.lower()}_pool{rank}d", layer)


max_pool1d, max_pool2d, max_pool3d = map(_max_pool, (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = map(_avg_pool, (1, 2, 3))
max_unpool1d, max_unpool2d, max_unpool3d = map(_max_unpool, (1, 2, 3))
lp_pool1d, lp_pool2d, lp_pool3d = map(_lp_pool, (1, 2, 3))
adaptive_avg_pool1d, adaptive_max_pool1d = _adaptive("Avg", 1), _adaptive("Max", 1)
adaptive_avg_pool2d, adaptive_max_pool2d = _adaptive("Avg", 2), _adaptive("Max", 2)
adaptive_avg_pool3d, adaptive_max_pool3d = _adaptive("Avg", 3), _adaptive("Max", 3)


# ---- activations with options


def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """x where it is positive, else α(exp(x / α) - 1)."""
    return activation.CELU(alpha)(input)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """x limited to [`min_val`, `max_val`]."""
    return activation.Hardtanh(min_val, max_val)(input)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x outside ±λ, else 0."""
    return activation.Hardshrink(lambd)(input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by λ, and 0 within ±λ."""
    return activation.Softshrink(lambd)(input)


def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """x above the threshold, else the value."""
    return activation.Threshold(threshold, value)(input)


def softmin(input: Tensor, dim: int) -> Tensor:
    """`softmax` of -x along an axis; `dim` is required."""
    return activation.Softmin(dim)(input)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x above 0, weight · x below; one weight, or one per channel (axis 1)."""
    check_float("prelu", input)
    if weight.numel() != 1:
        check_axis("prelu", input, min(1, input.ndim - 1), weight.numel(), "channels")
    return input.prelu(weight)


def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """A differentiable sample from the classes; with `hard`, one-hot, with the gradient of the soft
    sample."""
    check_float("gumbel_softmax", logits)
    noise = -(-logits.detach().rand_like().log()).log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    best = soft.argmax(dim, keepdim=True)
    picked = soft.zeros_like().scatter(dim, best, 1.0)
    return picked + (soft - soft.detach())


# ---- norms


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises channels by the running statistics; during training by the batch's, with which it
    updates the running ones."""
    check_float("batch_norm", input)
    layer = BatchNorm(input.shape[1] if input.ndim > 1 else 1, eps, momentum, False, False)
    layer.weight, layer.bias = weight, bias
    layer.running_mean, layer.running_var = running_mean, running_var
    if running_mean is not None:
        layer.num_batches_tracked = Tensor(0, device=input.device, requires_grad=False)
    return layer.train(training)(input)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises groups of channels of (N, C, *) to mean 0 and variance 1; weight, bias per
    channel."""
    check_float("group_norm", input)
    layer = GroupNorm(num_groups, input.shape[1] if input.ndim > 1 else 1, eps, affine=False)
    layer.weight, layer.bias = weight, bias
    return layer(input)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each sample of (N, C, *) with mean 0 and variance 1; weight and bias per
    channel. Without `use_input_stats` the running statistics take the place of the sample's."""
    check_float("instance_norm", input)
    check_rank("instance_norm", input, (3, 4, 5), "(N, C, *)")
    if not use_input_stats and (running_mean is None or running_var is None):
        problem = "needs running_mean and running_var without use_input_stats"
        raise ArgumentError("E2007", problem, op="instance_norm")
    layer = _INSTANCE_NORMS[input.ndim - 3](input.shape[1], eps, momentum)
    layer.affine, layer.weight, layer.bias = weight is not None, weight, bias
    layer.running_mean, layer.running_var = running_mean, running_var
    if running_mean is not None:
        layer.track_running_stats = True
        layer.num_batches_tracked = Tensor(0, device=input.device, requires_grad=False)
    return layer.train(use_input_stats)(input)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """x / (k + alpha · m)^beta, where m is the mean square of `size` neighbouring channels."""
    return LocalResponseNorm(size, alpha, beta, k)(input)


def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Normalises the last axes, of this shape, to mean square 1; then weight."""
    layer = RMSNorm(normalized_shape, eps, elementwise_affine=False)
    layer.weight = weight
    return layer(input)


# ---- convolutions and sizes


def _transposed(rank: int) -> Callable[..., Tensor]:
    op = f"conv_transpose{rank}d"

    def function(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        check_float(op, input)
        if weight.ndim != rank + 2 or input.ndim not in (rank + 1, rank + 2):
            operands = [("input", input), ("weight", weight)]
            raise ShapeError("E3002", f"takes {rank} spatial axes", op=op, operands=operands)
        batch = input if input.ndim == rank + 2 else input.unsqueeze(0)
        where = groups, stride, dilation, padding, output_padding
        y = batch.conv_transpose2d(weight, bias, *where)
        return y if input.ndim == rank + 2 else y.squeeze(0)

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"The adjoint of `conv{rank}d`: (N, C, *) with (C, out / groups, *)."
    return function


conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_transposed, (1, 2, 3))


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Resizes (N, C, *spatial) to a size or by a factor: nearest, linear, bilinear, trilinear."""
    return reshaping.Upsample(size, scale_factor, mode, align_corners)(input)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(*, C r², H, W) as (*, C, H r, W r)."""
    return reshaping.PixelShuffle(upscale_factor)(input)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(*, C, H r, W r) as (*, C r², H, W)."""
    return reshaping.PixelUnshuffle(downscale_factor)(input)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels (axis 1) of the groups, interleaved."""
    return reshaping.ChannelShuffle(groups)(input)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[k] @ input2` for each output k, plus bias; the weight is (out, in1, in2)."""
    if weight.ndim != 3:
        problem = f"the weight is (out, in1, in2), not of rank {weight.ndim}"
        raise ShapeError("E3002", problem, op="bilinear", weight=weight)
    layer = Bilinear(weight.shape[1], weight.shape[2], weight.shape[0], bias=False)
    layer.weight, layer.bias = weight, bias
    return layer(input1, input2)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last axis."""
    return x1.pairwise_distance(x2, p, eps, keepdim)


def _channel_dropout(rank: int) -> Callable[..., Tensor]:
    layer = getattr(dropout, f"Dropout{rank}d")

    def function(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
        y: Tensor = layer(p).train(training)(input)
        return y

    return _named(function, f"dropout{rank}d", layer)


dropout1d, dropout2d, dropout3d = map(_channel_dropout, (1, 2, 3))


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False) -> Tensor:
    """Dropout for SELU: it keeps the mean 0 and the variance 1 of its input."""
    return dropout.AlphaDropout(p).train(training)(input)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels of (N, C, *)."""
    return dropout.FeatureAlphaDropout(p).train(training)(input)


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "celu",
    "channel_shuffle",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardtanh",
    "instance_norm",
    "interpolate",
    "local_response_norm",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "prelu",
    "rms_norm",
    "softmin",
    "softshrink",
    "threshold",
]
