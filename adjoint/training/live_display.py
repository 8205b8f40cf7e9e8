"""Progress in a notebook: one display, updated in place.

What may live here: finding the notebook that runs this process, and sending it updates. What may
not: when to show something (`progress.py`).
"""

from __future__ import annotations

import html
from importlib import import_module
from typing import Any

from adjoint.display import in_notebook
from adjoint.training.progress_text import Status, parts_of, plain

_FONT = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px"


class LiveDisplay:
    """A place in a notebook's output that is written again and again."""

    def __init__(self, display: Any):
        self._display = display
        self._handle: Any = None

    def show(self, status: Status) -> bool:
        """Show it; False if the notebook does not take it, which it then never will again."""
        found = {"text/html": progress_html(status), "text/plain": plain(status)}
        try:
            if self._handle is None:
                self._handle = self._display(found, raw=True, display_id=True)
            else:
                self._handle.update(found, raw=True)
        except Exception:  # a kernel whose front end is gone may raise anything
            return False
        return self._handle is not None


def live_display() -> LiveDisplay | None:
    """That of the notebook that runs this process, if one does; IPython in a terminal is none."""
    if not in_notebook():
        return None
    return LiveDisplay(import_module("IPython.display").display)


def progress_html(status: Status) -> str:
    """A bar and what a line says."""
    words = [html.escape(text) for text in parts_of(status) if text]
    done = min(max(status.step / status.total, 0), 1) if status.total else None
    text = f'<span style="white-space:pre-wrap">{"  ".join(words)}</span>'
    bar = "" if done is None else _bar(done)
    return f'<div style="{_FONT};display:flex;gap:12px;align-items:center">{bar}{text}</div>'


def _bar(done: float) -> str:
    inside = f'<div style="width:{100 * done:.1f}%;height:100%;background:#1f6feb"></div>'
    around = "flex:none;width:160px;height:8px;border-radius:4px;overflow:hidden"
    return f'<div style="{around};background:rgba(128,128,128,0.3)">{inside}</div>'
