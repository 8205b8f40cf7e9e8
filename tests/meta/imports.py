"""What the modules of the package import, read from their source."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def trees():
    """Modules by name, as syntax trees."""
    found = {}
    for path in sorted((ROOT / "adjoint").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


@cache
def sources():
    """Modules by name, each with the names that it imports or has in a string."""
    return {name: tuple(mentioned(tree)) for name, tree in trees().items()}


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
