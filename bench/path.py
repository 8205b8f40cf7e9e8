"""How long the way of a first gradient is: `python bench/path.py [--before TREE]`.

`(x @ w).relu().sum().backward(); w.grad.numpy()` in a new process: how many functions in how many
files of Adjoint are passed, and how often the way goes from one file to another. "cold" with an
empty cache, "warm" in the process after that. A function is a (file, name); bodies of modules that
are loaded on the way count. With `--before`, the same of another checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from peers import add_options, made, markdown, write

TREE = Path(__file__).resolve().parent.parent
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


def asked(tree: Path, cache: str) -> dict[str, list[int]]:
    """The numbers of a checkout, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(tree), "ADJOINT_CACHE_DIR": cache}
    command = [sys.executable, __file__, "--count"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    numbers: dict[str, list[int]] = json.loads(done.stdout)
    return numbers


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
    options = parser.parse_args()
    if options.count:
        print(json.dumps(counted()))
        return
    table = [["checkout", "call", "calls", "functions", "files", "changes of file"]]
    if options.before:
        table += rows_of("before", Path(options.before).resolve())
    table += rows_of("this", TREE)
    text = f"# The way of a first gradient\n\n{made('')}\n{markdown(table)}\n"
    print(text)
    if not options.no_write:
        write("path.md", text)


if __name__ == "__main__":
    main()
