"""How long does it take to build a gradient? Adjoint against JAX, torch, autograd and tinygrad.

Each library runs in a process of its own; rounds alternate between them, so that a busy machine
slows all. What is timed is the forward graph and its gradient from new parameters: Adjoint by
`grad(fn)` and by `.backward()`, JAX by `make_jaxpr(grad(fn))`, tinygrad by `.gradient()`; nothing
is computed. torch and autograd cannot build without computing, on four numbers an op.
Usage: python bench/autodiff.py [--rounds N] [--limit SECONDS] [--python PEER=PATH] [--check]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

import peers

MICROSECONDS = 20.0  # bar: per op of the forward graph, for Adjoint, at every size
LINEAR = 1.5  # bar: ten times the ops take at most this times ten times the time
LONG = 3.0  # seconds; what takes longer is measured once
ROUTES = {"grad": "Adjoint, grad", "backward": "Adjoint, .backward()"}
PEERS = ("jax", "torch", "autograd", "tinygrad")


@dataclass(frozen=True)
class Workload:
    """A gradient to build; `ops` are those of the forward graph."""

    kind: str
    size: int
    ops: int
    runs: int

    @property
    def name(self) -> str:
        return (
            f"chain of {self.size:,} ops" if self.kind == "chain" else f"MLP, {self.size:,} layers"
        )


WORKLOADS = (
    Workload("chain", 100, 100, 20),
    Workload("chain", 1_000, 1_000, 5),
    Workload("chain", 10_000, 10_000, 1),
    Workload("chain", 100_000, 100_000, 1),
    Workload("mlp", 100, 300, 10),
    Workload("mlp", 1_000, 3_000, 2),
)


@dataclass
class Contestant:
    """A library, the way it is asked, and what it took; a failure ends a workload for it."""

    title: str
    library: str
    python: str
    options: tuple[str, ...]
    worker: Any = None
    version: str = ""
    times: dict[Workload, list[float]] = field(default_factory=dict)
    failed: dict[Workload, str] = field(default_factory=dict)

    def run(self, workload: Workload, limit: float, keep: bool) -> None:
        """Measure, unless it has failed before or takes so long that once must do."""
        known = self.times.get(workload, [])
        if workload in self.failed or (known and known[0] > LONG):
            return
        found = self._ask(workload, limit)
        if isinstance(found, str):
            self.failed[workload] = found
        elif keep or found[0] > LONG:
            self.times.setdefault(workload, []).extend(found)

    def _ask(self, workload: Workload, limit: float) -> Any:
        if self.worker is None:
            self.worker = peers.Worker(
                self.python, "autodiff_worker.py", self.library, *self.options
            )
            self.version = self.worker.version
        try:
            request = {"kind": workload.kind, "size": workload.size, "runs": workload.runs}
            return self.worker.ask(limit, **request)
        except peers.TimedOutError:
            self.worker = None
            return f"over {limit:.0f} s"
        except peers.DiedError as error:
            self.worker = None
            return f"died, {error}"

    def median(self, workload: Workload) -> float | None:
        found = self.times.get(workload)
        return median(found) if found else None


def contestants(options: argparse.Namespace) -> list[Contestant]:
    more = ("no-gc",) if options.no_gc else ()
    ours = [
        Contestant(title, "adjoint", sys.executable, (route, *more))
        for route, title in ROUTES.items()
    ]
    wanted = [p for p in PEERS if p in options.peers.split(",")]
    return ours + [Contestant(p, p, peers.interpreter(p, options.python), more) for p in wanted]


def measure(all_: list[Contestant], rounds: int, limit: float) -> None:
    """Rounds over every workload and library; the first warms caches and is dropped."""
    for number in range(rounds + 1):
        for workload in WORKLOADS:
            for contestant in all_:
                contestant.run(workload, limit, keep=number > 0)
        print(f"round {number} of {rounds} is done", file=sys.stderr, flush=True)
    for contestant in all_:
        if contestant.worker is not None:
            contestant.worker.close()


def cell(contestant: Contestant, workload: Workload, best: float) -> str:
    seconds = contestant.median(workload)
    if seconds is None:
        return contestant.failed.get(workload, "-")
    text = f"{seconds * 1e3:,.1f} ms, {seconds / workload.ops * 1e6:,.1f} µs"
    return text if contestant.library == "adjoint" else f"{text}, {seconds / best:.1f}x"


def bar(ours: list[Contestant], workload: Workload) -> str:
    worst = max(c.median(workload) or float("inf") for c in ours) / workload.ops * 1e6
    return f"≤ {MICROSECONDS:.0f} µs {'met' if worst <= MICROSECONDS else 'MISSED'}"


def times_table(all_: list[Contestant]) -> list[list[str]]:
    ours = [c for c in all_ if c.library == "adjoint"]
    table = [["gradient of", *(c.title for c in all_), "bar, per op"]]
    for workload in WORKLOADS:
        best = ours[0].median(workload) or float("nan")
        cells = [cell(c, workload, best) for c in all_]
        table.append([workload.name, *cells, bar(ours, workload)])
    return table


def growth(contestant: Contestant, small: Workload, large: Workload) -> float | None:
    """How much more an op costs in the larger graph: 1 is linear."""
    a, b = contestant.median(small), contestant.median(large)
    return None if a is None or b is None else (b / large.ops) / (a / small.ops)


def growth_table(all_: list[Contestant]) -> list[list[str]]:
    table = [["from, to", *(c.title for c in all_), "bar"]]
    for small, large in pairwise(WORKLOADS):
        if small.kind != large.kind:
            continue
        factors = [growth(c, small, large) for c in all_]
        ours = [f for f, c in zip(factors, all_, strict=True) if c.library == "adjoint"]
        met = all(f is not None and f <= LINEAR for f in ours)
        row = ["-" if f is None else f"{f:.2f}" for f in factors]
        name = f"{small.kind} {small.size:,}, {large.size:,}"
        table.append([name, *row, f"≤ {LINEAR} {'met' if met else 'MISSED'}"])
    return table


def report(tables: list[str], all_: list[Contestant], options: argparse.Namespace) -> str:
    versions = {c.library: c.version for c in all_}
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    collector = "off" if options.no_gc else "on, as it is for users,"
    return f"""# Building gradients

