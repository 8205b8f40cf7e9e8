"""Files of tests that pages, the Makefile and other files name are there, wherever they moved."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    *(ROOT / name for name in ("Makefile", "README.md", "CONTRIBUTING.md", "pyproject.toml")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(p for folder in ("bench", "docs", "tests") for p in (ROOT / folder).rglob("*.py")),
    *sorted((ROOT / "tests").rglob("*.md")),
]
PATH = re.compile(r"(?<![\w./-])tests/[\w./*-]*[\w*]")
FILES = [f for f in FILES if not any(part[0] == "." for part in f.relative_to(ROOT).parts)]
MODULE = re.compile(r"(?<![\w./-])tests(?:\.[a-z_0-9]+)+")


def missing(text):
    """What a text names that is not there; the last name of a module may be something in it."""
    for found in PATH.findall(text):
        if not any(ROOT.glob(found)):
            yield found
    for found in MODULE.findall(text):
        path = ROOT / found.replace(".", "/")
        if not any(p.is_dir() or p.with_suffix(".py").is_file() for p in (path, path.parent)):
            yield found


def test_files_name_tests_that_are_there():
    found = {str(f.relative_to(ROOT)): list(missing(f.read_text(encoding="utf-8"))) for f in FILES}
    assert {file: names for file, names in found.items() if names} == {}


def test_what_is_gone_is_found():
    gone = "tests/" + "unit/test_gone.py"
    module = "tests" + ".unit.gone.other"
    assert list(
        missing(f"see {gone}, tests/meta/test_paths.py, {module}, tests.meta.op_names.count")
    ) == [
        gone,
        module,
    ]
