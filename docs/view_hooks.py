"""Hooks of the site: the pages of the viewer that docs/viewing.md leads to.

What may live here: what mkdocs calls for them. What may not: how they are made (`build_views.py`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docs.build_views import write


def on_post_build(config: Any, **_: Any) -> None:
    """Write the pages beside the site's own."""
    write(Path(config["site_dir"]) / "views")
