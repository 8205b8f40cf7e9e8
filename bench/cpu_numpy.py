"""NumPy's side of bench/cpu.py's own rows, in float64: values only, gradients follow from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from cpu_own_workloads import gru_cell

Array = np.ndarray


class Ops:
    tanh, sum, mean, swap = np.tanh, np.sum, np.mean, np.swapaxes

    @staticmethod
    def relu(x: Array) -> Array:
        return np.maximum(x, 0)

    @staticmethod
    def sigmoid(x: Array) -> Array:
        return 1 / (1 + np.exp(-x))

    @staticmethod
    def gelu(x: Array) -> Array:
        return 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))

    @staticmethod
    def linear(x: Array, weight: Array, bias: Array) -> Array:
        return x @ weight + bias

    @staticmethod
    def mean_square(x: Array) -> Any:
        return (x * x).mean()

    @staticmethod
    def layer_norm(x: Array, gain: Array, bias: Array) -> Array:
        return _normal(x, (-1,)) * gain + bias

    @staticmethod
    def batch_norm(x: Array, gain: Array, bias: Array) -> Array:
        return _normal(x, (0, 2, 3)) * gain[:, None, None] + bias[:, None, None]

    @staticmethod
    def cross_entropy(x: Array, y: Array) -> Any:
        shifted = x - x.max(-1, keepdims=True)
        picked = shifted[np.arange(len(x)), y]
        return (np.log(np.exp(shifted).sum(-1)) - picked).mean()

    @staticmethod
    def embedding(table: Array, x: Array) -> Array:
        return table[x]

    @staticmethod
    def conv(
        x: Array, kernel: Array, stride: int, padding: int, dilation: int = 1, groups: int = 1
    ) -> Array:
        """One product of matrices a tap."""
        taps = kernel.shape[-1]
        x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
        side = (x.shape[-1] - dilation * (taps - 1) - 1) // stride + 1
        parts = kernel.reshape(groups, -1, *kernel.shape[1:])
        total: Any = 0.0
        for i in range(taps):
            for j in range(taps):
                rows, columns = (
                    slice(k * dilation, k * dilation + stride * (side - 1) + 1, stride)
                    for k in (i, j)
                )
                seen = x[:, :, rows, columns].reshape(len(x), groups, -1, side * side)
                total = total + parts[..., i, j] @ seen
        return total.reshape(len(x), -1, side, side)

    @staticmethod
    def attention(q: Array, k: Array, v: Array, causal: bool) -> Array:
        scores = q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
        if causal:
            scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True) @ v

    @staticmethod
    def integer_product(a: Array, b: Array) -> Array:
        return a.astype(np.float64) @ b.astype(np.float64)

    @staticmethod
    def argmin(x: Array) -> Array:
        return x.argmin(-1)

    @staticmethod
    def segment_sum(x: Array, index: Array, count: int) -> tuple[Array, Array]:
        sums = np.zeros((count, x.shape[1]))
        np.add.at(sums, index, x)
        return sums, np.bincount(index, minlength=count)

    @staticmethod
    def at_least_one(x: Array) -> Array:
        return np.maximum(x, 1)

    @staticmethod
    def gru(params: dict[str, Array], x: Array) -> Array:
        h = np.zeros((x.shape[1], params["wh"].shape[0]))
        for now in x:
            h = gru_cell(Ops, params, h, now)
        return h


def _normal(x: Array, axes: tuple[int, ...]) -> Array:
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axes, keepdims=True) + 1e-5)
