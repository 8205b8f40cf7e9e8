"""JAX's side of bench/cpu.py. Images are NHWC, the layout its convolutions like best."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from cpu_functional import Functional, Program
from cpu_own_workloads import gru_cell
from cpu_workloads import Workload, lstm_cell
from jax import lax


class Ops:
    tanh, sqrt, sum, swap = jnp.tanh, jnp.sqrt, jnp.sum, jnp.swapaxes
    sigmoid, softmax = staticmethod(jax.nn.sigmoid), staticmethod(jax.nn.softmax)

    @staticmethod
    def relu(x: Any) -> Any:
        return jnp.maximum(x, 0)

    @staticmethod
    def transpose(x: Any) -> Any:
        return x.T

    @staticmethod
    def linear(x: Any, weight: Any, bias: Any) -> Any:
        return x @ weight + bias

    @staticmethod
    def layer_norm(x: Any, gain: Any, bias: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred * centred).mean(-1, keepdims=True)
        return centred * lax.rsqrt(variance + 1e-5) * gain + bias

    @staticmethod
    def cross_entropy(x: Any, y: Any) -> Any:
        picked = jnp.take_along_axis(x, y[:, None], 1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(x, -1) - picked)

    @staticmethod
    def mean_square(x: Any) -> Any:
        return jnp.mean(x * x)

    @staticmethod
    def conv2d(x: Any, kernel: Any, bias: Any) -> Any:
        layout = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=layout) + bias

    @staticmethod
    def max_pool2(x: Any) -> Any:
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    @staticmethod
    def flatten(x: Any) -> Any:
        return x.transpose(0, 3, 1, 2).reshape(x.shape[0], -1)

    @staticmethod
    def lstm(params: dict[str, Any], x: Any) -> Any:
        def step(carry: Any, now: Any) -> Any:
            h, c = lstm_cell(Ops, params, carry[0], carry[1], now)
            return (h, c), None

        zero = jnp.zeros((x.shape[1], params["wh"].shape[0]), jnp.float32)
        return lax.scan(step, (zero, zero), x)[0][0]

    gelu, embedding = staticmethod(jax.nn.gelu), staticmethod(lambda table, x: table[x])
    mean = staticmethod(jnp.mean)

    @staticmethod
    def conv(
        x: Any, kernel: Any, stride: int, padding: int, dilation: int = 1, groups: int = 1
    ) -> Any:
        return lax.conv_general_dilated(
            x,
            kernel,
            (stride, stride),
            [(padding, padding)] * 2,
            rhs_dilation=(dilation, dilation),
            feature_group_count=groups,
        )

    @staticmethod
    def batch_norm(x: Any, gain: Any, bias: Any) -> Any:
        centred = x - x.mean((0, 2, 3), keepdims=True)
        variance = (centred * centred).mean((0, 2, 3), keepdims=True)
        shape = (1, -1, 1, 1)
        return centred * lax.rsqrt(variance + 1e-5) * gain.reshape(shape) + bias.reshape(shape)

    @staticmethod
    def attention(q: Any, k: Any, v: Any, causal: bool) -> Any:
        turned = (jnp.swapaxes(x, 1, 2) for x in (q, k, v))
        found = jax.nn.dot_product_attention(*turned, is_causal=causal)
        return jnp.swapaxes(found, 1, 2)

    @staticmethod
    def integer_product(a: Any, b: Any) -> Any:
        return jnp.matmul(a, b, preferred_element_type=jnp.int32)

    @staticmethod
    def argmin(x: Any) -> Any:
        return jnp.argmin(x, -1)

    @staticmethod
    def segment_sum(x: Any, index: Any, count: int) -> Any:
        sums = jax.ops.segment_sum(x, index, count)
        return sums, jax.ops.segment_sum(jnp.ones(x.shape[0]), index, count)

    @staticmethod
    def at_least_one(x: Any) -> Any:
        return jnp.maximum(x, 1)

    @staticmethod
    def gru(params: dict[str, Any], x: Any) -> Any:
        def step(h: Any, now: Any) -> Any:
            return gru_cell(Ops, params, h, now), None

        zero = jnp.zeros((x.shape[1], params["wh"].shape[0]), jnp.float32)
        return lax.scan(step, zero, x)[0]


class Library(Functional):
    version = jax.__version__
    ops = Ops
    cast = staticmethod(lambda x, dtype: x.astype(dtype))
    array, numpy = staticmethod(jnp.asarray), staticmethod(np.asarray)
    grad, value_and_grad = staticmethod(jax.grad), staticmethod(jax.value_and_grad)
    vjp, jvp, vmap = map(staticmethod, (jax.vjp, jax.jvp, jax.vmap))
    wait = staticmethod(jax.block_until_ready)

    @staticmethod
    def jit(fn: Any, donated: tuple[int, ...]) -> Any:
        return jax.jit(fn, donate_argnums=donated)

    def data(self, w: Workload) -> tuple[dict[str, Any], dict[str, Any]]:
        params, inputs = super().data(w)
        if w.kind == "cnn":
            inputs["x"] = inputs["x"].transpose(0, 2, 3, 1)
            params = {k: v.transpose(2, 3, 1, 0) if v.ndim == 4 else v for k, v in params.items()}
        return params, inputs

    def program(self, w: Workload) -> Program:
        step, results = super().program(w)
        if w.kind != "cnn":
            return step, results
        return step, lambda: {
            k: v.transpose(3, 2, 0, 1) if v.ndim == 4 else v for k, v in results().items()
        }
