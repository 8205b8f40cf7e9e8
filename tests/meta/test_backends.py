"""No device is named above the backends: they are handed a backend and its target."""

import ast

import pytest

from adjoint.codegen.c.render import LANGUAGES
from adjoint.target import ALIASES, TARGETS
from tests.meta.imports import files, sources, tree

BLIND = ("engine", "schedule", "kernel", "stages")
OWN = ("adjoint.codegen.llvm", "adjoint.codegen.c.lang", "adjoint.runtime.llvm")
OWN += ("adjoint.runtime.compiler", "adjoint.runtime.libc")
WORDS = {*TARGETS, *ALIASES, "LLVM", "llvm", *LANGUAGES} - {"PYTHON", "c"}


def modules(*folders):
    wanted = tuple(f"adjoint.{folder}" for folder in folders)
    return [n for n in files() if n in wanted or n.startswith(tuple(w + "." for w in wanted))]


def docstrings(tree):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = [n.body for n in ast.walk(tree) if isinstance(n, kinds)]
    return {id(b[0].value) for b in bodies if b and isinstance(b[0], ast.Expr)}


def named(tree):
    """The names of devices and languages that stand in a module as strings or variables."""
    said = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            words = node.value.replace("'", " ").replace('"', " ").replace(":", " ").split()
            yield from WORDS.intersection(words)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            word = node.id if isinstance(node, ast.Name) else node.attr
            yield from {word} & {"LLVM", "llvm", "CPU", "GPU"}


def of_a_backend(name):
    """What a module imports that belongs to one backend; a backend whose name is given is none."""
    for other in sources()[name]:
        if other.startswith("adjoint.backends.") and other != "adjoint.backends.":
            if not other.startswith("adjoint.backends.protocol"):
                yield other
        elif other.startswith(OWN):
            yield other


@pytest.mark.parametrize("name", modules(*BLIND))
def test_the_compiler_names_no_device(name):
    assert sorted(named(tree(name))) == []
    assert sorted(of_a_backend(name)) == []


@pytest.mark.parametrize("name", modules("handbuilt"))
def test_hand_built_kernels_are_run_by_any_backend(name):
    assert sorted(of_a_backend(name)) == []


def test_a_name_of_a_device_would_be_found():
    tree = ast.parse(
        "def f(t):\n  'CPU'\n  if t.name == 'CPU': raise E(\"use 'REF'\")\n  return llvm"
    )
    assert sorted(named(tree)) == ["CPU", "REF", "llvm"]
    assert "adjoint.codegen.llvm.render" in of_a_backend("adjoint.backends.cpu.backend")
