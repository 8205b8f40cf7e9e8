"""Whole programs on a GPU against the CPU: bits; roundings where a library computed products.

A fake GPU runs what a real one does but for the code of its kernels (tests/support/fake_gpu.py), on
any machine. What may live here: these modes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from adjoint import jit
from tests.fuzz.compare import Arrays, bits, near
from tests.fuzz.derivatives import gradients_of
from tests.fuzz.runs import UNKNOWN, RefusedError, Runs, session
from tests.fuzz.source import narrowed, narrowest, widened
from tests.support.fake_gpu import fake_gpu

Place = Callable[[], AbstractContextManager[Any]]
PLACES: dict[str, Place] = {"GPU": nullcontext, "fake GPU": fake_gpu}


def called(runs: Runs, name: str, place: Place) -> str:
    """Calls on the GPU give what calls on the CPU give, refusals included."""
    runs.lazy()
    runs.get(name, partial(_session, runs, place))
    return _agree(runs, "lazy", name, runs.wider)


def jitted(runs: Runs, name: str, place: Place) -> str:
    """Jitted, call after call, the same as lazy calls on the GPU."""
    lazy, _ = runs.get(name, partial(_session, runs, place))
    _, why = runs.get(f"{name} jit", partial(_session, runs, place, jit))
    return "" if lazy is None or UNKNOWN in why else _agree(runs, name, f"{name} jit", runs.wider)


def differentiated(runs: Runs, name: str, place: Place) -> str:
    """Gradients on the GPU are those of the CPU."""
    program = runs.program
    if program.aliased:
        return ""  # derivatives are of separate values
    runs.get("grad on CPU", partial(gradients_of, program, "CPU"))
    runs.get(f"{name} grad", partial(_on, place, gradients_of, program, "GPU"))
    other = narrowed if narrowest(program) == "float64" else widened
    return _agree(runs, "grad on CPU", f"{name} grad", partial(gradients_of, other(program), "REF"))


def _session(runs: Runs, place: Place, wrap: Any = None) -> Arrays:
    return _on(place, session, runs.program, "GPU", wrap)


def _on(place: Place, run: Callable[..., Arrays], *given: Any) -> Arrays:
    with place():
        return run(*given)


def _agree(runs: Runs, one: str, other: str, wider: Callable[[], Arrays]) -> str:
    """What differs between two runs that were made."""
    (wanted, no), (found, why) = runs.known(one), runs.known(other)
    if wanted is None or found is None:
        if no.split(": ")[1:2] == why.split(": ")[1:2]:
            raise RefusedError(why)
        return f"{one}: {no or 'values'}; {other}: {why or 'values'}"
    if runs.libraries(one, other):
        return near(wanted, found, narrowest(runs.program), wider)
    return bits(wanted, found, one)


MODES: dict[str, Callable[[Runs], str]] = {}
for _name, _place in PLACES.items():
    MODES[_name] = partial(called, name=_name, place=_place)
    MODES[f"{_name} jit"] = partial(jitted, name=_name, place=_place)
    MODES[f"{_name} grad"] = partial(differentiated, name=_name, place=_place)
