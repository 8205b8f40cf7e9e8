"""Kernels of every record in OpenCL C, run on PoCL, against LLVM's results, bit for bit.

PoCL takes a fifth of a second for a kernel, so of every record there are the longest kernels of its
values and the longest of its gradients, in one dtype; `test_records_c` has all, and the walk that
writes them is the same.

PoCL lives in an environment of its own, `.opencl` (see the Makefile); a system's PoCL is used if
the Python of this environment, or the one that ADJOINT_OPENCL_PYTHON names, has pyopencl.
"""

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from adjoint.codegen.cstyle import LANGUAGES, render_all
from tests.kernels_c.choice import PARTS, singles
from tests.kernels_c.corpus import corpus_of
from tests.kernels_c.native_c import check

ROOT = Path(__file__).parents[2]
RUNNER = Path(__file__).with_name("opencl_run.py")
KEPT = 2
WITHOUT = "no OpenCL: `make test-opencl` installs PoCL and pyopencl into .opencl, or install both"


@pytest.fixture(scope="session")
def python():
    """A Python that finds an OpenCL device."""
    named = os.environ.get("ADJOINT_OPENCL_PYTHON")
    places = [named] if named else [str(ROOT / ".opencl/venv/bin/python"), sys.executable]
    for place in places:
        if Path(place).exists() and run(place).returncode == 0:
            return place
    pytest.skip(WITHOUT)


def run(python, *arguments):
    command = [python, str(RUNNER), *map(str, arguments)]
    places = {"POCL_CACHE_DIR": str(ROOT / ".opencl/cache")}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=places | os.environ
    )


def scalar(node, cell):
    """A cell as the number it holds; OpenCL has no parameters of type bool."""
    kind = np.dtype(np.uint8) if node.dtype.is_bool else node.dtype.np
    return np.frombuffer(int(cell).to_bytes(8, "little", signed=True)[: kind.itemsize], kind)[0]


def call(program, found):
    """A recorded call, for the program that runs it."""
    given = zip((*program.variables, *program.parameters), found.cells, strict=True)
    threads = 1 if program.grid is None else found.end - found.begin
    return {
        "memory": found.before,
        "pieces": found.pieces,
        "scalars": [scalar(node, cell) for node, cell in given],
        "offset": 0 if program.grid is None else found.begin,
        "threads": threads,
    }


def longest(samples):
    """The longest kernels of each record's values and gradients."""
    found = {}
    for sample in sorted(samples, key=lambda s: -len(s.program.body)):
        found.setdefault(sample.where, []).append(sample)
    return [sample for group in found.values() for sample in group[:KEPT]]


@pytest.mark.targets
@pytest.mark.parametrize("part", range(PARTS))
def test_kernels_in_opencl_give_the_bits_of_llvm(python, part, tmp_path):
    samples = longest(corpus_of(singles(part)))
    programs = [replace(s.program, name=f"k{i}") for i, s in enumerate(samples)]
    sources = render_all(programs, LANGUAGES["opencl"])
    # the length of the grid is part of the text: only the call that it was made for will do
    calls = [[call(p, s.runs[0])] for p, s in zip(programs, samples, strict=True)]
    kernels = list(zip([s.name for s in sources], calls, strict=True))
    job, result = tmp_path / "job", tmp_path / "result"
    job.write_bytes(pickle.dumps({"source": sources[0].text, "kernels": kernels}))
    done = run(python, job, result)
    assert done.returncode == 0, done.stderr[-4000:]
    for number, (sample, found) in enumerate(
        zip(samples, pickle.loads(result.read_bytes()), strict=True)
    ):
        check(sample, sample.runs[0], found[0], number)
