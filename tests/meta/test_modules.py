"""Every module of the package has a user: what only tests import is no part of it.

The graph of imports is read from the source; a string that names a module, or the beginning of its
name, counts as an import, because some are loaded by name. It starts where users do: `import
adjoint`, `python -m adjoint`, the entry points of pyproject.toml, the examples, and what the pages
for users import.
"""

import re
import tomllib
from functools import cache

import pytest

from tests.meta.imports import ROOT, imported, sources

PAGES = ("README.md", "docs/kernels.md", "docs/core.md", "docs/from_tinygrad.md")


def with_parents(name):
    """Importing a module imports the packages it lies in."""
    parts = name.split(".")
    return (".".join(parts[: i + 1]) for i in range(len(parts)))


def reachable(starts):
    found, stack = set(), [part for start in starts for part in with_parents(start)]
    while stack:
        name = stack.pop()
        if name in sources() and name not in found:
            found.add(name)
            stack += [part for user in imported(name) for part in with_parents(user)]
    return found


@cache
def starts():
    with open(ROOT / "pyproject.toml", "rb") as file:
        scripts = tomllib.load(file)["project"]["scripts"].values()
    examples = [name for name in sources() if name.startswith("adjoint.examples.")]
    pages = "".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    shown = re.findall(r"^(?:from|import) (adjoint[\w.]*)", pages, re.MULTILINE)
    return ["adjoint.__main__", *(s.partition(":")[0] for s in scripts), *examples, *shown]


def test_no_module_is_there_for_tests_alone():
    assert sorted(set(sources()) - reachable(starts())) == []


@pytest.mark.parametrize(
    "name", ["ir.rewrite", "ir.tensor_rules", "ir.integer_rules", "kernel.rules"]
)
def test_the_compiler_uses_the_rewrite_engine(name):
    assert f"adjoint.{name}" in reachable(["adjoint.engine.pipeline"])


def test_a_module_without_users_is_found(monkeypatch):
    monkeypatch.setitem(sources(), "adjoint.ir.museum", ("adjoint.ir.uop",))
    assert sorted(set(sources()) - reachable(starts())) == ["adjoint.ir.museum"]
