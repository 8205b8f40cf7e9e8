"""Checkers of types read a page of user code as we mean it: mistakes are found, nothing else is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint

PAGE = Path(__file__).with_name("user_page.py")
ROOT = Path(adjoint.__file__).parent.parent
WRONG = {n for n, line in enumerate(PAGE.read_text().split("\n"), 1) if line.endswith("# wrong")}


def _found_by_mypy():
    """By line, what mypy finds; what it learns of the package is kept for the next time."""
    cache = ROOT / ".mypy_cache" / "user_page"
    text = _run("mypy", "--config-file=", f"--cache-dir={cache}", "--no-pretty")
    found = [line.split(":", 3) for line in text.split("\n") if ": error:" in line]
    return {int(line): message for file, line, _, message in found if ROOT / file == PAGE}


def _found_by_pyright():
    pytest.importorskip("pyright", reason="pyright is a tool of development: make installs it")
    text = _run("pyright", "--outputjson", "--pythonpath", sys.executable)
    found = json.loads(text[text.index("{") :])["generalDiagnostics"]
    errors = [d for d in found if d["severity"] == "error" and Path(d["file"]) == PAGE]
    return {d["range"]["start"]["line"] + 1: d["message"] for d in errors}


def _run(checker, *options):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "MYPYPATH": str(ROOT)}
    command = [sys.executable, "-m", checker, *options, str(PAGE)]
    return subprocess.run(command, env=env, capture_output=True, text=True, cwd=ROOT).stdout


@pytest.mark.parametrize("found_by", [_found_by_mypy, _found_by_pyright])
def test_a_checker_finds_the_mistakes_of_a_page_and_nothing_else(found_by):
    assert WRONG
    found = found_by()
    assert {n: text for n, text in found.items() if n not in WRONG} == {}
    assert sorted(found) == sorted(WRONG)


def test_the_package_says_that_it_is_typed():
    assert Path(adjoint.__file__).with_name("py.typed").exists()
