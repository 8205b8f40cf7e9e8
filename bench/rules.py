"""What applying rules costs beside the rest of a compile: `python -m bench.rules`.

Graphs of 1,000 and 10,000 nodes: a chain that rules take apart nearly wholly (`-(-x) * 1`), the
gradient of a deep network, arithmetic that no rule applies to, and kernels of long mathematics,
each with numbers of its own or all with the same.
`simplify` is the rules on the graph, `optimise` those on the loops. Times are the processor's, the
least of some runs, so that a busy machine matters little; nothing is found in a cache. The last
column is the same compile with no rule at all.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from adjoint import Tensor
from adjoint.engine.compilation import MAIN, Compilation
from adjoint.engine.graph_key import close_over_parameters, graph_key
from adjoint.engine.pipeline import PASSES
from adjoint.engine.program_cache import load_backend
from adjoint.ir.rewrite import RuleSet
from adjoint.ir.tensor_rules import tensor_rules
from adjoint.ir.uop import UOp, toposort
from adjoint.kernel import optimise
from adjoint.kernel.rules import kernel_rules
from adjoint.runtime import compiler
from adjoint.schedule import simplify
from adjoint.stages import Graph
from adjoint.target import DEFAULT_BACKEND

RESULTS = Path(__file__).parent / "results" / "rules.md"
SIZES = (1_000, 10_000)
RULES = ("simplify", "optimise")
RUNS = 2


def _start() -> Tensor:
    return Tensor(np.ones((4, 8), np.float32), device="CPU").realize()


def undone(size: int) -> list[Tensor]:
    x = y = _start()
    for i in range(size // 6):
        y = -(-y * 1) + x.abs().abs() / 4 + float(i)
    return [y]


def gradient(size: int) -> list[Tensor]:
    x, weights = _start(), []
    for _ in range(max(1, size // 10)):
        w = Tensor(np.eye(8, dtype=np.float32), device="CPU", requires_grad=True)
        weights.append(w)
        x = (x @ w).tanh()
    x.mean().backward()
    return [w.grad for w in weights]


def untouched(size: int) -> list[Tensor]:
    x = y = _start()
    for i in range(size // 4):
        y = (y * (i + 1.5)).sin() + x
    return [y]


def mathematics(size: int) -> list[Tensor]:
    x = y = _start()
    for i in range(size // 12):
        y = (y + float(i)).logsigmoid().pow(1.5) + x
    return [y]


def repeated(size: int) -> list[Tensor]:
    x = y = _start()
    for _ in range(size // 12):
        y = (y * 1.5).logsigmoid().pow(1.5) + x
    return [y]


GRAPHS: dict[str, Callable[[int], list[Tensor]]] = {
    "undone": undone,
    "gradient": gradient,
    "untouched": untouched,
    "mathematics": mathematics,
    "repeated": repeated,
}


def seconds(roots: list[UOp]) -> dict[str, float]:
    """Of the processor, by pass up to `compile`."""
    key = graph_key(roots)
    assert key is not None
    outputs, inputs = close_over_parameters(roots, key.leaves)
    graph = Graph(tuple(outputs), tuple(inputs))
    unit, found = Compilation(load_backend(DEFAULT_BACKEND), {MAIN: graph}), {}
    compiler._kept.clear()  # the code that this process has
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        for row in PASSES[:-1]:
            gc.collect()  # not while a pass is timed: it looks at every object of the process
            gc.disable()
            start = time.process_time()
            unit = row.run(unit)
            found[row.name] = time.process_time() - start
            gc.enable()
    return found


def least(roots: list[UOp]) -> dict[str, float]:
    """By pass."""
    runs = [seconds(roots) for _ in range(RUNS)]
    return {row: min(run[row] for run in runs) for row in runs[0]}


@contextmanager
def no_rules() -> Iterator[None]:
    """Inside, neither pass has any rule."""
    before = simplify.tensor_rules, optimise.shared_rules, optimise.kernel_rules
    none = RuleSet(())
    simplify.tensor_rules = optimise.shared_rules = optimise.kernel_rules = none
    try:
        yield
    finally:
        simplify.tensor_rules, optimise.shared_rules, optimise.kernel_rules = before


def measured(name: str, size: int) -> str:
    roots = [t.uop for t in GRAPHS[name](size)]
    nodes, before = len(toposort(roots)), simplify.fired.total() + optimise.fired.total()
    taken = least(roots)
    count = (simplify.fired.total() + optimise.fired.total() - before) // RUNS
    with no_rules():
        without = sum(least(roots).values())
    first, second = (taken[row] for row in RULES)
    whole = sum(taken.values())
    return (
        f"| {name} | {nodes:,} | {count:,} | {first * 1e3:.1f} | {first / nodes * 1e6:.1f} "
        f"| {second * 1e3:.1f} | {whole * 1e3:.0f} | {(first + second) / whole:.1%} "
        f"| {without * 1e3:.0f} |"
    )


def main() -> int:
    seconds([(_start() * 3).uop])  # the compiler is loaded
    rows = [measured(name, size) for name in GRAPHS for size in SIZES]
    page = "\n".join([*_head(), *rows, *_TAIL]) + "\n"
    RESULTS.write_text(page, encoding="utf-8")
    print(page)
    return 0


def _head() -> list[str]:
    return [
        "# Rewrite rules as a share of a compile",
        "",
        f"{len(tensor_rules)} rules of graphs, {len(kernel_rules)} of kernels; milliseconds of the "
        f"processor. `python -m bench.rules`, {time.strftime('%Y-%m-%d')}.",
        "",
        "| graph | nodes | rules applied | simplify | µs a node | optimise | compile with LLVM "
        "| share of rules | compile without rules |",
        "|---|---|---|---|---|---|---|---|---|",
    ]


_TAIL = (
    "",
    "Of `undone` little is left to compile once its rules have applied: they save more than they "
    "cost. In `mathematics` rules apply so early in each formula that nearly every node is built "
    "anew, and no kernel is like another; `repeated` is the same with kernels that are.",
)


if __name__ == "__main__":
    sys.exit(main())
