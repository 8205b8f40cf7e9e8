"""One library's side of bench/graph.py: builds graphs on request and reports how long each took.

Reads lines `{"workload": name, "runs": n}`, answers with a list of seconds. The leaves of every run
are new tensors made before the clock starts, and the result is dropped before the next run, so no
run finds nodes of an earlier one: what is timed is the building of a graph that does not exist yet.
Nothing is ever realized.
"""

import gc
import importlib
import importlib.metadata
import json
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

Build = Callable[..., Any]


def chain(x: Any, y: Any) -> Any:
    for _ in range(500):
        x = x * y + y
    return x


def mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    h = (x @ w1 + b1).relu()
    h = (h @ w2 + b2).relu()
    return h @ w3 + b3


SQUARE = (64, 64)
LAYERS = [(32, 784), (784, 128), (128,), (128, 64), (64,), (64, 10), (10,)]
WORKLOADS: dict[str, tuple[Build, list[tuple[int, ...]]]] = {
    "x + y": (lambda x, y: x + y, [SQUARE, SQUARE]),
    "softmax": (lambda x: x.softmax(-1), [SQUARE]),
    "matmul": (lambda x, y: x @ y, [SQUARE, SQUARE]),
    "chain of 1,000 ops": (chain, [SQUARE, SQUARE]),
    "3-layer MLP, forward": (mlp, LAYERS),
}


def measure(tensor: Any, workload: str, runs: int) -> list[float]:
    build, shapes = WORKLOADS[workload]
    times = []
    for _ in range(runs):
        leaves = [tensor.empty(*shape) for shape in shapes]
        start = perf_counter()
        result = build(*leaves)
        times.append(perf_counter() - start)
        del result, leaves
    return times


def serve(library: str) -> None:
    tensor = importlib.import_module(library).Tensor
    print(json.dumps(importlib.metadata.version(library)), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        gc.collect()
        gc.disable()
        times = measure(tensor, request["workload"], request["runs"])
        gc.enable()
        print(json.dumps(times), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
