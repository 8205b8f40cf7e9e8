"""What watches computing: `debug_nans`, which checks results, and `profile`, which records times.

Each place that could be watched looks at one attribute of `watch`. What may live here: that switch.
What may not: what watchers do (`adjoint/debug`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from adjoint.ir.function import Function
from adjoint.ir.uop import UOp
from adjoint.runtime import spans
from adjoint.runtime.buffer import Buffer


class Checker(Protocol):
    """Looks at results and raises if one has a NaN (`debug/nans.py`)."""

    def nodes(self, roots: Sequence[UOp]) -> None:
        """Values that hang on nodes; a node whose value has a NaN loses it again."""

    def call(self, function: Function, inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> None:
        """What a function gave."""


class Watch:
    """`on` while a checker or a recorder is there; `checker` looks at all results."""

    __slots__ = ("checker", "on")

    def __init__(self) -> None:
        self.checker: Checker | None = None
        self.on = False

    def refresh(self) -> None:
        """Called after the checker or a recorder has come or gone."""
        self.on = self.checker is not None or bool(spans.recorders)


watch = Watch()
