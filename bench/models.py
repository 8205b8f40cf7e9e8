"""How fast do the CNN, GPT and LSTM examples train? Adjoint against torch, in the same run.

Each library runs in a process of its own, from the same weights and on the same batches; rounds
alternate between them, and those that wait are stopped, so that their threads do not disturb. The
losses of the first steps are compared before anything is timed.
Usage: python bench/models.py [--only gpt] [--peers torch,torch.compile] [--threads N] [--quick]
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path
from statistics import median
from typing import Any

import peers
from models_workloads import CHECKED, CLOSE, WORKLOADS, Workload

PEERS = {"torch": "eager", "torch.compile": "compile"}


@dataclass
class Contestant:
    """A library and what it took; what it could not do is said in its place."""

    title: str
    library: str
    python: str
    options: tuple[str, ...]
    limit: float
    worker: peers.Worker | None = None
    version: str = ""
    first: dict[str, float] = field(default_factory=dict)
    rounds: dict[str, list[float]] = field(default_factory=dict)
    losses: dict[str, list[float]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def ask(self, **request: Any) -> Any:
        """An answer, with the process awake for as long as it takes."""
        try:
            worker = self._awake()
            found = worker.ask(self.limit, **request)
        except (peers.TimedOutError, peers.DiedError) as problem:
            self.worker = None
            late = isinstance(problem, peers.TimedOutError)
            return {"failed": f"over {self.limit:.0f} s" if late else f"died, {problem}"}
        worker.process.send_signal(signal.SIGSTOP)
        return found

    def _awake(self) -> peers.Worker:
        if self.worker is None:
            self.worker = peers.Worker(self.python, "models_worker.py", self.library, *self.options)
            self.version = self.worker.version
        else:
            self.worker.process.send_signal(signal.SIGCONT)
        return self.worker

    def prepare(self, workload: Workload, path: str) -> float | None:
        """Seconds of a step, if the library can do it."""
        found = self.ask(prepare=workload.name, file=path)
        if "failed" in found:
            self.failed[workload.name] = found["failed"]
            return None
        self.losses[workload.name], self.first[workload.name] = found["losses"], found["first"]
        return found["seconds"]

    def run(self, workload: Workload, seconds: float, budget: float) -> None:
        found = self.ask(runs=max(5, min(2000, int(budget / seconds))))
        if "failed" in found:
            self.failed[workload.name] = found["failed"]
        else:
            self.rounds.setdefault(workload.name, []).append(median(found["times"]))

    def seconds(self, workload: Workload) -> float | None:
        found = self.rounds.get(workload.name)
        return median(found) if found and workload.name not in self.failed else None

    def close(self) -> None:
        if self.worker is not None:
            self.worker.process.send_signal(signal.SIGCONT)
            self.worker.close()


def contestants(options: argparse.Namespace) -> list[Contestant]:
    found = [Contestant("Adjoint", "adjoint", sys.executable, (), options.limit)]
    for title, mode in PEERS.items():
        if title in options.peers.split(","):
            python = peers.interpreter("torch", options.python)
            found.append(Contestant(title, "torch", python, (mode,), options.limit))
    return found


def measure(all_: list[Contestant], workloads: list[Workload], rounds: int, budget: float) -> None:
    with tempfile.TemporaryDirectory(prefix="adjoint-bench-") as folder:
        for workload in workloads:
            path = str(Path(folder) / f"{workload.name}.npz")
            found = all_[0].ask(export=workload.name, file=path)
            if "failed" in found:
                raise SystemExit(f"{workload.name}: {found['failed']}")
            known = [(c, c.prepare(workload, path)) for c in all_]
            for _ in range(rounds):
                for contestant, seconds in known:
                    if seconds is not None and workload.name not in contestant.failed:
                        contestant.run(workload, seconds, budget)
            print(" ".join([workload.name, *(cell(c, workload) for c in all_)]), file=sys.stderr)


def disagreements(all_: list[Contestant], workloads: list[Workload]) -> list[str]:
    """Losses that are further from the first library's than they may be."""
    found = []
    for workload in workloads:
        said = [(c.title, c.losses[workload.name]) for c in all_ if workload.name in c.losses]
        for title, losses in said:
            pairs = zip(losses, said[0][1], strict=True)
            if not all(isclose(a, b, rel_tol=CLOSE) for a, b in pairs):
                found.append(f"{workload.name}: {title} says {losses}, {said[0][0]} {said[0][1]}")
    return found


