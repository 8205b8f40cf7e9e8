"""How long the way of a first gradient is: `python bench/path.py [--before TREE]`.

`(x @ w).relu().sum().backward(); w.grad.numpy()` in a new process: how many functions in how many
files of Adjoint are passed, and how often the way goes from one file to another. "cold" with an
empty cache, "warm" in the process after that. A function is a (file, name); bodies of modules that
are loaded on the way count. The second table is the time that a first gradient through 100 layers
takes, in a new process whose imports are done. With `--before`, the same of another checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from peers import add_options, made, markdown, write

TREE = Path(__file__).resolve().parent.parent
STARTS = 3
LINES = {
    "x @ w": lambda x, w, y: x @ w,
    ".relu()": lambda x, w, y: y.relu(),
    ".sum()": lambda x, w, y: y.sum(),
    ".backward()": lambda x, w, y: y.backward(),
    "w.grad.numpy(), first": lambda x, w, y: w.grad.numpy(),
}


def passed(work: Any, root: str) -> tuple[Any, list[int]]:
    """The result, and calls, functions, files and changes of file on the way."""
    way: list[tuple[str, str]] = []

    def note(frame: Any, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(root):
            way.append((frame.f_code.co_filename, frame.f_code.co_name))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        result = work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    files = [file for file, _ in way]
    changes = sum(a != b for a, b in pairwise(files))
    return result, [len(way), len(set(way)), len(set(files)), changes]


def counted() -> dict[str, list[int]]:
    """The numbers of every line, in this process."""
    import adjoint  # the checkout that the parent process names

    root = str(Path(adjoint.__file__).parent)
    found: dict[str, list[int]] = {}
    for again in ("", " again"):
        x = adjoint.Tensor(np.ones((4, 3), np.float32))
        w = adjoint.Tensor(np.ones((3, 2), np.float32), requires_grad=True)
        y: Any = None
        for name, line in LINES.items():
            result, found[name + again] = passed(partial(line, x, w, y), root)
            y = y if result is None else result
    return found


def deep() -> float:
    """Milliseconds until the first gradients by the weights of 100 layers are there."""
    import adjoint

    rng = np.random.default_rng(0)
    layers = [rng.standard_normal((64, 64), np.float32) / 8 for _ in range(100)]
    weights = [adjoint.Tensor(w, requires_grad=True) for w in layers]
    x = adjoint.Tensor(rng.standard_normal((32, 64), np.float32))
    start = time.perf_counter()
    for w in weights:
        x = (x @ w).relu()
    x.sum().backward()
    weights[0].grad.realize(*(w.grad for w in weights[1:]))
    return (time.perf_counter() - start) * 1e3


def asked(tree: Path, cache: str, what: str = "--count") -> Any:
    """The numbers of a checkout, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(tree), "ADJOINT_CACHE_DIR": cache}
    command = [sys.executable, __file__, what]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def started(title: str, tree: Path) -> list[str]:
    """The least of some times of a checkout, with an empty cache and with a full one."""
    cold, warm = [], []
    for _ in range(STARTS):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(asked(tree, cache, "--deep"))
            warm.append(asked(tree, cache, "--deep"))
    return [title, f"{min(cold):.0f}", f"{min(warm):.0f}"]


def rows_of(title: str, tree: Path) -> list[list[str]]:
    """The rows of a checkout."""
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = asked(tree, cache), asked(tree, cache)
    last = [*LINES][-1]
    rows = {name: cold[name] for name in LINES} | {f"{last}, warm": warm[last]}
    rows |= {"the same line on other data": cold[f"{last} again"]}
    return [[title, name, *(f"{n:,}" for n in numbers)] for name, numbers in rows.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--before", help="a checkout of Adjoint to compare with")
    parser.add_argument("--count", action="store_true", help="print the numbers of this process")
    parser.add_argument("--deep", action="store_true", help="print the time of this process")
    options = parser.parse_args()
    if options.count or options.deep:
        print(json.dumps(counted() if options.count else deep()))
        return
    trees = {"before": Path(options.before).resolve()} if options.before else {}
    trees["this"] = TREE
    way = [["checkout", "call", "calls", "functions", "files", "changes of file"]]
    start = [["first gradient through 100 layers, ms", "empty cache", "warm"]]
    for title, tree in trees.items():
        way += rows_of(title, tree)
        start.append(started(title, tree))
    tables = f"{markdown(way)}\n\n{markdown(start)}"
    text = f"# Functions and files on the way to a first gradient\n\n{made('')}\n{tables}\n"
    print(text)
    if not options.no_write:
        write("path.md", text)


if __name__ == "__main__":
    main()
