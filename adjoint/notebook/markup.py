"""HTML and SVG by function calls: there is no way to insert text without escaping it.

What may live here: elements. What may not: the contents of any display.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from adjoint.viz.bounded import cut

_FONT = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px"
_CELL = "padding:1px 10px 1px 0;text-align:left;vertical-align:top;background:none"
_NUMBER = _CELL.replace("left", "right")


_LONGEST = 200_000  # letters of a text; notebooks keep them all


class Markup(str):
    """Text that is HTML already; any other text is escaped when it is put into an element."""

    __slots__ = ()


def element(tag: str, *inside: str, **attributes: str | float) -> Markup:
    """`<tag …>inside</tag>`; an underscore at the end or within a name is none or a hyphen."""
    named = (
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(str(value), quote=True)}"'
        for name, value in attributes.items()
    )
    content = "".join(map(_escaped, inside))
    return Markup(f"<{tag}{''.join(named)}>{content}</{tag}>")


def _escaped(text: str) -> str:
    return text if isinstance(text, Markup) else html.escape(cut(text, _LONGEST))


def joined(parts: Iterable[str]) -> Markup:
    """One after another."""
    return Markup("".join(map(_escaped, parts)))


def pre(text: str) -> Markup:
    """Text whose lines and blanks stay."""
    style = f"{_FONT};line-height:1.35;margin:2px 0;padding:0;background:none;overflow-x:auto"
    return element("pre", text, style=style)


def head(text: str) -> Markup:
    """What the thing is, in one line."""
    return element("div", text, style=f"{_FONT};opacity:0.75")


def folded(title: str, inside: str, shown: bool = False) -> Markup:
    """A part that opens by a click."""
    summary = element("summary", title, style=f"{_FONT};cursor:pointer")
    return element("details", summary, inside, **({"open": "open"} if shown else {}))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> Markup:
    """Rows; the last `numbers` columns are numbers and stand on the right."""
    titles = [element("th", c, style=_style(i, len(head), numbers)) for i, c in enumerate(head)]
    lines = [element("tr", *titles)]
    for row in rows:
        cells = [element("td", c, style=_style(i, len(head), numbers)) for i, c in enumerate(row)]
        lines.append(element("tr", *cells))
    return element("table", *lines, style=f"{_FONT};border-collapse:collapse;border:none")


def _style(column: int, columns: int, numbers: int) -> str:
    return _NUMBER if column >= columns - numbers else _CELL


def block(*parts: str) -> Markup:
    """The whole of a display."""
    return element("div", *parts, class_="adjoint", style="margin:2px 0")
