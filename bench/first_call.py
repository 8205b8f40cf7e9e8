"""How long does the first call of a jitted step take? Adjoint against JAX, in one run.

Every measurement is a process of its own (`first_call_step.py`), from the call of the jitted
function until its values are there: tracing, differentiating, compiling, loading, running. Cold:
with an empty cache of compiled code. Warm: with what the cold process left. `--before CHECKOUT`
adds another commit of Adjoint. Rounds alternate between the libraries.
Usage: python bench/first_call.py [--before CHECKOUT] [--rounds N] [--peers jax] [--check]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path
from statistics import median
from typing import Any

import peers
from overhead import CACHES, KEEP_ALL

TITLES = {
    "MLP": "MLP 784-512-512-10 b128, SGD step",
    "GPT": "GPT of 4 layers, 16 × 32 tokens, SGD step",
    "deep MLP": "MLP of 100 layers of 64, b32, SGD step",
    "chain": "chain of 1,000 scalar ops",
}
CLOSE = 1e-4  # relative


@dataclass
class Contestant:
    """A library: who has it, and seconds by workload and state of the cache."""

    name: str
    python: str
    package: Path | None = None  # a checkout of Adjoint
    times: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, float] = field(default_factory=dict)
    version: str = ""

    @property
    def library(self) -> str:
        return "jax" if self.package is None else "adjoint"

    def measure(self, workload: str, bytecode: Path) -> None:
        """A cold process, and a warm one."""
        with tempfile.TemporaryDirectory() as folder:
            caches = {name: str(Path(folder) / path) for name, path in CACHES.items()}
            environment = {**os.environ, **caches, **KEEP_ALL, "JAX_PLATFORMS": "cpu"}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            environment["PYTHONPYCACHEPREFIX"] = str(bytecode / self.name)
            environment["PYTHONPATH"] = str(self.package or "")
            for state in ("cold", "warm"):
                found = self.answer(workload, environment)
                self.times[workload, state].append(found["first"])
                self.times["import", state].append(found["import"])
                self.values[workload], self.version = found["value"], found["version"]

    def answer(self, workload: str, environment: dict[str, str]) -> Any:
        script = str(peers.HERE / "first_call_step.py")
        command = [self.python, script, self.library, workload]
        run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return json.loads(run.stdout.splitlines()[-1])

    def seconds(self, workload: str, state: str) -> str:
        times = self.times[workload, state]
        return f"{median(times):.3f} ({min(times):.3f})"


def different(contestants: list[Contestant]) -> list[str]:
    """Workloads whose values differ from the first library's."""
    first, *rest = contestants
    return [
        f"{workload}: {other.name} {other.values[workload]}, {first.name} {value}"
        for workload, value in first.values.items()
        for other in rest
        if not isclose(value, other.values[workload], rel_tol=CLOSE)
    ]


def table(contestants: list[Contestant]) -> list[list[str]]:
    rows = [["", *(c.name for c in contestants)]]
    for workload, title in {**TITLES, "import": "import of the library"}.items():
        for state in ("cold", "warm") if workload != "import" else ("warm",):
            cells = [c.seconds(workload, state) for c in contestants]
            rows.append([f"{title}, {state}" if workload != "import" else title, *cells])
    return rows


def missed(contestants: list[Contestant]) -> list[str]:
    """Rows in which Adjoint takes longer than JAX."""
    own = contestants[0]
    jax = next((c for c in contestants if c.library == "jax"), own)
    pairs = [(w, s) for w in TITLES for s in ("cold", "warm")]
    return [f"{w}, {s}" for w, s in pairs if median(own.times[w, s]) > median(jax.times[w, s])]


def report(contestants: list[Contestant], rounds: int) -> str:
    versions = "".join(f", {c.name} {c.version}" for c in contestants)
    return f"""# The first call

Seconds from the first call of a jitted function until its values are there: median of {rounds}
processes, in brackets the least. Cold: the cache of compiled code is empty; warm: another process
has made the same call before. Bytecode of all libraries is there.
{peers.made(versions)}
{peers.markdown(table(contestants))}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    peers.add_options(parser)
    parser.add_argument("--before", type=Path, help="a checkout of Adjoint to measure as well")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peers", default="jax")
    given = parser.parse_args()
    contestants = [Contestant("Adjoint", sys.executable, peers.HERE.parent)]
    if given.before:
        contestants.append(Contestant("before", sys.executable, given.before))
    if given.peers == "jax":
        contestants.append(Contestant("JAX", peers.interpreter("jax", given.python)))
    with tempfile.TemporaryDirectory() as bytecode:
        for number in range(given.rounds + 1):
            for workload in TITLES:
                for contestant in contestants:
                    contestant.measure(workload, Path(bytecode))
            if number == 0:  # it wrote bytecode
                for contestant in contestants:
                    contestant.times.clear()
    text = report(contestants, given.rounds)
    print(text)
    wrong = different(contestants)
    if not given.no_write and not wrong:
        peers.write("first_call.md", text)
    slow = missed(contestants)
    print("\n".join(wrong + [f"slower than JAX: {row}" for row in slow]))
    return int(bool(wrong) or (given.check and bool(slow)))


if __name__ == "__main__":
    sys.exit(main())
