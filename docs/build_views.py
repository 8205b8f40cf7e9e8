"""Pages of the viewer for the site: `python -m docs.build_views [FOLDER]`.

`make site` puts them under `views/`; none is committed. What may live here: making these pages.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import adjoint
from adjoint.viz.subject import of_function
from adjoint.viz.view import View
from docs.view_programs import PROGRAMS


def pages(names: tuple[str, ...] = tuple(PROGRAMS)) -> Iterator[tuple[str, View]]:
    """The page of each program; its ops lead to their pages of the site."""
    for name in names:
        title, make = PROGRAMS[name]
        adjoint.manual_seed(0)
        function, args = make()
        subject = of_function(function, args, {})
        yield name, View([subject], title, docs="../ops/", docs_end=".html")


def write(folder: Path) -> list[Path]:
    """All pages, as files of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return [page.save(folder / f"{name}.html") for name, page in pages()]


def main() -> None:
    """Write all pages into the folder that is named."""
    for path in write(Path(sys.argv[1] if len(sys.argv) > 1 else "site/views")):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
