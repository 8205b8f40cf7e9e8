"""Every example runs, asserts its own result, is short, and stands on public names alone."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint
from adjoint import examples

FILES = {
    file.stem: file
    for file in sorted(Path(examples.__file__).parent.glob("*.py"))
    if file.stem != "__init__"
}
ELSEWHERE = {"demo"}  # tests/cli/test_demo.py runs it, by `adjoint train demo`
ROOT = Path(adjoint.__file__).parents[1]
MOST_LINES = 80
LONGER = {"gpt2": 120}  # what it may take to be like the public model
WANTED = (
    *("core_module", "diffusion", "digits_cnn", "digits_mlp", "gpt", "gpt2", "hessian_free"),
    *("linear_regression", "lora", "lstm", "per_sample_gradients", "pinn", "resnet", "vae"),
)
INSIDE = {
    "adjoint.training.cli_options",
    "adjoint.training.command_line",
    "adjoint.training.program",
}  # shown by the demo


def parsed(name):
    return ast.parse(FILES[name].read_text(encoding="utf-8"))


def imported(name):
    """(module, names) of every import of Adjoint; the names are empty if the module is meant."""
    for node in ast.walk(parsed(name)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", [alias.name for alias in node.names]


def test_the_examples_people_look_for_are_there():
    assert set(WANTED) <= set(FILES)


@pytest.mark.parametrize("name", sorted(set(FILES) - ELSEWHERE))
def test_the_example_runs(name, tmp_path):
    command = [sys.executable, "-W", "error", "-m", f"adjoint.examples.{name}"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()


@pytest.mark.parametrize("name", FILES)
def test_the_example_is_short_and_says_what_it_is(name):
    assert len(FILES[name].read_text(encoding="utf-8").splitlines()) < LONGER.get(name, MOST_LINES)
    assert len(ast.get_docstring(parsed(name)) or "") > 20


@pytest.mark.parametrize("name", FILES)
def test_the_example_has_a_main_that_asserts(name):
    functions = [node for node in parsed(name).body if isinstance(node, ast.FunctionDef)]
    (main,) = [node for node in functions if node.name == "main"]
    assert ast.get_docstring(main)
    assert any(isinstance(node, ast.Assert) for node in ast.walk(main))


@pytest.mark.parametrize("name", FILES)
def test_the_example_uses_public_names(name):
    allowed = INSIDE if name in ELSEWHERE else set()
    for module, names in imported(name):
        if module.split(".")[0] != "adjoint" or module in allowed:
            continue
        found = importlib.import_module(module)
        hidden = {f"{module}.{n}" for n in names if n not in public(found)} - allowed
        assert not hidden
        assert module.count(".") <= 1
        assert "._" not in module


def public(module):
    """The names that a module gives to everybody."""
    return {*getattr(module, "__all__", ()), *(FILES if module is examples else ())}
