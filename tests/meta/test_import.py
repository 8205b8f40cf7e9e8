"""Importing Adjoint is quick and quiet."""

import os
import subprocess
import sys

MODULES = 272  # beyond NumPy's own; a function of mathematics is a file


def _python(*arguments, **environment):
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=inherited | environment,
    )


def test_the_import_loads_no_compiler_and_few_modules():
    """What makes it slow, counted; `bench/overhead.py` measures the seconds."""
    code = "import numpy, sys; n = len(sys.modules); import adjoint; print(len(sys.modules) - n)"
    assert int(_python("-c", code).stdout) <= MODULES
    code = "import adjoint, sys; print(*(m.split('.')[1] for m in sys.modules if 'adjoint.' in m))"
    loaded = set(_python("-c", code).stdout.split())
    assert not loaded & {"schedule", "kernel", "codegen", "module", "cli"}


def test_the_import_prints_nothing():
    result = _python("-W", "error", "-c", "import adjoint")
    assert result.stdout == result.stderr == ""


def test_heavy_and_optional_libraries_are_not_imported():
    heavy = ("llvmlite", "cuda", "mpi4py", "onnx", "pytest", "hypothesis", "torch", "jax")
    code = f"import adjoint, sys; print([m for m in {heavy!r} if m in sys.modules])"
    assert _python("-c", code).stdout.strip() == "[]"


def test_nothing_is_computed_at_import():
    code = "import adjoint; from adjoint.ir.uop import live_nodes; print(live_nodes())"
    assert int(_python("-c", code).stdout) == 0
