"""One library's side of bench/overhead.py: small things, many times.

Reads lines `{"name": workload, "runs": n}`, answers with a list of seconds and a number that all
libraries must agree on. Needs nothing but the library: tinygrad comes without NumPy.
"""

import gc
import importlib
import importlib.metadata
import json
import sys
import traceback
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter
from typing import Any

from first_gradient import numbers

Run = Callable[[], Any]
MLPS = {"MLP": ((784, 512, 512, 10), 128), "tiny MLP": ((2, 16, 16, 1), 100)}
RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


def moments(layers: list[Any], zeros_like: Any) -> tuple[list[Any], list[Any]]:
    return [zeros_like(p) for p in layers], [zeros_like(p) for p in layers]


def forward(layers: Any, x: Any, relu: Any) -> Any:
    w1, b1, w2, b2, w3, b3 = layers
    return relu(relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3


def adam(layers: Any, grads: Any, m: Any, v: Any, t: Any, sqrt: Any) -> tuple[list[Any], ...]:
    """Parameters and moments after a step; `t` counts steps from 1."""
    m = [BETA1 * a + (1 - BETA1) * g for a, g in zip(m, grads, strict=True)]
    v = [BETA2 * a + (1 - BETA2) * g * g for a, g in zip(v, grads, strict=True)]
    first, second = 1 - BETA1**t, 1 - BETA2**t
    new = [
        p - RATE * (a / first) / (sqrt(b / second) + EPSILON)
        for p, a, b in zip(layers, m, v, strict=True)
    ]
    return new, m, v


class Library:
    """What the libraries have in common; `array` makes one of theirs from a flat list."""

    array: Callable[[list[float], tuple[int, ...]], Any]

    def pair(self) -> tuple[Any, Any]:
        return self.array([1.0, 2.0, 3.0], (3,)), self.array([0.5, 0.25, 4.0], (3,))

    def mlp(self, name: str) -> tuple[list[Any], Any, Any]:
        """Parameters, inputs and targets."""
        dims, batch = MLPS[name]
        layers = []
        for n, (a, b) in enumerate(pairwise(dims)):
            scale = (3 / a) ** 0.5
            weight = [scale * v for v in numbers(a * b, 31 * n + 1)]
            layers += [self.array(weight, (a, b)), self.array(numbers(b, 17 * n + 5), (b,))]
        x, y = numbers(batch * dims[0], 3), numbers(batch * dims[-1], 11)
        return layers, self.array(x, (batch, dims[0])), self.array(y, (batch, dims[-1]))

    def workload(self, name: str) -> tuple[Run, Run]:
        """What is timed, and what says the number to agree on afterwards."""
        kind, _, model = name.partition(" of ")
        if kind == "x + y":
            return self.add()
        return self.jitted_add() if kind == "jitted x + y" else self.step(model, kind == "jitted")

    def add(self) -> tuple[Run, Run]:
        raise NotImplementedError

    def jitted_add(self) -> tuple[Run, Run]:
        raise NotImplementedError

    def step(self, model: str, jitted: bool) -> tuple[Run, Run]:
        raise NotImplementedError


class Adjoint(Library):
    def __init__(self) -> None:
        self.adjoint = importlib.import_module("adjoint")
        self.tensor = self.adjoint.Tensor
        self.array = lambda values, shape: self.tensor(values).reshape(shape).realize()

    def add(self) -> tuple[Run, Run]:
        x, y = self.pair()
        return lambda: (x + y).realize(), lambda: (x + y).sum().item()

    def jitted_add(self) -> tuple[Run, Run]:
        x, y = self.pair()
        fn = self.adjoint.jit(lambda x, y: x + y)
        return lambda: fn(x, y), lambda: fn(x, y).sum().item()

    def step(self, model: str, jitted: bool) -> tuple[Run, Run]:
        layers, x, y = self.mlp(model)
        tensor = self.tensor

        def loss(layers: Any) -> Any:
            e = forward(layers, x, tensor.relu) - y
            return (e * e).mean()

        def train(layers: Any, m: Any, v: Any, t: Any) -> Any:
            value, grads = self.adjoint.value_and_grad(loss)(layers)
            return value, *adam(layers, grads, m, v, t, tensor.sqrt), t + 1

        fn = self.adjoint.jit(train, donate_argnums=(0, 1, 2, 3)) if jitted else train
        m, v = moments(layers, lambda p: tensor.zeros_like(p).contiguous().realize())
        state = [layers, m, v, self.array([1.0], ())]
        last: list[Any] = [None]

        def run() -> None:
            last[0], *state[:] = fn(*state)
            if not jitted:
                tensor.realize(last[0], *state[0], *state[1], *state[2], state[3])

        return run, lambda: last[0].item()


class Jax(Library):
    def __init__(self) -> None:
        self.jax, self.jnp = importlib.import_module("jax"), importlib.import_module("jax.numpy")
        self.array = lambda values, shape: self.jnp.array(values).reshape(shape)

    def add(self) -> tuple[Run, Run]:
        x, y = self.pair()
        return lambda: (x + y).block_until_ready(), lambda: float((x + y).sum())

    def jitted_add(self) -> tuple[Run, Run]:
        x, y = self.pair()
        fn = self.jax.jit(lambda x, y: x + y)
        return lambda: fn(x, y).block_until_ready(), lambda: float(fn(x, y).sum())

    def step(self, model: str, jitted: bool) -> tuple[Run, Run]:
        layers, x, y = self.mlp(model)
        jax, jnp = self.jax, self.jnp

        def loss(layers: Any) -> Any:
            e = forward(layers, x, lambda h: jnp.maximum(h, 0)) - y
            return (e * e).mean()

        def train(layers: Any, m: Any, v: Any, t: Any) -> Any:
            value, grads = jax.value_and_grad(loss)(layers)
            return value, *adam(layers, grads, m, v, t, jnp.sqrt), t + 1

        fn = jax.jit(train, donate_argnums=(0, 1, 2, 3)) if jitted else train
        state = [layers, *moments(layers, jnp.zeros_like), jnp.float32(1)]
        last: list[Any] = [None]

        def run() -> None:
            last[0], *state[:] = fn(*state)
            jax.block_until_ready((last, state))

        return run, lambda: float(last[0])


class Tinygrad(Library):
    """Its own optimizer, as its users write it."""

    def __init__(self) -> None:
        self.tinygrad = importlib.import_module("tinygrad")
        self.optim = importlib.import_module("tinygrad.nn.optim")
        self.tensor = self.tinygrad.Tensor
        self.array = lambda values, shape: self.tensor(values).reshape(shape).contiguous().realize()

    def wait(self) -> None:
        self.tinygrad.Device[self.tinygrad.Device.DEFAULT].synchronize()

    def add(self) -> tuple[Run, Run]:
        x, y = self.pair()

        def run() -> None:
            (x + y).realize()
            self.wait()

        return run, lambda: (x + y).sum().item()

    def jitted_add(self) -> tuple[Run, Run]:
        x, y = self.pair()
        fn = self.tinygrad.TinyJit(lambda x, y: (x + y).realize())

        def run() -> None:
            fn(x, y)
            self.wait()

        return run, lambda: fn(x, y).sum().item()

    def step(self, model: str, jitted: bool) -> tuple[Run, Run]:
        layers, x, y = self.mlp(model)
        for p in layers:
            p.is_param_(True)
        optimizer = self.optim.Adam(layers, lr=RATE, b1=BETA1, b2=BETA2, eps=EPSILON)
        last: list[Any] = [None]

        @self.tinygrad.Context(TRAINING=1)
        def train() -> Any:
            optimizer.zero_grad()
            e = forward(layers, x, self.tensor.relu) - y
            value = (e * e).mean().backward()
            return value.realize(*optimizer.schedule_step())

        fn = self.tinygrad.TinyJit(train) if jitted else train

        def run() -> None:
            last[0] = fn()
            self.wait()

        return run, lambda: last[0].item()


LIBRARIES: dict[str, Callable[[], Library]] = {"adjoint": Adjoint, "jax": Jax, "tinygrad": Tinygrad}
WARMUP = 3  # runs before the clock starts; after them everything is compiled


class Kept:
    """Workloads stay prepared between rounds."""

    def __init__(self, library: Library):
        self.library = library
        self.known: dict[str, tuple[Run, float]] = {}

    def measure(self, name: str, runs: int) -> dict[str, Any]:
        if name not in self.known:
            run, number = self.library.workload(name)
            for _ in range(WARMUP):
                run()
            self.known[name] = run, number()
        run, agreed = self.known[name]
        times = []
        for _ in range(runs):
            start = perf_counter()
            run()
            times.append(perf_counter() - start)
        return {"times": times, "number": agreed}


def serve(library: str) -> None:
    kept = Kept(LIBRARIES[library]())
    print(json.dumps(importlib.metadata.version(library)), flush=True)
    for line in sys.stdin:
        gc.collect()
        try:
            found = kept.measure(**json.loads(line))
        except Exception as problem:  # whatever a library raises is its result
            traceback.print_exc()
            found = {"failed": f"{type(problem).__name__}: {problem}".splitlines()[0][:60]}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
