"""How exact and how fast sums are: `python bench/reductions.py [--before TREE]`.

Errors are those of float32 sums, means and variances against float64, relative to the result,
beside NumPy's and torch's. Times are the best of several calls of a compiled function. With
`--before`, the same times are taken of another checkout of Adjoint in a process of its own, in
turns with this one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from peers import add_options, interpreter, made, write

from adjoint import Tensor, grad, jit

LENGTHS = {
    "2^20": 2**20,
    "2^21 + 1": 2**21 + 1,
    "2^22": 2**22,
    "2^23 - 7": 2**23 - 7,
    "2^24 - 3": 2**24 - 3,
    "2^25": 2**25,
    "2^26": 2**26,
}
SHAPES = {"(2^20, 17) over axis 0": ((2**20, 17), 0), "(64, 2^18) over axis 1": ((64, 2**18), 1)}
USES = ("sum", "mean", "var")
_ROUNDING = 3e-7  # a few roundings of the result: no bar is below that
CHANNELS = (0, 2, 3)  # all axes but that of the channels
PICTURES = [
    (64, 64, 28, 28),
    (64, 32, 32, 32),
    (32, 64, 14, 14),
    (64, 512, 7, 7),
    (64, 512, 3, 3),
    (512, 32, 3, 3),
]
Case = tuple[Any, tuple[int, ...], int]


def _norm_gradients(x: Tensor) -> Any:
    return grad(lambda x: ((x.layernorm() * 1.5 + 1) * x).sum())(x)


def _batch_norm(x: Tensor) -> Tensor:
    mean = x.mean(CHANNELS, keepdim=True)
    apart = x - mean
    return apart / ((apart * apart).mean(CHANNELS, keepdim=True) + 1e-5).sqrt()


def _batch_norm_gradient(x: Tensor) -> Any:
    return grad(lambda x: (_batch_norm(x) * x).sum())(x)


def _per_channel() -> dict[str, Case]:
    """Sums over all axes but the second, of pictures of several sizes."""
    uses = {
        "sum per channel": lambda x: x.sum(CHANNELS),
        "variance per channel": lambda x: x.var(CHANNELS),
        "batch norm": _batch_norm,
        "gradient of a batch norm": _batch_norm_gradient,
    }
    return {
        f"{use}, {' x '.join(map(str, shape))}": (fn, shape, 40)
        for shape in PICTURES
        for use, fn in uses.items()
    }


CASES: dict[str, Case] = {
    "sum of 2^26": (lambda x: x.sum(), (2**26,), 7),
    "softmax 4096 x 4096": (lambda x: x.softmax(-1), (4096, 4096), 7),
    "layer norm and its gradient, 4096 x 4096": (_norm_gradients, (4096, 4096), 5),
    "row sums 4096 x 4096": (lambda x: x.sum(1), (4096, 4096), 7),
    "column sums 4096 x 4096": (lambda x: x.sum(0), (4096, 4096), 7),
    "column sums 2^20 x 17": (lambda x: x.sum(0), (2**20, 17), 7),
    "row sums 2^20 x 4": (lambda x: x.sum(1), (2**20, 4), 7),
    "softmax 512 x 4095": (lambda x: x.softmax(-1), (512, 4095), 20),
    **_per_channel(),
    "sum of 1000": (lambda x: x.sum(), (1000,), 300),
    "softmax 64 x 100": (lambda x: x.softmax(-1), (64, 100), 300),
}


def times() -> dict[str, float]:
    """Seconds of each case."""
    rng = np.random.default_rng(0)
    found = {}
    for name, (fn, shape, turns) in CASES.items():
        x = Tensor(rng.random(shape, dtype=np.float32)).realize()
        run = jit(fn)
        took = []
        for _ in range(turns + 2):
            start = time.perf_counter()
            run(x).realize()
            took.append(time.perf_counter() - start)
        found[name] = min(took[2:])
    return found


def elsewhere(tree: str) -> dict[str, float]:
    """The same times, of this tree or another."""
    command = [sys.executable, str(Path(__file__).resolve()), "--times"]
    env = {**os.environ, "PYTHONPATH": tree}
    done = subprocess.run(command, env=env, cwd=tree, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def errors(python: str) -> list[str]:
    """Rows of the table of errors; `python` has torch."""
    with tempfile.TemporaryDirectory() as folder:
        return [row for case in _data() for row in _rows(*case, python, Path(folder))]


def _rows(name: str, x: Any, axis: int | None, python: str, folder: Path) -> list[str]:
    np.save(folder / "x.npy", x)
    command = [python, "-c", _TORCH, str(folder / "x.npy"), json.dumps(axis)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    torch = [np.array(row) for row in json.loads(done.stdout)]
    wide, rows = x.astype(np.float64), []
    for use, theirs in zip(USES, torch, strict=True):
        exact = getattr(wide, use)(axis)
        options = {"correction": 0} if use == "var" else {}
        ours = getattr(Tensor(x), use)(axis, **options).numpy()
        found = [_error(v, exact) for v in (ours, getattr(x, use)(axis), theirs)]
        missed = " MISSED" if found[0] > max(_ROUNDING, *found[1:]) else ""
        cells = " | ".join(f"{error:.1e}" for error in found)
        rows.append(f"| {use} of {name} | {cells} |{missed}")
    return rows


_TORCH = """
import json, sys, numpy, torch
x, axis = torch.from_numpy(numpy.load(sys.argv[1])), json.loads(sys.argv[2])
print(json.dumps([x.sum(axis).tolist(), x.mean(axis).tolist(), x.var(axis, correction=0).tolist()]))
"""


def _error(found: Any, exact: Any) -> float:
    return float(np.max(np.abs(found.astype(np.float64) - exact) / np.abs(exact)))


def _data() -> Iterator[tuple[str, Any, int | None]]:
    rng = np.random.default_rng(1)
    for name, length in LENGTHS.items():
        constant = np.full(length, 0.1, np.float32)
        constant[0] = 0.2  # a variance that is not 0
        yield f"{name}, 0.1", constant, None
        yield f"{name}, uniform", rng.random(length, dtype=np.float32), None
    for name, (shape, axis) in SHAPES.items():
        yield f"{name}, uniform", rng.random(shape, dtype=np.float32), axis


def page(before: str | None, torch: str) -> str:
    """The results as a page."""
    here = str(Path(__file__).resolve().parents[1])
    rounds = [(elsewhere(here), elsewhere(before) if before else None) for _ in range(3)]
    lines = ["# Sums of float32", "", made(f"; NumPy {np.__version__}")]
    lines += ["| error, relative to float64 | Adjoint | NumPy | torch |", "|---|---|---|---|"]
    lines += [*errors(torch), ""]
    lines += ["| time, ms | one tree | before it |", "|---|---|---|"]
    for name in CASES:
        ours = min(a[name] for a, _ in rounds)
        old = [b[name] for _, b in rounds if b is not None]
        lines.append(f"| {name} | {_ms(ours)} | {_ms(min(old)) if old else '-'} |")
    return "\n".join([*lines, ""])


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--before", help="a checkout of Adjoint to compare with")
    parser.add_argument("--times", action="store_true", help="print the times of this process")
    given = parser.parse_args()
    if given.times:
        print(json.dumps(times()))
        return 0
    text = page(given.before, interpreter("torch", given.python))
    if not given.no_write:
        write("reductions.md", text)
    print(text)
    return int(given.check and "MISSED" in text)


if __name__ == "__main__":
    sys.exit(main())
