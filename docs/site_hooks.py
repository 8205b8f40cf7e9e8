"""Hooks of the site: pages that live outside `docs/`, formulas, links to what is not a document.

What may live here: what mkdocs needs to build from the repository as it is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from docs.mathml import formula_html

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
PICTURE = re.compile(r"(!\[[^\]\n]*\]\()docs/")  # in pages of the root
LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\((?!https?:|#)([^)#\s]*)(#[^)]*)?\)")
FORMULA = re.compile(r"^```formula\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
SOURCES = ("adjoint/ops", "adjoint/examples")  # folders whose files have a page of their own
_OP_BOOST = 2000  # who looks for the name of an op wants its page


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the root, and those of source files that pages refer to."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        text = PICTURE.sub(r"\1", _relinked(text, ROOT, Path(page)))
        files.append(File.generated(config, page, content=text))
    for folder in SOURCES:
        for file in sorted((ROOT / folder).rglob("*.py")):
            files.append(File.generated(config, source_page(file), content=_source(file)))
    return files


def source_page(file: Path) -> str:
    """The page that shows a source file."""
    return f"source/{file.relative_to(ROOT).with_suffix('.md')}"


def _source(file: Path) -> str:
    text = file.read_text(encoding="utf-8").rstrip("\n")
    head = "---\nsearch:\n  exclude: true\nhide: [toc]\n---\n\n"
    return f"{head}# {file.relative_to(ROOT)}\n\n````python {{linenums=1}}\n{text}\n````\n"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Typeset formulas, point links at pages of the site, and let names of ops be found."""
    place = Path(page.file.src_uri)
    if place.parts[0] == "source":
        return markdown
    if place.parent.name == "ops" and place.stem != "index":
        page.meta["search"] = {"boost": _boost(place.stem)}
    markdown = FORMULA.sub(lambda found: formula_html(found[1].split("\n")), markdown)
    if page.file.src_uri in PAGES.values():
        return markdown
    return _relinked(markdown, ROOT / "docs" / place.parent, place)


def _boost(name: str) -> float:
    """Search counts what begins with a word as the word: `exp` comes before `expm1` if it counts
    more, and `softmax` before `log_softmax`."""
    return round(_OP_BOOST / len(name) ** 3 / len(name.split("_")) ** 2, 3) + 2


def _relinked(text: str, folder: Path, page: Path) -> str:
    """Links to files of the repository as links between pages; what has no page is plain text."""

    def link(found: re.Match[str]) -> str:
        title, to, part = found.group(1), found.group(2), found.group(3) or ""
        target = (folder / to).resolve()
        target = target / "index.md" if (target / "index.md").exists() else target
        name = _page_of(target)
        if not name:
            return title
        part = part or _anchor(target, page)
        up = "../" * len(page.parent.parts)
        return f"[{title}]({up}{name}{part})"

    return LINK.sub(link, text)


def _page_of(target: Path) -> str:
    """The page of a file; nothing if it has none."""
    if not target.is_relative_to(ROOT) or not target.is_file():
        return ""
    name = str(target.relative_to(ROOT))
    if target.suffix == ".py" and name.startswith(SOURCES):
        return source_page(target)
    inside = name in PAGES or name.startswith("docs/")
    return (
        PAGES.get(name) or name.removeprefix("docs/") if inside and target.suffix == ".md" else ""
    )


def _anchor(target: Path, page: Path) -> str:
    """The line of the record, if this is the page of an op."""
    if target.suffix != ".py" or page.parent.name != "ops":
        return ""
    wanted = re.compile(rf"def {re.escape(page.stem)}_?\(|{re.escape(page.stem)}_? = ")
    lines = target.read_text(encoding="utf-8").splitlines()
    found = next((i for i, line in enumerate(lines, 1) if wanted.match(line)), None)
    return "" if found is None else f"#__codelineno-0-{found}"
