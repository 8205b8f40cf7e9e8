"""The source keeps the rules of CONTRIBUTING.md: docstrings, layers, sizes, imports."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import adjoint
from adjoint.config import OPTIONS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "adjoint"
MODULES = sorted(PACKAGE.rglob("*.py"))
EVERY_FILE = sorted(
    file
    for folder in ("adjoint", "tests", "bench", "docs")
    for file in (ROOT / folder).rglob("*.py")
    if ".peers" not in file.parts
)
DOORS = (  # to the compiler: `import adjoint` does not load it, nor does a program from the disk
    "adjoint/backends/cpu/backend.py",
    "adjoint/backends/cuda/backend.py",
    "adjoint/engine/pipeline.py",
    "adjoint/engine/program_cache.py",
    "adjoint/engine/realize.py",
    "adjoint/transforms/jit/jitted.py",
)
READS_ENVIRONMENT = re.compile(r"\bos\.(environ|getenv)\b|\bimport (environ|getenv)\b")
MOST_LINES = 700  # files aim for 250 and rarely pass 500; past this one, split it


def _name(file):
    return str(file.relative_to(ROOT))


@cache
def _text(file):
    return file.read_text(encoding="utf-8")


@cache
def _parsed(file):
    """The docstring of a file, and the lines of imports inside of its functions."""
    tree = ast.parse(_text(file), str(file))
    inside = {
        node.lineno
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    return (ast.get_docstring(tree) or "").strip(), sorted(inside)


def test_every_module_says_what_it_is():
    assert [_name(file) for file in MODULES if len(_parsed(file)[0]) <= 20] == []


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
OBLIQUE = re.compile(r"\b(some|any|no|every)body\b|\bwhoever\b", re.IGNORECASE)


def test_prose_names_who_acts():
    found = [
        f"{_name(file)}:{number}"
        for file in (*MODULES, *PAGES)
        for number, line in enumerate(_text(file).splitlines(), 1)
        if OBLIQUE.search(line)
    ]
    assert found == []


def _is_optional(file):
    """Whether a module may import inside of functions: libraries that may not be installed."""
    return file.is_relative_to(PACKAGE / "runtime") or _name(file) in DOORS


def test_imports_are_at_the_top():
    checked = [file for file in MODULES if not _is_optional(file)]
    assert [f"{_name(f)}:{line}" for f in checked for line in _parsed(f)[1]] == []


def test_no_file_is_too_long():
    long = [file for file in EVERY_FILE if len(_text(file).splitlines()) > MOST_LINES]
    assert [_name(f) for f in long if "Written by `make docs`" not in _parsed(f)[0]] == []


def test_the_environment_is_read_in_one_place():
    readers = [_name(file) for file in MODULES if READS_ENVIRONMENT.search(_text(file))]
    assert readers == ["adjoint/config.py"]


def test_no_module_is_a_drawer():
    drawers = {"utils", "util", "helpers", "helper", "common", "misc", "tools"}
    assert [_name(f) for f in MODULES if f.stem in drawers or f.parent.name in drawers] == []


def test_every_option_is_documented_and_its_variable_named_after_it():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for option in OPTIONS:
        assert option.variable.startswith("ADJOINT_")
        assert option.variable in text


def test_nothing_is_left_to_do():
    marks = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
    assert [_name(f) for f in EVERY_FILE if marks.search(_text(f))] == []


def test_layers_and_cycles():
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_the_version_is_a_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", adjoint.__version__)


def test_the_changelog_has_an_entry_for_this_version_or_the_next():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## (\[?{re.escape(adjoint.__version__)}\]?|Unreleased)", text, re.M)


def test_the_licence_is_apache_2():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_the_makefile_has_its_targets():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test", "check", "bench", "test-all", "fuzz", "site", "clean"):
        assert re.search(rf"^{target}:", text, re.M), target


def test_ci_is_executable_and_runs_the_checks_and_the_tests():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert "make check\nmake test\n" in script.read_text(encoding="utf-8")
