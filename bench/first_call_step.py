"""One process of bench/first_call.py: import a library, make a step, call it once.

Usage: python first_call_step.py LIBRARY WORKLOAD. Prints the seconds of the import, of the first
call and of the second, and what the step gave. The steps are jitted: training steps of an MLP, of
one with 100 layers and of a small GPT by SGD, and a chain of scalar ops.
"""

import importlib
import json
import sys
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

RATE = 0.01
LAYERS, WIDTH, HEADS, TOKENS, BATCH, WORDS = 4, 64, 4, 32, 16, 96  # of the GPT
Params = dict[str, Any]
Step = tuple[Callable[..., Any], tuple[Any, ...]]
_random = np.random.default_rng(7)


def normal(*shape: int, scale: float = 0.1) -> Any:
    return (_random.standard_normal(shape) * scale).astype(np.float32)


def integers(below: int, *shape: int) -> Any:
    return _random.integers(0, below, shape).astype(np.int32)


def mlp(ops: Any, dims: tuple[int, ...], batch: int) -> Step:
    pairs = list(pairwise(dims))
    params: Params = {f"w{i}": normal(a, b) for i, (a, b) in enumerate(pairs)}
    params |= {f"b{i}": normal(b) for i, (_, b) in enumerate(pairs)}

    def loss(params: Params, x: Any, y: Any) -> Any:
        for i in range(len(pairs)):
            x = ops.linear(x, params[f"w{i}"], params[f"b{i}"])
            x = ops.relu(x) if i < len(pairs) - 1 else x
        return ops.cross_entropy(x, y)

    return loss, (params, normal(batch, dims[0]), integers(dims[-1], batch))


def gpt(ops: Any) -> Step:
    params: Params = {"words": normal(WORDS, WIDTH), "places": normal(TOKENS, WIDTH)}
    for i in range(LAYERS):
        params |= {f"qkv{i}": normal(WIDTH, 3 * WIDTH), f"out{i}": normal(WIDTH, WIDTH)}
        params |= {f"up{i}": normal(WIDTH, 4 * WIDTH), f"down{i}": normal(4 * WIDTH, WIDTH)}
        params |= {f"{k}{i}": np.ones(WIDTH, np.float32) for k in ("gain", "scale")}
        params |= {f"{k}{i}": np.zeros(WIDTH, np.float32) for k in ("bias", "shift")}
    mask = np.triu(np.full((TOKENS, TOKENS), -1e9, np.float32), 1)

    def heads(x: Any) -> Any:
        return ops.swap(x.reshape(BATCH, TOKENS, HEADS, WIDTH // HEADS), 1, 2)

    def attention(params: Params, i: int, x: Any, mask: Any) -> Any:
        joined = x @ params[f"qkv{i}"]
        q, k, v = (heads(joined[:, :, n * WIDTH : (n + 1) * WIDTH]) for n in range(3))
        scores = q @ ops.swap(k, 2, 3) * (WIDTH // HEADS) ** -0.5 + mask
        mixed = ops.swap(ops.softmax(scores) @ v, 1, 2)
        return mixed.reshape(BATCH, TOKENS, WIDTH) @ params[f"out{i}"]

    def loss(params: Params, x: Any, y: Any, mask: Any) -> Any:
        h = params["words"][x] + params["places"]
        for i in range(LAYERS):
            normed = ops.layer_norm(h, params[f"gain{i}"], params[f"bias{i}"])
            h = h + attention(params, i, normed, mask)
            normed = ops.layer_norm(h, params[f"scale{i}"], params[f"shift{i}"])
            h = h + ops.relu(normed @ params[f"up{i}"]) @ params[f"down{i}"]
        logits = h.reshape(BATCH * TOKENS, WIDTH) @ ops.swap(params["words"], 0, 1)
        return ops.cross_entropy(logits, y.reshape(BATCH * TOKENS))

    return loss, (params, integers(WORDS, BATCH, TOKENS), integers(WORDS, BATCH, TOKENS), mask)


def trained(library: Any, step: Step) -> Step:
    """A step of SGD: the loss, and the parameters after it."""
    loss, arguments = step
    both = library.value_and_grad(loss)

    def train(params: Params, *rest: Any) -> Any:
        found, grads = both(params, *rest)
        return found, {k: params[k] - RATE * grads[k] for k in params}

    return train, arguments


def chain(ops: Any, count: int) -> Step:
    def ops_of(x: Any) -> Any:
        y = x
        for _ in range(count // 3):
            y = ops.relu(y * 1.0001 + x)
        return y, {}

    return ops_of, (np.float32(0.001) * np.ones((), np.float32),)


WORKLOADS: dict[str, Callable[[Any], Step]] = {
    "MLP": lambda lib: trained(lib, mlp(lib.ops, (784, 512, 512, 10), 128)),
    "GPT": lambda lib: trained(lib, gpt(lib.ops)),
    "deep MLP": lambda lib: trained(lib, mlp(lib.ops, (*(64,) * 100, 10), 32)),
    "chain": lambda lib: chain(lib.ops, 1000),
}


def main(name: str, workload: str) -> None:
    start = perf_counter()
    library = importlib.import_module(f"cpu_{name}").Library()
    imported = perf_counter() - start
    fn, given = WORKLOADS[workload](library)
    arguments = [_arrays(library, value) for value in given]
    step, times = library.jit(fn, ()), []
    for _ in range(2):
        start = perf_counter()
        found = float(np.ravel(library.numpy(library.wait(step(*arguments))[0]))[0])
        times.append(perf_counter() - start)
    answer = {"import": imported, "first": times[0], "second": times[1], "value": found}
    print(json.dumps(answer | {"version": library.version}))


def _arrays(library: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return {k: library.array(v) for k, v in value.items()}
    return library.array(value)


if __name__ == "__main__":
    main(*sys.argv[1:])
