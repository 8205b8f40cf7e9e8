"""Pictures of functions of one number: the function and its derivative, drawn from the op itself.

An op has one if it takes one tensor, works element by element and gives floats: that is tried.
Lines are gaps where a value is not finite, and break where the function jumps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import Tensor
from adjoint.errors import AdjointError
from adjoint.ir.opdef import OpDef
from adjoint.tensor.tensor import lift
from adjoint.training.plot_scales import Scale, tick_text

_WIDTH, _HEIGHT, _EDGE = 380, 240, 14
_REACH = 4.0  # from -4 to 4, both ways
_POINTS = 321
_JUMP = 0.3  # of what the derivative does not explain
_COLOURS = {"value": "#1f6feb", "derivative": "#d1495b"}
_NONE = ("deg2rad", "rad2deg")  # straight lines that no axis shows well
Array = np.ndarray[Any, Any]


def picture(record: OpDef) -> str | None:
    """The picture as SVG; None for an op that is no function of one number."""
    if record.name in _NONE or "f" not in record.kinds:
        return None
    x = np.linspace(-_REACH, _REACH, _POINTS)
    found = _values(record, x)
    if found is None or not _is_elementwise(record, x, found):
        return None
    slope = _slopes(record, x)
    if slope is not None:
        slope = np.where(np.isfinite(found), slope, np.nan)  # where nothing is, nothing rises
    return _svg(record.name, x, found, slope)


def _values(record: OpDef, x: Array) -> Array | None:
    try:
        result = lift(record, (Tensor(x, dtype="float64"),), {})
        if not isinstance(result, Tensor) or result.shape != x.shape or result.dtype.kind != "f":
            return None
        return np.asarray(result.numpy(), np.float64)
    except (AdjointError, TypeError):
        return None


def _is_elementwise(record: OpDef, x: Array, values: Array) -> bool:
    """Whether an element is not changed by where it stands, or by its neighbours."""
    place = np.random.default_rng(0).permutation(len(x))[: len(x) // 2]
    part = _values(record, x[place])
    same = part is not None and np.array_equal(part, values[place], equal_nan=True)
    return same and not np.array_equal(values, x)


def _slopes(record: OpDef, x: Array) -> Array | None:
    point = Tensor(x, dtype="float64", requires_grad=True)
    try:
        (found,) = lift(record, (point,), {}).sum().gradient(point)
    except AdjointError:
        return None
    return None if found is None else np.asarray(found.numpy(), np.float64)


# ---- SVG


def _svg(name: str, x: Array, values: Array, slope: Array | None) -> str:
    across = Scale(-_REACH, _REACH, _EDGE, _WIDTH - _EDGE)
    low, high = _range(values)
    up = Scale(low, high, _HEIGHT - _EDGE, _EDGE)
    steps = (x[1] - x[0]) * (slope if slope is not None else np.zeros_like(x))
    parts = _axes(across, up)
    if slope is not None:
        parts += _curve(x, slope, np.zeros_like(x), across, up, "derivative")
    parts += _curve(x, values, steps, across, up, "value")
    parts += _words(name, slope is not None)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="11">\n'
        f"<title>{name} and its derivative</title>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _range(values: Array) -> tuple[float, float]:
    """What is seen: all of it if it is within reach, with zero and some air."""
    inside = values[np.isfinite(values) & (np.abs(values) <= _REACH)]
    if not len(inside):
        return -1.0, 1.0
    low, high = min(float(inside.min()), -0.5), max(float(inside.max()), 1.2)
    return low - 0.1 * (high - low), high + 0.1 * (high - low)


def _axes(across: Scale, up: Scale) -> list[str]:
    zero_x, zero_y = across(0), up(0)
    lines = [
        f'<path d="M{_EDGE} {zero_y:.1f}H{_WIDTH - _EDGE}M{zero_x:.1f} {_EDGE}V{_HEIGHT - _EDGE}" '
        'stroke="#8a8f98" fill="none"/>'
    ]
    for value in across.ticks():
        if value and abs(across(value) - zero_x) > 1:
            lines.append(_label(across(value), zero_y + 13, tick_text(value), "middle"))
    for value in up.ticks():
        if value and _EDGE < up(value) < _HEIGHT - _EDGE:
            lines.append(_label(zero_x - 5, up(value) + 4, tick_text(value), "end"))
    return lines


def _label(x: float, y: float, text: str, anchor: str, colour: str = "#8a8f98") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{text}</text>'


def _curve(x: Array, y: Array, steps: Array, across: Scale, up: Scale, kind: str) -> list[str]:
    dash = ' stroke-dasharray="5 3"' if kind == "derivative" else ""
    style = f'fill="none" stroke="{_COLOURS[kind]}" stroke-width="2"{dash}'
    lines = []
    for run in _pieces(y, steps, up):
        points = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in zip(x[run], y[run]))  # noqa: B905
        lines.append(f'<polyline {style} points="{points}"/>')
    return lines


def _pieces(y: Array, steps: Array, up: Scale) -> list[slice]:
    """Runs of points that are seen and hang together."""
    with np.errstate(invalid="ignore"):
        seen = np.isfinite(y) & (y >= up.low) & (y <= up.high)
        jump = np.abs(np.diff(y)) > np.maximum(_JUMP, 3 * np.abs(steps[1:]))
    found, start = [], 0
    for place in range(1, len(y) + 1):
        if place == len(y) or not seen[place] or not seen[place - 1] or jump[place - 1]:
            if seen[start] and place - start > 1:
                found.append(slice(start, place))
            start = place
    return found


def _words(name: str, both: bool) -> list[str]:
    lines = [_label(_EDGE, _EDGE + 2, name, "start", _COLOURS["value"])]
    if both:
        lines.append(_label(_EDGE, _EDGE + 16, "derivative", "start", _COLOURS["derivative"]))
    return lines
