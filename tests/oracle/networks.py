"""How ours is called for torch's nn.functional; no torch, no Adjoint here.

Torch's convolutions and pools also take one item without its batch axis: `batched` adds the axis
and takes it away again.
"""

from __future__ import annotations

from typing import Any

from tests.oracle.elementwise import Call, Missing, each


def batched(rank: int, call: Call) -> Call:
    """A call for inputs of this rank, also for one item without the batch axis."""

    def wrapped(x: Any, *args: Any, **named: Any) -> Any:
        if x.ndim == rank:
            return call(x, *args, **named)
        result = call(x.unsqueeze(0), *args, **named)
        listed = result if isinstance(result, tuple) else (result,)
        return tuple(r.squeeze(0) for r in listed)

    return wrapped


def _conv(n: int) -> Call:
    def call(
        x: Any, w: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1,
    ) -> Any:  # fmt: skip
        if isinstance(padding, str):
            padding = _same(w.shape[2:], dilation) if padding == "same" else 0
        return x.conv2d(w, bias, groups, stride, dilation, padding)

    return batched(n + 2, call)


def _same(kernel: Any, dilation: Any) -> list[int]:
    """Padding that keeps the size, last axis first."""
    steps = dilation if isinstance(dilation, (tuple, list)) else [dilation] * len(kernel)
    if len(steps) == 1:
        steps = list(steps) * len(kernel)
    amounts = []
    for size, step in reversed(list(zip(kernel, steps, strict=True))):
        total = step * (size - 1)
        amounts += [total // 2, total - total // 2]
    return amounts


def _conv_transpose(n: int) -> Call:
    def call(
        x: Any, w: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> Any:  # fmt: skip
        return x.conv_transpose2d(w, bias, groups, stride, dilation, padding, output_padding)

    return batched(n + 2, call)


def _sizes(value: Any, n: int) -> Any:
    """One number for n axes; torch also takes a tuple of one."""
    if isinstance(value, (tuple, list)):
        return tuple(value) * n if len(value) == 1 else tuple(value)
    return value if value is None else (value,) * n


def _avg_pool(n: int) -> Call:
    def call(
        x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: Any = None,
    ) -> Any:  # fmt: skip
        if divisor_override is not None:
            raise Missing("avg_pool2d(divisor_override=)")
        kernel, step = _sizes(kernel_size, n), _sizes(stride or None, n)
        return x.avg_pool2d(kernel, step, 1, _sizes(padding, n), ceil_mode, count_include_pad)

    return batched(n + 2, call)


def _max_pool(n: int) -> Call:
    def call(
        x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        kernel, step = _sizes(kernel_size, n), _sizes(stride or None, n)
        return x.max_pool2d(kernel, step, dilation, padding, ceil_mode, return_indices)

    return batched(n + 2, call)


def _max_unpool(n: int) -> Call:
    def call(
        x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
        output_size: Any = None,
    ) -> Any:  # fmt: skip
        kernel, step = _sizes(kernel_size, n), _sizes(stride or None, n)
        return x.max_unpool2d(indices, kernel, step, 1, padding, output_size)

    def wrapped(x: Any, indices: Any, output_size: Any = None, **named: Any) -> Any:
        if x.ndim == n + 2:
            return call(x, indices, output_size=output_size, **named)
        one = call(x.unsqueeze(0), indices.unsqueeze(0), output_size=output_size, **named)
        return one.squeeze(0)

    return wrapped


def _adaptive(kind: str, n: int) -> Call:
    def call(x: Any, output_size: Any, return_indices: bool = False) -> Any:
        if return_indices:
            raise Missing("adaptive_max_pool2d(return_indices=True)")
        return getattr(x, f"adaptive_{kind}_pool{n}d")(output_size)

    return call


def _batch_norm(
    x: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    if training:
        axes = tuple(i for i in range(x.ndim) if i != 1)
        mean, var = x.mean(axes), x.var(axes, correction=0)
    else:
        mean, var = running_mean, running_var
    return x.batchnorm(weight, bias, mean, (var + eps).rsqrt())


def _instance_norm(
    x: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    return x.instance_norm(weight, bias, eps)


def _layer_norm(x: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    y = x.layernorm(tuple(range(-len(shape), 0)), eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _rms_norm(x: Any, shape: Any, weight: Any = None, eps: Any = None) -> Any:
    eps = 2.220446049250313e-16 if eps is None else eps  # torch's: the dtype's epsilon
    y = x.rmsnorm(tuple(range(-len(shape), 0)), eps)
    return y if weight is None else y * weight


def _interpolate(
    x: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: Any = None, recompute_scale_factor: Any = None,
) -> Any:  # fmt: skip
    spatial = x.shape[2:]
    if size is None:
        factors = _sizes(scale_factor, len(spatial))
        size = tuple(int(n * f) for n, f in zip(spatial, factors, strict=True))
        whole = all(n * f == m for n, f, m in zip(spatial, factors, size, strict=True))
        if not (whole or recompute_scale_factor or align_corners):
            raise Missing("interpolate(scale_factor=)")
    kind = "linear" if mode.endswith("linear") else mode
    return x.interpolate(_sizes(size, len(spatial)), kind, bool(align_corners))


def _attention(
    q: Any, k: Any, v: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    enable_gqa: bool = False,
) -> Any:  # fmt: skip
    if dropout_p:
        raise Missing("torch's random bits")
    return q.scaled_dot_product_attention(k, v, attn_mask, 0.0, is_causal, enable_gqa)


def _cross_entropy(
    x: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    if weight is not None and _is_float(target):
        raise Missing("cross_entropy(weight=)")
    if weight is not None or (
        not _is_float(target) and bool((target == ignore_index).any().item())
    ):
        axis = 1 if x.ndim > 1 else 0
        return x.log_softmax(axis).nll_loss(target, weight, ignore_index, reduction)
    return x.cross_entropy(target, reduction, label_smoothing)


def _is_float(x: Any) -> bool:
    return bool(x.is_floating_point())


def _nll_loss(
    x: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    return x.nll_loss(target, weight, ignore_index, reduction)


def _weighted(loss: Any, weight: Any, reduction: str) -> Any:
    loss = loss if weight is None else loss * weight
    return {"none": loss, "sum": loss.sum(), "mean": loss.mean()}[reduction]


def _bce(x: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    return _weighted(x.binary_crossentropy(target, "none"), weight, reduction)


def _bce_logits(
    x: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    loss = x.binary_crossentropy_logits(target, "none", pos_weight)
    return _weighted(loss, weight, reduction)


def _softplus(x: Any, beta: float = 1, threshold: float = 20) -> Any:
    return x.softplus(beta)


def _im2col(x: Any, kernel: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    return x.im2col(_sizes(kernel, 2), dilation, padding, stride)


SAME_NAME = """
    relu relu6 elu celu silu mish softsign logsigmoid hardsigmoid hardswish hardtanh
    hardshrink softshrink tanhshrink threshold glu prelu normalize cosine_similarity
    pairwise_distance pixel_shuffle pixel_unshuffle group_norm mse_loss l1_loss
    smooth_l1_loss huber_loss kl_div gaussian_nll_loss poisson_nll_loss hinge_embedding_loss
    margin_ranking_loss soft_margin_loss triplet_margin_loss
"""

_FUNCTIONS: dict[str, Call] = {
    **each(SAME_NAME),
    **{f"conv{n}d": _conv(n) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": _conv_transpose(n) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": _avg_pool(n) for n in (1, 2, 3)},
    **{f"max_pool{n}d": _max_pool(n) for n in (1, 2, 3)},
    **{f"max_unpool{n}d.grad": _max_unpool(n) for n in (1, 2, 3)},
    **{f"max_unpool{n}d": _max_unpool(n) for n in (1, 2, 3)},
    **{f"adaptive_avg_pool{n}d": _adaptive("avg", n) for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": _adaptive("max", n) for n in (1, 2, 3)},
    **{f"interpolate.{m}": _interpolate for m in ("nearest", "nearest-exact", "linear")},
    **{f"interpolate.{m}": _interpolate for m in ("bilinear", "trilinear")},
    "upsample_nearest": _interpolate,
    "upsample_bilinear": lambda x, **named: _interpolate(
        x, mode="bilinear", align_corners=True, **named
    ),
    "leaky_relu": lambda x, negative_slope=0.01: x.leaky_relu(negative_slope),
    "linear": lambda x, weight, bias=None: x.linear(weight.T, bias),
    "selu": lambda x: x.selu(1.6732632423543772848, 1.0507009873554804934),
    "gelu": lambda x, approximate="none": x.gelu(approximate),
    "softplus": _softplus,
    "batch_norm": _batch_norm,
    "instance_norm": _instance_norm,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "scaled_dot_product_attention": _attention,
    "unfold": _im2col,
    "cross_entropy": _cross_entropy,
    "nll_loss": _nll_loss,
    "binary_cross_entropy": _bce,
    "binary_cross_entropy_with_logits": _bce_logits,
}

NETWORKS: dict[str, Call] = {f"nn.functional.{name}": call for name, call in _FUNCTIONS.items()}
