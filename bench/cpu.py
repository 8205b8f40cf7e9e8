"""How long do whole computations take on the CPU? Adjoint against torch and JAX, in the same run.

Each library runs in a process of its own, with all workloads of `cpu_workloads.py`; rounds
alternate between them, and those that wait are stopped, so that their threads do not disturb. The
values of every workload are compared with NumPy's before it is timed.
Usage: python bench/cpu.py [--group own_choice] [--only NAME] [--peers torch,torch.compile,jax]
[--quick] [--recycle] [--least]
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import peers
from cpu_own_workloads import OWN
from cpu_reference import TOLERANCE
from cpu_workloads import WORKLOADS, Workload

GROUPS = {"cpu": WORKLOADS, "own_choice": OWN}
PEERS = {"torch": ("torch", "eager"), "torch.compile": ("torch", "compile"), "jax": ("jax",)}
RECYCLE = {  # glibc keeps freed memory instead of asking for fresh pages
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 34),
    "MALLOC_TOP_PAD_": str(1 << 29),
}


@dataclass
class Contestant:
    """A library and what it took; what it could not do is said in its place."""

    title: str
    library: str
    python: str
    options: tuple[str, ...]
    limit: float
    typical: Callable[[list[float]], float] = median  # of the times of a round, and of rounds
    worker: Any = None
    version: str = ""
    times: dict[str, list[float]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def ask(self, **request: Any) -> Any:
        """An answer, with the process awake for as long as it takes."""
        if self.worker is None:
            self.worker = peers.Worker(self.python, "cpu_worker.py", self.library, *self.options)
            self.version = self.worker.version
        else:
            self.worker.process.send_signal(signal.SIGCONT)
        try:
            found = self.worker.ask(self.limit, **request)
        except (peers.TimedOutError, peers.DiedError) as problem:
            self.worker = None
            late = isinstance(problem, peers.TimedOutError)
            return {"failed": f"over {self.limit:.0f} s" if late else f"died, {problem}"}
        self.worker.process.send_signal(signal.SIGSTOP)
        return found

    def prepare(self, workload: Workload) -> float | None:
        """Seconds of a run, if the library can do it and its values are right."""
        found = self.ask(prepare=workload.name)
        if "failed" in found:
            self.failed[workload.name] = found["failed"]
        elif not found["error"] <= TOLERANCE:
            self.failed[workload.name] = f"WRONG by {found['error']:.1g}"
        else:
            return found["seconds"]
        return None

    def run(self, workload: Workload, seconds: float, budget: float) -> None:
        found = self.ask(runs=max(1, min(2000, int(budget / seconds))))
        if isinstance(found, dict):
            self.failed[workload.name] = found["failed"]
        else:
            self.times.setdefault(workload.name, []).append(self.typical(found))

    def median(self, workload: Workload) -> float | None:
        found = self.times.get(workload.name)
        return self.typical(found) if found else None

    def close(self) -> None:
        if self.worker is not None:
            self.worker.process.send_signal(signal.SIGCONT)
            self.worker.close()


def contestants(options: argparse.Namespace) -> list[Contestant]:
    typical = min if options.least else median
    found = [Contestant("Adjoint", "adjoint", sys.executable, (), options.limit, typical)]
    for title, (library, *mode) in PEERS.items():
        if title in options.peers.split(","):
            python = peers.interpreter(library, options.python)
            found.append(Contestant(title, library, python, tuple(mode), options.limit, typical))
    return found


def measure(all_: list[Contestant], workloads: list[Workload], rounds: int, budget: float) -> None:
    for workload in workloads:
        known = {c.title: c.prepare(workload) for c in all_}
        for _ in range(rounds):
            for contestant in all_:
                seconds = known[contestant.title]
                if seconds is not None and workload.name not in contestant.failed:
                    contestant.run(workload, seconds, budget)
        for contestant in all_:
            contestant.ask(drop=True)
        print(" ".join([workload.name, *(cell(c, workload) for c in all_)]), file=sys.stderr)


def cell(contestant: Contestant, workload: Workload) -> str:
    seconds = contestant.median(workload)
    return contestant.failed.get(workload.name, "-") if seconds is None else shown(seconds)


def shown(seconds: float) -> str:
    """Milliseconds with three digits."""
    ms = seconds * 1e3
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.3g}"


def row(workload: Workload, all_: list[Contestant], floor: float) -> list[str]:
    ours, *others = all_
    mine = ours.median(workload)
    best = min((s for c in others if (s := c.median(workload)) is not None), default=None)
    ratio = "-" if mine is None or best is None else f"{best / mine:.2f}x"
    over = "-" if mine is None else f"{mine / floor:.1f}x"
    return [workload.name, shown(floor), *(cell(c, workload) for c in all_), over, ratio]


def table(all_: list[Contestant], workloads: list[Workload], options: argparse.Namespace) -> str:
    head = ["work, ms", "floor", *(c.title for c in all_), "Adjoint / floor", "best peer / Adjoint"]
    floors = [w.floor(options.gflops, options.bandwidth) for w in workloads]
    rows = [row(w, all_, floor) for w, floor in zip(workloads, floors, strict=True)]
    return peers.markdown([head, *rows])


def report(text: str, all_: list[Contestant], options: argparse.Namespace) -> str:
    versions = {c.library: c.version for c in all_}
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    title = "Least" if options.least else "Median"
    memory = "malloc told to keep freed memory" if options.recycle else "malloc as it comes"
    about = "that kernels were not written for" if options.group == "own_choice" else "on the CPU"
    return f"""# Whole computations {about}

