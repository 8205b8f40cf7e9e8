"""Spans of time with a name, and numbers over time, for the profiler.

Recording is off until a recorder is entered here; off, a span costs nothing but the call.
`adjoint/debug` has the recorders.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, Protocol, TypeVar

from adjoint.ir.origin import readable, user_place

T = TypeVar("T")
now = perf_counter_ns


class Recorder(Protocol):
    """Gets spans as they end, from any thread."""

    inside_loops: bool  # whether loops are run turn by turn, to see what is inside

    def add(self, name: str, kind: str, start: int, end: int, details: dict[str, Any]) -> None: ...

    def sample(self, name: str, at: int, values: dict[str, int]) -> None: ...


recorders: list[Recorder] = []  # those that are entered


class span:
    """`with span("lower", "compile") as s: ...`; `s.details` may be added to inside."""

    __slots__ = ("details", "kind", "name", "start")

    def __init__(self, name: str, kind: str, **details: Any):
        self.name, self.kind, self.details = name, kind, details
        self.start = 0

    def __enter__(self) -> span:
        self.start = now() if recorders else 0
        return self

    def __exit__(self, *exc: object) -> None:
        if self.start and recorders:
            record(self.name, self.kind, self.start, self.details)


class _Unseen(span):
    """A span that is not recorded."""

    __slots__ = ()

    def __enter__(self) -> span:
        return self

    def __exit__(self, *exc: object) -> None:
        return


_UNSEEN = _Unseen("", "")
COPY = "copy"  # the kind of spans in which bytes go from one memory to another


def copying(source: str, target: str, nbytes: int) -> span:
    """Bytes are copied inside, from one place to another: `NumPy`, `Python` or a device."""
    if not recorders:
        return _UNSEEN
    lines = readable([user_place()])
    return span(f"{source} → {target}", COPY, bytes=nbytes, lines=lines)


def by_the_clock(run: Callable[[], T]) -> tuple[T, float]:
    """What something gives that is done when it returns, and its seconds."""
    start = now()
    found = run()
    return found, (now() - start) / 1e9


def record(
    name: str, kind: str, start: int, details: dict[str, Any], seconds: float | None = None
) -> None:
    """A span that began at `start`, and took so many seconds or ends now."""
    end = now() if seconds is None else start + round(1e9 * seconds)
    for recorder in tuple(recorders):
        recorder.add(name, kind, start, end, details)


def sample(name: str, values: Callable[[], dict[str, int]]) -> None:
    """What some numbers are now."""
    if recorders:
        at, found = now(), values()
        for recorder in tuple(recorders):
            recorder.sample(name, at, found)
