"""How much memory do training steps take beyond the import of the library?

For each row and library a new process: the most memory it ever had (VmHWM) after three steps, less
what it had after its imports. Arrays of the workload count in all of them.
Usage: python bench/memory.py [--peers torch,jax] [--rounds 3]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import peers
from cpu_own_workloads import OWN
from cpu_workloads import WORKLOADS, Workload

ROWS = {"GPT": 290, "ResNet-18": 382, "CNN": 161}  # beginnings of names, and MB to stay below
STEPS = 3


def row_of(name: str) -> Workload:
    return next(w for w in (*OWN, *WORKLOADS) if w.name.startswith(name))


def most() -> float:
    """The most memory that this process ever had, in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e6


def measure(library: str, name: str) -> None:
    """In this process; the answer is a line of JSON."""
    mode = ("eager",) if library == "torch" else ()
    made = importlib.import_module(f"cpu_{library}").Library(*mode)
    before = most()
    step = made.program(row_of(name))[0]
    for _ in range(STEPS):
        step()
    print(json.dumps({"version": made.version, "mb": most() - before, "imported": before}))


def asked(library: str, name: str, python: str) -> dict[str, float | str]:
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "ADJOINT_DEVICE": "CPU"}
    environment["PYTHONPATH"] = str(peers.HERE.parent) if library == "adjoint" else ""
    call = [python, __file__, "--measure", library, name]
    found = subprocess.run(call, env=environment, capture_output=True, text=True, check=True)
    return json.loads(found.stdout.splitlines()[-1])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", nargs=2, metavar=("LIBRARY", "ROW"), help="in this process")
    parser.add_argument("--peers", default="torch,jax", help="of torch, jax, or none")
    parser.add_argument("--rounds", type=int, default=3, help="processes; the least counts")
    peers.add_options(parser)
    return parser.parse_args()


def main() -> int:
    options = parse()
    if options.measure:
        measure(*options.measure)
        return 0
    libraries = ["adjoint", *(p for p in options.peers.split(",") if p in peers.REQUIREMENTS)]
    versions: dict[str, str] = {}
    table, missed = [["row", "bar", *libraries]], False
    for name, bar in ROWS.items():
        cells = []
        for library in libraries:
            python = peers.interpreter(library, options.python)
            runs = [asked(library, name, python) for _ in range(options.rounds)]
            versions[library] = str(runs[0]["version"])
            cells.append(min(float(run["mb"]) for run in runs))
        missed |= cells[0] > bar
        table.append([row_of(name).name, f"{bar}", *(f"{mb:.0f}" for mb in cells)])
        print(table[-1], file=sys.stderr)
    text = peers.markdown(table)
    print(text)
    if not options.no_write:
        peers.write("memory.md", report(text, options.rounds, versions))
    return int(options.check and missed)


def report(text: str, rounds: int, versions: dict[str, str]) -> str:
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"""# Memory of training steps

{text}

MB that a new process had at most (VmHWM) after {STEPS} steps, less what it had after its imports;
the least of {rounds} processes. What the workload's arrays take is in every figure; compiling is in
Adjoint's and JAX's.

{peers.made(f"; {listed}")}"""


if __name__ == "__main__":
    sys.exit(main())
