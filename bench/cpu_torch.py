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
        return torch.addmm(bias, x, weight)

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


def _tensor(a: np.ndarray) -> Any:
    found = torch.from_numpy(np.ascontiguousarray(a))
    return found.long() if a.dtype == np.int32 else found


class Library:
    version = torch.__version__

    def __init__(self, mode: str):
        self.jit: Callable[[Any], Any] = torch.compile if mode == "compile" else lambda f: f

    def program(self, w: Workload) -> Program:
        params, inputs = ({k: _tensor(v) for k, v in arrays.items()} for arrays in make(w))
        if w.optimizer:
            return self.training(w, params, inputs)
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
            with torch.no_grad():
                last[0] = fn()

        return step, lambda: {k: (v[0] if first else v).numpy() for k, v in last[0].items()}

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
            return {"loss": last[0].numpy()} | {k: v.detach().numpy() for k, v in params.items()}

        return step, results
