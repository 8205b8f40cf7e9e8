"""What do small programs cost that change all the time? This commit, and another one beside it.

Reads of parts of realized tensors with indices that are new, graphs with slices that begin
elsewhere, and first fits of other libraries (scikit-learn and SciPy, if they are installed) on
120×6 and on 12 numbers. Every process begins with an empty cache; processes of the commits
alternate. Times are processor time, the least over the processes.
Usage: python bench/start.py [--old CHECKOUT] [--rounds N] [--check] [--no-write]
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import peers

RESULTS = peers.HERE / "results" / "start.md"
BARS = {"float(x[i])": 20e-6, "GaussianMixture, first fit": 1.0, "find_root, first call": 0.5}
_NEW = 40  # indices that were not used before


# ---- one process


def reads(adjoint: Any) -> dict[str, Callable[[int], Any]]:
    """What is done with an index, by name."""
    x = adjoint.Tensor(np.arange(5000, dtype=np.float32)).realize()
    m = adjoint.Tensor(np.arange(5000, dtype=np.float32).reshape(50, 100)).realize()
    w = adjoint.Tensor(np.arange(500, dtype=np.float32).reshape(100, 5)).realize()
    return {
        "float(x[i])": lambda i: float(x[i]),
        "float(m[i, j])": lambda i: float(m[i, 3 + i]),
        "x[i:i+3].numpy()": lambda i: x[i : i + 3].numpy(),
        "m[i].tolist()": lambda i: m[i].tolist(),
        "m.T[i].numpy()": lambda i: m.T[i].numpy(),
        "x[::-2][i].item()": lambda i: x[::-2][i].item(),
        "(x[i] * 2 + x[j:j+4]).numpy()": lambda i: (x[i] * 2 + x[i + 1 : i + 5]).numpy(),
        "(m[i:i+8] @ w).numpy()": lambda i: (m[i : i + 8] @ w).numpy(),
        "((x[i:i+9] - x[i]) ** 2).sum()": lambda i: float(((x[i : i + 9] - x[i]) ** 2).sum()),
    }


def fits(adjoint: Any) -> dict[str, Callable[[], Any]]:
    """First calls of other libraries, by name; none if they are not installed."""
    try:
        sklearn = importlib.import_module("sklearn")
        mixture = importlib.import_module("sklearn.mixture")
        linear = importlib.import_module("sklearn.linear_model")
        solve = importlib.import_module("scipy.optimize.elementwise")
    except ImportError:
        return {}
    numbers = np.random.default_rng(0).normal(size=(120, 6))
    numbers[:60] += 3
    x, c = adjoint.asarray(numbers), adjoint.asarray(np.linspace(1.0, 5.0, 12))
    low, high = adjoint.zeros(12, dtype="float64"), adjoint.full((12,), 3.0, dtype="float64")

    def fitted(model: Any, *data: Any) -> Any:
        with sklearn.config_context(array_api_dispatch=True):
            return model.fit(*data)

    return {
        "GaussianMixture, first fit": lambda: np.asarray(
            fitted(mixture.GaussianMixture(2, init_params="random", random_state=0), x).means_
        ),
        "Ridge, first fit": lambda: np.asarray(
            fitted(linear.Ridge(solver="svd"), x, x[:, 0]).coef_
        ),
        "find_root, first call": lambda: np.asarray(
            solve.find_root(lambda t, c: t**3 - c, (low, high), args=(c,)).x
        ),
        "find_minimum, first call": lambda: np.asarray(
            solve.find_minimum(
                lambda t, c: (t - c) ** 2, (low - 1, low + 2.5, high * 3), args=(c,)
            ).x
        ),
    }


def seconds_of(run: Callable[..., Any], *args: Any) -> float:
    start = process_time()
    run(*args)
    return process_time() - start


def measure() -> dict[str, float]:
    """Seconds by name."""
    warnings.simplefilter("ignore")
    adjoint = importlib.import_module("adjoint")
    (adjoint.ones(3) + 1).numpy()  # the compiler is loaded
    found = {}
    for name, run in reads(adjoint).items():
        found[name] = median([seconds_of(run, i) for i in range(_NEW)])
    for title, call in fits(adjoint).items():
        found[title] = seconds_of(call)
        found[title.split(",")[0] + ", again"] = min(seconds_of(call) for _ in range(3))
    return found


# ---- all of them


def process(checkout: Path) -> dict[str, float]:
    """What a process with the package of a checkout measures, with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        own = {"PYTHONPATH": str(checkout), "ADJOINT_CACHE_DIR": cache, "SCIPY_ARRAY_API": "1"}
        command = [sys.executable, str(Path(__file__).resolve()), "--measure"]
        environment = {**os.environ, **own, "ADJOINT_DEVICE": "CPU"}
        said = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        found: dict[str, float] = json.loads(said.stdout)
        return found


def shown(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if seconds * scale >= (1 if unit == "ms" else 0.1):
            return f"{seconds * scale:.2f} {unit}"
    return f"{seconds * 1e6:.1f} µs"


def table(now: list[dict[str, float]], old: list[dict[str, float]], commit: str) -> str:
    lines = [["what", *([commit] if old else []), "now", "bar"]]
    for name in now[0]:
        cells = [min(f[name] for f in found) for found in (old, now) if found]
        bar = BARS.get(name)
        met = "" if bar is None else f"≤ {shown(bar)} {'met' if cells[-1] <= bar else 'MISSED'}"
        lines.append([name, *map(shown, cells), met])
    return peers.markdown(lines)


def written(text: str, rounds: int) -> str:
    return f"""# Small programs that keep changing

{text}

Processor time, the least of {rounds} processes for each commit, in turn, each with an empty cache
of compiled code. Reads: the median of {_NEW} indices that the process has not seen. First fits and
calls are the first of the process, "again" the same call once more, the least of three.

{peers.made("").replace("make bench", "python bench/start.py --old CHECKOUT")}"""


def main() -> int:
    options = peers.commit_options(__doc__, rounds=3)
    if options.measure:
        print(json.dumps(measure()))
        return 0
    checkouts = peers.checkouts(options)
    found: list[list[dict[str, float]]] = [[] for _ in checkouts]
    for _ in range(options.rounds):
        for checkout, times in zip(checkouts, found, strict=True):
            times.append(process(checkout))
    command = ["git", "-C", str(options.old), "rev-parse", "--short", "HEAD"]
    name = subprocess.check_output(command, text=True).strip() if options.old else ""
    text = table(found[0], found[1] if options.old else [], name)
    print(text)
    if not options.no_write:
        RESULTS.write_text(written(text, options.rounds), encoding="utf-8")
    return int(options.check and "MISSED" in text)


if __name__ == "__main__":
    sys.exit(main())
