"""Lines of a test's own file, found by the comment at their end: messages name them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def places_in(file: str) -> Callable[[str], str]:
    """A function from a mark to `test_nans.py:41`, the line of the file that ends with `# mark`."""
    path = Path(file)
    source = path.read_text(encoding="utf-8").splitlines()

    def place(mark: str) -> str:
        (number,) = [i for i, line in enumerate(source, 1) if line.endswith(f"# {mark}")]
        return f"{path.name}:{number}"

    return place
