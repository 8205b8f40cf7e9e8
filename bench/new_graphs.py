"""What does a small graph cost that no program is there for? This commit, and another beside it.

A session computes 200 different graphs of 5 to 40 primitives on random shapes, lazily, as somebody
does who tries things out; then the same 200 again, and again; and one graph in a loop. In a process
with an empty cache, and in another that finds what the first one left. Values are hashed: all
processes must give the same bits. Times are wall time, the least over the processes.
Usage: python bench/new_graphs.py [--old CHECKOUT] [--rounds N] [--check] [--no-write]
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import peers

RESULTS = peers.HERE / "results" / "new_graphs.md"
COUNT, AGAIN, TURNS = 200, 40, 2000
BAR = "a new graph, the second hundred, median, warm"
UNARY = ("exp", "log", "tanh", "abs", "neg", "sqrt", "sigmoid", "square", "sign", "floor", "sin")


# ---- one process


def graph(tensor: Any, number: int) -> Any:
    """The graph of that number, on numbers of its own."""
    draw = np.random.default_rng(1000 + number)
    shape = tuple(int(n) for n in draw.integers(2, 12, draw.integers(1, 4)))
    x, y = tensor(draw.random(shape) + 0.5), tensor(draw.random(shape[-1:]) + 0.5)
    values = [x, x + y]
    for _ in range(int(draw.integers(3, 14))):
        a, b = (values[draw.integers(len(values))] for _ in range(2))
        values.append(_op(a, b, draw))
    return values[-1].sum(0) + values[-2].max()


def _op(a: Any, b: Any, draw: Any) -> Any:
    kind = draw.integers(0, 8)
    if kind < 2:
        return getattr(a, UNARY[draw.integers(len(UNARY))])()
    found: Any = (
        lambda: a * b + float(draw.integers(1, 5)),
        lambda: (a - b) / (b.abs() + 1),
        lambda: a - a.mean(-1, keepdim=True),
        lambda: (a > b).where(a, b),
        lambda: a.softmax(-1),
        lambda: a.flip(0),
    )
    return found[kind - 2]()


def session(tensor: Any, total: Any) -> list[float]:
    """Seconds of each graph."""
    times = []
    for number in range(COUNT):
        start = perf_counter()
        value = graph(tensor, number).numpy()
        times.append(perf_counter() - start)
        total.update(np.where(np.isnan(value), np.nan, value).tobytes())
    return times


def measure() -> dict[str, Any]:
    """Seconds by name, and the hash of all values."""
    tensor, total = importlib.import_module("adjoint").Tensor, hashlib.sha256()
    sessions = [session(tensor, total) for _ in range(1 + AGAIN)]
    x = tensor(np.linspace(0.0, 1.0, 60).reshape(6, 10))
    start = perf_counter()
    for _ in range(TURNS):
        x = (x * 0.999 + 0.001).sqrt() * 0.9
        x.realize()
    loop = perf_counter() - start
    total.update(x.numpy().tobytes())
    return {
        "200 new graphs": sum(sessions[0]),
        "a new graph, the second hundred, median": median(sessions[0][COUNT // 2 :]),
        "a new graph, the longest but ten": sorted(sessions[0])[-11],
        f"the 200 again, {AGAIN} times, in all": sum(map(sum, sessions[1:])),
        "the 200 again, the last time": sum(sessions[-1]),
        f"a loop of {TURNS} turns of one graph": loop,
        "bits": total.hexdigest(),
    }


# ---- all of them


def process(checkout: Path, cache: str) -> dict[str, Any]:
    own = {"PYTHONPATH": str(checkout), "ADJOINT_CACHE_DIR": cache, "ADJOINT_DEVICE": "CPU"}
    command = [sys.executable, str(Path(__file__).resolve()), "--measure"]
    said = subprocess.run(command, env={**os.environ, **own}, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def both(checkout: Path) -> dict[str, Any]:
    """A cold process, and a warm one."""
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (process(checkout, cache) for _ in range(2))
    bits = {cold.pop("bits"), warm.pop("bits")}
    found = {
        f"{name}, {state}": s
        for state, f in (("cold", cold), ("warm", warm))
        for name, s in f.items()
    }
    return found | {"bits": bits.pop() if len(bits) == 1 else "differ"}


def table(found: list[list[dict[str, Any]]], names: list[str]) -> str:
    lines = [["milliseconds", *names]]
    for name in found[0][0]:
        if name != "bits":
            least = [min(f[name] for f in some) * 1e3 for some in found]
            lines.append([name, *(f"{ms:.2f}" if ms < 100 else f"{ms:.0f}" for ms in least)])
    return peers.markdown(lines)


def main() -> int:
    options = peers.commit_options(__doc__, rounds=3)
    if options.measure:
        print(json.dumps(measure()))
        return 0
    checkouts = peers.checkouts(options)
    found: list[list[dict[str, Any]]] = [[] for _ in checkouts]
    for _ in range(options.rounds):
        for checkout, times in zip(checkouts, found, strict=True):
            times.append(both(checkout))
    command = ["git", "-C", str(options.old), "rev-parse", "--short", "HEAD"]
    old = [subprocess.check_output(command, text=True).strip()] if options.old else []
    text = table(found, ["now", *old])
    print(text)
    same = len({f["bits"] for some in found for f in some} - {"differ"}) == 1
    print("all processes gave the same bits" if same else "BITS DIFFER")
    if not options.no_write and same:
        RESULTS.write_text(written(text, options.rounds), encoding="utf-8")
    slow = min(f[BAR] for f in found[0]) > 1e-3
    return int(not same or (options.check and slow))


def written(text: str, rounds: int) -> str:
    return f"""# New small graphs

{text}

Wall time, the least of {rounds} processes of each kind, those of the commits in turn. Cold: nothing
in the cache; warm: another process has done the same. The hashes of all values are equal.

{peers.made("").replace("make bench", "python bench/new_graphs.py --old CHECKOUT")}"""


if __name__ == "__main__":
    sys.exit(main())
