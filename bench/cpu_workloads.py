"""The workloads of bench/cpu.py, each once, in plain parameters: sizes, inputs, mathematics.

The mathematics is written against a small set of functions, `ops`, that every library supplies
(`cpu_adjoint.py`, `cpu_jax.py`, `cpu_torch.py`). Needs NumPy alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
SCALE, SHIFT = 1.5, 0.25
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Workload:
    """`flops` of its products and `bytes` of its least traffic say what no machine can beat.

    A row of `cpu_own_workloads.py` brings its arrays and its mathematics along.
    """

    name: str
    kind: str
    size: int = 0
    flops: float = 0.0
    bytes: float = 0.0
    dims: tuple[int, ...] = ()
    batch: int = 0
    activation: str = "relu"
    optimizer: str = ""
    rate: float = 0.0
    dtype: str = ""  # of floats, if not float32
    native: bool = False  # products of bfloat16 by the processor, where a library must be asked
    arrays: Callable[[Any, Any], tuple[Arrays, Arrays]] | None = None
    forward: Callable[[Any, Any, Any], Any] | None = None

    def floor(self, gflops: float, bandwidth: float) -> float:
        """Seconds on a machine of that many GFLOP/s and GB/s."""
        return self.flops / gflops / 1e9 + self.bytes / bandwidth / 1e9


def _training(dims: tuple[int, ...], batch: int) -> float:
    """Flops of a gradient: three products a layer, two in the first."""
    products = [2.0 * batch * a * b for a, b in pairwise(dims)]
    return 3 * sum(products) - products[0]


_MLP, _TINY, _NARROW = (784, 512, 512, 10), (2, 16, 16, 1), (784, 256, 10)
_SQUARE = 4096 * 4096
_CNN = (2.0 * 64 * 26 * 26 * 32 * 9, 2.0 * 64 * 24 * 24 * 64 * 32 * 9, 2.0 * 64 * 64 * 144 * 10)
_PER_SAMPLE = 64 * (784 * 256 + 256 + 256 * 10 + 10)

WORKLOADS = (
    *(Workload(f"gemm {n}", "gemm", n, flops=2.0 * n**3) for n in (256, 512, 1024, 2048)),
    Workload("relu(x*a+b)*x, 2^24", "chain", 1 << 24, bytes=8 << 24),
    Workload("relu(x*a+b)*tanh(x), 2^24", "tanh chain", 1 << 24, bytes=8 << 24),
    Workload("softmax 4096²", "softmax", 4096, bytes=8 * _SQUARE),
    Workload("layer norm fwd+bwd 4096²", "layer norm", 4096, bytes=12 * _SQUARE),
    Workload("sum 2^26", "sum", 1 << 26, bytes=4 << 26),
    Workload("transpose copy 4096²", "transpose", 4096, bytes=8 * _SQUARE),
    Workload(
        "MLP 784-512-512-10 b128, SGD step",
        "mlp",
        flops=_training(_MLP, 128),
        dims=_MLP,
        batch=128,
        optimizer="sgd",
        rate=0.01,
    ),
    Workload(
        "same, Adam step",
        "mlp",
        flops=_training(_MLP, 128),
        dims=_MLP,
        batch=128,
        optimizer="adam",
        rate=1e-3,
    ),
    Workload(
        "tiny MLP 2-16-16-1 b100, SGD step",
        "regression",
        flops=_training(_TINY, 100),
        dims=_TINY,
        batch=100,
        optimizer="sgd",
        rate=0.01,
    ),
    Workload(
        "CNN c32, c64, pool, fc 28² b64, Adam step",
        "cnn",
        flops=3 * sum(_CNN) - _CNN[0],
        batch=64,
        optimizer="adam",
        rate=1e-3,
    ),
    Workload(
        "LSTM 32 steps h128 b32, SGD step",
        "lstm",
        size=32,
        flops=6.0 * 32 * 32 * 256 * 512 - 2.0 * 32 * 32 * 128 * 512,
        dims=(128, 128),
        batch=32,
        optimizer="sgd",
        rate=0.01,
    ),
    Workload(
        "per-sample gradients MLP 784-256-10 b64",
        "per sample",
        flops=_training(_NARROW, 64),
        bytes=4.0 * _PER_SAMPLE,
        dims=_NARROW,
        batch=64,
    ),
    Workload(
        "Hessian-vector product MLP 784-512-512-10 tanh b128",
        "hvp",
        flops=2 * _training(_MLP, 128),
        dims=_MLP,
        batch=128,
        activation="tanh",
    ),
)


def make(w: Workload) -> tuple[Arrays, Arrays]:
    """Parameters and inputs. Images are NCHW, kernels OIHW, weights (inputs, outputs)."""
    random = np.random.default_rng(7)

    def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
        return (random.standard_normal(shape, np.float32) * scale).astype(np.float32)

    if w.arrays is not None:
        return w.arrays(normal, random)
    if w.kind == "gemm":
        return {}, {"a": normal(w.size, w.size), "b": normal(w.size, w.size)}
    if w.kind in ("softmax", "transpose"):
        return {}, {"x": normal(w.size, w.size)}
    if w.kind == "layer norm":
        x, cotangent = normal(w.size, w.size), normal(w.size, w.size)
        gain, bias = 1 + normal(w.size, scale=0.1), normal(w.size, scale=0.1)
        return {}, {"x": x, "gain": gain, "bias": bias, "cotangent": cotangent}
    if w.kind in ("chain", "tanh chain", "sum"):
        return {}, {"x": random.random(w.size, np.float32) * 2 - 1}
    if w.kind == "cnn":
        return _cnn(normal, random, w)
    if w.kind == "lstm":
        return _lstm(normal, w)
    parameters = {}
    for i, (a, b) in enumerate(pairwise(w.dims)):
        parameters[f"w{i}"] = normal(a, b, scale=(2 / a) ** 0.5)
        parameters[f"b{i}"] = normal(b, scale=0.1)
    x = normal(w.batch, w.dims[0])
    if w.kind == "regression":
        return parameters, {"x": x, "y": np.sign(normal(w.batch, 1))}
    return parameters, {"x": x, "y": random.integers(0, w.dims[-1], w.batch).astype(np.int32)}


def _cnn(normal: Any, random: Any, w: Workload) -> tuple[Arrays, Arrays]:
    parameters = {
        "k1": normal(32, 1, 3, 3, scale=0.3),
        "c1": normal(32, scale=0.1),
        "k2": normal(64, 32, 3, 3, scale=0.08),
        "c2": normal(64, scale=0.1),
        "w": normal(64 * 12 * 12, 10, scale=0.01),
        "b": normal(10, scale=0.1),
    }
    labels = random.integers(0, 10, w.batch).astype(np.int32)
    return parameters, {"x": normal(w.batch, 1, 28, 28), "y": labels}


def _lstm(normal: Any, w: Workload) -> tuple[Arrays, Arrays]:
    inputs, hidden = w.dims
    parameters = {
        "wx": normal(inputs, 4 * hidden, scale=0.08),
        "wh": normal(hidden, 4 * hidden, scale=0.08),
        "b": normal(4 * hidden, scale=0.1),
        "wo": normal(hidden, 1, scale=0.08),
    }
    return parameters, {"x": normal(w.size, w.batch, inputs), "y": normal(w.batch, 1)}


def value(ops: Any, w: Workload, inputs: dict[str, Any]) -> Any:
    """What a workload without a gradient computes."""
    if w.kind == "gemm":
        return inputs["a"] @ inputs["b"]
    x = inputs["x"]
    if w.kind == "chain":
        return ops.relu(x * SCALE + SHIFT) * x
    if w.kind == "tanh chain":
        return ops.relu(x * SCALE + SHIFT) * ops.tanh(x)
    return {"softmax": ops.softmax, "sum": ops.sum, "transpose": ops.transpose}[w.kind](x)


def loss(ops: Any, w: Workload, params: dict[str, Any], x: Any, y: Any) -> Any:
    """The scalar that a training step makes smaller."""
    if w.forward is not None:
        return w.forward(ops, params, {"x": x, "y": y})
    if w.kind == "cnn":
        h = ops.relu(ops.conv2d(x, params["k1"], params["c1"]))
        h = ops.relu(ops.conv2d(h, params["k2"], params["c2"]))
        return ops.cross_entropy(
            ops.linear(ops.flatten(ops.max_pool2(h)), params["w"], params["b"]), y
        )
    if w.kind == "lstm":
        return ops.mean_square(ops.lstm(params, x) @ params["wo"] - y)
    h = x
    for i in range(len(w.dims) - 1):
        h = ops.linear(h, params[f"w{i}"], params[f"b{i}"])
        if i < len(w.dims) - 2:
            h = ops.relu(h) if w.activation == "relu" else ops.tanh(h)
    return ops.mean_square(h - y) if w.kind == "regression" else ops.cross_entropy(h, y)


def lstm_cell(ops: Any, params: dict[str, Any], h: Any, c: Any, x: Any) -> tuple[Any, Any]:
    """One step; the gates are input, forget, output, update."""
    n = h.shape[-1]
    g = x @ params["wx"] + h @ params["wh"] + params["b"]
    i, f, o = (ops.sigmoid(g[:, k * n : (k + 1) * n]) for k in range(3))
    c = f * c + i * ops.tanh(g[:, 3 * n :])
    return o * ops.tanh(c), c


def update(
    ops: Any, w: Workload, params: Any, grads: Any, means: Any, squares: Any, t: Any
) -> tuple[Any, Any, Any]:
    """Parameters and moments after a step; `t` counts steps from 1."""
    if w.optimizer == "sgd":
        return {k: params[k] - w.rate * grads[k] for k in params}, means, squares
    means = {k: BETA1 * means[k] + (1 - BETA1) * grads[k] for k in params}
    squares = {k: BETA2 * squares[k] + (1 - BETA2) * grads[k] * grads[k] for k in params}
    first, second = 1 - BETA1**t, 1 - BETA2**t
    new = {
        k: params[k] - w.rate * (means[k] / first) / (ops.sqrt(squares[k] / second) + EPSILON)
        for k in params
    }
    return new, means, squares
