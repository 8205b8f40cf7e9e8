"""`visualize_sharding`: pictures of a sharding, as text or as SVG.

What may live here: drawing. What may not: shardings.
"""

from __future__ import annotations

from typing import Any

from adjoint.errors import ShardingError
from adjoint.ir.mesh import Sharding

_CELL = (96, 40)  # of the SVG, in pixels
_COLOURS = ("#dbe9f6", "#fde2c8", "#d5efd6", "#f6d5dc", "#e5dcf3", "#f3efc9", "#d3eeee", "#e9e0d6")


def visualize_sharding(x: Any, form: str = "text") -> str:
    """The parts of a tensor of one or two dimensions (of more: of the first two), with the members
    that have each; `form` is "text" or "svg"."""
    sharding = x if isinstance(x, Sharding) else x.sharding
    if sharding is None:
        problem = "the tensor is on no mesh"
        raise ShardingError("E7004", problem, op="visualize_sharding", operands=[("x", x)])
    if form not in ("text", "svg"):
        problem = f"form is 'text' or 'svg', not {form!r}"
        raise ShardingError("E7004", problem, op="visualize_sharding")
    rows = cells(sharding)
    return _svg(rows) if form == "svg" else _text(rows, sharding)


def cells(sharding: Sharding) -> list[list[list[int]]]:
    """For every part along the first two dimensions, the members that have it."""
    mesh = sharding.mesh
    found: list[list[list[int]]] = [
        [[] for _ in range(sharding.parts(1))] for _ in range(sharding.parts(0))
    ]
    for member in sharding.holders:
        row, column = (mesh.place(member, sharding.axes(d)) for d in (0, 1))
        found[row][column].append(member)
    return found


def _names(members: list[int], sharding: Sharding | None) -> str:
    if sharding is None:
        return ", ".join(map(str, members))
    return ", ".join(sharding[m] for m in members)


def _text(rows: list[list[list[int]]], sharding: Sharding) -> str:
    table = [[_names(cell, sharding) for cell in row] for row in rows]
    width = max(len(text) for row in table for text in row)
    width = max(width, 3)
    edge = "─" * (width + 2)
    lines = ["┌" + "┬".join([edge] * len(table[0])) + "┐"]
    for number, row in enumerate(table):
        if number:
            lines.append("├" + "┼".join([edge] * len(row)) + "┤")
        lines.append("│" + "│".join(f" {text:^{width}} " for text in row) + "│")
    lines.append("└" + "┴".join([edge] * len(table[0])) + "┘")
    lines += [f"{kind} over {axis} pending" for axis, kind in sharding.pending]
    return "\n".join(lines)


def _svg(rows: list[list[list[int]]]) -> str:
    width, height = _CELL
    parts = []
    for r, row in enumerate(rows):
        for c, members in enumerate(row):
            colour = _COLOURS[members[0] % len(_COLOURS)]
            x, y = c * width, r * height
            parts.append(
                f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{colour}" '
                'stroke="#333"/>'
            )
            parts.append(
                f'<text x="{x + width / 2:g}" y="{y + height / 2:g}" text-anchor="middle" '
                f'dominant-baseline="central" font-size="12">{_names(members, None)}</text>'
            )
    size = f'width="{len(rows[0]) * width}" height="{len(rows) * height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'
