"""How long does it take to build a graph? Adjoint against tinygrad, in the same run.

Each library runs in a process of its own; rounds alternate between them, so that a busy machine
slows both. Printed: the median time of a build over all rounds, the ratio of the medians, and the
bars. Usage: python bench/graph.py [--rounds N] [--python tinygrad=PATH] [--check]
"""

import argparse
import sys
from statistics import median

from peers import Worker, add_options, interpreter, made, markdown, write

RUNS = {
    "x + y": 300,
    "softmax": 60,
    "matmul": 60,
    "chain of 1,000 ops": 3,
    "3-layer MLP, forward": 20,
}
MICROSECONDS = {"x + y": 10.0, "matmul": 30.0}  # bars for Adjoint alone
RATIO = 3.0  # bar for every workload: tinygrad's time over ours


def measure(ours: Worker, theirs: Worker, rounds: int) -> dict[str, tuple[float, float]]:
    """Median seconds of both libraries per workload; a first round warms caches and is dropped."""
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in RUNS}
    for number in range(rounds + 1):
        for name, runs in RUNS.items():
            pair = [w.ask(workload=name, runs=runs) for w in (ours, theirs)]
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


def report(table: str, ours: Worker, theirs: Worker, rounds: int) -> str:
    return f"""# Building graphs

{table}

Median time to build a graph that does not exist yet: every run has new leaf tensors, made before
the clock starts, and its result is dropped before the next run. Nothing is realized. Rounds of the
two libraries alternate ({rounds} rounds after one that warms their caches); the garbage collector
is off while the clock runs.

{made(f", adjoint {ours.version}, tinygrad {theirs.version}")}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    add_options(parser)
    options = parser.parse_args()
    workers = {
        library: Worker(interpreter(library, options.python), "graph_worker.py", library)
        for library in ("adjoint", "tinygrad")
    }
    ours, theirs = workers.values()
    results = measure(ours, theirs, options.rounds)
    ours.close()
    theirs.close()
    table = markdown(rows(results))
    print(table)
    if not options.no_write:
        write("graph.md", report(table, ours, theirs, options.rounds))
    return int(options.check and "MISSED" in table)


if __name__ == "__main__":
    sys.exit(main())
