"""The page of a run, and the page that compares runs: one HTML file, and the data beside or inside.

A page that follows a run reads `data.js` again and again, which is replaced as a whole: that works
from a file, without a server. Nothing else is loaded: the policy at the top of the page forbids it,
and texts of the run are put into the page as text alone (`page.js`).
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import html
import json
import os
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from adjoint.training.runs.log import Run, refused, spelled

PAGE, DATA = "index.html", "data.js"
MOST_POINTS = 2000  # of one curve on a page; the log has them all
_SHORT = 7  # digits of a value on a page


def save_page(path: str | os.PathLike[str], runs: Sequence[Run], title: str = "Runs") -> Path:
    """Write one file that shows these runs, and compares them if they are several."""
    file = Path(path)
    write_whole(file, page_html(title, [page_data(run) for run in runs]))
    return file


def save_watching_page(folder: Path, title: str) -> Path:
    """Write the page that follows the run of this folder."""
    file = folder / PAGE
    write_whole(file, page_html(title, None))
    return file


def save_data(folder: Path, run: Run, every: float) -> None:
    """Put the run as it is now beside its page, which looks again after so many seconds."""
    data = {"run": page_data(run), "every": every}
    text = json.dumps(_json(data))  # parsed, not evaluated: "__proto__" is a name like any other
    write_whole(folder / DATA, f"adjointRun(JSON.parse({text}));\n")


def page_data(run: Run) -> dict[str, Any]:
    """What a page shows of a run."""
    return {
        "name": run.name,
        "folder": run.folder,
        "started": run.started,
        "steps": run.steps,
        "command": list(run.command),
        "state": run.state,
        "error": run.error,
        "seconds": run.seconds,
        "curves": {name: _points(points) for name, points in run.curves.items()},
        "samples": run.samples[-24:],
    }


def _points(points: Sequence[Any]) -> list[list[Any]]:
    """Columns of steps, times and values; every second, third, … of many, and the last."""
    by = max(-(-len(points) // MOST_POINTS), 1)
    kept = list(points[::by])
    if points and (len(points) - 1) % by:
        kept.append(points[-1])
    return [
        [point[0] for point in kept],
        [None if point[1] is None else round(point[1], 3) for point in kept],
        [_short(point[2]) for point in kept],
    ]


def _short(value: float) -> float:
    return float(f"{value:.{_SHORT}g}")


# ---- the file


def page_html(title: str, runs: Sequence[dict[str, Any]] | None) -> str:
    """The page with its data, or one that follows `data.js` (None)."""
    script, style = _static("page.js"), _static("page.css")
    inside = json.dumps({"runs": runs}) if runs is None else _json({"runs": list(runs)})
    follow = "file: 'self'" if runs is None else ""
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}' {follow}; "
        f"style-src '{_hash(style)}'; img-src data:"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style}</style></head>\n"
        f'<body><script type="application/json" id="data">{inside}</script>\n'
        f"<main></main><script>{script}</script></body></html>\n"
    )


@cache
def _static(name: str) -> str:
    text = (files("adjoint.training.runs") / "static" / name).read_text(encoding="utf-8")
    return f"\n{text}"


def _hash(text: str) -> str:
    """How a policy names the one script, or style, that may be on the page."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def _json(data: Any) -> str:
    """JSON that is safe inside of a script: it cannot end it, nor begin a comment."""
    text = json.dumps(spelled(data), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically: readers see the old file or the new one, never a part of it."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        new.write_text(text, encoding="utf-8")
        os.replace(new, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        raise refused(path, error) from None
