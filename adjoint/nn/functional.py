"""Layers as functions, under the names and with the options of `torch.nn.functional`.

Each function calls the op or the loss of its name, with torch's defaults where the op has others
(`gelu`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.errors import ArgumentError, ShapeError
from adjoint.nn.blocks import fold, unfold
from adjoint.nn.checks import check_float, check_tensor
from adjoint.nn.ctc import ctc_loss
from adjoint.nn.embedding_bag import embedding_bag
from adjoint.nn.functional_layers import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    alpha_dropout,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    batch_norm,
    bilinear,
    celu,
    channel_shuffle,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
    group_norm,
    gumbel_softmax,
    hardshrink,
    hardtanh,
    instance_norm,
    interpolate,
    local_response_norm,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
    pairwise_distance,
    pixel_shuffle,
    pixel_unshuffle,
    prelu,
    rms_norm,
    softmin,
    softshrink,
    threshold,
)
from adjoint.nn.grids import affine_grid, grid_sample
from adjoint.nn.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cross_entropy,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    multi_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from adjoint.tensor import Tensor
from adjoint.tensor.types import DTypeLike

# ---- activations


def _activation(name: str, doc: str) -> Callable[..., Tensor]:
    def function(input: Tensor, inplace: bool = False) -> Tensor:
        check_tensor(name, input)
        _no_writing(name, inplace)
        y: Tensor = getattr(input, name)()
        return y

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _no_writing(op: str, inplace: bool) -> None:
    if inplace:
        fix = f"write x = {op}(x): nothing is copied"
        raise ArgumentError("E2008", "inplace=True has no meaning here", op=op, help=fix)


relu = _activation("relu", "max(x, 0).")
relu6 = _activation("relu6", "min(max(x, 0), 6).")
silu = _activation("silu", "x σ(x).")
mish = _activation("mish", "x tanh(softplus(x)).")
hardswish = _activation("hardswish", "x min(max(x + 3, 0), 6) / 6.")
hardsigmoid = _activation("hardsigmoid", "min(max(x / 6 + ½, 0), 1).")
tanh = _activation("tanh", "Hyperbolic tangent.")
sigmoid = _activation("sigmoid", "1 / (1 + e⁻ˣ).")
logsigmoid = _activation("logsigmoid", "log σ(x).")
softsign = _activation("softsign", "x / (1 + |x|).")
tanhshrink = _activation("tanhshrink", "x - tanh(x).")


def selu(input: Tensor) -> Tensor:
    """Scaled ELU, with the constants to sixteen digits."""
    check_float("selu", input)
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return scale * input.elu(alpha)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x Φ(x): exact by default, or the tanh form."""
    return input.gelu(approximate)


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """x where it is positive, else a fraction of it."""
    return input.leaky_relu(negative_slope)


def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """x where it is positive, else α(eˣ - 1)."""
    return input.elu(alpha)


def softplus(input: Tensor, beta: float = 1.0) -> Tensor:
    """log(1 + eᵝˣ) / β."""
    return input.softplus(beta)


def softmax(input: Tensor, dim: int, dtype: DTypeLike | None = None) -> Tensor:
    """exp(x) / Σ exp(x) along an axis; `dim` is required."""
    return input.softmax(dim, dtype)


def log_softmax(input: Tensor, dim: int, dtype: DTypeLike | None = None) -> Tensor:
    """The logarithm of `softmax`."""
    return input.log_softmax(dim, dtype)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half times the sigmoid of the second."""
    return input.glu(dim)


# ---- products


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input · weightᵀ + bias, for a weight (out, in) as torch has it."""
    check_float("linear", input)
    check_float("linear", weight)
    if weight.ndim == 2:
        return input.linear(weight.mT, bias)
    y = (input * weight).sum(-1)
    return y if bias is None else y + bias


def _convolution(spatial: int) -> Callable[..., Tensor]:
    op = f"conv{spatial}d"

    def function(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        check_float(op, input)
        if weight.ndim != spatial + 2 or input.ndim not in (spatial + 1, spatial + 2):
            operands = [("input", input), ("weight", weight)]
            raise ShapeError("E3002", f"takes {spatial} spatial axes", op=op, operands=operands)
        batch = input if input.ndim == spatial + 2 else input.unsqueeze(0)
        y = batch.conv2d(weight, bias, groups, stride, dilation, padding)
        return y if input.ndim == spatial + 2 else y.squeeze(0)

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"Convolution over {spatial} axes: (N, C, *) with (out, in / groups, *)."
    return function


conv1d, conv2d, conv3d = _convolution(1), _convolution(2), _convolution(3)


def embedding(input: Tensor, weight: Tensor) -> Tensor:
    """Rows of the weight by index."""
    return weight[input]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
) -> Tensor:
    """softmax(q kᵀ / √d) v."""
    return query.scaled_dot_product_attention(key, value, attn_mask, dropout_p, is_causal)


# ---- shapes, norms and chance


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Padding of the last axes: (left, right, top, bottom, …)."""
    return input.pad(tuple(pad), mode, 0.0 if value is None else value)


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises the last axes, of this shape, to mean 0 and variance 1; then weight, bias."""
    sizes = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if input.shape[input.ndim - len(sizes) :] != sizes:
        raise ShapeError("E3003", f"the last axes are {list(sizes)}", op="layer_norm", input=input)
    y = input.layernorm(tuple(range(-len(sizes), 0)), eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """The input divided by its norm along an axis."""
    return input.normalize(p, dim, eps)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Adds a last axis: 1 at the class, 0 elsewhere."""
    return tensor.one_hot(num_classes)


def dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """During training, sets elements to 0 with probability p and scales the others up."""
    with Tensor.train(training):
        y = input.dropout(p)
    return y


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along an axis."""
    return x1.cosine_similarity(x2, dim, eps)


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "rms_norm",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
]
