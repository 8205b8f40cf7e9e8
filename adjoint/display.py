"""What a notebook shows of a thing: the one door from the things to `adjoint/notebook`, which draws
them and which is loaded when a notebook asks.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_NOTEBOOK = "adjoint.notebook"


class Displayed:
    """Something that a notebook shows as more than its `repr`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        found: str = import_module(_NOTEBOOK).html(self)
        return found

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        found: dict[str, str] = import_module(_NOTEBOOK).bundle(self)
        return found
