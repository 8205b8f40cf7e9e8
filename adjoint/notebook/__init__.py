"""Notebook displays: tensors, functions, modules, models and runs as small pieces of HTML.

Public names only. Nothing here is loaded before a notebook asks (`adjoint/display.py`), nothing is
fetched, no script is written, and every text of the user's is escaped (`markup.py`).
"""

from adjoint.notebook.displays import bundle, html, svg

__all__ = ["bundle", "html", "svg"]
