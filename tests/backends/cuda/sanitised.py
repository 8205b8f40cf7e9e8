"""Kernels under NVIDIA's compute-sanitizer: memory outside of buffers, races, barriers.

    python -m tests.backends.cuda.sanitised [--tools memcheck,racecheck,synccheck] [--workers 8]

Every strategy of the GPU at odd sizes (`programs.py`), then records' samples, as far as time goes
(`--seconds`); the processes of a tool share the cases.
"""

import argparse
import re
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from adjoint.errors import AdjointError
from tests.agreement.records import VALUES, values
from tests.backends.cuda.programs import ROWS, WHOLE, results
from tests.support.devices import on

TOOLS = ("memcheck", "racecheck", "synccheck")
LENGTHS = (33, 257, 4097)
_SUMMARY = re.compile(r"ERROR SUMMARY: (\d+)|RACECHECK SUMMARY: (\d+)")
_LARGEST = 1 << 17  # elements: all is some ten times slower


def cases():
    """Names with what runs them on the GPU."""
    for name, (fn, shapes) in WHOLE.items():
        small = min(shapes, key=_size)
        if _size(small) <= _LARGEST:
            yield name, lambda fn=fn, shape=small: results(fn, shape, "GPU")
    for length in LENGTHS:
        for name, fn in ROWS.items():
            yield f"{name} {length}", lambda fn=fn, n=length: results(fn, (3, n), "GPU")
    for parameter in VALUES:
        yield f"record {parameter.id}", lambda given=parameter.values: values(*given)


def _size(shape):
    found = 1
    for extent in shape:
        found *= extent
    return found


def inside(seconds, worker, workers):
    """Run a worker's cases; how many."""
    begun, done = time.monotonic(), 0
    for name, run in islice(cases(), worker, None, workers):
        if time.monotonic() - begun > seconds:
            break
        try:
            with on("GPU"):
                run()
        except AdjointError as error:  # a sample that is one
            print(f"{name}: {error.code}")
        done += 1
    print(f"{done} cases")


def under(tool, seconds, worker, workers):
    """What a tool says of a process of its own: how many problems, how many cases, its words."""
    own = [sys.executable, "-m", "tests.backends.cuda.sanitised", "--inside"]
    own += ["--seconds", str(seconds), "--worker", str(worker), "--workers", str(workers)]
    command = ["compute-sanitizer", "--tool", tool, *own]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    found = [int(a or b) for a, b in _SUMMARY.findall(text)]
    cases_run = re.findall(r"(\d+) cases", text)
    finished = found and cases_run and not done.returncode
    return (sum(found) if finished else None), int(cases_run[-1]) if finished else 0, text


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--seconds", type=float, default=60, help="for each tool")
    parser.add_argument("--workers", type=int, default=1, help="processes that share the cases")
    parser.add_argument("--worker", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--inside", action="store_true", help="run the cases, under no tool")
    options = parser.parse_args(arguments)
    if options.inside:
        inside(options.seconds, options.worker, options.workers)
        return 0
    return sum(told(tool, options) for tool in options.tools.split(","))


def told(tool, options):
    """Print what a tool found; whether anything is wrong."""
    run = lambda worker: under(tool, options.seconds, worker, options.workers)  # noqa: E731
    with ThreadPoolExecutor(options.workers) as pool:
        parts = list(pool.map(run, range(options.workers)))
    failed = [text for problems, _, text in parts if problems != 0]
    done = sum(count for _, count, _ in parts)
    print(
        f"{tool}: {done} cases, {len(failed)} of {len(parts)} processes with problems", flush=True
    )
    for text in failed:
        print(text[-6000:])
    return bool(failed)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(sys.argv[1:]))
