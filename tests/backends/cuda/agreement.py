"""The bits of the CPU on an NVIDIA GPU: every record, its values and derivatives, under vmap, at
the ends of its range, and larger programs.

    python -m tests.backends.cuda.agreement --workers 8 --summary file.json

What a library or tensor cores compute has other bits on purpose: there units in the last place
count.
"""

import argparse
import json
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

from adjoint import Device, counters
from tests.agreement.bits import canonical
from tests.agreement.records import DERIVATIVES, VALUES, gradients, values
from tests.backends.cuda.programs import programs, results
from tests.backends.cuda.transformed import cases
from tests.support.devices import SUMMED, on, same

EXCEPTIONS = (
    f"library: cases whose products, convolutions, transforms or factorisations NVIDIA's libraries "
    f"compute, in orders of their own: {SUMMED} units in the last place of the largest "
    "element; NaN: signs and payloads are left out; docs/gpu.md has the reasons"
)
CASES = [(f"values {p.id}", values, p.values) for p in VALUES]
CASES += [(f"derivatives {p.id}", gradients, p.values) for p in DERIVATIVES]


def program(fn, shape):
    """The results of a program on the default device."""
    return dict(enumerate(results(fn, shape, Device.DEFAULT)))


CASES += [(f"program {name}", program, rest) for name, *rest in programs()]
CASES += cases()


def compared(compute, *given):
    """How the two devices agree: "equal", or "library" where one of them called one."""
    with on("CPU"), counters() as counted:
        wanted = compute(*given)
    with on("GPU"), counters() as there:
        found = compute(*given)
    assert found.keys() == wanted.keys()
    differing = [name for name in wanted if not equal(wanted[name], found[name])]
    if not differing:
        return "equal"
    if not counted.library and not there.library:
        name = differing[0]
        raise AssertionError(f"{name}: {shown(wanted[name], found[name])}")
    for name in differing:
        same(wanted[name], found[name], name, SUMMED)
    return "library"


def equal(a, b):
    alike = a.dtype == b.dtype and a.shape == b.shape
    a, b = np.atleast_1d(a), np.atleast_1d(b)
    if not a.size:
        return alike
    return alike and canonical(a).tobytes() == canonical(b).tobytes()


def shown(a, b):
    """The first elements that differ."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype}{a.shape} and {b.dtype}{b.shape}"
    rows = [
        i for i in range(a.size) if not equal(a.reshape(-1)[i : i + 1], b.reshape(-1)[i : i + 1])
    ]
    pairs = [(a.reshape(-1)[i], b.reshape(-1)[i]) for i in rows[:3]]
    return f"{len(rows)} of {a.size} elements, at {rows[:3]}: {pairs}"


def shard(part, parts, only="", seconds=float("inf")):
    """How the cases of a part agree: how many are equal, which are near, what is wrong."""
    found, begun = {"equal": 0, "left": 0, "library": [], "wrong": {}}, time.monotonic()
    for name, compute, given in [case for case in CASES[part::parts] if only in case[0]]:
        if time.monotonic() - begun > seconds:
            found["left"] += 1
            continue
        try:
            if compared(compute, *given) == "equal":
                found["equal"] += 1
            else:
                found["library"].append(name)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            found["wrong"][name] = f"{type(error).__name__} {last.name}:{last.lineno} {error}"[:600]
    return found


def in_processes(workers, *options):
    """All cases, divided among processes."""
    begin = [sys.executable, "-m", "tests.backends.cuda.agreement", *options]
    parts = [[*begin, "--shard", f"{i}/{workers}"] for i in range(workers)]
    running = [subprocess.Popen(part, stdout=subprocess.PIPE, text=True) for part in parts]
    total = {"equal": 0, "left": 0, "exceptions": EXCEPTIONS, "library": [], "wrong": {}}
    for found in [json.loads(process.communicate()[0]) for process in running]:
        total["wrong"] |= found.pop("wrong")
        total |= {key: total[key] + more for key, more in found.items()}
    return total


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", type=int, default=0, help="processes that share the cases")
    parser.add_argument("--shard", default="0/1", help="which part of how many")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="then stop")
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--summary", type=Path, help="a file for what was found")
    options = parser.parse_args(arguments)
    if options.workers:
        given = ["--only", options.only, "--seconds", str(options.seconds)]
        found = in_processes(options.workers, *given)
    else:
        found = shard(*map(int, options.shard.split("/")), options.only, options.seconds)
    text = json.dumps(found, indent=1)
    if options.summary:
        options.summary.write_text(text + "\n")
    print(text)
    return bool(found["wrong"])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(sys.argv[1:]) and "--workers" in sys.argv)
