"""Text: characters as numbers, windows of them, and text that every Python has."""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.data.windows import Windows
from adjoint.errors import FileError, TrainingError

# Files of the standard library with much to say.
_FILES = """
argparse bisect calendar collections/__init__ contextlib copy datetime difflib fractions functools
heapq ipaddress json/__init__ pathlib pickle random shutil statistics string subprocess tempfile
textwrap threading typing zipfile
"""


class Text(Windows):
    """Characters as numbers: sample i is `length` of them from place i, and those one place on.

    `tokens` is int64, `vocabulary` the characters in order; `encode` and `decode` translate.
    """

    def __init__(self, text: str, length: int = 64, vocabulary: str | None = None):
        self.vocabulary = vocabulary or "".join(sorted(set(text)))
        self._number = {character: i for i, character in enumerate(self.vocabulary)}
        super().__init__(self.encode(text), length)

    def _about(self) -> str:
        return f"{len(self.tokens)} characters of {len(self.vocabulary)}"

    def encode(self, text: str) -> np.ndarray:
        """The numbers of the characters."""
        try:
            return np.array([self._number[character] for character in text], np.int64)
        except KeyError as error:
            problem = f"character {error.args[0]!r} is not in the vocabulary"
            raise TrainingError("E9003", problem, op="Text") from None

    def decode(self, tokens: Sequence[int] | np.ndarray | Any) -> str:
        """The characters of the numbers."""
        numbers = [int(t) for t in tokens]
        wrong = [t for t in numbers if not 0 <= t < len(self.vocabulary)]
        if wrong:
            problem = f"{wrong[0]} is no character: there are {len(self.vocabulary)}"
            raise TrainingError("E9003", problem, op="Text")
        return "".join(self.vocabulary[t] for t in numbers)


@lru_cache(maxsize=2)
def docstrings(limit: int | None = None) -> str:
    """The docstrings of some files of Python's standard library, one after the other, in ASCII; the
    first `limit` characters of them.

    Offline text for a language model. It is the same wherever the version of Python is the same,
    and differs a little from one version to the next.
    """
    folder = Path(sysconfig.get_path("stdlib"))
    text = ""
    for name in _FILES.split():
        text += "".join(f"{doc}\n\n" for doc in _docstrings(folder / f"{name}.py"))
        if limit is not None and len(text) >= limit:
            break
    if not text:
        problem, fix = f"no sources in {folder}", "this Python comes without its source files"
        raise FileError("E9006", problem, op="docstrings", help=fix)
    return text[:limit]


def _docstrings(file: Path) -> list[str]:
    if not file.is_file():  # versions move files; what is left is text enough
        return []
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds))
    plain = (doc.encode("ascii", "ignore").decode().replace("\t", "    ") for doc in found if doc)
    return list(plain)
