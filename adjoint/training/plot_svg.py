"""Curves of a training run as an SVG picture, without any library.

What may live here: the picture of curves over steps. Where ticks stand and what they are called is
in `plot_scales.py`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from adjoint.errors import FileError
from adjoint.training.plot_scales import Scale, scale_of, spaced, tick_text
from adjoint.training.progress_text import number, printable

Points = Sequence[tuple[float, float]]
_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 40, 44  # room around the curves
_COLOURS = ("#1f6feb", "#d1495b", "#2a9d8f", "#8e6c00", "#7a4fb5")
_SMOOTHED_FROM = 16  # points: fewer are read one by one
_LABEL = 14  # pixels from one label to the next


def save_curves(
    path: str | os.PathLike[str], curves: Mapping[str, Points], title: str = ""
) -> Path:
    """Write a picture of curves by name, such as `loop.history`; the path of the file."""
    file = Path(path)
    try:
        file.write_text(svg(curves, title), encoding="utf-8")
    except OSError as error:
        problem = f"cannot write {file}: {error.strerror}"
        raise FileError("E9006", problem, op="save_curves") from None
    return file


def svg(curves: Mapping[str, Points], title: str = "", log: bool | None = None) -> str:
    """The picture as text; points that are not finite are left out. `log`: whether the upward scale
    is logarithmic, which by itself it is for a positive curve over two decades."""
    shown = {n: [(x, y) for x, y in p if math.isfinite(x + y)] for n, p in curves.items()}
    shown = {name: points for name, points in shown.items() if points}
    every = [point for points in shown.values() for point in points] or [(0.0, 0.0), (1.0, 1.0)]
    across = scale_of([x for x, _ in every], _LEFT, _WIDTH - _RIGHT, log=False)
    up = scale_of([y for _, y in every], _HEIGHT - _BOTTOM, _TOP, log=log)
    parts = [*_frame(across, up), *_curves(shown, across, up), *_ends(shown, across, up)]
    parts.append(_text(_LEFT, 22, printable(title), "start", 15))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif">\n'
        '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def smoothed(
    points: Points, window: float | None = None, log: bool = False
) -> list[tuple[float, float]]:
    """A mean of the values around each point, farther ones weighing less: about a twentieth of them
    by default. Both sides count alike, so a falling curve is not shown late; for positive values on
    a logarithmic scale (`log`) it is the mean of their logarithms.
    """
    span = max(len(points) / 20, 2.0) if window is None else max(window, 1.0)
    values = [math.log(y) if log else y for _, y in points]
    before, behind = _faded(values, span), _faded(values[::-1], span)[::-1]
    found = []
    for (x, _), value, (sum1, n1), (sum2, n2) in zip(points, values, before, behind, strict=True):
        mean = (sum1 + sum2 - value) / (n1 + n2 - 1)
        found.append((x, math.exp(mean) if log else mean))
    return found


def _faded(values: Sequence[float], span: float) -> list[tuple[float, float]]:
    """Sums of all values so far, each weighing less with its distance, and of the weights."""
    keep, total, weight = 1 - 1 / span, 0.0, 0.0
    found = []
    for value in values:
        total, weight = keep * total + value, keep * weight + 1
        found.append((total, weight))
    return found


def _frame(across: Scale, up: Scale) -> list[str]:
    lines = [_line(_LEFT, up(y), _WIDTH - _RIGHT, up(y), "#e6e6e6") for y in up.ticks()]
    lines += [_text(_LEFT - 8, up(y) + 4, tick_text(y), "end") for y in up.ticks()]
    bottom = _HEIGHT - _BOTTOM
    lines += [_text(across(x), bottom + 18, tick_text(x), "middle") for x in across.ticks()]
    lines.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, "step", "middle"))
    return [*lines, _line(_LEFT, bottom, _WIDTH - _RIGHT, bottom, "#444")]


def _curves(shown: Mapping[str, Points], across: Scale, up: Scale) -> list[str]:
    """Each as it was, and over it as a running mean, if there are points enough for one."""
    parts: list[str] = []
    for place, (name, points) in enumerate(shown.items()):
        colour = _colour(place)
        if len(points) >= _SMOOTHED_FROM:
            parts.append(_polyline(points, across, up, f'{colour}" stroke-opacity="0.3', 1))
            parts.append(_polyline(smoothed(points, log=up.log), across, up, colour, 2))
        else:
            parts.append(_polyline(points, across, up, colour, 2))
        parts.append(
            _text(_WIDTH - _RIGHT, 22 + _LABEL * place, printable(name), "end", 12, colour)
        )
    return parts


def _ends(shown: Mapping[str, Points], across: Scale, up: Scale) -> list[str]:
    """A mark at the last point of each curve, with its step and its value."""
    ends = [points[-1] for points in shown.values()]
    heights = spaced([up(y) - 9 for _, y in ends], _LABEL, _TOP, _HEIGHT - _BOTTOM - 4)
    parts = []
    for place, ((x, y), height) in enumerate(zip(ends, heights, strict=True)):
        colour, left = _colour(place), across(x) < _WIDTH / 2
        mark = f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="3.5" fill="{colour}"/>'
        words = f"step {tick_text(x)}: {number(y)}"
        label = _text(across(x), height, words, "start" if left else "end", 12, colour, halo=True)
        parts += [mark, label]
    return parts


def _colour(place: int) -> str:
    return _COLOURS[place % len(_COLOURS)]


def _polyline(points: Points, across: Scale, up: Scale, stroke: str, width: float) -> str:
    path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
    return f'<polyline fill="none" stroke="{stroke}" stroke-width="{width}" points="{path}"/>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(
    x: float,
    y: float,
    words: str,
    anchor: str,
    points: int = 12,
    colour: str = "#444",
    halo: bool = False,
) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{points}"'
    around = ' stroke="white" stroke-width="3" paint-order="stroke"' if halo else ""
    return f'<text {place} fill="{colour}"{around}>{escape(words)}</text>'
