"""One library's side of bench/autodiff.py: builds gradients on request and reports the times.

Reads lines `{"kind": "chain" | "mlp", "size": n, "runs": r}`, answers with a list of seconds. The
parameters of every run are new and made before the clock starts; the result of a run is dropped
before the next. The garbage collector is on while the clock runs, as it is for users, unless an
argument is "no-gc".
"""

import gc
import importlib
import importlib.metadata
import json
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

Make = Callable[..., Any]  # a parameter of a given shape
Ops = Any  # whatever has sin, tanh, sum and mean
WIDTH, BATCH = 4, 2
Build = Callable[[], Any]


def chain(ops: Ops, y: Any, size: int) -> Any:
    for _ in range(size // 2):
        y = ops.sin(y) * 1.01
    return ops.sum(y)


def mlp(ops: Ops, x: Any, layers: Any) -> Any:
    for w, b in layers:
        x = ops.tanh(x @ w + b)
    return ops.mean(x * x)


def problem(ops: Ops, make: Make, kind: str, size: int) -> tuple[Callable[[Any], Any], Any]:
    """A function to differentiate and its parameters."""
    if kind == "chain":
        return lambda y: chain(ops, y, size), make(WIDTH)
    x = make(BATCH, WIDTH)
    layers = [(make(WIDTH, WIDTH), make(WIDTH)) for _ in range(size)]
    return lambda layers: mlp(ops, x, layers), layers


def flat(parameters: Any) -> list[Any]:
    if isinstance(parameters, list):
        return [p for layer in parameters for p in layer]
    return [parameters]


def adjoint(route: str) -> Callable[[str, int], Build]:
    library = importlib.import_module("adjoint")
    ops = library.Tensor

    def prepare(kind: str, size: int) -> Build:
        fn, parameters = problem(ops, ops.empty, kind, size)
        if route == "grad":
            return lambda: library.grad(fn)(parameters)
        for parameter in flat(parameters):
            parameter.requires_grad = True
        return lambda: fn(parameters).backward()

    return prepare


def jax() -> Callable[[str, int], Build]:
    library = importlib.import_module("jax")
    ops = importlib.import_module("jax.numpy")

    def prepare(kind: str, size: int) -> Build:
        fn, parameters = problem(ops, lambda *shape: ops.ones(shape), kind, size)
        return lambda: library.make_jaxpr(library.grad(fn))(parameters)

    return prepare


def torch() -> Callable[[str, int], Build]:
    library = importlib.import_module("torch")

    def prepare(kind: str, size: int) -> Build:
        fn, parameters = problem(library, library.ones, kind, size)
        leaves = [p.requires_grad_() for p in flat(parameters)]
        return lambda: library.autograd.grad(fn(parameters), leaves)

    return prepare


def autograd() -> Callable[[str, int], Build]:
    library = importlib.import_module("autograd")
    ops = importlib.import_module("autograd.numpy")

    def prepare(kind: str, size: int) -> Build:
        fn, parameters = problem(ops, lambda *s: ops.ones(s, dtype=ops.float32), kind, size)
        return lambda: library.grad(fn)(parameters)

    return prepare


def tinygrad() -> Callable[[str, int], Build]:
    ops = importlib.import_module("tinygrad").Tensor

    def prepare(kind: str, size: int) -> Build:
        fn, parameters = problem(ops, ops.empty, kind, size)
        leaves = flat(parameters)
        return lambda: fn(parameters).gradient(*leaves)

    return prepare


LIBRARIES: dict[str, Callable[..., Any]] = {
    "adjoint": adjoint,
    "jax": jax,
    "torch": torch,
    "autograd": autograd,
    "tinygrad": tinygrad,
}


def timed(build: Build) -> float:
    start = perf_counter()
    result = build()
    seconds = perf_counter() - start
    del result
    return seconds


def answer(prepare: Callable[[str, int], Build], request: Any, collect: bool) -> Any:
    gc.collect()
    if not collect:
        gc.disable()
    try:
        return [timed(prepare(request["kind"], request["size"])) for _ in range(request["runs"])]
    except (RecursionError, MemoryError) as error:
        return type(error).__name__
    finally:
        gc.enable()


def serve(library: str, *options: str) -> None:
    routes = [o for o in options if o != "no-gc"]
    prepare = LIBRARIES[library](*routes)
    print(json.dumps(importlib.metadata.version(library)), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(prepare, json.loads(line), "no-gc" not in options)), flush=True)


if __name__ == "__main__":
    serve(*sys.argv[1:])
