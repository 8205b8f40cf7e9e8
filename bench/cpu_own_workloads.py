"""Workloads of bench/cpu.py that no kernel was written for: `--group own_choice` measures them.

Each is its arrays and its mathematics, against the functions `ops` that every library supplies, and
NumPy too (`cpu_numpy.py`), which says what is right. A row with parameters has their gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from cpu_workloads import Arrays, Workload

Made = tuple[Arrays, Arrays]
Normal = Callable[..., np.ndarray]

# ---- ResNet-18 and GPT

_STAGES = (64, 128, 256, 512)


def _resnet_arrays(batch: int, normal: Normal, random: Any) -> Made:
    params: Arrays = {}

    def conv(name: str, outputs: int, inputs: int, side: int) -> None:
        params[name] = normal(
            outputs, inputs, side, side, scale=(2 / (inputs * side * side)) ** 0.5
        )
        params[name + ".gain"] = 1 + normal(outputs, scale=0.1)
        params[name + ".bias"] = normal(outputs, scale=0.1)

    conv("stem", 64, 3, 3)
    inputs = 64
    for stage, outputs in enumerate(_STAGES):
        for block in range(2):
            conv(f"{stage}.{block}.a", outputs, inputs, 3)
            conv(f"{stage}.{block}.b", outputs, outputs, 3)
            if inputs != outputs:
                conv(f"{stage}.{block}.skip", outputs, inputs, 1)
            inputs = outputs
    params["w"], params["b"] = normal(512, 10, scale=0.04), normal(10, scale=0.1)
    return params, {"x": normal(batch, 3, 32, 32), "y": random.integers(0, 10, batch, np.int32)}


def _resnet(ops: Any, params: Any, inputs: Any) -> Any:
    def layer(x: Any, name: str, stride: int = 1) -> Any:
        made = ops.conv(x, params[name], stride, params[name].shape[-1] // 2)
        return ops.batch_norm(made, params[name + ".gain"], params[name + ".bias"])

    h = ops.relu(layer(inputs["x"], "stem"))
    for stage in range(4):
        for block in range(2):
            name, stride = f"{stage}.{block}", 2 if stage and not block else 1
            made = layer(ops.relu(layer(h, name + ".a", stride)), name + ".b")
            h = ops.relu(
                made + (layer(h, name + ".skip", stride) if name + ".skip" in params else h)
            )
    return ops.cross_entropy(ops.linear(ops.mean(h, (2, 3)), params["w"], params["b"]), inputs["y"])


def _resnet_flops(batch: int) -> float:
    """Three products a layer, two in the first."""
    first = 2.0 * batch * 32 * 32 * 64 * 27
    total, inputs, side = first, 64, 32
    for stage, outputs in enumerate(_STAGES):
        side //= 2 if stage else 1
        places = 2.0 * batch * side * side * outputs
        total += places * (9 * (inputs + 3 * outputs) + (inputs if stage else 0))
        inputs = outputs
    return 3 * (total + 2.0 * batch * 512 * 10) - first


_WIDTH, _LAYERS, _HEADS, _TOKENS, _WORDS = 256, 4, 4, 256, 1024


def _gpt_arrays(batch: int, normal: Normal, random: Any) -> Made:
    params = {"tokens": normal(_WORDS, _WIDTH, scale=0.02)}
    params["places"] = normal(_TOKENS, _WIDTH, scale=0.02)
    for i in range(_LAYERS):
        for name, a, b in (("qkv", 1, 3), ("out", 1, 1), ("up", 1, 4), ("down", 4, 1)):
            params[f"{i}.{name}"] = normal(a * _WIDTH, b * _WIDTH, scale=0.02)
            params[f"{i}.{name}.bias"] = normal(b * _WIDTH, scale=0.02)
    for name in (*(f"{i}.{n}" for i in range(_LAYERS) for n in "ab"), "last"):
        params[f"{name}.gain"] = 1 + normal(_WIDTH, scale=0.1)
        params[f"{name}.shift"] = normal(_WIDTH, scale=0.1)
    params["head"] = normal(_WIDTH, _WORDS, scale=0.02)
    words = random.integers(0, _WORDS, (2, batch, _TOKENS), np.int32)
    return params, {"x": words[0], "y": words[1].reshape(-1)}


def _gpt(ops: Any, params: Any, inputs: Any) -> Any:
    def norm(x: Any, name: str) -> Any:
        return ops.layer_norm(x, params[name + ".gain"], params[name + ".shift"])

    def linear(x: Any, name: str) -> Any:
        return ops.linear(x, params[name], params[name + ".bias"])

    h = ops.embedding(params["tokens"], inputs["x"]) + params["places"]
    batch = h.shape[0]
    for i in range(_LAYERS):
        parts = linear(norm(h, f"{i}.a"), f"{i}.qkv").reshape(batch, _TOKENS, 3, _HEADS, -1)
        q, k, v = (ops.swap(parts[:, :, n], 1, 2) for n in range(3))
        seen = ops.swap(ops.attention(q, k, v, True), 1, 2).reshape(batch, _TOKENS, _WIDTH)
        h = h + linear(seen, f"{i}.out")
        h = h + linear(ops.gelu(linear(norm(h, f"{i}.b"), f"{i}.up")), f"{i}.down")
    return ops.cross_entropy(
        (norm(h, "last") @ params["head"]).reshape(batch * _TOKENS, _WORDS), inputs["y"]
    )


# ---- convolutions: of a picture (n, channels, side, side)


def _conv_arrays(
    n: int, inputs: int, outputs: int, side: int, taps: int, groups: int, normal: Normal, _: Any
) -> Made:
    params = {
        "x": normal(n, inputs, side, side),
        "k": normal(outputs, inputs // groups, taps, taps, scale=0.1),
    }
    return params, {"cotangent": normal(n, outputs, side, side)}


def _conv(dilation: int, groups: int, ops: Any, params: Any, inputs: Any) -> Any:
    padding = dilation * (params["k"].shape[-1] // 2)
    return ops.conv(params["x"], params["k"], 1, padding, dilation, groups)


def _conv_row(
    title: str,
    n: int,
    channels: int,
    side: int,
    taps: int = 3,
    *,
    dilation: int = 1,
    groups: int = 1,
) -> Workload:
    size = n * channels * side * side
    shape = f"b{n} c{channels} {side}², both gradients"
    return Workload(
        f"{title} {taps}×{taps} convolution, {shape}",
        "own",
        flops=6.0 * size * (channels // groups) * taps * taps,
        bytes=20.0 * size,
        arrays=partial(_conv_arrays, n, channels, channels, side, taps, groups),
        forward=partial(_conv, dilation, groups),
    )


# ---- products


def _product_arrays(left: tuple[int, ...], right: tuple[int, ...], normal: Normal, _: Any) -> Made:
    return {}, {"a": normal(*left), "b": normal(*right)}


def _gradient_arrays(left: tuple[int, ...], right: tuple[int, ...], normal: Normal, _: Any) -> Made:
    out = (*left[:-1], right[-1])
    return {"a": normal(*left), "b": normal(*right)}, {"cotangent": normal(*out)}


def _integer_arrays(n: int, _: Normal, random: Any) -> Made:
    return {}, {k: random.integers(-128, 128, (n, n), np.int8) for k in "ab"}


def _product(ops: Any, params: Any, inputs: Any) -> Any:
    values = params or inputs
    return values["a"] @ values["b"]


def _integer_product(ops: Any, params: Any, inputs: Any) -> Any:
    return ops.integer_product(inputs["a"], inputs["b"])


# ---- training steps: MLP-Mixer, GRU, embeddings

_PATCHES, _CHANNELS = 64, 128


def _mixer_arrays(batch: int, normal: Normal, random: Any) -> Made:
    params = {"patch": normal(48, _CHANNELS, scale=0.15)}
    for i in range(4):
        for name, a, b in (("tokens", _PATCHES, 256), ("channels", _CHANNELS, 512)):
            params |= {
                f"{i}.{name}.gain": 1 + normal(_CHANNELS, scale=0.1),
                f"{i}.{name}.shift": normal(_CHANNELS, scale=0.1),
                f"{i}.{name}.up": normal(a, b, scale=(2 / a) ** 0.5),
                f"{i}.{name}.up.bias": normal(b, scale=0.1),
                f"{i}.{name}.down": normal(b, a, scale=b**-0.5),
                f"{i}.{name}.down.bias": normal(a, scale=0.1),
            }
    params["w"], params["b"] = normal(_CHANNELS, 10, scale=0.1), normal(10, scale=0.1)
    labels = random.integers(0, 10, batch, np.int32)
    return params, {"x": normal(batch, _PATCHES, 48), "y": labels}


def _mixer(ops: Any, params: Any, inputs: Any) -> Any:
    def mixed(x: Any, name: str) -> Any:
        up = ops.gelu(ops.linear(x, params[f"{name}.up"], params[f"{name}.up.bias"]))
        return ops.linear(up, params[f"{name}.down"], params[f"{name}.down.bias"])

    def norm(x: Any, name: str) -> Any:
        return ops.layer_norm(x, params[f"{name}.gain"], params[f"{name}.shift"])

    h = inputs["x"] @ params["patch"]
    for i in range(4):
        turned = ops.swap(norm(h, f"{i}.tokens"), 1, 2)
        h = h + ops.swap(mixed(turned, f"{i}.tokens"), 1, 2)
        h = h + mixed(norm(h, f"{i}.channels"), f"{i}.channels")
    return ops.cross_entropy(ops.linear(ops.mean(h, 1), params["w"], params["b"]), inputs["y"])


def _gru_arrays(steps: int, batch: int, hidden: int, normal: Normal, _: Any) -> Made:
    params = {
        "wx": normal(hidden, 3 * hidden, scale=0.08),
        "wh": normal(hidden, 3 * hidden, scale=0.08),
        "bx": normal(3 * hidden, scale=0.1),
        "bh": normal(3 * hidden, scale=0.1),
        "wo": normal(hidden, 1, scale=0.08),
    }
    return params, {"x": normal(steps, batch, hidden), "y": normal(batch, 1)}


def _gru(ops: Any, params: Any, inputs: Any) -> Any:
    return ops.mean_square(ops.gru(params, inputs["x"]) @ params["wo"] - inputs["y"])


def gru_cell(ops: Any, params: Any, h: Any, x: Any) -> Any:
    """One step; the gates are reset, update, new, as torch orders them."""
    n = h.shape[-1]
    a, b = x @ params["wx"] + params["bx"], h @ params["wh"] + params["bh"]
    r, z = (ops.sigmoid(a[:, k * n : (k + 1) * n] + b[:, k * n : (k + 1) * n]) for k in range(2))
    new = ops.tanh(a[:, 2 * n :] + r * b[:, 2 * n :])
    return (1 - z) * new + z * h


def _embedding_arrays(words: int, width: int, batch: int, normal: Normal, random: Any) -> Made:
    params = {
        "table": normal(words, width, scale=0.1),
        "w": normal(width, 16, scale=0.1),
        "b": normal(16, scale=0.1),
    }
    x = (words * random.random((batch, 64)) ** 3).astype(np.int32)  # some words are frequent
    return params, {"x": x, "y": random.integers(0, 16, batch, np.int32)}


def _embedding(ops: Any, params: Any, inputs: Any) -> Any:
    seen = ops.mean(ops.embedding(params["table"], inputs["x"]), 1)
    return ops.cross_entropy(ops.linear(seen, params["w"], params["b"]), inputs["y"])


# ---- attention, stencils, k-means


def _attention_arrays(shape: tuple[int, ...], normal: Normal, _: Any) -> Made:
    return {k: normal(*shape) for k in "qkv"}, {"cotangent": normal(*shape)}


def _attention(ops: Any, params: Any, inputs: Any) -> Any:
    return ops.attention(params["q"], params["k"], params["v"], False)


def _cube_arrays(side: int, normal: Normal, _: Any) -> Made:
    return {}, {"x": normal(side, side, side)}


_CENTRE, _FACE, _EDGE, _CORNER = 0.5, 0.05, 0.01, 0.01


def _stencil(points: int, ops: Any, params: Any, inputs: Any) -> Any:
    """The sum over a cell and its neighbours, each kind with its weight, inside the cube."""
    x, weights = inputs["x"], (_CENTRE, _FACE, _EDGE, _CORNER)
    ends = {-1: slice(0, -2), 0: slice(1, -1), 1: slice(2, None)}
    steps = [(i, j, k) for i in ends for j in ends for k in ends]
    total: Any = 0.0
    for kind in range(2 if points == 7 else 4):
        near = [s for s in steps if sum(map(abs, s)) == kind]
        parts = [x[ends[i], ends[j], ends[k]] for i, j, k in near]
        total = total + weights[kind] * sum(parts[1:], parts[0])
    return total


def _means_arrays(n: int, width: int, k: int, normal: Normal, _: Any) -> Made:
    points = normal(n, width)
    return {}, {"x": points, "centres": points[:k].copy()}


def _k_means(ops: Any, params: Any, inputs: Any) -> Any:
    """One step of Lloyd's: every point to its nearest centre, every centre to its points' mean."""
    x, centres = inputs["x"], inputs["centres"]
    distances = ops.sum(centres * centres, -1) - 2 * (x @ ops.swap(centres, 0, 1))
    nearest = ops.argmin(distances)
    sums, counts = ops.segment_sum(x, nearest, centres.shape[0])
    return sums / ops.at_least_one(counts)[:, None]


OWN = (
    Workload(
        "ResNet-18 32² b32, both ways",
        "own",
        flops=_resnet_flops(32),
        arrays=partial(_resnet_arrays, 32),
        forward=_resnet,
    ),
    Workload(
        "GPT 4×256, 4 heads, 256 tokens, b8, Adam step",
        "own",
        flops=6.0 * 8 * _TOKENS * (_LAYERS * (12 * _WIDTH + 2 * _TOKENS) + _WORDS) * _WIDTH,
        optimizer="adam",
        rate=3e-4,
        arrays=partial(_gpt_arrays, 8),
        forward=_gpt,
    ),
    _conv_row("depthwise", 8, 128, 56, groups=128),
    _conv_row("depthwise", 8, 96, 28, 7, groups=96),
    _conv_row("dilated", 8, 64, 32, dilation=2),
    _conv_row("grouped", 8, 128, 28, groups=8),
    Workload(
        "37 products 61×83 by 83×59",
        "own",
        flops=2.0 * 37 * 61 * 83 * 59,
        arrays=partial(_product_arrays, (37, 61, 83), (37, 83, 59)),
        forward=_product,
    ),
    Workload(
        "product 513×1025 by 1025×257, both gradients",
        "own",
        flops=6.0 * 513 * 1025 * 257,
        arrays=partial(_gradient_arrays, (513, 1025), (1025, 257)),
        forward=_product,
    ),
    Workload(
        "bfloat16 product of 1024",
        "own",
        flops=2.0 * 1024**3,
        dtype="bfloat16",
        arrays=partial(_product_arrays, (1024, 1024), (1024, 1024)),
        forward=_product,
    ),
    Workload(
        "bfloat16 product of 1024, native_bfloat16()",
        "own",
        flops=2.0 * 1024**3,
        dtype="bfloat16",
        native=True,
        arrays=partial(_product_arrays, (1024, 1024), (1024, 1024)),
        forward=_product,
    ),
    Workload(
        "int8 product of 1024, int32 sums",
        "own",
        flops=2.0 * 1024**3,
        arrays=partial(_integer_arrays, 1024),
        forward=_integer_product,
    ),
    Workload(
        "MLP-Mixer 4 layers, 64 patches, c128 b32, SGD step",
        "own",
        flops=6.0 * 32 * 4 * (2 * 64 * 256 * 128 + 2 * 64 * 128 * 512),
        optimizer="sgd",
        rate=0.1,
        arrays=partial(_mixer_arrays, 32),
        forward=_mixer,
    ),
    Workload(
        "GRU 32 steps h128 b32, SGD step",
        "own",
        flops=6.0 * 32 * 32 * 256 * 384 - 2.0 * 32 * 32 * 128 * 384,
        optimizer="sgd",
        rate=0.1,
        arrays=partial(_gru_arrays, 32, 32, 128),
        forward=_gru,
    ),
    Workload(
        "attention of 2048, 8 heads of 40, both ways",
        "own",
        flops=14.0 * 8 * 2048 * 2048 * 40,
        arrays=partial(_attention_arrays, (1, 8, 2048, 40)),
        forward=_attention,
    ),
    Workload(
        "stencil of 7 points, 256³",
        "own",
        bytes=8.0 * 256**3,
        arrays=partial(_cube_arrays, 256),
        forward=partial(_stencil, 7),
    ),
    Workload(
        "stencil of 27 points, 256³",
        "own",
        bytes=8.0 * 256**3,
        arrays=partial(_cube_arrays, 256),
        forward=partial(_stencil, 27),
    ),
    Workload(
        "k-means step, 65536 points of 32, 64 centres",
        "own",
        flops=2.0 * 65536 * 32 * 64,
        bytes=8.0 * 65536 * 32,
        arrays=partial(_means_arrays, 65536, 32, 64),
        forward=_k_means,
    ),
    Workload(
        "embeddings of 50000 words, width 128, 256×64 tokens, SGD step",
        "own",
        bytes=8.0 * 50000 * 128 + 12.0 * 256 * 64 * 128,
        optimizer="sgd",
        rate=0.1,
        arrays=partial(_embedding_arrays, 50000, 128, 256),
        forward=_embedding,
    ),
)
