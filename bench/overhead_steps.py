"""What does a jitted step cost beyond its kernels? This commit, and another one beside it.

Processes of the two alternate. Times are processor time of the process, the least of many rounds:
that much is needed, whatever else the machine does. The kernels of a step are its launches alone,
run again on the memory of the last call.
Usage: python bench/overhead_steps.py [--old CHECKOUT] [--rounds N] [--check] [--no-write]
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time_ns
from typing import Any

import peers

REPETITIONS, RUNS = 25, 200
HEAD = "## Beside an earlier commit"
RESULTS = peers.HERE / "results" / "overhead.md"


@dataclass(frozen=True)
class Row:
    """A line of the table; `scale` from seconds."""

    title: str
    name: str
    bar: float
    unit: str
    scale: float


ROWS = (
    Row("jitted x + y, 3 floats", "jitted", 8, "µs", 1e6),
    Row("(x + y).realize(), 3 floats", "lazy", 30, "µs", 1e6),
    Row("step of SGD, 7 parameters, beyond its kernels", "sgd", 45, "µs", 1e6),
    Row("step of Adam, 7 parameters, beyond its kernels", "adam", 45, "µs", 1e6),
    Row("import adjoint, beyond Python and NumPy", "import", 0.25, "s", 1),
)


# ---- one process


def least(run: Callable[[], Any]) -> float:
    """Seconds of one run."""
    best = float("inf")
    for _ in range(REPETITIONS):
        start = process_time_ns()
        for _ in range(RUNS):
            run()
        best = min(best, (process_time_ns() - start) / RUNS)
    return best / 1e9


def timed_import() -> float:
    """Seconds; NumPy is there already."""
    importlib.import_module("numpy")
    start = process_time_ns()
    importlib.import_module("adjoint")
    return (process_time_ns() - start) / 1e9


def step_of(adjoint: Any, optimizer: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A step that trains a small network, and its kernels alone."""
    nn, tensor = adjoint.nn, adjoint.Tensor
    layers = [nn.Linear(2, 16), nn.Linear(16, 16), nn.Linear(16, 1)]
    scale = tensor([1.0], requires_grad=True)
    parameters = [p for layer in layers for p in (layer.weight, layer.bias)] + [scale]
    optimizer = getattr(nn.optim, optimizer)(parameters, lr=1e-3)
    x, y = tensor.ones(8, 2).contiguous().realize(), tensor.zeros(8, 1).contiguous().realize()

    @adjoint.jit
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        hidden = layers[1](layers[0](x).relu()).relu()
        loss = ((layers[2](hidden) * scale - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    tensor.training = True
    for _ in range(5):
        step(x, y)
    program = next(iter(step._traces.values()))[0].runner.program
    memory = (getattr(program, "_memories", None) or program._frames)[-1]
    launches = getattr(memory, "launches", None) or memory.tables
    return lambda: step(x, y), lambda: [launch.run() for launch in launches]


def measure() -> dict[str, float]:
    """Seconds by the name of a row."""
    found = {"import": timed_import()}
    adjoint = importlib.import_module("adjoint")
    x, y = adjoint.Tensor([1.0, 2.0, 3.0]).realize(), adjoint.Tensor([0.5, 0.25, 4.0]).realize()
    add = adjoint.jit(lambda x, y: x + y)
    gc.disable()
    for name, run in (("jitted", lambda: add(x, y)), ("lazy", lambda: (x + y).realize())):
        run()
        found[name] = least(run)
    for name, kind in (("sgd", "SGD"), ("adam", "Adam")):
        step, kernels = step_of(adjoint, kind)
        found[name] = least(step) - least(kernels)
    return found


# ---- all of them


def process(checkout: Path, bytecode: str, *command: str) -> str:
    """What a process with the package of a checkout says; its bytecode is kept in a folder."""
    own = {"PYTHONPATH": str(checkout), "PYTHONPYCACHEPREFIX": bytecode, "ADJOINT_DEVICE": "CPU"}
    environment = {**os.environ, **own}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = [sys.executable, *command]
    return subprocess.run(
        started, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def measured(checkouts: Sequence[Path], rounds: int) -> list[dict[str, list[float]]]:
    """Seconds by the name of a row, for each of the checkouts, in turn."""
    found: list[dict[str, list[float]]] = [{} for _ in checkouts]
    with tempfile.TemporaryDirectory() as bytecode:
        for checkout in checkouts:
            process(checkout, bytecode, "-c", "import adjoint")
        for _ in range(rounds):
            for checkout, times in zip(checkouts, found, strict=True):
                said = process(checkout, bytecode, str(Path(__file__).resolve()), "--measure")
                for name, seconds in json.loads(said).items():
                    times.setdefault(name, []).append(seconds)
    return found


def table(now: dict[str, list[float]], old: dict[str, list[float]], name: str) -> str:
    lines = [["what", "unit", *([name] if old else []), "now", "bar"]]
    for row in ROWS:
        digits = 2 if row.scale == 1 else 1
        cells = [f"{min(f[row.name]) * row.scale:.{digits}f}" for f in (old, now) if f]
        met = "met" if min(now[row.name]) * row.scale <= row.bar else "MISSED"
        lines.append([row.title, row.unit, *cells, f"≤ {row.bar:g} {row.unit} {met}"])
    return peers.markdown(lines)


def written(text: str, count: int) -> str:
    return f"""{HEAD}

{text}

Processor time of the process, the least of {count} processes for each commit, in turn, each the
least of {REPETITIONS} rounds of {RUNS} runs; what else ran on the machine is not in it, but it used
the same caches. The steps train a 2-16-16-1 network with a factor for its result on a batch of 8;
their kernels take 2 to 3 µs.

{peers.made("").replace("make bench", "python bench/overhead_steps.py --old CHECKOUT")}"""


def section() -> str:
    """What stands in the results of overhead.py about steps."""
    return "".join(RESULTS.read_text(encoding="utf-8").partition(HEAD)[1:])


def write(text: str) -> None:
    """Put it at their end."""
    before = RESULTS.read_text(encoding="utf-8").partition(HEAD)[0].rstrip()
    RESULTS.write_text(f"{before}\n\n{text}", encoding="utf-8")


def main() -> int:
    options = peers.commit_options(__doc__, rounds=5)
    if options.measure:
        print(json.dumps(measure()))
        return 0
    checkouts = peers.checkouts(options)
    now, old = [*measured(checkouts, options.rounds), {}][:2]
    command = ["git", "-C", str(options.old), "rev-parse", "--short", "HEAD"]
    name = subprocess.check_output(command, text=True).strip() if options.old else ""
    text = table(now, old, name)
    print(text)
    if not options.no_write:
        write(written(text, options.rounds))
    return int(options.check and "MISSED" in text)


if __name__ == "__main__":
    sys.exit(main())
