"""The text of a module: a tree of names, with runs of equal lines shown once.

What may live here: `repr` of modules. What may not: what modules are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any


def tree_text(title: str, extra: str, parts: Sequence[tuple[str, Any]]) -> str:
    """`Title(extra)` or, with parts, a line or more for each of them."""
    if not parts:
        return f"{title}({extra})"
    lines = [extra] if extra else []
    lines += _lines(parts)
    inside = "\n".join(lines).replace("\n", "\n  ")
    return f"{title}(\n  {inside}\n)"


def _lines(parts: Sequence[tuple[str, Any]]) -> Iterable[str]:
    """One entry per part; neighbours with equal texts and consecutive numbers share one."""
    shown = [(name, repr(part)) for name, part in parts]
    for text, run in groupby(shown, key=lambda pair: pair[1]):
        names = [name for name, _ in run]
        if len(names) > 1 and _consecutive(names):
            yield f"({names[0]}-{names[-1].rpartition('.')[2]}): {len(names)} x {text}"
        else:
            yield from (f"({name}): {text}" for name in names)


def _consecutive(names: Sequence[str]) -> bool:
    """Whether names are `layers.0`, `layers.1`, … of one list."""
    heads = {name.rpartition(".")[0] for name in names}
    tails = [name.rpartition(".")[2] for name in names]
    if len(heads) != 1 or not all(tail.isdigit() for tail in tails):
        return False
    first = int(tails[0])
    return tails == [str(first + i) for i in range(len(tails))]
