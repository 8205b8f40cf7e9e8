"""Hooks of the site: pages that live outside `docs/`, and links to what is not on the site.

What may live here: what mkdocs needs to build from the repository as it is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"\[([^\]\n]+)\]\((?!https?:|#)([^)#\s]*)(#[^)]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the root."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_relinked(text, ROOT, Path(page))))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point the links of a page at pages of the site."""
    if page.file.src_uri in PAGES.values():
        return markdown
    place = Path(page.file.src_uri)
    return _relinked(markdown, ROOT / "docs" / place.parent, place)


def _relinked(text: str, folder: Path, page: Path) -> str:
    """Links to files of the repository as links between pages; what has no page is plain text."""

    def link(found: re.Match[str]) -> str:
        title, to, part = found.group(1), found.group(2), found.group(3) or ""
        target = (folder / to).resolve()
        target = target / "index.md" if (target / "index.md").exists() else target
        if not target.is_relative_to(ROOT) or target.suffix != ".md":
            return title
        name = str(target.relative_to(ROOT))
        name = PAGES.get(name) or name.removeprefix("docs/")
        if not (name in PAGES.values() or (ROOT / "docs" / name).exists()):
            return title
        up = "../" * len(page.parent.parts)
        return f"[{title}]({up}{name}{part})"

    return LINK.sub(link, text)
