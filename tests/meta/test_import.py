"""Importing Adjoint is quick and quiet."""

import os
import subprocess
import sys

IMPORT_BUDGET = 0.3  # seconds, NumPy included, once the bytecode is cached
RUNS = 5


def _python(*arguments, **environment):
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=inherited | environment,
    )


def _import_seconds(cache):
    """The cumulative time of `import adjoint`, without the start of the interpreter."""
    command = ("-X", "importtime", "-c", "import adjoint")
    report = _python(*command, PYTHONPYCACHEPREFIX=str(cache)).stderr
    last = [line for line in report.splitlines() if line.endswith("| adjoint")][-1]
    return int(last.split("|")[1]) / 1e6


def test_the_import_takes_less_than_its_budget(tmp_path):
    _import_seconds(tmp_path)  # writes the bytecode
    assert min(_import_seconds(tmp_path) for _ in range(RUNS)) <= IMPORT_BUDGET


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
