"""Adjoint's side of bench/cpu.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from cpu_functional import Functional
from cpu_workloads import lstm_cell

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


class Library(Functional):
    version = adjoint.__version__
    ops = Ops
    array = staticmethod(lambda a: Tensor(np.ascontiguousarray(a)).realize())
    numpy = staticmethod(lambda t: t.numpy())
    grad, value_and_grad = staticmethod(adjoint.grad), staticmethod(adjoint.value_and_grad)
    vjp, jvp, vmap = map(staticmethod, (adjoint.vjp, adjoint.jvp, adjoint.vmap))
    wait = staticmethod(lambda result: result)  # a call returns when its results are there

    @staticmethod
    def jit(fn: Any, donated: tuple[int, ...]) -> Any:
        return adjoint.jit(fn, donate_argnums=donated)
