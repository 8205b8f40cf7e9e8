"""Curves of a training run as an SVG picture, without any library."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from adjoint.errors import FileError

Points = Sequence[tuple[float, float]]
_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 40, 44  # room around the curves
_COLOURS = ("#1f6feb", "#d1495b", "#2a9d8f", "#8e6c00", "#7a4fb5")
_DECADES = 2.0  # a positive curve that spans more is drawn on a logarithmic scale


@dataclass(frozen=True, slots=True)
class _Scale:
    """From values to places on one axis."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (_log(v) if self.log else v for v in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values inside."""
        if self.log:
            first, last = math.ceil(_log(self.low)), math.floor(_log(self.high))
            found = [10.0**i for i in range(first, last + 1)]
            return found if len(found) > 1 else [self.low, self.high]
        step = _round_step((self.high - self.low) / 5)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [i * step for i in range(first, last + 1)]


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


def svg(curves: Mapping[str, Points], title: str = "") -> str:
    """The picture as text; points that are not finite are left out."""
    shown = {n: [(x, y) for x, y in p if math.isfinite(x + y)] for n, p in curves.items()}
    shown = {name: points for name, points in shown.items() if points}
    every = [point for points in shown.values() for point in points] or [(0.0, 0.0), (1.0, 1.0)]
    across = _scale([x for x, _ in every], _LEFT, _WIDTH - _RIGHT, may_be_log=False)
    up = _scale([y for _, y in every], _HEIGHT - _BOTTOM, _TOP, may_be_log=True)
    parts = [*_frame(across, up), *_curves(shown, across, up), _text(_LEFT, 22, title, "start", 15)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif">\n'
        '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _log(value: float) -> float:
    return math.log10(value)


def _scale(values: list[float], start: float, end: float, may_be_log: bool) -> _Scale:
    low, high = min(values), max(values)
    log = may_be_log and low > 0 and _log(high) - _log(low) > _DECADES
    if low == high:
        low, high = low - 0.5, high + 0.5
    return _Scale(low, high, start, end, log)


def _round_step(least: float) -> float:
    """1, 2 or 5 times a power of ten, not below `least`."""
    unit = 10.0 ** math.floor(math.log10(least))
    return next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= least * 0.999)


def _frame(across: _Scale, up: _Scale) -> list[str]:
    lines = [_line(_LEFT, up(y), _WIDTH - _RIGHT, up(y), "#e6e6e6") for y in up.ticks()]
    lines += [_text(_LEFT - 8, up(y) + 4, f"{y:g}", "end") for y in up.ticks()]
    bottom = _HEIGHT - _BOTTOM
    lines += [_text(across(x), bottom + 18, f"{x:g}", "middle") for x in across.ticks()]
    lines.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, "step", "middle"))
    return [*lines, _line(_LEFT, bottom, _WIDTH - _RIGHT, bottom, "#444")]


def _curves(shown: Mapping[str, Points], across: _Scale, up: _Scale) -> list[str]:
    parts: list[str] = []
    for place, (name, points) in enumerate(shown.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>')
        parts.append(_text(_WIDTH - _RIGHT, 22 + 14 * place, name, "end", 12, colour))
    return parts


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(
    x: float, y: float, words: str, anchor: str, points: int = 12, colour: str = "#444"
) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{points}"'
    return f'<text {place} fill="{colour}">{escape(words)}</text>'
