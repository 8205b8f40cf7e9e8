"""Every environment switch of Adjoint, typed, in one table.

What may live here: the table and its reader. `os.environ` is read nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Option:
    """One switch: `ADJOINT_<name>`, how to read it, what it is when unset, what it does."""

    name: str
    read: Callable[[str], Any]
    default: Any
    doc: str

    @property
    def variable(self) -> str:
        return f"ADJOINT_{self.name}"

    def value(self) -> Any:
        text = os.environ.get(self.variable)
        if text is None:
            return self.default
        try:
            return self.read(text)
        except ValueError as error:
            raise ValueError(f"{self.variable}={text!r}: {error}; {self.doc}") from None


def _flag(text: str) -> bool:
    words = {"0": False, "1": True, "false": False, "true": True, "off": False, "on": True}
    if text.lower() not in words:
        raise ValueError(f"expected one of {', '.join(words)}")
    return words[text.lower()]


DEVICE = Option("DEVICE", str, "REF", "the default device")
VERIFY = Option("VERIFY", _flag, False, "verify every graph before it runs (0 or 1)")
ORIGINS = Option("ORIGINS", _flag, True, "record the user's line of every node (0 or 1)")

OPTIONS: tuple[Option, ...] = (DEVICE, VERIFY, ORIGINS)
