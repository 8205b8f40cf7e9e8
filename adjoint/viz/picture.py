"""Graphs as SVG and as DOT, for papers and other tools.

What may live here: texts of pictures. What may not: where boxes lie (`layout.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adjoint.viz.bounded import cut
from adjoint.viz.layout import HEIGHT, placed

MOST = 3000  # boxes of a picture
MOST_TEXT = 100  # letters in a box
_OP, _TYPE, _ATTRS, _SRC, _PLACE, _KIND, _BODY, _DEVICE, _LAYOUT = range(9)
_FILL = {"input": "#dff3e3", "forward": "#dbe9fb", "backward": "#fde3cf"}
_EDGE = {"input": "#2e8b4a", "forward": "#3b76c4", "backward": "#cf6a1b"}
_LETTER, _SMALL = 7.3, 6.7  # widths of letters


@dataclass(frozen=True, slots=True)
class Box:
    """A node of a picture: its text, and its kind."""

    title: str
    note: str
    side: str  # input, forward or backward
    result: bool


def boxes_of(graph: Mapping[str, Any]) -> tuple[list[Box], list[tuple[int, int]]]:
    """The nodes that are drawn: no constants, no parts, no identities; and lines between them."""
    nodes, stands = graph["nodes"], dict[int, list[int]]()
    roots, boxes, edges = set(graph["graph"]["roots"]), list[Box](), dict[tuple[int, int], None]()
    for n in graph["graph"]["order"][: 4 * MOST]:
        row = nodes[n]
        sources = [box for s in row[_SRC] for box in stands.get(s, ())]
        hidden = row[_KIND] in ("const", "part", "same") and (sources or n not in roots)
        if hidden or len(boxes) >= MOST:
            stands[n] = sources if row[_KIND] != "const" else []
            continue
        edges |= dict.fromkeys((source, len(boxes)) for source in sources)
        stands[n] = [len(boxes)]
        boxes.append(_box(graph, row, n in roots))
    return boxes, list(edges)


def _box(graph: Mapping[str, Any], row: list[Any], result: bool) -> Box:
    note = cut(f"{row[_TYPE]} {row[_LAYOUT]}".strip(), MOST_TEXT)
    if row[_KIND] == "input":
        return Box(cut(row[_ATTRS] or row[_OP], MOST_TEXT), note, "input", result)
    place = graph["places"][row[_PLACE]] if row[_PLACE] >= 0 else None
    side = "backward" if place is not None and place[3] else "forward"
    return Box(cut(row[_OP], MOST_TEXT), note, side, result)


# ---- SVG


def svg(graph: Mapping[str, Any]) -> str:
    """The graph, left to right, as a self-contained drawing."""
    boxes, edges = boxes_of(graph)
    widths = [max(len(b.title) * _LETTER, len(b.note) * _SMALL) + 16 for b in boxes]
    places, width, height = placed(widths, edges)
    lines = [_curve(places, widths, edge) for edge in edges]
    shapes = [_shape(b, p, w) for b, p, w in zip(boxes, places, widths, strict=True)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" font-family="monospace" font-size="12">',
            f"<title>{_escaped(graph['name'])}</title>",
            '<g fill="none" stroke="#667085">',
            *lines,
            "</g>",
            *shapes,
            "</svg>",
            "",
        ]
    )


def _curve(places: list[tuple[float, float]], widths: list[float], edge: tuple[int, int]) -> str:
    (x0, y0), (x1, y1) = places[edge[0]], places[edge[1]]
    x0, x1 = x0 + widths[edge[0]] / 2, x1 - widths[edge[1]] / 2
    bend = max(16.0, (x1 - x0) / 2)
    curve = f"C{x0 + bend:.1f},{y0:.1f} {x1 - bend:.1f},{y1:.1f} {x1:.1f},{y1:.1f}"
    return f'<path d="M{x0:.1f},{y0:.1f} {curve}"/>'


def _shape(box: Box, place: tuple[float, float], width: float) -> str:
    left, top = place[0] - width / 2, place[1] - HEIGHT / 2
    edge, thick = ("#7a3fc4", 2) if box.result else (_EDGE[box.side], 1)
    round_ = 13 if box.side == "input" else 5
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{HEIGHT}" rx="{round_}" '
        f'fill="{_FILL[box.side]}" stroke="{edge}" stroke-width="{thick}"/>'
        f'<text x="{left + 8:.1f}" y="{top + 15:.1f}">{_escaped(box.title)}</text>'
        f'<text x="{left + 8:.1f}" y="{top + 29:.1f}" font-size="11" fill="#667085">'
        f"{_escaped(box.note)}</text>"
    )


def _escaped(text: str) -> str:
    signs = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
    plain = (c if c.isprintable() else "\ufffd" for c in text)
    return "".join(signs.get(c, c) for c in plain)


# ---- DOT


def dot(graph: Mapping[str, Any]) -> str:
    """The graph for Graphviz."""
    boxes, edges = boxes_of(graph)
    lines = [f"digraph {_quoted(graph['name'])} {{", "  rankdir=LR;"]
    lines.append('  node [shape=box, style="rounded,filled", fontname=monospace];')
    for number, box in enumerate(boxes):
        label = _quoted(box.title)[:-1] + "\\n" + _quoted(box.note)[1:]
        edge = "#7a3fc4" if box.result else _EDGE[box.side]
        lines.append(f'  n{number} [label={label}, fillcolor="{_FILL[box.side]}", color="{edge}"];')
    lines += [f"  n{source} -> n{target};" for source, target in edges]
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    plain = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
