"""Every example trained for a few steps on the CPU and on a GPU: the losses of both.

    python -m tests.backends.cuda.training --steps 5 [--only gpt] [--fake]

Where no library computes a product on either device, losses have the same bits; else the curves
are the same to within roundings that training amplifies.
"""

import argparse
import contextlib
import io
import runpy
import sys
import time
import warnings
from pathlib import Path
from typing import ClassVar

import adjoint.examples
from adjoint import Tensor, counters, training
from adjoint.cli.program import examples
from adjoint.training.cli_options import RunOptions, use
from tests.support.devices import on
from tests.support.fake_gpu import fake_gpu

EXAMPLES = Path(adjoint.examples.__file__).parent  # by path: others may have imported a module
STEPS = 5
NEAR = 2e-3  # of the larger of a loss and its first value, after some steps of rounding


class Watched(training.Loop):
    """A loop that notes every number that is reported."""

    seen: ClassVar[list] = []

    def report(self, **values):
        for name, value in values.items():
            if isinstance(value, Tensor):
                self.seen.append((name, float(value.item())))
        super().report(**values)


def trained(name, device, steps):
    """What an example reports, step by step, and how many calls of libraries there were."""
    Watched.seen = []
    options = RunOptions(name=name, steps=steps, quiet=True)
    quiet = contextlib.redirect_stdout(io.StringIO())
    short = contextlib.suppress(AssertionError)  # a result after all of its steps
    with on(device), use(options), quiet, _watched(), _alone(), counters() as counted, short:
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    return Watched.seen, counted.library


@contextlib.contextmanager
def _alone():
    """No arguments of this process are those of the example."""
    before, sys.argv = sys.argv, sys.argv[:1]
    try:
        yield
    finally:
        sys.argv = before


@contextlib.contextmanager
def _watched():
    before, training.Loop = training.Loop, Watched
    try:
        yield
    finally:
        training.Loop = before


def compared(name, steps=STEPS):
    """How the two devices agree on an example: "equal", "near", or what is WRONG."""
    (cpu, library), (gpu, more) = trained(name, "CPU", steps), trained(name, "GPU", steps)
    if [n for n, _ in cpu] != [n for n, _ in gpu]:
        return f"WRONG: the CPU reports {len(cpu)} numbers, the GPU {len(gpu)}"
    if not cpu:
        return "WRONG: nothing is reported"
    if cpu == gpu:
        return "equal"
    apart = max(_apart(a, b, cpu[0][1]) for (_, a), (_, b) in zip(cpu, gpu, strict=True))
    if not (library or more):
        return f"WRONG: no library was called, and numbers are {apart:.1e} apart"
    return f"near: {apart:.1e}" if apart < NEAR else f"WRONG: {apart:.1e} apart: {cpu} {gpu}"


def _apart(a, b, first):
    return abs(a - b) / max(abs(a), abs(first), 1e-30)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--only", default="", help="examples, with commas between them")
    parser.add_argument("--fake", action="store_true", help="on a fake GPU")
    options, wrong = parser.parse_args(), 0
    with fake_gpu() if options.fake else contextlib.nullcontext():
        for name in options.only.split(",") if options.only else examples():
            start = time.perf_counter()
            found = compared(name, options.steps)
            wrong += found.startswith("WRONG")
            print(f"{name}: {found} ({time.perf_counter() - start:.1f} s)", flush=True)
    return wrong


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
