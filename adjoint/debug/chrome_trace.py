"""Spans as a trace that chrome://tracing and Perfetto open: the Trace Event Format, as JSON."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adjoint.errors import FileError

COPIES, HOST = "copies", "host"
_LANES = 1 << 40  # the numbers of lanes that are no threads begin here


@dataclass(frozen=True, slots=True, eq=False)
class TimeSpan:
    """A span of time: nanoseconds, the thread, and its attributes."""

    name: str
    kind: str
    start: int
    end: int
    thread: int
    details: dict[str, Any]

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1e9

    @property
    def lane(self) -> str | None:
        """Beside the threads there is a lane for each device that is not the host, one for what
        the host computes for programs, and one for copies; None: that of its thread."""
        device: str | None = self.details.get("device")
        return device or {"copy": COPIES, "host": HOST}.get(self.kind)


@dataclass(frozen=True, slots=True, eq=False)
class CounterSample:
    """Some numbers at a time."""

    name: str
    at: int
    values: dict[str, int]


def trace(
    spans: Iterable[TimeSpan], samples: Iterable[CounterSample], threads: dict[int, str], start: int
) -> dict[str, Any]:
    """The whole file; times count from `start`."""
    process, listed = os.getpid(), list(spans)
    lanes = Lanes(listed, threads)
    events: list[dict[str, Any]] = [_named("process_name", process, 0, "adjoint")]
    for place, (number, name) in enumerate(lanes.names.items()):
        events.append(_named("thread_name", process, number, name))
        sorted_ = {"sort_index": place}
        events.append(_named("thread_sort_index", process, number, name) | {"args": sorted_})
    events += [_slice(span, process, start, lanes.number(span)) for span in listed]
    events += [
        {"name": s.name, "ph": "C", "ts": _micros(s.at - start), "pid": process, "args": s.values}
        for s in samples
    ]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


class Lanes:
    """The lanes of a trace, from top to bottom: threads, the host, devices, copies. `names` are
    those of lanes by number. If several threads copy, each has a lane for that: spans of one lane
    are nested or disjoint.
    """

    def __init__(self, spans: Iterable[TimeSpan], threads: Mapping[int, str]):
        others = dict.fromkeys((s.lane, s.thread) for s in spans if s.lane is not None)
        order = sorted(others, key=lambda key: (key[0] == COPIES, key[0] != HOST, key[0]))
        shared = Counter(name for name, _ in order)
        self._numbers = {key: _LANES + i for i, key in enumerate(order)}
        self.names = dict(threads)
        for (name, thread), number in self._numbers.items():
            who = f": {threads.get(thread, thread)}" if shared[name] > 1 else ""
            self.names[number] = f"{name}{who}"

    def number(self, span: TimeSpan) -> int:
        """The lane of a span."""
        return span.thread if span.lane is None else self._numbers[span.lane, span.thread]


def _slice(span: TimeSpan, process: int, start: int, lane: int) -> dict[str, Any]:
    return {
        "name": span.name,
        "cat": span.kind,
        "ph": "X",
        "ts": _micros(span.start - start),
        "dur": _micros(span.end - span.start),
        "pid": process,
        "tid": lane,
        "args": {k: v for k, v in span.details.items() if v is not None} | _rates(span),
    }


def _micros(nanoseconds: int) -> float:
    return round(nanoseconds / 1e3, 3)


def _rates(span: TimeSpan) -> dict[str, float]:
    """How fast it was, where it is known how much it did."""
    if span.end <= span.start:
        return {}
    amounts = {"GB/s": span.details.get("bytes"), "GFLOP/s": span.details.get("flops")}
    rates = {k: v / (span.end - span.start) for k, v in amounts.items() if v}
    return {k: float(f"{rate:.4g}") for k, rate in rates.items()}


# ---- the file


def unfinished(path: Path) -> Path:
    """An empty file beside `path`, to be written and put in its place; E9006 if there cannot be
    one."""
    new = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.new")
    if path.is_dir():
        raise _refused(path, "it is a folder")
    try:
        with open(new, "x", encoding="utf-8"):
            return new
    except OSError as error:
        raise _refused(path, error.strerror or str(error)) from None


def put(path: Path, new: Path, whole: dict[str, Any]) -> None:
    """Write the file atomically: readers see the old file or the new one, never a part of it."""
    try:
        with open(new, "w", encoding="utf-8") as file:
            json.dump(whole, file, allow_nan=False)
        os.replace(new, path)
    except OSError as error:
        raise _refused(path, error.strerror or str(error)) from None
    finally:
        remove(new)


def remove(new: Path) -> None:
    """Give up an unfinished file."""
    with contextlib.suppress(OSError):
        new.unlink(missing_ok=True)


def _refused(path: Path, reason: str) -> FileError:
    fix = "give a file in a folder that exists and that you may write to"
    return FileError("E9006", f"cannot write {path}: {reason}", op="profile", help=fix)
