"""Places for the boxes of a graph, left to right, for pictures that no browser draws.

Before: boxes with sizes, and lines between them. After: a place for each: the column is the longest
way from a source, the order in a column follows what its boxes are connected with. What may live
here: this algorithm. (In a browser, dagre does it: `static/layout.js`.)
"""

from __future__ import annotations

from collections.abc import Sequence

COLUMN_GAP, ROW_GAP, HEIGHT, SWEEPS = 40, 12, 36, 4


def columns_of(count: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Boxes by column, each column in order; sources come before what uses them."""
    into: list[list[int]] = [[] for _ in range(count)]
    out: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        into[target].append(source)
        out[source].append(target)
    level = [0] * count
    for box in range(count):  # numbered sources first
        level[box] = max((level[s] + 1 for s in into[box] if s < box), default=0)
    for box in reversed(range(count)):  # a source stands beside what uses it
        if not into[box] and out[box]:
            level[box] = max(0, min(level[t] for t in out[box]) - 1)
    columns: list[list[int]] = [[] for _ in range(max(level, default=-1) + 1)]
    for box in range(count):
        columns[level[box]].append(box)
    _order(columns, into, out, [0.0] * count)
    return columns


def _order(
    columns: list[list[int]], into: list[list[int]], out: list[list[int]], at: list[float]
) -> None:
    """Sort each column by the mean place of neighbours, to and fro."""
    _number(columns, at)
    for sweep in range(SWEEPS):
        near = into if sweep % 2 == 0 else out
        for column in columns if sweep % 2 == 0 else reversed(columns):
            means = {b: _mean([at[n] for n in near[b]], at[b]) for b in column}
            column.sort(key=lambda b: (means[b], b))
            _number([column], at)


def _number(columns: list[list[int]], at: list[float]) -> None:
    for column in columns:
        for place, box in enumerate(column):
            at[box] = place - (len(column) - 1) / 2


def _mean(values: list[float], own: float) -> float:
    return sum(values) / len(values) if values else own


def placed(
    widths: Sequence[float], edges: Sequence[tuple[int, int]]
) -> tuple[list[tuple[float, float]], float, float]:
    """The middle of every box, and the size of the picture."""
    columns = columns_of(len(widths), edges)
    tallest = max(map(len, columns), default=0)
    height = tallest * (HEIGHT + ROW_GAP) + ROW_GAP
    places = [(0.0, 0.0)] * len(widths)
    x = float(COLUMN_GAP) / 2
    for column in columns:
        width = max(widths[box] for box in column)
        top = (height - len(column) * (HEIGHT + ROW_GAP) + ROW_GAP) / 2
        for row, box in enumerate(column):
            places[box] = (x + width / 2, top + row * (HEIGHT + ROW_GAP) + HEIGHT / 2)
        x += width + COLUMN_GAP
    return places, x - COLUMN_GAP / 2, height
