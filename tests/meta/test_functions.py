"""Every public function and class of the compiler has a user in the package."""

import ast
import re
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "adjoint"
ROOMS = ("ir", "kernel", "schedule", "engine", "handbuilt", "codegen", "backends")
FOR_TESTS = {"live_nodes"}  # how many nodes there are, which only a test of leaks asks


def texts():
    return {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}


def public(text):
    """Functions and classes at the top of a module; a decorator may be the user of one."""
    for node in ast.parse(text).body:
        defines = isinstance(node, (ast.FunctionDef, ast.ClassDef))
        if defines and not node.decorator_list and not node.name.startswith("_"):
            yield node.name


def unused(files):
    """Names that stand nowhere but where they are defined and in `__all__`."""
    words = Counter(word for text in files.values() for word in re.findall(r"\w+", text))
    for path, text in files.items():
        if path.relative_to(PACKAGE).parts[0] in ROOMS:
            yield from (n for n in public(text) if words[n] <= 1 + text.count(f'"{n}"'))


def test_no_public_function_is_there_for_tests_alone():
    assert set(unused(texts())) == FOR_TESTS


def test_a_function_without_users_is_found():
    files = texts() | {PACKAGE / "ir" / "museum.py": "def exhibited_piece():\n    pass\n"}
    assert "exhibited_piece" in set(unused(files))
