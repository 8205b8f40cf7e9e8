"""Every record's kernels in OpenCL C, run on PoCL, against LLVM's results, bit for bit.

The kernels are those of `test_records_c`, in the same dtypes, on the same memory. Kernels built by
hand run with real groups of threads, against the plain interpreter. Where the device has no
doubles, kernels with float64 are left out, and a warning says how many.

PoCL lives in an environment of its own, `.opencl` (see the Makefile); a system's PoCL is used if
the Python of this environment, or the one that ADJOINT_OPENCL_PYTHON names, has pyopencl.
"""

import json
import os
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from adjoint.codegen.c.render import LANGUAGES, render_all
from tests.codegen.c import lockstep
from tests.codegen.c.choice import PARTS, every
from tests.codegen.c.constants import KINDS, expected, graph
from tests.codegen.c.corpus import corpus_of
from tests.codegen.c.names import WORDS, programs
from tests.codegen.c.native_c import check, same_bits
from tests.codegen.c.random_graph import RandomGraph

ROOT = Path(__file__).parents[3]
RUNNER = Path(__file__).with_name("opencl_run.py")
WITHOUT = "no OpenCL: `make test-opencl` installs PoCL and pyopencl into .opencl, or install both"
GRAPHS, CHUNK = 600, 200


@pytest.fixture(scope="session")
def opencl():
    """A Python that finds an OpenCL device, and whether that has doubles."""
    named, said = os.environ.get("ADJOINT_OPENCL_PYTHON"), []
    places = [named] if named else [str(ROOT / ".opencl/venv/bin/python"), sys.executable]
    for place in places:
        if Path(place).exists() and (found := run(place)).returncode == 0:
            return place, json.loads(found.stdout)["doubles"]
        elif Path(place).exists():
            said.append(found.stderr.strip().rpartition("\n")[2])
    pytest.skip("; ".join([WITHOUT, *said]))


def run(python, *arguments):
    command = [python, str(RUNNER), *map(str, arguments)]
    # what is compiled once is not asked for again, so nothing is kept on disk
    settings = {"POCL_CACHE_DIR": str(ROOT / ".opencl/cache"), "POCL_KERNEL_CACHE": "0"}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=settings | os.environ
    )


def results(python, kernels, calls, folder, *options):
    """The memory of every call of every program, after it."""
    if not kernels:
        return []
    sources = render_all(kernels, LANGUAGES["opencl"])
    named = list(zip([s.name for s in sources], calls, strict=True))
    job, result = folder / "job", folder / "result"
    asked = {"source": sources[0].text, "options": list(options), "kernels": named}
    job.write_bytes(pickle.dumps(asked))
    done = run(python, job, result)
    assert done.returncode == 0, done.stderr[-4000:]
    return pickle.loads(result.read_bytes())


def scalar(node, cell):
    """A cell as the number it holds; OpenCL has no parameters of type bool."""
    kind = np.dtype(np.uint8) if node.dtype.is_bool else node.dtype.np
    return np.frombuffer(int(cell).to_bytes(8, "little", signed=True)[: kind.itemsize], kind)[0]


def call(program, found):
    """A recorded call. The last number of a kernel with a grid is where the grid ends."""
    given = zip((*program.variables, *program.parameters), found.cells, strict=True)
    scalars = [scalar(node, cell) for node, cell in given]
    begin, end = (0, 1) if program.grid is None else (found.begin, found.end)
    if program.grid is not None:
        scalars.append(program.grid.dtype.np.type(end))
    return {
        "memory": found.before,
        "pieces": found.pieces,
        "scalars": scalars,
        "offset": (begin,),
        "threads": (end - begin,),
        "group": (1,),
    }


def has_doubles(program):
    kinds = [node.arg.dtype for node in program.buffers]
    return any(
        getattr(k, "name", "") == "float64" for k in (*kinds, *(n.dtype for n in program.body))
    )


