"""Spans as a table for people: where the time went, by step and by user's line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjoint.debug.chrome_trace import TimeSpan
from adjoint.engine.counters import Counters

STEPS = ("kernel", "library", "host", "control")
_COLUMNS = ("ms", "%", "calls", "GB/s", "GFLOP/s", "kind", "name", "lines")
_COPIES = 6  # that are written out


@dataclass(slots=True)
class SummaryRow:
    """All spans of one name and kind that come from the same lines."""

    kind: str
    name: str
    lines: str
    calls: int = 0
    own: int = 0  # nanoseconds, without what is inside
    bytes: int = 0
    flops: int = 0

    def add(self, span: TimeSpan, own: int) -> None:
        self.calls += 1
        self.own += own
        self.bytes += span.details.get("bytes") or 0
        self.flops += span.details.get("flops") or 0


def own_times(spans: Sequence[TimeSpan]) -> list[int]:
    """The time of each span without those inside it, which are of the same thread."""
    own = [span.end - span.start for span in spans]
    open_: dict[int, list[int]] = {}
    for place, span in enumerate(spans):
        stack = open_.setdefault(span.thread, [])
        while stack and spans[stack[-1]].end <= span.start:
            stack.pop()
        if stack and span.end <= spans[stack[-1]].end:
            own[stack[-1]] -= span.end - span.start
        stack.append(place)
    return own


def rows_of(spans: Sequence[TimeSpan]) -> list[SummaryRow]:
    """One row per name, kind and lines; the one that took longest is first."""
    found: dict[tuple[str, str, str], SummaryRow] = {}
    for span, own in zip(spans, own_times(spans), strict=True):
        key = (span.kind, span.name, ", ".join(span.details.get("lines", ())))
        if key not in found:
            found[key] = SummaryRow(*key)
        found[key].add(span, own)
    return sorted(found.values(), key=lambda row: (-row.own, row.kind, row.name, row.lines))


def table(spans: Sequence[TimeSpan], seconds: float, counted: Counters, rows: int) -> str:
    """The text: totals, then the steps that took longest."""
    listed = rows_of(spans)
    steps = [row for row in listed if row.kind in STEPS]
    total = sum(row.own for row in steps)
    lines = [
        f"{seconds * 1e3:.3f} ms: {_sum(steps)} in {counted.runs} runs of programs, "
        f"{_sum([r for r in listed if r.kind == 'compile'])} tracing and compiling",
    ]
    if steps:
        lines += _aligned([_COLUMNS, *(_cells(row, total) for row in steps[:rows])])
    if len(steps) > rows:
        lines.append(f"and {len(steps) - rows} more steps, {_sum(steps[rows:])}")
    copies = [row for row in listed if row.kind == "copy" and row.bytes]
    if copies:
        lines.append(f"copies: {', '.join(_copy(row) for row in copies[:_COPIES])}")
    compiled = [row for row in listed if row.kind == "compile"]
    if compiled:
        named = _by_stage(compiled)
        lines.append("compiling: " + ", ".join(f"{k} {v / 1e6:.3f} ms" for k, v in named.items()))
    return "\n".join(lines)


def _sum(rows: Sequence[SummaryRow]) -> str:
    return f"{sum(row.own for row in rows) / 1e6:.3f} ms"


def _copy(row: SummaryRow) -> str:
    times = f" in {row.calls}" if row.calls > 1 else ""
    return f"{row.name} {row.bytes / 1e6:.3f} MB{times}, {row.own / 1e6:.3f} ms"


def _by_stage(rows: Sequence[SummaryRow]) -> dict[str, int]:
    """Times by the first word of a name: `code exp` is `code`."""
    found: dict[str, int] = {}
    for row in rows:
        stage = row.name.partition(" ")[0]
        found[stage] = found.get(stage, 0) + row.own
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _cells(row: SummaryRow, total: int) -> tuple[str, ...]:
    own = max(row.own, 1)
    rates = (f"{amount / own:.2f}" if amount else "" for amount in (row.bytes, row.flops))
    share = 100 * row.own / max(total, 1)
    return (
        f"{row.own / 1e6:.3f}", f"{share:.1f}", str(row.calls), *rates, row.kind, row.name,
        row.lines,
    )  # fmt: skip


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numbers = 5  # columns of numbers stand on the right
    return [
        "  ".join(
            cell.rjust(width) if place < numbers else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
