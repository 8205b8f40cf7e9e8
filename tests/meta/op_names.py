"""Counts the places outside `ops/` and the renderers that ask an op for its name.

A place is a comparison (`==`, `!=`, `in`, `not in`), a `match` or a look-up in a table whose
subject is `….op.name`, or a variable that was just given it. What such a place
knows of an op should be a field of its record. Run `python -m tests.meta.op_names` for the list.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "adjoint"
EXEMPT = ("ops", "codegen", "backends")  # the records themselves; renderers are tables by name


def places(file: Path) -> list[tuple[int, str]]:
    """Line and text of every such place in a file."""
    text = file.read_text(encoding="utf-8")
    if ".name" not in text:
        return []
    tree = ast.parse(text)
    found = {(e.lineno, ast.unparse(e)) for e in _asked(tree, set())}
    for scope in tree.body:
        names = _given_names(scope)
        if names:
            found |= {(e.lineno, ast.unparse(e)) for e in _asked(scope, names)}
    return sorted(found)


def _given_names(scope: ast.AST) -> set[str]:
    """Variables of a function or class that hold an op's name."""
    return {
        target.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign)
        for target, value in _pairs(node)
        if isinstance(target, ast.Name) and _is_op_name(value, set())
    }


def _asked(scope: ast.AST, names: set[str]) -> list[ast.expr]:
    return [e for node in ast.walk(scope) for e in _subjects(node) if _is_op_name(e, names)]


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]


def _subjects(node: ast.AST) -> list[ast.expr]:
    """The expressions that a node compares or looks up."""
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Match):
        return [node.subject]
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
        return [node.slice]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        return [node.args[0]] if node.func.attr in ("get", "startswith", "endswith") else []
    return []


def _is_op_name(node: ast.expr, names: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in names
    if not isinstance(node, ast.Attribute) or node.attr != "name":
        return False
    owner = node.value
    return (isinstance(owner, ast.Attribute) and owner.attr == "op") or (
        isinstance(owner, ast.Name) and owner.id in ("op", "record")
    )


def count() -> Counter[str]:
    """How many there are in each file."""
    files = [
        f for f in sorted(PACKAGE.rglob("*.py")) if f.relative_to(PACKAGE).parts[0] not in EXEMPT
    ]
    found = {str(f.relative_to(PACKAGE)): len(places(f)) for f in files}
    return Counter({name: n for name, n in found.items() if n})


if __name__ == "__main__":
    counted = count()
    for name, number in sorted(counted.items()):
        print(f"{number:4} {name}")
        for line, text in places(PACKAGE / name):
            print(f"       {line}: {text}")
    print(sum(counted.values()), "in", len(counted), "files")
