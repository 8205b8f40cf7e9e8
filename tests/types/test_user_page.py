"""Checkers of types read a page of user code as we mean it: mistakes are found, nothing else is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint

PAGE = Path(__file__).with_name("user_page.py")
WRONG = {n for n, line in enumerate(PAGE.read_text().split("\n"), 1) if line.endswith("# wrong")}


def _found_by_mypy(tmp_path):
    cache = tmp_path / "cache"
    options = ["--config-file=", f"--cache-dir={cache}", "--show-error-codes", "--no-pretty"]
    text = _run([sys.executable, "-m", "mypy", *options, "--check-untyped-defs", str(PAGE)])
    errors = [line for line in text.split("\n") if ": error:" in line]
    return {int(e.split(":")[1]): e for e in errors if Path(e.split(":")[0]).name == PAGE.name}


def _found_by_pyright(tmp_path):
    pytest.importorskip("pyright", reason="pyright is not installed (make installs it)")
    settings = tmp_path / "pyrightconfig.json"
    root = str(Path(adjoint.__file__).parent.parent)
    settings.write_text(json.dumps({"include": [str(PAGE)], "extraPaths": [root]}))
    text = _run([sys.executable, "-m", "pyright", "--outputjson", "-p", str(settings)])
    found = json.loads(text[text.index("{") :])["generalDiagnostics"]
    errors = [d for d in found if d["severity"] == "error" and Path(d["file"]).name == PAGE.name]
    return {d["range"]["start"]["line"] + 1: d["message"] for d in errors}


def _run(command):
    root = str(Path(adjoint.__file__).parent.parent)
    env = {**os.environ, "PYTHONPATH": root, "MYPYPATH": root}
    return subprocess.run(command, env=env, capture_output=True, text=True, cwd=root).stdout


@pytest.mark.parametrize("found_by", [_found_by_mypy, _found_by_pyright])
def test_a_checker_finds_the_mistakes_of_a_page_and_nothing_else(found_by, tmp_path):
    found = found_by(tmp_path)
    assert found.keys() - WRONG == set(), {n: found[n] for n in found.keys() - WRONG}
    assert set(found) >= WRONG, WRONG - found.keys()


def test_the_package_says_that_it_is_typed():
    assert Path(adjoint.__file__).with_name("py.typed").exists()
