"""torch's side of bench/cpu.py, eager or through torch.compile, with its own fused optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as nn
from cpu_workloads import Arrays, Workload, loss, lstm_cell, make, value

Program = tuple[Callable[[], None], Callable[[], Arrays]]


class Ops:
    relu, tanh, sigmoid, sum = torch.relu, torch.tanh, torch.sigmoid, torch.sum
    conv2d, cross_entropy = staticmethod(nn.conv2d), staticmethod(nn.cross_entropy)

    @staticmethod
    def softmax(x: Any) -> Any:
        return torch.softmax(x, -1)

    @staticmethod
    def transpose(x: Any) -> Any:
        return x.t().contiguous()

    @staticmethod
    def linear(x: Any, weight: Any, bias: Any) -> Any:
        flat = torch.addmm(bias, x.reshape(-1, x.shape[-1]), weight)
        return flat.reshape(*x.shape[:-1], -1)

    @staticmethod
    def layer_norm(x: Any, gain: Any, bias: Any) -> Any:
        return nn.layer_norm(x, x.shape[-1:], gain, bias)

    @staticmethod
    def max_pool2(x: Any) -> Any:
        return nn.max_pool2d(x, 2)

    @staticmethod
    def flatten(x: Any) -> Any:
        return x.flatten(1)

    @staticmethod
    def mean_square(x: Any) -> Any:
        return (x * x).mean()

    @staticmethod
    def lstm(params: dict[str, Any], x: Any) -> Any:
        h = c = torch.zeros(x.shape[1], params["wh"].shape[0])
        for now in x:
            h, c = lstm_cell(Ops, params, h, c, now)
        return h

    embedding = staticmethod(lambda table, x: nn.embedding(x, table))
    mean, swap = torch.mean, torch.transpose

    @staticmethod
    def conv(
        x: Any, kernel: Any, stride: int, padding: int, dilation: int = 1, groups: int = 1
    ) -> Any:
        return nn.conv2d(x, kernel, None, stride, padding, dilation, groups)

    @staticmethod
    def batch_norm(x: Any, gain: Any, bias: Any) -> Any:
        return nn.batch_norm(x, None, None, gain, bias, training=True)

    @staticmethod
    def gelu(x: Any) -> Any:
        return nn.gelu(x, approximate="tanh")

    @staticmethod
    def attention(q: Any, k: Any, v: Any, causal: bool) -> Any:
        return nn.scaled_dot_product_attention(q, k, v, is_causal=causal)

    @staticmethod
    def integer_product(a: Any, b: Any) -> Any:
        return torch._int_mm(a, b)  # `@` adds up in int8

    @staticmethod
    def argmin(x: Any) -> Any:
        return x.argmin(-1)

    @staticmethod
    def segment_sum(x: Any, index: Any, count: int) -> Any:
        sums = torch.zeros(count, x.shape[1]).index_add_(0, index, x)
        return sums, torch.bincount(index, minlength=count)

    @staticmethod
    def at_least_one(x: Any) -> Any:
        return x.clamp(1)

    @staticmethod
    def gru(params: dict[str, Any], x: Any) -> Any:
        zero = torch.zeros(1, x.shape[1], params["wh"].shape[0])
        weights = [params["wx"].t(), params["wh"].t(), params["bx"], params["bh"]]
        return torch.gru(x, zero, weights, True, 1, 0.0, True, False, False)[1][0]


def _tensor(a: np.ndarray) -> Any:
    found = torch.from_numpy(np.ascontiguousarray(a))
    return found.long() if a.dtype == np.int32 else found


def _array(t: Any) -> np.ndarray:
    return (t.float() if t.dtype == torch.bfloat16 else t).detach().numpy()


class Library:
    version = torch.__version__

    def __init__(self, mode: str):
        self.jit: Callable[[Any], Any] = torch.compile if mode == "compile" else lambda f: f

    def program(self, w: Workload) -> Program:
        params, inputs = ({k: _tensor(v) for k, v in arrays.items()} for arrays in make(w))
        if w.dtype:
            inputs = {k: v.to(getattr(torch, w.dtype)) for k, v in inputs.items()}
        if w.optimizer:
            return self.training(w, params, inputs)
        if w.forward is not None:
            return self.own(w, params, inputs)
        if w.kind == "layer norm":
            return self.layer_norm(inputs)
        if w.kind == "per sample":
            one = torch.func.grad(lambda params, x, y: loss(Ops, w, params, x[None], y[None]))
            fn = self.jit(torch.func.vmap(one, in_dims=(None, 0, 0)))
            return self.once(lambda: fn(params, inputs["x"], inputs["y"]), first=True)
        if w.kind == "hvp":
            gradient = torch.func.grad(
                lambda params: loss(Ops, w, params, inputs["x"], inputs["y"])
            )
            fn = self.jit(
                lambda params, squares: torch.func.jvp(gradient, (params,), (squares,))[1]
            )
            ones = {k: torch.ones_like(v) for k, v in params.items()}
            return self.once(lambda: fn(params, ones))
        fn = self.jit(lambda inputs: value(Ops, w, inputs))
        return self.once(lambda: {"value": fn(inputs)})

    def once(self, fn: Callable[[], Any], first: bool = False) -> Program:
        last: list[Any] = [None]

        def step() -> None:
            last[0] = None  # its memory can be used again
            with torch.no_grad():
                last[0] = fn()

        return step, lambda: {k: _array(v[0] if first else v) for k, v in last[0].items()}

    def own(self, w: Workload, params: dict[str, Any], inputs: dict[str, Any]) -> Program:
        fn = self.jit(lambda params, inputs: w.forward(Ops, params, inputs))
        if not params:
            return self.once(lambda: {"value": fn(params, inputs)})
        leaves, last = [p.requires_grad_() for p in params.values()], [()]

        def step() -> None:
            last[0] = ()
            found = fn(params, inputs)
            last[0] = (found, *torch.autograd.grad(found, leaves, inputs.get("cotangent")))

        names = ("value", *params)
        return step, lambda: {k: _array(v) for k, v in zip(names, last[0], strict=True)}

    def layer_norm(self, inputs: dict[str, Any]) -> Program:
        names = ("x", "gain", "bias")
        leaves = [inputs[k].requires_grad_() for k in names]
        fn, last = self.jit(lambda x, gain, bias: Ops.layer_norm(x, gain, bias)), [()]

        def step() -> None:
            last[0] = torch.autograd.grad(fn(*leaves), leaves, inputs["cotangent"])

        return step, lambda: {k: v.numpy() for k, v in zip(names, last[0], strict=True)}

    def training(self, w: Workload, params: dict[str, Any], inputs: dict[str, Any]) -> Program:
        parameters = [p.requires_grad_() for p in params.values()]
        kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
        optimizer = kinds[w.optimizer](parameters, lr=w.rate, fused=True)
        fn, last = self.jit(lambda params, x, y: loss(Ops, w, params, x, y)), [torch.zeros(())]

        def step() -> None:
            optimizer.zero_grad()
            found = fn(params, inputs["x"], inputs["y"])
            found.backward()
            optimizer.step()
            last[0] = found.detach()

        def results() -> Arrays:
            means = {
                f"mean {k}": optimizer.state[v]["exp_avg"]
                for k, v in params.items()
                if w.optimizer == "adam"
            }
            return {k: _array(v) for k, v in ({"loss": last[0]} | params | means).items()}

        return step, results
