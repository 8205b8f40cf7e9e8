"""What NumPy says the workloads of bench/cpu.py are, in float64, gradients by hand.

Large results are compared at every STRIDE-th row: enough to find an answer that is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cpu_own_reference import own_error
from cpu_workloads import BETA1, BETA2, EPSILON, SCALE, SHIFT, Arrays, Workload

STRIDE = 61
TOLERANCE = 2e-2  # of the norm of a result; an update is the small difference of two numbers


def error(w: Workload, found: Arrays, params: Arrays, inputs: Arrays) -> float:
    """The largest distance of a result from NumPy's, as a share of its norm."""
    wide_p, wide_x = _wide(params), _wide(inputs)
    if w.forward is not None:
        return own_error(w, found, wide_p, wide_x)
    expected = reference(w, wide_p, wide_x)
    worst = 0.0
    for name, right in expected.items():
        mine = np.asarray(found[name], np.float64)
        if name in params and w.optimizer:
            mine, right = mine - wide_p[name], right - wide_p[name]
        elif mine.shape != right.shape:
            mine = mine[::STRIDE]
        size = float(np.linalg.norm(right))
        distance = float(np.linalg.norm(mine - right)) / size if size else float("inf")
        worst = max(worst, distance) if np.isfinite(distance) else float("inf")
    return worst


def _wide(arrays: Arrays) -> Arrays:
    return {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in arrays.items()}


def reference(w: Workload, params: Arrays, inputs: Arrays) -> Arrays:
    """Results by name: `value`, gradients, or parameters after one step."""
    if w.kind == "layer norm":
        return _layer_norm(inputs)
    if w.kind == "per sample":
        return gradient(w, params, {k: v[:1] for k, v in inputs.items()})[1]
    if w.kind == "hvp":
        return _hvp(w, params, inputs)
    if not w.optimizer:
        return {"value": np.asarray(_value(w, inputs))}
    loss, grads = gradient(w, params, inputs)
    if w.optimizer == "sgd":
        return {"loss": np.asarray(loss), **{k: params[k] - w.rate * grads[k] for k in params}}
    return {"loss": np.asarray(loss), **{k: params[k] - w.rate * _adam(grads[k]) for k in params}}


def _adam(g: np.ndarray) -> np.ndarray:
    first = (1 - BETA1) * g / (1 - BETA1)
    second = (1 - BETA2) * g * g / (1 - BETA2)
    return first / (np.sqrt(second) + EPSILON)


def _value(w: Workload, inputs: Arrays) -> np.ndarray:
    if w.kind == "gemm":
        return inputs["a"][::STRIDE] @ inputs["b"]
    x = inputs["x"]
    if w.kind == "sum":
        return x.sum()
    if w.kind == "transpose":
        return x.T[::STRIDE]
    x = x[::STRIDE]
    if w.kind == "softmax":
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)
    return np.maximum(x * SCALE + SHIFT, 0) * (np.tanh(x) if w.kind == "tanh chain" else x)


def _layer_norm(inputs: Arrays) -> Arrays:
    x, d = inputs["x"], inputs["cotangent"]
    centred = x - x.mean(-1, keepdims=True)
    spread = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    normal = centred * spread
    g = d * inputs["gain"]
    along = (g * normal).mean(-1, keepdims=True)
    dx = spread * (g - g.mean(-1, keepdims=True) - normal * along)
    return {"x": dx[::STRIDE], "gain": (d * normal).sum(0), "bias": d.sum(0)}


def _hvp(w: Workload, params: Arrays, inputs: Arrays) -> Arrays:
    """Along ones, by central differences of the gradient."""
    step = 1e-5
    up = gradient(w, {k: v + step for k, v in params.items()}, inputs)[1]
    down = gradient(w, {k: v - step for k, v in params.items()}, inputs)[1]
    return {k: (up[k] - down[k]) / (2 * step) for k in params}


def gradient(w: Workload, params: Arrays, inputs: Arrays) -> tuple[float, Arrays]:
    """The loss and its gradient by the parameters."""
    if w.kind == "cnn":
        return _cnn(params, inputs["x"], inputs["y"])
    return (
        _lstm(params, inputs["x"], inputs["y"])
        if w.kind == "lstm"
        else _mlp(w, params, inputs["x"], inputs["y"])
    )


