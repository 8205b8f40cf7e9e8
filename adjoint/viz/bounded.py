"""Cuts texts in the viewer's data to a readable length: names may be megabytes of anything.

What may live here: cutting. What may not: escaping, which is the page's (`page.py`).
"""

from __future__ import annotations

from typing import Any

LONGEST = 2000  # letters of one text; code is lines, each a text
TITLE = 200


def cut(text: str, most: int = LONGEST) -> str:
    """The text, or its beginning and how long it is."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} letters)"


def bounded(data: Any) -> Any:
    """The same data with every text cut, names of fields too."""
    match data:
        case str():
            return cut(data)
        case dict():
            return {
                cut(key) if isinstance(key, str) else key: bounded(v) for key, v in data.items()
            }
        case list() | tuple():
            return [bounded(item) for item in data]
    return data
