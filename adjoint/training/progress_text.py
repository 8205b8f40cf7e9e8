"""One line about how far something is, made to fit a number of columns."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

GAP = "  "
_BAR_LEAST, _BAR_MOST = 5, 30


@dataclass(slots=True)
class Status:
    """The contents of a line; fields that are None or empty are left out."""

    step: int
    total: int | None = None
    label: str = ""
    values: Mapping[str, float | str] = field(default_factory=dict)
    rate: float | None = None  # steps in a second
    left: float | None = None  # seconds
    memory: int | None = None  # bytes


def plain(status: Status) -> str:
    """Everything, in a line as long as it gets."""
    return GAP.join(text for text in _pieces(status).values() if text)


def parts_of(status: Status) -> list[str]:
    """The parts of a line, in the order in which they are read."""
    return list(_pieces(status).values())


def fitted(
    status: Status, width: int, signs: str = "━─", colour: tuple[str, str] = ("", "")
) -> str:
    """A line of at most `width` columns: what matters most, and a bar in the room that is left."""
    pieces = _pieces(status)
    chosen = _chosen(pieces, width)
    room = width - _length([pieces[name] for name in chosen])
    texts = [pieces[name] for name in pieces if name in chosen]
    if status.total and room >= _BAR_LEAST + len(GAP) and "percent" in chosen:
        after = texts.index(pieces["percent"]) + 1
        bar = _bar(status.step / status.total, min(room - len(GAP), _BAR_MOST), signs, colour)
        texts.insert(after, bar)
    return GAP.join(texts)


def _chosen(pieces: Mapping[str, str], width: int) -> set[str]:
    """The pieces that fit, the most important first."""
    first = ("percent", "value 0", "left", "rate", "label", "count", "memory")
    chosen: list[str] = []
    for name in (*first, *(name for name in pieces if name not in first)):
        text = pieces.get(name)
        if text and _length([*(pieces[n] for n in chosen), text]) <= width:
            chosen.append(name)
    return set(chosen)


def _length(texts: list[str]) -> int:
    return sum(map(columns, texts)) + len(GAP) * max(len(texts) - 1, 0)


def _pieces(status: Status) -> dict[str, str]:
    """The parts of a line in the order in which they are read."""
    total = status.total
    values = [f"{printable(name)} {number(value)}" for name, value in status.values.items()]
    return {
        "label": printable(status.label),
        "percent": f"{min(100 * status.step // total, 100)}%" if total else "",
        "count": f"{status.step}/{total}" if total else f"{status.step}",
        **{f"value {i}": text for i, text in enumerate(values)},
        "rate": "" if status.rate is None else f"{number(status.rate)} it/s",
        "left": "" if status.left is None else f"eta {duration(status.left)}",
        "memory": "" if status.memory is None else size(status.memory),
    }


def _bar(fraction: float, width: int, signs: str, colour: tuple[str, str]) -> str:
    done = min(max(round(fraction * width), 0), width)
    return f"{colour[0]}{signs[0] * done}{colour[1]}{signs[1] * (width - done)}"


# ---- numbers and words for people


def number(value: float | str) -> str:
    """Four significant digits, never more than ten characters."""
    if isinstance(value, str):
        return printable(value)
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{int(value)}"
    if 1e-3 <= abs(value) < 1e4:
        return f"{value:#.4g}"
    return f"{value:.2e}" if abs(value) < 1e-3 or abs(value) >= 1e6 else f"{value:.0f}"


def duration(seconds: float) -> str:
    """`0:07`, `12:30`, `3:05:00`."""
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size(amount: float) -> str:
    """`512 B`, `12.3 kB`, `85.0 MB`, `1.21 GB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(amount) < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} TB"


def printable(text: str) -> str:
    """The text without what would move the cursor or change colours."""
    return "".join(c if c.isprintable() else " " for c in text)


def columns(text: str) -> int:
    """How many columns a terminal needs for the text."""
    return sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