{text}

{title} milliseconds of a run, float32, everything jitted where the library can; results into new
buffers, with {memory}. Training steps are forward, backward and update. The floor is the flops of
the products at {options.gflops:g} GFLOP/s plus the least traffic at {options.bandwidth:g} GB/s
(`--gflops`, `--bandwidth`: what the machine does), with nothing for exp or tanh. A ratio above 1
in the last column: Adjoint is faster than the best of the others. Before it is timed, every
workload's result is compared with NumPy's in float64; one that is further off than {TOLERANCE:g} of
its norm is called WRONG. {options.rounds} rounds, alternating; idle libraries are stopped.

{peers.made(f"; {listed}")}"""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget", type=float, default=0.3, help="seconds per library and round")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for one request")
    parser.add_argument("--peers", default="torch,jax", help=f"of {', '.join(PEERS)}, or none")
    parser.add_argument("--group", default="cpu", choices=GROUPS, help="which rows")
    parser.add_argument("--only", default="", help="workloads whose name has one of these in it")
    parser.add_argument("--quick", action="store_true", help="two short rounds")
    parser.add_argument("--recycle", action="store_true", help="malloc keeps freed memory")
    parser.add_argument("--least", action="store_true", help="the least time, not the median")
    parser.add_argument("--gflops", type=float, default=181.8, help="float32, all threads")
    parser.add_argument("--bandwidth", type=float, default=50.0, help="GB/s, read and write")
    peers.add_options(parser)
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.budget = 2, 0.05
    return options


def main() -> int:
    options = parse()
    os.environ.setdefault("ADJOINT_DEVICE", "CPU")
    os.environ.update(RECYCLE if options.recycle else {})
    wanted = [part for part in options.only.split(",") if part]
    rows = GROUPS[options.group]
    chosen = [w for w in rows if not wanted or any(part in w.name for part in wanted)]
    all_ = contestants(options)
    try:
        measure(all_, chosen, options.rounds, options.budget)
    finally:
        for contestant in all_:
            contestant.close()
    text = table(all_, chosen, options)
    print(text)
    if not options.no_write and len(chosen) == len(rows):
        peers.write(f"{options.group}.md", report(text, all_, options))
    return int(options.check and any(c.failed for c in all_ if c.library == "adjoint"))


if __name__ == "__main__":
    sys.exit(main())
