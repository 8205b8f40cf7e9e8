"""Programs within the least memory that they can do with: calls and gradients, bit for bit.

What may live here: these modes. What may not: the limit itself (`engine/memory_limits.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from adjoint import jit
from adjoint.errors import DeviceError
from tests.fuzz.compare import bits
from tests.fuzz.derivatives import gradients_of
from tests.fuzz.runs import UNKNOWN, Runs, session

_LEAST = re.compile(r"the least that is possible is (\d+)")


def within_the_least(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function, jitted anew for every call with the limit that the error about none names."""

    def called(*args: Any) -> Any:
        limit = 1
        for _ in range(2):
            try:
                return jit(fn, memory_limit=limit)(*args)
            except DeviceError as error:
                found = _LEAST.search(str(error))
                if error.code != "E6009" or found is None:
                    raise
                limit = int(found.group(1))
        return jit(fn, memory_limit=limit)(*args)

    return called


def calls(runs: Runs) -> str:
    """Calls give the bits of lazy ones."""
    lazy, _ = runs.lazy()
    if lazy is None:
        return ""
    found, why = runs.get("least", lambda: session(runs.program, "CPU", within_the_least))
    if found is None:
        return "" if UNKNOWN in why or "E6003" in why else f"lazy gives values; {why}"
    return bits(lazy, found, "lazy")


def gradients(runs: Runs) -> str:
    """So do gradients."""
    program = runs.program
    if program.aliased or program.writes or program.draws:
        return ""  # their functions make inputs anew, which jit cannot watch
    lazy, _ = runs.get("grad on CPU", lambda: gradients_of(program, "CPU"))
    if not lazy:
        return ""
    found, why = runs.get("least grad", lambda: gradients_of(program, "CPU", within_the_least))
    if found is None:
        return "" if UNKNOWN in why else f"lazy gives gradients; {why}"
    return bits(lazy, found, "lazy")


MODES: dict[str, Callable[[Runs], str]] = {"least": calls, "least grad": gradients}
