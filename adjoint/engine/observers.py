"""The observers of a run: `debug_nans` checks results, `profile` records times, a viewer collects
graphs.

Each observable place reads one attribute of `watch`. What may live here: that switch. What may not:
what observers do (`adjoint/debug`, `adjoint/viz`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from adjoint.ir.function import Function
from adjoint.ir.uop import UOp
from adjoint.runtime import spans
from adjoint.runtime.buffer import Buffer


class Checker(Protocol):
    """Checks results and raises if one has a NaN (`debug/nans.py`)."""

    def nodes(self, roots: Sequence[UOp]) -> None:
        """Values stored on nodes; a node whose value has a NaN loses it again."""

    def call(self, function: Function, inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> None:
        """The results of a function call."""


class Collector(Protocol):
    """Is shown the graphs that a program computes (`viz/script.py`)."""

    def realized(self, roots: Sequence[UOp]) -> None:
        """These nodes are going to be computed."""

    def traced(self, trace: Any) -> None:
        """A jitted function has a trace more, of `transforms/jit/call.py`."""


class Watch:
    """`on` while there is a checker, a recorder or a collector; `checker` sees all results,
    `collector` all graphs.
    """

    __slots__ = ("checker", "collector", "on")

    def __init__(self) -> None:
        self.checker: Checker | None = None
        self.collector: Collector | None = None
        self.on = False

    def refresh(self) -> None:
        """Called after a watcher has come or gone."""
        observers = self.checker is not None or self.collector is not None
        self.on = observers or bool(spans.recorders)


watch = Watch()
