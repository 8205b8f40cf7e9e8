"""How long `simplify` takes beside the rest of a compile: `python -m bench.simplify`.

Graphs of 1,000 to 10,000 nodes: a chain that rules take apart (`-(-x) * 1`), the gradient of a deep
network, and arithmetic that no rule applies to. Times are the processor's, so that a busy machine
does not matter. The last pass counted is `lower`: what LLVM takes comes on top, and is cached.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from adjoint import Tensor
from adjoint.engine.compilation import MAIN, Compilation
from adjoint.engine.pipeline import PASSES
from adjoint.engine.program_cache import closed, graph_key, load_backend
from adjoint.ir.tensor_rules import tensor_rules
from adjoint.ir.uop import UOp, toposort
from adjoint.schedule.simplify import fired
from adjoint.stages import Graph
from adjoint.target import DEFAULT_BACKEND

RESULTS = Path(__file__).parent / "results" / "simplify.md"
SIZES = (1_000, 3_000, 10_000)
LAST = "lower"


def _start() -> Tensor:
    return Tensor(np.ones((4, 8), np.float32), device="CPU").realize()


def undone(size: int) -> list[Tensor]:
    x = y = _start()
    for i in range(size // 8):
        y = -(-y * 1) + x.abs().abs() / 4 + float(i)
    return [y]


def gradient(size: int) -> list[Tensor]:
    x, weights = _start(), []
    for _ in range(max(1, size // 22)):
        w = Tensor(np.eye(8, dtype=np.float32), device="CPU", requires_grad=True)
        weights.append(w)
        x = (x @ w).tanh()
    x.mean().backward()
    return [w.grad for w in weights]


def untouched(size: int) -> list[Tensor]:
    x = y = _start()
    for i in range(size // 3):
        y = (y * (i + 1.5)).sin() + x
    return [y]


GRAPHS: dict[str, Callable[[int], list[Tensor]]] = {
    "undone": undone,
    "gradient": gradient,
    "untouched": untouched,
}


def seconds(roots: list[UOp]) -> dict[str, float]:
    """Of the processor, by pass."""
    key = graph_key(roots)
    assert key is not None
    outputs, inputs = closed(roots, key.leaves)
    graph = Graph(tuple(outputs), tuple(inputs))
    unit, found = Compilation(load_backend(DEFAULT_BACKEND), {MAIN: graph}), {}
    for row in PASSES:
        gc.collect()  # not while a pass is timed: it looks at every object of the process
        gc.disable()
        start = time.process_time()
        unit = row.run(unit)
        found[row.name] = time.process_time() - start
        gc.enable()
        if row.name == LAST:
            break
    return found


def measured(name: str, size: int) -> str:
    roots = [t.uop for t in GRAPHS[name](size)]
    nodes, before = len(toposort(roots)), fired.total()
    taken = seconds(roots)
    count, whole = fired.total() - before, sum(taken.values())
    mine = taken["simplify"]
    each = mine / nodes * 1e6
    return (
        f"| {name} | {nodes:,} | {count:,} | {mine * 1e3:.1f} | {each:.1f} | {whole * 1e3:.0f} "
        f"| {mine / whole:.1%} |"
    )


def main() -> int:
    seconds([(_start() * 3).uop])  # the compiler is loaded
    rows = [measured(name, size) for name in GRAPHS for size in SIZES]
    head = [
        "# Simplifying, beside the rest of a compile",
        "",
        f"{len(tensor_rules)} rules; milliseconds of the processor, without LLVM's. "
        f"`python -m bench.simplify`, {time.strftime('%Y-%m-%d')}.",
        "",
        "| graph | nodes | rules applied | simplify | µs a node | passes up to `lower` | share |",
        "|---|---|---|---|---|---|---|",
    ]
    page = "\n".join([*head, *rows]) + "\n"
    RESULTS.write_text(page, encoding="utf-8")
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
