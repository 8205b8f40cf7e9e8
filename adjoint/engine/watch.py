"""Who watches what is computed: somebody who looks for NaNs, somebody who records times.

Each place that could be watched looks at one attribute of `watch`. What may live here: that switch.
What may not: what watchers do (`adjoint/debug`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from adjoint.ir.function import Function
from adjoint.ir.uop import UOp
from adjoint.runtime import timeline
from adjoint.runtime.buffer import Buffer


class Checker(Protocol):
    """Looks at results and raises if it does not like them."""

    def nodes(self, roots: Sequence[UOp]) -> None:
        """Values that hang on nodes; a value that it does not like is taken away again."""

    def call(self, function: Function, inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> None:
        """What a function gave."""


class Watch:
    """`on` if anybody watches; `checker` looks at all results."""

    __slots__ = ("checker", "on")

    def __init__(self) -> None:
        self.checker: Checker | None = None
        self.on = False

    def refresh(self) -> None:
        """Whoever comes or goes says so."""
        self.on = self.checker is not None or bool(timeline.recorders)


watch = Watch()