{tables[0]}

Median time to build the forward graph and its gradient from new parameters, and that time per op
of the forward graph; for peers also the time as a multiple of `grad`'s. The chain is `sin` and
`* 1.01` in turn on 4 floats; a layer is `tanh(x @ w + b)`, 3 ops, of width 4 on a batch of 2, and
the loss is `mean(x * x)`. Adjoint, JAX (`make_jaxpr(grad(fn))`) and tinygrad (`.gradient()`)
compute nothing; torch and autograd compute as they go. {options.rounds} rounds after one that warms
caches, alternating between the libraries; what takes more than {LONG:.0f} s is measured once, and
what takes more than {options.limit:.0f} s is ended. The garbage collector is {collector} while the
clock runs.

Growth: how much more an op costs when the graph is ten times as large (1 is linear).

{tables[1]}

{peers.made(f"; {listed}")}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for one request")
    parser.add_argument("--peers", default=",".join(PEERS), help="which, separated by commas")
    parser.add_argument("--no-gc", action="store_true", help="measure without garbage collection")
    peers.add_options(parser)
    options = parser.parse_args()
    all_ = contestants(options)
    measure(all_, options.rounds, options.limit)
    tables = [peers.markdown(times_table(all_)), peers.markdown(growth_table(all_))]
    print("\n\n".join(tables))
    if not options.no_write:
        peers.write("autodiff.md", report(tables, all_, options))
    return int(options.check and any("MISSED" in t for t in tables))


if __name__ == "__main__":
    sys.exit(main())
