"""`Displayed`: the base of everything that a notebook shows. It loads `adjoint/notebook`, which
draws, on demand.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

_NOTEBOOK = "adjoint.notebook"


def in_notebook() -> bool:
    """Whether a notebook runs this process; IPython in a terminal is none."""
    found = sys.modules.get("IPython")
    shell = found.get_ipython() if found is not None else None
    return getattr(shell, "kernel", None) is not None


class Displayed:
    """Something that a notebook shows as more than its `repr`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        found: str = import_module(_NOTEBOOK).html(self)
        return found

    def _repr_svg_(self) -> str | None:
        found: str | None = import_module(_NOTEBOOK).svg(self)
        return found

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        found: dict[str, str] = import_module(_NOTEBOOK).bundle(self)
        return found