def _cross_entropy(z: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    rows = np.arange(len(z))
    e = np.exp(z - z.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    d = p.copy()
    d[rows, y] -= 1
    return float(-np.log(p[rows, y]).mean()), d / len(z)


def _mean_square(z: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    return float(((z - y) ** 2).mean()), 2 * (z - y) / z.size


def _mlp(w: Workload, params: Arrays, x: np.ndarray, y: np.ndarray) -> tuple[float, Arrays]:
    last = len(w.dims) - 2
    seen = [x]
    for i in range(last + 1):
        z = seen[-1] @ params[f"w{i}"] + params[f"b{i}"]
        if i < last:
            z = np.maximum(z, 0) if w.activation == "relu" else np.tanh(z)
        seen.append(z)
    loss, d = (_mean_square if w.kind == "regression" else _cross_entropy)(seen[-1], y)
    grads = {}
    for i in range(last, -1, -1):
        h = seen[i]
        grads[f"w{i}"], grads[f"b{i}"] = h.T @ d, d.sum(0)
        d = (d @ params[f"w{i}"].T) * ((h > 0) if w.activation == "relu" else 1 - h * h)
    return loss, grads


def _windows(x: np.ndarray) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))


def _conv(x: np.ndarray, k: np.ndarray, c: np.ndarray) -> np.ndarray:
    out = np.tensordot(_windows(x), k, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)
    return out + c[:, None, None]


def _cnn(params: Arrays, x: np.ndarray, y: np.ndarray) -> tuple[float, Arrays]:
    h1 = np.maximum(_conv(x, params["k1"], params["c1"]), 0)
    h2 = np.maximum(_conv(h1, params["k2"], params["c2"]), 0)
    n, c, side, _ = h2.shape
    blocks = h2.reshape(n, c, side // 2, 2, side // 2, 2)
    pooled = blocks.max((3, 5), keepdims=True)
    flat = pooled.reshape(n, -1)
    loss, d = _cross_entropy(flat @ params["w"] + params["b"], y)
    grads = {"w": flat.T @ d, "b": d.sum(0)}
    # Where several are largest they are all 0, and relu's slope is 0 there.
    spread = (d @ params["w"].T).reshape(pooled.shape) * (blocks == pooled)
    d2 = spread.reshape(h2.shape) * (h2 > 0)
    grads["k2"], grads["c2"] = _kernel_gradient(d2, h1), d2.sum((0, 2, 3))
    d1 = _conv_back(d2, params["k2"], h1.shape) * (h1 > 0)
    grads["k1"], grads["c1"] = _kernel_gradient(d1, x), d1.sum((0, 2, 3))
    return loss, grads


def _kernel_gradient(d: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.tensordot(d, _windows(x), ((0, 2, 3), (0, 2, 3)))


def _conv_back(d: np.ndarray, k: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    out = np.zeros(shape)
    rows, columns = d.shape[2:]
    for i in range(3):
        for j in range(3):
            part = np.tensordot(d, k[:, :, i, j], ((1,), (0,))).transpose(0, 3, 1, 2)
            out[:, :, i : i + rows, j : j + columns] += part
    return out


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _lstm(params: Arrays, xs: np.ndarray, y: np.ndarray) -> tuple[float, Arrays]:
    n = params["wh"].shape[0]
    h = c = np.zeros((xs.shape[1], n))
    seen: list[tuple[Any, ...]] = []
    for x in xs:
        g = x @ params["wx"] + h @ params["wh"] + params["b"]
        i, f, o = (_sigmoid(g[:, k * n : (k + 1) * n]) for k in range(3))
        u = np.tanh(g[:, 3 * n :])
        new = f * c + i * u
        seen.append((x, h, c, i, f, o, u, np.tanh(new)))
        h, c = o * np.tanh(new), new
    loss, d = _mean_square(h @ params["wo"], y)
    grads = {"wo": h.T @ d} | {k: np.zeros_like(params[k]) for k in ("wx", "wh", "b")}
    dh, dc = d @ params["wo"].T, np.zeros_like(c)
    for x, h, c, i, f, o, u, bent in reversed(seen):
        dc = dc + dh * o * (1 - bent * bent)
        gates = (dc * u * i * (1 - i), dc * c * f * (1 - f), dh * bent * o * (1 - o))
        dg = np.concatenate([*gates, dc * i * (1 - u * u)], 1)
        grads["wx"] += x.T @ dg
        grads["wh"] += h.T @ dg
        grads["b"] += dg.sum(0)
        dh, dc = dg @ params["wh"].T, dc * f
    return loss, grads
