"""Kernels under NVIDIA's compute-sanitizer: memory outside of buffers, races, barriers.

    python -m tests.backends.cuda.sanitised [--tools memcheck,racecheck,synccheck] [--seconds 60]

Every strategy of the GPU at odd sizes (`programs.py`), then records' samples, as far as time goes.
"""

import argparse
import re
import subprocess
import sys
import time
import warnings

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


def inside(seconds):
    """Run the cases; how many."""
    begun, done = time.monotonic(), 0
    for name, run in cases():
        if time.monotonic() - begun > seconds:
            break
        try:
            with on("GPU"):
                run()
        except AdjointError as error:  # a sample that is one
            print(f"{name}: {error.code}")
        done += 1
    print(f"{done} cases")


def under(tool, seconds):
    """What a tool says of a process of its own: how many problems, and its last words."""
    own = [sys.executable, "-m", "tests.backends.cuda.sanitised", "--inside"]
    command = ["compute-sanitizer", "--tool", tool, *own, "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    found = [int(a or b) for a, b in _SUMMARY.findall(text)]
    return (sum(found) if found else None), text


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--seconds", type=float, default=60, help="for each tool")
    parser.add_argument("--inside", action="store_true", help="run the cases, under no tool")
    options = parser.parse_args(arguments)
    if options.inside:
        inside(options.seconds)
        return 0
    wrong = 0
    for tool in options.tools.split(","):
        problems, text = under(tool, options.seconds)
        cases_run = re.findall(r"(\d+) cases", text)
        print(f"{tool}: {problems} problems in {cases_run[-1] if cases_run else 'no'} cases")
        if problems != 0:
            wrong += 1
            print(text[-6000:])
    return wrong


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(sys.argv[1:]))
