"""Kernels in WGSL, validated by naga: every record's that WGSL has the types for.

naga is the npm package naga-wasm in `.naga`, which `make test-wgsl` installs; it needs node.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from adjoint.codegen.c.render import LANGUAGES, render
from adjoint.errors import AdjointError
from adjoint.ir.dtype import dtypes
from tests.codegen.c.choice import PARTS, singles
from tests.codegen.c.constants import divisions, graph
from tests.codegen.c.corpus import corpus_of
from tests.codegen.c.golden_kernels import FOLDER
from tests.codegen.c.names import WORDS, programs
from tests.codegen.c.random_graph import RandomGraph

ROOT = Path(__file__).parents[3]
CHECK = Path(__file__).with_name("naga_check.mjs")
KINDS = (dtypes.float32, dtypes.float16, dtypes.int32, dtypes.uint32, dtypes.bool_)
WITHOUT = "no naga: `make test-wgsl` installs naga-wasm into .naga; it needs node and npm"


@pytest.fixture(scope="session")
def validate():
    """A function that gives what naga says about a folder of WGSL."""
    node = shutil.which("node")
    named = os.environ.get("ADJOINT_NAGA")
    entry = Path(named or ROOT / ".naga/node_modules/naga-wasm/dist/node.js")
    if node is None or not entry.exists():
        pytest.skip(WITHOUT)
    return lambda folder: subprocess.run(
        [node, str(CHECK), str(folder), str(entry)], capture_output=True, text=True, check=False
    )


def written(programs, folder):
    """The programs that WGSL can say, as files; the others are refused with a coded error."""
    count = 0
    for number, (where, program) in enumerate(programs):
        try:
            text = render(program, LANGUAGES["wgsl"]).text
        except AdjointError as error:
            if error.code != "E6003":
                raise
            continue
        name = where.replace(" ", "_")
        (folder / f"{number}_{name}.wgsl").write_text(text)
        count += 1
    return count


def check(validate, folder):
    done = validate(folder)
    assert done.returncode == 0, done.stdout[:4000] + done.stderr[:2000]


def test_kept_texts_are_valid(validate):
    check(validate, FOLDER)


@pytest.mark.targets
@pytest.mark.parametrize("part", range(PARTS))
def test_kernels_are_valid_wgsl(validate, part, tmp_path):
    samples = corpus_of(singles(part))
    assert written([(s.where, s.program) for s in samples], tmp_path) > len(samples) // 3
    check(validate, tmp_path)


@pytest.mark.targets
def test_hand_built_kernels_are_valid_wgsl(validate, tmp_path):
    graphs = (RandomGraph(seed, KINDS).g.program("tester") for seed in range(300))
    assert written([(f"graph {i}", p) for i, p in enumerate(graphs)], tmp_path) > 200
    check(validate, tmp_path)


@pytest.mark.targets
def test_names_are_valid_wgsl(validate, tmp_path):
    assert written([(f"name {i}", p) for i, p in enumerate(programs())], tmp_path) == len(WORDS)
    check(validate, tmp_path)


@pytest.mark.targets
def test_constants_are_valid_wgsl(validate, tmp_path):
    graphs = [*map(graph, KINDS), *(divisions(k) for k in KINDS if k.is_int)]
    assert written([(f"graph {i}", g.program()) for i, g in enumerate(graphs)], tmp_path) == 7
    check(validate, tmp_path)
