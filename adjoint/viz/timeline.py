"""A profile as the data of the page Run: spans on the lanes of threads, devices and copies.

What may live here: spans as rows. What may not: how they are recorded (`debug/profiling.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.debug.profiling import profile
from adjoint.engine.measured_steps import call_muted

CALLS = 3
MOST = 40_000  # spans in a page; of more, the longest


def recorded(call: Callable[[], Any]) -> profile:
    """A few calls under the profiler, which print nothing."""
    call_muted(call)
    with profile() as run:
        for _ in range(CALLS):
            call_muted(call)
    return run


def timeline_of(run: profile) -> dict[str, Any]:
    """Lanes, spans `[lane, name, kind, start, end, details]` in microseconds, numbers over time."""
    spans = run.spans
    left_out = max(0, len(spans) - MOST)
    if left_out:
        kept = sorted(spans, key=lambda s: s.start - s.end)[:MOST]
        spans = tuple(sorted(kept, key=lambda s: (s.start, -s.end)))
    lanes = run.lanes
    place = {number: i for i, number in enumerate(lanes.names)}
    rows = []
    for span in spans:
        rows.append(
            [
                place[lanes.number(span)],
                span.name,
                span.kind,
                (span.start - run.started) / 1e3,
                (span.end - run.started) / 1e3,
                _details(span.details),
            ]
        )
    return {
        "lanes": list(lanes.names.values()),
        "spans": rows,
        "samples": [[s.name, (s.at - run.started) / 1e3, s.values] for s in run.samples],
        "left_out": left_out + run.dropped,
        "seconds": (run.ended - run.started) / 1e9,
    }


def _details(details: dict[str, Any]) -> dict[str, Any]:
    plain = (str, int, float)
    return {
        name: value if isinstance(value, plain) else ", ".join(map(str, value))
        for name, value in details.items()
        if value is not None and (isinstance(value, (*plain, list, tuple)))
    }
