"""`debug_nans`: checks every result, and traces a NaN to the op that made it.

Elsewhere: the search (`nan_search.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from adjoint import config
from adjoint.debug.nan_error import error, unexplained
from adjoint.debug.nan_search import is_bad, search
from adjoint.engine.observers import watch
from adjoint.errors import ArgumentError
from adjoint.ir.effect import effects_muted
from adjoint.ir.function import Function, UniqueName
from adjoint.ir.uop import UOp
from adjoint.ir.values import known_value
from adjoint.runtime.buffer import Buffer


class debug_nans:
    """Check every result for NaN from now on, or inside: `with debug_nans(): ...`.

    It checks every computed result, lazy or jitted. If there is a NaN (with `inf=True`, or an
    infinity), the graph is run again op by op, and E6006 names the first op that made one, its
    operands, the values around it and your line. `debug_nans(False)` ends it.
    """

    def __init__(self, enabled: bool = True, *, inf: bool = False):
        self._before = watch.checker
        _switch(_Checker(inf) if enabled else None)

    def __enter__(self) -> debug_nans:
        return self

    def __exit__(self, *exc: object) -> None:
        _switch(self._before)


def as_the_environment_says() -> None:
    """What `ADJOINT_DEBUG_NANS` asks for."""
    try:
        asked = config.DEBUG_NANS.value()
    except ArgumentError as error:
        warnings.warn(str(error), stacklevel=3)
        return
    if asked:
        debug_nans(inf=asked == "inf")


def _switch(checker: Any) -> None:
    watch.checker = checker
    UniqueName.everywhere = checker is not None  # no function shares nodes: lines are its own
    watch.refresh()


class _Checker:
    def __init__(self, inf: bool):
        self.inf = inf

    def nodes(self, roots: Sequence[UOp]) -> None:
        """Values stored on nodes."""
        found = [(n, known_value(n)) for n in roots if not isinstance(n.dtype, tuple)]
        bad = [(node, value) for node, value in found if is_bad(value, self.inf)]
        if bad:
            for node in roots:
                node.realized = None
            self._blame([node for node, _ in bad], {}, bad[0])

    def call(self, function: Function, inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> None:
        """The results of a function call."""
        pairs = zip(function.outputs, outputs, strict=True)
        found = [(node, buffer.array()) for node, buffer in pairs if not node.dtype.is_bool]
        bad = [(node, value) for node, value in found if is_bad(value, self.inf)]
        if bad:
            arrays = [b.array() for b in inputs[: len(function.inputs)]]
            given = dict(zip(function.inputs, arrays, strict=True))
            self._blame([node for node, _ in bad], given, bad[0])

    def _blame(self, roots: Sequence[UOp], given: Mapping[UOp, Any], one: tuple[UOp, Any]) -> None:
        with effects_muted():
            finding = search(roots, given, self.inf)
        if finding is None:
            raise unexplained(*one, self.inf)
        raise error(finding, self.inf)
