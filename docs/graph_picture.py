"""Small graphs as SVG, for guides: boxes in columns, edges from left to right.

What may live here: layout and drawing of a dozen or two of boxes. Large graphs are for the viewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDE, _HIGH, _GAP_X, _GAP_Y, _EDGE = 86, 40, 22, 16, 8


@dataclass(frozen=True, slots=True)
class Box:
    """A node: its key, two lines of text, a colour, what it reads; `strong` has a thick border."""

    key: object
    title: str
    about: str
    colour: str
    reads: tuple[object, ...] = ()
    strong: bool = False


def picture(boxes: Sequence[Box], legend: Sequence[tuple[str, str]] = ()) -> str:
    """The graph; boxes come after what they read. `legend`: colours and what they mean."""
    places, height = _places(boxes)
    top = 64 if legend else 40
    width = max(x for x, _ in places.values()) + _WIDE + _EDGE
    parts = [
        _edge(places[source], places[box.key], height / 2) for box in boxes for source in box.reads
    ]
    parts += [_box(box, *places[box.key]) for box in boxes]
    keys = [_key(place, colour, words) for place, (colour, words) in enumerate(legend)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {-top} {width} {height + top + 40}" '
        f'width="{width}" height="{height + top + 40}" font-family="sans-serif" font-size="12">\n'
        + "\n".join([*keys, *parts])
        + "\n</svg>\n"
    )


def _places(boxes: Sequence[Box]) -> tuple[dict[object, tuple[float, float]], float]:
    """A column for every length of path; in a column near what is read."""
    columns: dict[object, int] = {}
    for box in boxes:
        columns[box.key] = 1 + max((columns[source] for source in box.reads), default=-1)
    for box in reversed(boxes):  # what is read late need not stand early
        users = [columns[other.key] for other in boxes if box.key in other.reads]
        if users and not box.reads:
            columns[box.key] = max(min(users) - 1, 0)
    rows: dict[object, float] = {}
    by_column: dict[int, list[Box]] = {}
    for box in boxes:
        by_column.setdefault(columns[box.key], []).append(box)
    tallest = max(map(len, by_column.values()))
    for column in sorted(by_column):
        inside = sorted(by_column[column], key=lambda box: _wanted(box, rows))
        start = (tallest - len(inside)) / 2
        rows.update({box.key: start + place for place, box in enumerate(inside)})
    places = {
        key: (_EDGE + columns[key] * (_WIDE + _GAP_X), _EDGE + rows[key] * (_HIGH + _GAP_Y))
        for key in columns
    }
    return places, 2 * _EDGE + tallest * (_HIGH + _GAP_Y) - _GAP_Y


def _wanted(box: Box, rows: dict[object, float]) -> float:
    known = [rows[source] for source in box.reads if source in rows]
    return sum(known) / len(known) if known else 0.0


def _edge(start: tuple[float, float], end: tuple[float, float], middle: float) -> str:
    x1, y1, x2, y2 = start[0] + _WIDE, start[1] + _HIGH / 2, end[0], end[1] + _HIGH / 2
    bend, spans = max((x2 - x1) / 2, 14), (x2 - x1) // (_WIDE + _GAP_X)
    aside = (30 + 12 * spans) * (1 if y1 > middle else -1) if spans else 0.0  # around boxes
    return (
        f'<path d="M{x1:.0f} {y1:.0f}C{x1 + bend:.0f} {y1 + aside:.0f} '
        f"{x2 - bend:.0f} {y2 + aside:.0f} "
        f'{x2:.0f} {y2:.0f}" fill="none" stroke="#8a8f98" stroke-width="1.3"/>'
    )


def _box(box: Box, x: float, y: float) -> str:
    border = 'stroke="#111827" stroke-width="2.5"' if box.strong else 'stroke="none"'
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{_WIDE}" height="{_HIGH}" rx="6" '
        f'fill="{box.colour}" {border}/>'
        f'<text x="{x + _WIDE / 2:.0f}" y="{y + 17:.0f}" text-anchor="middle" fill="#fff" '
        f'font-weight="600">{escape(box.title)}</text>'
        f'<text x="{x + _WIDE / 2:.0f}" y="{y + 32:.0f}" text-anchor="middle" fill="#fff" '
        f'font-size="10">{escape(box.about)}</text>'
    )


def _key(place: int, colour: str, words: str) -> str:
    x = _EDGE + 130 * place
    return (
        f'<rect x="{x}" y="-58" width="12" height="12" rx="3" fill="{colour}"/>'
        f'<text x="{x + 18}" y="-48" fill="#8a8f98">{escape(words)}</text>'
    )
