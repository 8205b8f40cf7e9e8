"""Tests in environments of their own: the oldest and newest dependencies, an sdist, a wheel.

    python -m tests.deps [oldest | newest | sdist | wheel ...]

`make test-deps` does all four. The oldest are the lower bounds in pyproject.toml, digit by digit.
Each environment runs `PART` of the tests: values of every op, the array API, exchange with NumPy,
compiling, caching and jit.
"""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
HERE = ROOT / ".deps"
PART = (
    "tests/ops/test_values.py",
    "tests/tensor/array_api",
    "tests/ir/test_dtype.py",
    "tests/tensor/test_interchange.py",
    "tests/agreement/test_bits.py",
    "tests/codegen/llvm/test_ops.py",
    "tests/codegen/llvm/test_soft.py",
    "tests/runtime/test_processors.py",
    "tests/runtime/test_cache.py",
    "tests/runtime/test_compiler.py",
    "tests/transforms/jit/test_jit.py",
)
TOOLS = ("array-api-strict", "hypothesis", "pytest", "pyyaml", "hatchling")
QUICK = "not slow and not fuzz and not oracle and not targets and not cpus and not arm64"


def requirements():
    """(name, lower bound) of everything that Adjoint needs."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        lines = tomllib.load(file)["project"]["dependencies"]
    return [re.fullmatch(r"([\w-]+)>=([\d.]+)", line).groups() for line in lines]


def run(*command, cwd=ROOT):
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], cwd=cwd, check=True)


def environment(name, *packages):
    """The interpreter of a fresh environment with these packages and the tools."""
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    quiet = ("--quiet", "--disable-pip-version-check")
    run(python, "-m", "pip", "install", *quiet, *TOOLS, *packages)
    return python


def check(python, tree, adjoint_is):
    """Run the part in a tree; `adjoint` must be the one that is meant."""
    where = "import adjoint; print(adjoint.__file__)"
    found = subprocess.run([python, "-c", where], cwd=tree, capture_output=True, text=True)
    assert str(adjoint_is) in found.stdout, found
    run(python, "-m", "pip", "list", "--disable-pip-version-check", cwd=tree)
    run(python, "-m", "pytest", "-x", "-rs", "-m", QUICK, *PART, cwd=tree)


def oldest():
    check(environment("oldest", *(f"{n}=={v}" for n, v in requirements())), ROOT, ROOT)


def newest():
    check(environment("newest", "--upgrade", *(name for name, _ in requirements())), ROOT, ROOT)


def built(python, kind):
    """The one file that the build makes."""
    target = HERE / f"built-{kind}"
    shutil.rmtree(target, ignore_errors=True)
    run(python, "-m", "hatchling", "build", "-t", kind, "-d", target)
    (file,) = target.iterdir()
    return file


def sdist():
    """The tests that come with the source, in its tree."""
    python = environment("sdist", *(name for name, _ in requirements()))
    tree = HERE / "sdist-tree"
    shutil.rmtree(tree, ignore_errors=True)
    with tarfile.open(built(python, "sdist")) as archive:
        archive.extractall(tree, filter="data")
    (inner,) = tree.iterdir()
    check(python, inner, inner)


def wheel():
    """The installed package, with the tests beside no source."""
    python = environment("wheel")
    run(python, "-m", "pip", "install", "--quiet", built(python, "wheel"))
    tree = HERE / "wheel-tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "tests", tree / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    check(python, tree, HERE / "wheel")


def main(names):
    for name in names or ("oldest", "newest", "sdist", "wheel"):
        {"oldest": oldest, "newest": newest, "sdist": sdist, "wheel": wheel}[name]()
        print(f"{name}: fine")


if __name__ == "__main__":
    main(sys.argv[1:])
