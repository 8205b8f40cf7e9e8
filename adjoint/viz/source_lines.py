"""The user's lines that nodes come from, as data: places, and the text around them.

What may live here: places and lines. What may not: nodes (`node_table.py`).
"""

from __future__ import annotations

import linecache
import os
from typing import Any

from adjoint.ir.origin import Origin, Site, resolve

AROUND = 4  # lines before and after
LONGEST = 300  # characters of a line that are shown


class SourceLines:
    """Places by number, each with its file, line and pair: forward and backward share that."""

    def __init__(self) -> None:
        self.places: list[list[Any]] = []  # [file, line, method, backward, pair, module]
        self.files: list[dict[str, Any]] = []
        self._numbers: dict[Site, int] = {}
        self._pairs: dict[Site, int] = {}
        self._files: dict[str, int] = {}
        self.modules: dict[Site, int] = {}  # filled while the graph is traced: `module_scopes.py`

    def place(self, site: Site | None) -> int:
        """The number of a place; -1 for none."""
        origin = resolve(site)
        if site is None or origin is None:
            return -1
        if site not in self._numbers:
            forward = site.forward or site
            pair = self._pairs.setdefault(forward, len(self._pairs))
            file = self._file(origin)
            module = self.modules.get(forward, -1)
            self._numbers[site] = len(self.places)
            row = [file, origin.line, origin.method, int(origin.backward), pair, module]
            self.places.append(row)
        return self._numbers[site]

    def _file(self, origin: Origin) -> int:
        number = self._files.setdefault(origin.path, len(self.files))
        if number == len(self.files):
            self.files.append({"name": _shown(origin.path), "lines": {}})
        lines = self.files[number]["lines"]
        for line in range(max(1, origin.line - AROUND), origin.line + AROUND + 1):
            if line not in lines:
                text = linecache.getline(origin.path, line)
                if text:
                    lines[line] = text.rstrip("\n")[:LONGEST]
        return number

    def data(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {"places": self.places, "files": self.files}


def _shown(path: str) -> str:
    """A path relative to the working directory if it is inside, else the file's name."""
    here = os.getcwd() + os.sep
    return path.removeprefix(here) if path.startswith(here) else os.path.basename(path)