def cell(contestant: Contestant, workload: Workload) -> str:
    """Steps per second, milliseconds of one, and seconds of the first."""
    seconds = contestant.seconds(workload)
    if seconds is None:
        return contestant.failed.get(workload.name, "-")
    first = contestant.first[workload.name]
    return f"{1 / seconds:,.0f} ({seconds * 1e3:.3g} ms; first {first:.2f} s)"


def row(workload: Workload, all_: list[Contestant]) -> list[str]:
    mine, *others = (c.seconds(workload) for c in all_)
    ratios = ["-" if mine is None or s is None else f"{s / mine:.2f}x" for s in others]
    return [f"{workload.name}, {workload.what}", *(cell(c, workload) for c in all_), *ratios]


def table(all_: list[Contestant], workloads: list[Workload]) -> str:
    head = ["steps / s", *(c.title for c in all_), *(f"Adjoint / {c.title}" for c in all_[1:])]
    return peers.markdown([head, *(row(w, all_) for w in workloads)])


def report(text: str, all_: list[Contestant], options: argparse.Namespace) -> str:
    versions = {c.library: c.version for c in all_}
    threads = options.threads or os.cpu_count()
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"""# How fast the examples train

{text}

Steps per second, and in brackets the median milliseconds of a step and the seconds until the first
is done, in which a library compiles (with whatever its cache has). A ratio above 1: Adjoint is
faster. Models, sizes of batches and optimizers are those of `adjoint/examples`; a step is a batch
from NumPy, the loss, its gradients, clipping where the example clips, the update, and the loss as a
number. torch has fused optimizers and, in the GPT, its own attention and a table of rotary
positions; torch.compile compiles the loss and its gradients. All begin with the same weights and
train on the same batches; their losses of {CHECKED} steps, with dropout off, agreed to {CLOSE:g}.
{options.rounds} rounds, alternating; idle libraries are stopped. {threads} threads.

{peers.made(f"; {listed}")}"""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--budget", type=float, default=1.0, help="seconds per library and round")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one request")
    parser.add_argument("--peers", default=",".join(PEERS), help="which, or none")
    parser.add_argument("--threads", type=int, help="for all libraries; default: what they take")
    parser.add_argument("--only", default="", help="examples whose name has one of these in it")
    parser.add_argument("--quick", action="store_true", help="three short rounds; writes nothing")
    peers.add_options(parser)
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.budget = 3, 0.2
    return options


def main() -> int:
    options = parse()
    os.environ.setdefault("ADJOINT_DEVICE", "CPU")
    if options.threads:
        os.environ |= dict.fromkeys(("ADJOINT_THREADS", "OMP_NUM_THREADS"), str(options.threads))
    wanted = [part for part in options.only.split(",") if part]
    chosen = [w for w in WORKLOADS if not wanted or any(part in w.name for part in wanted)]
    all_ = contestants(options)
    try:
        measure(all_, chosen, options.rounds, options.budget)
    finally:
        for contestant in all_:
            contestant.close()
    text, wrong = table(all_, chosen), disagreements(all_, chosen)
    print("\n".join([text, *wrong]))
    if not (options.no_write or options.quick or wrong) and len(chosen) == len(WORKLOADS):
        peers.write("models.md", report(text, all_, options))
    return int(bool(wrong) or (options.check and bool(all_[0].failed)))


if __name__ == "__main__":
    sys.exit(main())