@pytest.mark.targets
@pytest.mark.parametrize("part", range(PARTS))
def test_kernels_in_opencl_give_the_bits_of_llvm(opencl, part, tmp_path):
    python, doubles = opencl
    samples = corpus_of(every(part))
    kept = [s for s in samples if doubles or not has_doubles(s.program)]
    if len(kept) < len(samples):
        warnings.warn(f"no doubles: {len(samples) - len(kept)} kernels left out", stacklevel=1)
    kernels = [replace(s.program, name=f"k{i}") for i, s in enumerate(kept)]
    calls = [[call(p, r) for r in s.runs] for p, s in zip(kernels, kept, strict=True)]
    found = results(python, kernels, calls, tmp_path)
    for number, (sample, memory) in enumerate(zip(kept, found, strict=True)):
        for one, after in zip(sample.runs, memory, strict=True):
            check(sample, one, after, number)


def sizes(random, letter):
    """How many groups, or threads of a group, there are along three axes."""
    given = dict(enumerate(random.grid if letter == "g" else random.group))
    return tuple(given.get(axis, 1) for axis in range(3))


@pytest.mark.targets
def test_opencl_takes_every_name(opencl, tmp_path):
    assert len(results(opencl[0], programs(), [[]] * len(WORDS), tmp_path)) == len(WORDS)


@pytest.mark.targets
def test_constants_keep_their_bits_in_opencl(opencl, tmp_path):
    python, doubles = opencl
    kinds = [k for k in KINDS if doubles or k.name != "float64"]
    kernels = [graph(k).program(f"k{i}") for i, k in enumerate(kinds)]
    one = {"pieces": [0], "scalars": [], "offset": None, "threads": (1,), "group": (1,)}
    calls = [[one | {"memory": [expected(k)[::-1].copy().view(np.uint8)]}] for k in kinds]
    for kind, ((found,),) in zip(kinds, results(python, kernels, calls, tmp_path), strict=True):
        assert same_bits(found.view(kind.np), expected(kind)).all(), kind


def threads(random, seed):
    """The call of a hand-built graph."""
    memory, group = random.memory(seed), sizes(random, "l")
    return {
        "memory": [a.view(np.uint8) for a in memory],
        "pieces": range(len(memory)),
        "scalars": [],
        "offset": None,
        "threads": tuple(a * b for a, b in zip(sizes(random, "g"), group, strict=True)),
        "group": group,
    }


ROUNDING = ("floor", "ceil", "trunc", "round")


def rounds_constants(program):
    """Whether a constant is rounded: PoCL 3.0, when it optimizes, takes floor(NAN) for anything."""
    known = set()
    for node in program.body:
        if node.src and all(s.op.name == "const" or s in known for s in node.src):
            known.add(node)
    return any(node.op.name in ROUNDING for node in known)


@pytest.mark.targets
@pytest.mark.parametrize("first", range(0, GRAPHS, CHUNK))
@pytest.mark.parametrize("optimized", [True, False], ids=["optimized", "plain"])
def test_hand_built_kernels_in_opencl_give_what_the_interpreter_gives(
    opencl, optimized, first, tmp_path
):
    python, doubles = opencl
    graphs = {seed: RandomGraph(seed) for seed in range(first, first + CHUNK)}
    kernels = {seed: each.g.program(f"k{seed}") for seed, each in graphs.items()}
    for seed, program in list(kernels.items()):
        if rounds_constants(program) is optimized or (has_doubles(program) and not doubles):
            del kernels[seed]
    calls = [[threads(graphs[seed], seed)] for seed in kernels]
    options = [] if optimized else ["-cl-opt-disable"]
    found = results(python, list(kernels.values()), calls, tmp_path, *options)
    for seed, (memory,) in zip(kernels, found, strict=True):
        wanted = graphs[seed].memory(seed)
        lockstep.run(graphs[seed].g, wanted)
        for got, want in zip(memory, wanted, strict=True):
            same = same_bits(got.view(want.dtype), want)
            assert same.all(), f"graph {seed}: {got.view(want.dtype)[~same]}, not {want[~same]}"
