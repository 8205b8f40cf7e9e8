"""The workloads of bench/cpu.py for libraries whose gradients are functions: Adjoint and JAX.

What may live here: what both do alike. What only one of them does is in its own file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cpu_workloads import Arrays, Workload, loss, make, update, value

Program = tuple[Callable[[], None], Callable[[], Arrays]]


class Functional:
    """A library: `ops`, and how it differentiates, batches, compiles and waits."""

    version: str
    ops: Any
    array: Callable[[np.ndarray], Any]
    cast: Callable[[Any, str], Any]
    numpy: Callable[[Any], np.ndarray]
    jit: Callable[..., Any]  # (fn, donated argument numbers)
    grad: Callable[..., Any]
    value_and_grad: Callable[..., Any]
    vjp: Callable[..., Any]
    jvp: Callable[..., Any]
    vmap: Callable[..., Any]
    wait: Callable[[Any], Any]

    def data(self, w: Workload) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and inputs as this library's arrays."""
        params, inputs = make(w)
        return {k: self.given(w, v) for k, v in params.items()}, {
            k: self.given(w, v) for k, v in inputs.items()
        }

    def given(self, w: Workload, value: np.ndarray) -> Any:
        made = self.array(value)
        return self.cast(made, w.dtype) if w.dtype and value.dtype == np.float32 else made

    def program(self, w: Workload) -> Program:
        """A function that runs the workload once, and one that gives the results of that run."""
        params, inputs = self.data(w)
        if w.optimizer:
            return self.training(w, params, inputs)
        if w.forward is not None:
            return self.once(self.both(w) if params else self.alone(w), (params, inputs))
        if w.kind == "layer norm":
            return self.once(
                self.layer_norm(), [inputs[k] for k in ("x", "gain", "bias", "cotangent")]
            )
        if w.kind == "per sample":
            return self.once(self.per_sample(w), (params, inputs["x"], inputs["y"]), first=True)
        if w.kind == "hvp":
            ones = {k: self.array(np.ones(v.shape, np.float32)) for k, v in params.items()}
            return self.once(self.hvp(w), (params, ones, inputs))
        return self.once(lambda inputs: {"value": value(self.ops, w, inputs)}, (inputs,))

    def once(self, fn: Callable[..., Any], arguments: Any, first: bool = False) -> Program:
        """A program without state; `first`: only the first of a batch of results is looked at."""
        compiled = self.jit(fn, ())
        last: list[Any] = [None]

        def step() -> None:
            last[0] = None  # its memory can be used again
            last[0] = self.wait(compiled(*arguments))

        def results() -> Arrays:
            found = {k: self.numpy(v) for k, v in last[0].items()}
            return {k: v[0] for k, v in found.items()} if first else found

        return step, results

    def alone(self, w: Workload) -> Callable[..., Any]:
        return lambda params, inputs: {"value": w.forward(self.ops, params, inputs)}

    def both(self, w: Workload) -> Callable[..., Any]:
        """The value and its gradients along the cotangent, or of a scalar."""

        def both(params: Any, inputs: Any) -> Any:
            def forward(params: Any) -> Any:
                return w.forward(self.ops, params, inputs)

            if "cotangent" not in inputs:
                found, grads = self.value_and_grad(forward)(params)
                return {"value": found} | grads
            found, pull = self.vjp(forward, params)
            return {"value": found} | pull(inputs["cotangent"])[0]

        return both

    def layer_norm(self) -> Callable[..., Any]:
        def both(x: Any, gain: Any, bias: Any, cotangent: Any) -> Any:
            pull = self.vjp(self.ops.layer_norm, x, gain, bias)[1]
            return dict(zip(("x", "gain", "bias"), pull(cotangent), strict=True))

        return both

    def per_sample(self, w: Workload) -> Callable[..., Any]:
        def one(params: Any, x: Any, y: Any) -> Any:
            return loss(self.ops, w, params, x.reshape(1, -1), y.reshape(1))

        return self.vmap(self.grad(one), in_axes=(None, 0, 0))

    def hvp(self, w: Workload) -> Callable[..., Any]:
        def product(params: Any, tangents: Any, inputs: Any) -> Any:
            gradient = self.grad(lambda p: loss(self.ops, w, p, inputs["x"], inputs["y"]))
            return self.jvp(gradient, (params,), (tangents,))[1]

        return product

    def training(self, w: Workload, params: dict[str, Any], inputs: dict[str, Any]) -> Program:
        both = self.value_and_grad(lambda params, x, y: loss(self.ops, w, params, x, y))

        def train(params: Any, means: Any, squares: Any, t: Any, inputs: Any) -> Any:
            found, grads = both(params, inputs["x"], inputs["y"])
            return found, *update(self.ops, w, params, grads, means, squares, t), t + 1

        compiled = self.jit(train, (0, 1, 2, 3))
        means, squares = self.moments(w, params), self.moments(w, params)
        state = [params, means, squares, self.array(np.ones((), np.float32))]
        last = [None]

        def step() -> None:
            last[0], *state[:] = self.wait(compiled(*state, inputs))

        def results() -> Arrays:
            made = {"loss": last[0]} | state[0] | {f"mean {k}": v for k, v in state[1].items()}
            return {k: self.numpy(v) for k, v in made.items()}

        return step, results

    def moments(self, w: Workload, params: dict[str, Any]) -> dict[str, Any]:
        if w.optimizer == "sgd":
            return {}
        return {k: self.array(np.zeros(v.shape, np.float32)) for k, v in params.items()}
