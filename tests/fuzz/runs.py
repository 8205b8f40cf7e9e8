"""Runs of whole programs: calls of one function, one after another, and what they leave behind.

What may live here: sessions, and how exceptions are told apart: a coded error is an answer, any
other exception a find. What may not: comparisons (see modes.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import AdjointError, InternalError, Tensor, counters
from tests.fuzz.compare import Arrays
from tests.fuzz.program import Array
from tests.fuzz.source import SEED, Whole, function, made, narrowed, narrowest, widened
from tests.fuzz.writer import on

SHIFTS = (0, 5000, 0)  # the numbers of the calls of a session
UNKNOWN = "E5004"  # a value is read where a function is traced


class RefusedError(Exception):
    """The call is an error with a code: an answer, though not a value."""


class FoundError(Exception):
    """Something that is wrong, in words."""


def guarded(run: Callable[[], Any], where: str) -> Any:
    """The result; a coded error is a refusal, any other exception a find."""
    try:
        return run()
    except InternalError as error:
        raise FoundError(f"{where}: InternalError: {first_line(error)}") from error
    except AdjointError as error:
        raise RefusedError(f"{where}: {error.code}: {first_line(error)}") from error
    except (RefusedError, FoundError):
        raise
    except Exception as error:
        raise FoundError(f"{where}: {type(error).__name__}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:300]


# ---- sessions: calls of one function, one after another


def session(
    program: Whole,
    device: str,
    wrap: Callable[[Any], Any] | None = None,
    shifts: tuple[int, ...] = SHIFTS,
) -> Arrays:
    """All that some calls give and leave behind; captured inputs are made once."""
    found: dict[str, Array] = {}
    with on(device):
        Tensor.manual_seed(SEED)
        captured = made(program, program.captured)
        fn = function(program, captured)
        called = wrap(fn) if wrap else fn
        for number, shift in enumerate(shifts):
            given = made(program, program.arguments, shift, captured)
            results = called(*given.values())
            kept = captured | given if program.writes else {}
            found |= _arrays(results, kept, number)
    return found


def _arrays(results: Any, kept: dict[str, Any], call: int) -> dict[str, Array]:
    tensors = {f"out[{i}]": t for i, t in enumerate(results)}
    tensors |= {f"{n} afterwards": v for n, v in kept.items() if isinstance(v, Tensor)}
    return {f"call {call}: {name}": a for name, a in values(tensors).items()}


def values(tensors: dict[str, Tensor]) -> dict[str, Array]:
    """The arrays of tensors, computed together."""
    asked = list(tensors.values())
    if asked:
        asked[0].realize(*asked[1:])
    return {name: np.asarray(t.numpy()) for name, t in tensors.items()}


class Runs:
    """The sessions of one program that several modes look at, each run once."""

    def __init__(self, program: Whole):
        self.program = program
        self._found: dict[str, tuple[Arrays | None, str]] = {}
        self._library: dict[str, int] = {}

    def get(self, name: str, run: Callable[[], Arrays]) -> tuple[Arrays | None, str]:
        """Arrays, or the code of a refusal."""
        if name not in self._found:
            with counters() as counted:
                try:
                    self._found[name] = guarded(run, name), ""
                except RefusedError as error:
                    self._found[name] = None, str(error)
            self._library[name] = counted.library
        return self._found[name]

    def known(self, name: str) -> tuple[Arrays | None, str]:
        """What a run that was made has given."""
        return self._found[name]

    def libraries(self, *names: str) -> int:
        """How many calls of libraries these runs made."""
        return sum(self._library[name] for name in names)

    def lazy(self) -> tuple[Arrays | None, str]:
        return self.get("lazy", lambda: session(self.program, "CPU"))

    def ref(self) -> tuple[Arrays | None, str]:
        return self.get("REF", lambda: session(self.program, "REF"))

    def wider(self) -> Arrays:
        """REF in another precision, to tell how far roundings are amplified."""
        own = narrowest(self.program)
        other = narrowed(self.program) if own == "float64" else widened(self.program)
        found = self.get("wider", lambda: session(other, "REF"))[0] or {}
        return found
