"""`profile`: what ran, when and for how long, as a trace to look at and as a table.

Elsewhere: the form of the trace (`chrome_trace.py`), the table (`summary.py`), or how steps run
apart (`engine/timed_steps.py`).
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from adjoint.debug import chrome_trace as chrome
from adjoint.debug.chrome_trace import CounterSample, Lanes, TimeSpan
from adjoint.debug.summary import table
from adjoint.display import Displayed
from adjoint.engine import counters
from adjoint.engine.counters import Counters
from adjoint.engine.observers import watch
from adjoint.errors import ArgumentError
from adjoint.runtime import spans

MAX_SPANS = 1_000_000  # spans that are kept; of more, only the number


class profile(Displayed):
    """`with profile("trace.json") as p: ...` records what runs inside, in any thread.

    The file opens in Perfetto (https://ui.perfetto.dev) and chrome://tracing; it is written when
    the block ends, in whatever way it ends. Steps run one by one, with the same results. A compiled
    loop is one step unless `loops=True`: then Python runs the loop, slower, and the trace shows the
    steps inside. Without a path nothing is written; `summary()` is a table for people.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, loops: bool = False):
        self.path = None if path is None else Path(path)
        self.inside_loops = loops
        self.counters = Counters()
        self.dropped = 0
        self.started = self.ended = 0
        self._spans: list[TimeSpan] = []
        self._samples: list[CounterSample] = []
        self._threads: dict[int, str] = {}
        self._new: Path | None = None
        self._active = False

    # ---- what the timeline calls

    def add(self, name: str, kind: str, start: int, end: int, details: dict[str, Any]) -> None:
        """A span has ended, in this thread."""
        if len(self._spans) >= MAX_SPANS:
            self.dropped += 1
            return
        thread = threading.get_native_id()
        if thread not in self._threads:
            self._threads[thread] = threading.current_thread().name
        self._spans.append(TimeSpan(name, kind, start, end, thread, dict(details)))

    def sample(self, name: str, at: int, values: dict[str, int]) -> None:
        """Some numbers are what they are."""
        if len(self._samples) < MAX_SPANS:
            self._samples.append(CounterSample(name, at, values))

    # ---- what users call

    def __enter__(self) -> profile:
        if self._active:
            problem = "this profile is being recorded already"
            raise ArgumentError("E2001", problem, op="profile", help="make another: profile(...)")
        self._new = None if self.path is None else chrome.unfinished(self.path)
        self._spans, self._samples, self._threads = [], [], {}
        self.counters.reset()
        self.dropped, self._active = 0, True
        self.started = spans.now()
        spans.recorders.append(self)
        counters.active.append(self.counters)
        watch.refresh()
        return self

    def __exit__(self, *exc: object) -> None:
        spans.recorders[:] = [r for r in spans.recorders if r is not self]
        counters.active[:] = [c for c in counters.active if c is not self.counters]
        watch.refresh()
        self.ended, self._active = spans.now(), False
        if self.path is not None and self._new is not None:
            chrome.put(self.path, self._new, self.trace())

    @property
    def spans(self) -> tuple[TimeSpan, ...]:
        """All that was recorded, by when it began."""
        return tuple(sorted(self._spans, key=lambda s: (s.start, -s.end)))

    @property
    def samples(self) -> tuple[CounterSample, ...]:
        """Numbers over time."""
        return tuple(self._samples)

    @property
    def lanes(self) -> Lanes:
        """What spans are drawn on: threads, the host, devices, copies."""
        return Lanes(self._spans, self._threads)

    def trace(self) -> dict[str, Any]:
        """What the file holds."""
        found = chrome.trace(self.spans, list(self._samples), self._threads, self.started)
        if self.dropped:
            found["otherData"] = {"spans left out": self.dropped}
        return found

    def summary(self, rows: int = 20) -> str:
        """Where the time went: steps sorted by their time, and the work before them."""
        seconds = ((self.ended if not self._active else spans.now()) - self.started) / 1e9
        return table(self.spans, seconds, self.counters, rows)

    def __repr__(self) -> str:
        state = "recording" if self._active else f"{len(self._spans)} spans"
        return f"<profile {self.path or 'without a file'}: {state}>"
