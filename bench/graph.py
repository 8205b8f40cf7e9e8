"""How long does it take to build a graph? Adjoint against tinygrad, in the same run.

Each library runs in a process of its own; rounds alternate between them, so that a busy machine
slows both. Printed: the median time of a build over all rounds, the ratio of the medians, and the
bars. Usage: python bench/graph.py [--rounds N] [--peer-python PATH] [--check]
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
PEERS = HERE / ".peers"
PEER = "tinygrad==0.14.0"
RUNS = {
    "x + y": 300,
    "softmax": 60,
    "matmul": 60,
    "chain of 1,000 ops": 3,
    "3-layer MLP, forward": 20,
}
MICROSECONDS = {"x + y": 10.0, "matmul": 30.0}  # bars for Adjoint alone
RATIO = 3.0  # bar for every workload: tinygrad's time over ours


class Worker:
    """A process that builds graphs with one library."""

    def __init__(self, python: str, library: str):
        # tinygrad insists on a device that can run, though nothing runs here.
        environment = {**os.environ, "DEV": "CPU", "PYTHONPATH": str(HERE.parent)}
        self.process = subprocess.Popen(
            [python, str(HERE / "graph_worker.py"), library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment if library == "adjoint" else {**environment, "PYTHONPATH": ""},
        )
        self.version = self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a worker died; its error is above")
        return json.loads(line)

    def times(self, workload: str, runs: int) -> list[float]:
        assert self.process.stdin is not None
        print(json.dumps({"workload": workload, "runs": runs}), file=self.process.stdin, flush=True)
        return self._answer()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def peer_python(given: str | None) -> str:
    """The interpreter that has tinygrad: as given, in ADJOINT_PEERS, or in bench/.peers."""
    if given:
        return given
    folder = Path(os.environ.get("ADJOINT_PEERS", PEERS))
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"setting up {folder} with {PEER}")
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", PEER], check=True)
    return str(python)


def measure(ours: Worker, theirs: Worker, rounds: int) -> dict[str, tuple[float, float]]:
    """Median seconds of both libraries per workload; a first round warms caches and is dropped."""
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in RUNS}
    for number in range(rounds + 1):
        for name, runs in RUNS.items():
            pair = ours.times(name, runs), theirs.times(name, runs)
            if number > 0:
                for kept, new in zip(times[name], pair, strict=True):
                    kept.extend(new)
    return {name: (median(a), median(b)) for name, (a, b) in times.items()}


def bars(name: str, mine: float, ratio: float) -> list[tuple[str, bool]]:
    found = [(f"≥ {RATIO:.0f}x", ratio >= RATIO)]
    if name in MICROSECONDS:
        limit = MICROSECONDS[name]
        found.append((f"≤ {limit:.0f} µs", mine * 1e6 <= limit))
    return found


def rows(results: dict[str, tuple[float, float]]) -> list[list[str]]:
    table = [["graph", "Adjoint, µs", "tinygrad, µs", "ratio", "bars"]]
    for name, (mine, theirs) in results.items():
        marks = [
            f"{text} {'met' if met else 'MISSED'}" for text, met in bars(name, mine, theirs / mine)
        ]
        numbers = [f"{mine * 1e6:.1f}", f"{theirs * 1e6:.1f}", f"{theirs / mine:.1f}x"]
        table.append([name, *numbers, ", ".join(marks)])
    return table


def markdown(table: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) + " |" for r in table
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])


def processor() -> str:
    info = Path("/proc/cpuinfo")
    names = [
        line.partition(":")[2].strip()
        for line in (info.read_text().splitlines() if info.exists() else [])
        if line.startswith("model name")
    ]
    return names[0] if names else platform.processor() or platform.machine()


def report(table: str, ours: Worker, theirs: Worker, rounds: int) -> str:
    return f"""# Building graphs

{table}

Median time to build a graph that does not exist yet: every run has new leaf tensors, made before
the clock starts, and its result is dropped before the next run. Nothing is realized. Rounds of the
two libraries alternate ({rounds} rounds after one that warms their caches); the garbage collector
is off while the clock runs.

{datetime.now(UTC):%Y-%m-%d}, {processor()}, {os.cpu_count()} logical processors,
Python {platform.python_version()}, adjoint {ours.version}, tinygrad {theirs.version}.
Made by `make bench`.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--peer-python", help="an interpreter that has tinygrad")
    parser.add_argument("--check", action="store_true", help="fail if a bar is missed")
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    ours = Worker(sys.executable, "adjoint")
    theirs = Worker(peer_python(options.peer_python), "tinygrad")
    results = measure(ours, theirs, options.rounds)
    ours.close()
    theirs.close()
    table = markdown(rows(results))
    print(table)
    if not options.no_write:
        (HERE / "results").mkdir(exist_ok=True)
        text = report(table, ours, theirs, options.rounds)
        (HERE / "results" / "graph.md").write_text(text, encoding="utf-8")
    return int(options.check and "MISSED" in table)


if __name__ == "__main__":
    sys.exit(main())
