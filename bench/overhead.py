"""What does everything besides the arithmetic cost? Adjoint against JAX and tinygrad, in one run.

Each library runs in a process of its own; rounds alternate between them, so that a busy machine
slows all. The last two rows are whole processes: start Python, import the library, print the
gradient of a small MLP; cold with an empty cache of compiled code, warm with what that run left.
Usage: python bench/overhead.py [--peers jax,tinygrad] [--rounds N] [--quick] [--check]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import overhead_steps
import peers

PEERS = ("jax", "tinygrad")
RUNS = {
    "x + y": 300,
    "jitted x + y": 1000,
    "lazy of MLP": 5,
    "jitted of MLP": 10,
    "lazy of tiny MLP": 5,
    "jitted of tiny MLP": 50,
}
CACHES = {  # the persistent caches of compiled code, relative to a directory made for the run
    "ADJOINT_CACHE_DIR": "adjoint",
    "JAX_COMPILATION_CACHE_DIR": "jax",
    "CACHEDB": "tinygrad.db",
}
KEEP_ALL = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
CLOSE = 1e-4  # relative; libraries that compute the same agree at least this well


@dataclass(frozen=True)
class Row:
    """A line of the table: one workload, or the time of the first without that of the second."""

    title: str
    first: str
    second: str | None
    bar: float  # seconds
    unit: str = "µs"

    def shown(self, seconds: float) -> str:
        scale = {"µs": 1e6, "ms": 1e3, "s": 1.0}[self.unit]
        digits = 2 if self.unit != "µs" else 1
        return f"{seconds * scale:,.{digits}f}"


ROWS = (
    Row("(x + y).realize(), 3 floats", "x + y", None, 30e-6),
    Row("jitted x + y, 3 floats", "jitted x + y", None, 8e-6),
    Row("MLP + Adam step without jit, beyond", "lazy of MLP", "jitted of MLP", 5e-3, "ms"),
    Row("tiny one, beyond", "lazy of tiny MLP", "jitted of tiny MLP", 5e-3, "ms"),
    Row("start to first gradient, cold", "cold", None, 0.9, "s"),
    Row("start to first gradient, warm", "warm", None, 0.45, "s"),
)


@dataclass
class Contestant:
    """A library and what it took; what it could not do is said in its place."""

    library: str
    python: str
    worker: peers.Worker | None = None
    version: str = ""
    times: dict[str, list[float]] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def run(self, name: str, runs: int, keep: bool) -> None:
        if name in self.failed:
            return
        if self.worker is None:
            self.worker = peers.Worker(self.python, "overhead_worker.py", self.library)
            self.version = self.worker.version
        found = self.worker.ask(name=name, runs=runs)
        if "failed" in found:
            self.failed[name] = found["failed"]
        elif keep:
            self.times.setdefault(name, []).extend(found["times"])
            self.numbers[name] = found["number"]

    def start(self, name: str, cache: str) -> None:
        """One whole process."""
        path = str(peers.HERE.parent) if self.library == "adjoint" else ""
        named = {key: str(Path(cache) / place) for key, place in CACHES.items()}
        fixed = {"DEV": "CPU", "JAX_PLATFORMS": "cpu", "PYTHONPATH": path}
        command = [self.python, str(peers.HERE / "first_gradient.py"), self.library]
        environment = {**os.environ, **KEEP_ALL, **named, **fixed}
        start = perf_counter()
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
        seconds = perf_counter() - start
        if done.returncode:
            self.failed[name] = f"exit status {done.returncode}"
        else:
            self.times.setdefault(name, []).append(seconds)
            self.numbers[name] = sum(sum(row) for row in json.loads(done.stdout))

    def seconds(self, row: Row) -> float | None:
        """What the row asks for, if both of its workloads ran."""
        found = [median(self.times[n]) for n in (row.first, row.second) if n in self.times]
        if len(found) < (1 if row.second is None else 2):
            return None
        return found[0] - sum(found[1:])


def measure(all_: list[Contestant], rounds: int, share: float) -> None:
    """Rounds over every workload and library; the first warms caches and is dropped."""
    for number in range(rounds + 1):
        for name, runs in RUNS.items():
            for contestant in all_:
                contestant.run(name, max(3, int(runs * share)), keep=number > 0)
    for contestant in all_:
        if contestant.worker is not None:
            contestant.worker.close()


def measure_starts(all_: list[Contestant], repetitions: int) -> None:
    """Whole processes, each pair with a cache of its own."""
    for _ in range(repetitions):
        for contestant in all_:
            cache = tempfile.mkdtemp(prefix="adjoint-bench-")
            for name in ("cold", "warm"):
                contestant.start(name, cache)
            shutil.rmtree(cache, ignore_errors=True)


def disagreements(all_: list[Contestant]) -> list[str]:
    """Workloads whose numbers differ from the first library's that ran them, or are nothing."""
    found = []
    for name in (*RUNS, "cold", "warm"):
        said = [(c.library, c.numbers[name]) for c in all_ if name in c.numbers]
        for library, number in said:
            if not number or not isclose(number, said[0][1], rel_tol=CLOSE):
                found.append(f"{name}: {library} says {number}, {said[0][0]} {said[0][1]}")
    return found


