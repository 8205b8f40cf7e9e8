"""Adjoint's side of bench/cpu.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from cpu_functional import Functional, Program
from cpu_own_workloads import gru_cell
from cpu_workloads import Workload, lstm_cell

import adjoint
from adjoint import Tensor


class Ops:
    relu, tanh, sigmoid = Tensor.relu, Tensor.tanh, Tensor.sigmoid
    sqrt, sum, softmax = Tensor.sqrt, Tensor.sum, Tensor.softmax
    conv2d, max_pool2, cross_entropy = Tensor.conv2d, Tensor.max_pool2d, Tensor.cross_entropy

    @staticmethod
    def transpose(x: Tensor) -> Tensor:
        return x.T.contiguous()

    @staticmethod
    def swap(x: Tensor, a: int, b: int) -> Tensor:
        return x.transpose(a, b)

    @staticmethod
    def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return x @ weight + bias

    @staticmethod
    def layer_norm(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        return x.layernorm() * gain + bias

    @staticmethod
    def flatten(x: Tensor) -> Tensor:
        return x.flatten(1)

    @staticmethod
    def mean_square(x: Tensor) -> Tensor:
        return (x * x).mean()

    @staticmethod
    def lstm(params: dict[str, Tensor], x: Tensor) -> Tensor:
        def step(carry: Any, now: Tensor) -> Any:
            h, c = lstm_cell(Ops, params, carry[0], carry[1], now)
            return (h, c), h

        zero = Tensor.zeros(x.shape[1], params["wh"].shape[0], device=x.device)
        return adjoint.scan(step, (zero, zero), x)[0][0]

    gelu, embedding = Tensor.gelu, Tensor.embedding

    @staticmethod
    def conv(
        x: Tensor, kernel: Tensor, stride: int, padding: int, dilation: int = 1, groups: int = 1
    ) -> Tensor:
        return x.conv2d(kernel, None, groups, stride, dilation, padding)

    @staticmethod
    def batch_norm(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        mean = x.mean((0, 2, 3))
        centred = x - mean.reshape(1, -1, 1, 1)
        variance = (centred * centred).mean((0, 2, 3))
        return x.batchnorm(gain, bias, mean, (variance + 1e-5).rsqrt())

    @staticmethod
    def mean(x: Tensor, axis: int | tuple[int, ...]) -> Tensor:
        return x.mean(axis)

    @staticmethod
    def attention(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
        return q.attention(k, v, is_causal=causal)

    @staticmethod
    def integer_product(a: Tensor, b: Tensor) -> Tensor:
        return a.dot(b, dtype="int32")

    @staticmethod
    def argmin(x: Tensor) -> Tensor:
        return x.argmin(-1)

    @staticmethod
    def segment_sum(x: Tensor, index: Tensor, count: int) -> tuple[Tensor, Tensor]:
        sums = Tensor.zeros(count, x.shape[1]).index_add(0, index, x)
        return sums, Tensor.zeros(count).index_add(0, index, Tensor.ones(x.shape[0]))

    @staticmethod
    def at_least_one(x: Tensor) -> Tensor:
        return x.clamp(1)

    @staticmethod
    def gru(params: dict[str, Tensor], x: Tensor) -> Tensor:
        def step(h: Tensor, now: Tensor) -> Any:
            h = gru_cell(Ops, params, h, now)
            return h, h

        zero = Tensor.zeros(x.shape[1], params["wh"].shape[0], device=x.device)
        return adjoint.scan(step, zero, x)[0]


class Library(Functional):
    version = adjoint.__version__
    ops = Ops
    array = staticmethod(lambda a: Tensor(np.ascontiguousarray(a)).realize())
    cast = staticmethod(lambda t, dtype: t.cast(dtype).realize())
    numpy = staticmethod(lambda t: t.cast("float32").numpy())
    grad, value_and_grad = staticmethod(adjoint.grad), staticmethod(adjoint.value_and_grad)
    vjp, jvp, vmap = map(staticmethod, (adjoint.vjp, adjoint.jvp, adjoint.vmap))
    wait = staticmethod(lambda result: result)  # a call returns when its results are there

    def program(self, w: Workload) -> Program:
        adjoint.native_bfloat16(w.native)
        return super().program(w)

    @staticmethod
    def jit(fn: Any, donated: tuple[int, ...]) -> Any:
        return adjoint.jit(fn, donate_argnums=donated)
