"""What the modules of the package import, read from their source."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def files():
    """Modules by name: where they are."""
    found = {}
    for path in sorted((ROOT / "adjoint").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def tree(name):
    """A module as a syntax tree. None is kept: all of them are a million objects."""
    return ast.parse(files()[name].read_text(encoding="utf-8"))


@cache
def sources():
    """Modules by name, each with the names that it imports or has in a string."""
    return {name: tuple(mentioned(tree(name))) for name in files()}


def mentioned(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and str(node.value).startswith("adjoint."):
            yield node.value


def imported(name):
    """What a module imports; a name inside a string that ends in a dot is any module below it."""
    for found in sources()[name]:
        whole = found.endswith(".") and found != "adjoint."  # who asks whose it is
        yield from (m for m in sources() if m.startswith(found)) if whole else [found]