def cell(contestant: Contestant, row: Row, mine: float | None) -> str:
    names = [row.first] if row.second is None else [row.first, row.second]
    seconds = contestant.seconds(row)
    if seconds is None:
        return next((contestant.failed[n] for n in names if n in contestant.failed), "-")
    text = row.shown(seconds)
    if row.second is not None:
        text += f" ({' − '.join(row.shown(median(contestant.times[n])) for n in names)})"
    if contestant.library == "adjoint" or not mine or mine < 0:
        return text
    return f"{text}, {seconds / mine:.1f}x"


def table(all_: list[Contestant]) -> str:
    lines = [["what", "unit", *(c.library for c in all_), "bar"]]
    for row in ROWS:
        mine = all_[0].seconds(row)
        met = mine is not None and mine <= row.bar
        bar = f"≤ {row.bar * {'µs': 1e6, 'ms': 1e3, 's': 1}[row.unit]:g} {row.unit} "
        cells = [cell(c, row, mine) for c in all_]
        lines.append([row.title, row.unit, *cells, bar + ("met" if met else "MISSED")])
    return peers.markdown(lines)


def report(text: str, all_: list[Contestant], options: argparse.Namespace) -> str:
    listed = ", ".join(f"{c.library} {c.version}" for c in all_)
    return f"""# Overhead: the cost of everything but the arithmetic

{text}

Medians; for peers also as a multiple of Adjoint's. `(x + y).realize()` builds the graph and runs
it; in JAX it is `x + y`, which runs at once. Steps are a 3-layer MLP, mean square error and Adam:
784-512-512-10 on a batch of 128, and 2-16-16-1 on 100; "beyond" is the time of a step without jit
less that of the same step jitted, which stands for the arithmetic (in brackets: both). The last
rows are whole processes that print the gradient of the tiny one by its first weight: cold with an
empty cache of compiled code, warm with what that run left; JAX jits and keeps all it compiles.
All libraries agreed on every result. {options.rounds} rounds after one that warms caches,
alternating between the libraries, and {options.starts} starts of each kind.

{peers.made(f"; {listed}")}"""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--starts", type=int, default=7, help="processes of each kind")
    parser.add_argument("--peers", default=",".join(PEERS), help="which, separated by commas")
    parser.add_argument("--quick", action="store_true", help="two short rounds, three starts")
    peers.add_options(parser)
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.starts = 2, 3
    return options


def main() -> int:
    options = parse()
    os.environ.setdefault("ADJOINT_DEVICE", "CPU")
    wanted = ["adjoint", *(p for p in PEERS if p in options.peers.split(","))]
    all_ = [Contestant(name, peers.interpreter(name, options.python)) for name in wanted]
    measure_starts(all_, options.starts)
    measure(all_, options.rounds, 0.3 if options.quick else 1.0)
    text, wrong = table(all_), disagreements(all_)
    print("\n".join([text, *wrong]))
    if not options.no_write and not wrong:
        kept = overhead_steps.section()
        peers.write("overhead.md", report(text, all_, options) + (f"\n{kept}" if kept else ""))
    return int(bool(wrong) or (options.check and "MISSED" in text))


if __name__ == "__main__":
    sys.exit(main())
