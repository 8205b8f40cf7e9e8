"""Writes what `docs/tour.md` and `docs/kernels.md` print into the pages. Run by `make docs`.

The Python blocks of a page run in order, in one namespace; what a block prints is the text block
behind it. Lines of the user that appear in the texts are lines of the page.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "tour.md"
PAGES = (PAGE, PAGE.with_name("kernels.md"))
_STEP = re.compile(r"^```python\n(.*?)^```\n(\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL)


def written(page: Path = PAGE) -> str:
    """The page with the texts that its programs print now."""
    old = page.read_text(encoding="utf-8")
    new, at = "", 0
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for step in _STEP.finditer(old):
        new += old[at : step.start(1)]
        printed = _printed(step.group(1), new.count("\n"), namespace, page.name)
        new += f"{step.group(1)}```\n"
        new += f"\n```text\n{printed}\n```\n" if printed else ""
        at = step.end()
    return new + old[at:]


def _printed(program: str, line: int, namespace: dict[str, Any], name: str) -> str:
    """What a block prints; it stands below so many lines."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n" * line + program, name, "exec", dont_inherit=True), namespace)
    return out.getvalue().strip("\n")


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(written(page), encoding="utf-8")
