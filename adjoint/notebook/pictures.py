"""Numbers as small pictures: a sparkline of a row, an image of a matrix.

What may live here: pictures of arrays. What may not: tensors.
"""

from __future__ import annotations

import numpy as np

from adjoint.notebook.markup import Markup, element
from adjoint.training.runs.images import Array, data_address, shares, thinned

_POINTS = 1024  # of a line; of more numbers, every second, third, …
_SIDE = 160  # what a small picture is enlarged to
_WIDTH, _HEIGHT = 240, 36


def sparkline(values: Array) -> Markup | None:
    """A line through the values of a row; gaps where they are not finite; None if nothing is."""
    numbers = np.asarray(thinned(values, _POINTS), np.float64)
    finite = np.isfinite(numbers)
    if not finite.any():
        return None
    low, high = numbers[finite].min(), numbers[finite].max()
    x = np.linspace(2, _WIDTH - 2, len(numbers))
    share = shares(numbers, low, high)
    y = _HEIGHT - 3 - share * (_HEIGHT - 6)
    lines = [
        element("polyline", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[r], y[r])))  # noqa: B905
        for r in _runs(finite)
    ]
    style = "fill:none;stroke:#1f6feb;stroke-width:1.5;stroke-linecap:round"
    title = element("title", f"from {low:.4g} to {high:.4g}")
    return element(
        "svg", title, *lines, xmlns="http://www.w3.org/2000/svg", style=style,
        width=_WIDTH, height=_HEIGHT, viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
    )  # fmt: skip


def _runs(finite: Array) -> list[slice]:
    """Where finite values follow one another."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], finite, [False])).astype(np.int8)))
    return [slice(a, b) for a, b in edges.reshape(-1, 2)]


def image(colours: Array) -> Markup:
    """The picture as an element, small ones enlarged."""
    height, width = colours.shape[:2]
    by = max(_SIDE // max(height, width), 1)
    return element(
        "img",
        src=data_address(colours),
        width=width * by,
        height=height * by,
        style="image-rendering:pixelated;display:block;margin:4px 0",
    )


def range_text(values: Array) -> str:
    """`from -1.2 to 3.4`, of what is finite, and how many are not."""
    numbers = np.asarray(values, np.float64)
    finite = np.isfinite(numbers)
    others = numbers.size - int(finite.sum())
    bad = f", {others} not finite" if others else ""
    if others == numbers.size:
        return f"none of {others} finite"
    with np.errstate(over="ignore"):
        mean = numbers[finite].mean()
    return f"from {numbers[finite].min():.4g} to {numbers[finite].max():.4g}, mean {mean:.4g}{bad}"
