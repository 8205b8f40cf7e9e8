"""Data → one HTML file that needs nothing else: no network, no other file.

Names, lines and texts of users' programs are hostile until shown otherwise. They are in the page as
JSON in a block that no browser runs, with `<` written `\\u003c`; the scripts of the page, which are
fixed and named by their hashes in its Content-Security-Policy, put them there as text alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

SCRIPTS = (
    "dom.js",
    "model.js",
    "layout.js",
    "canvas.js",
    "plot.js",
    "graph_page.js",
    "passes_page.js",
    "kernels_page.js",
    "run_page.js",
    "table_page.js",
    "main.js",
)
LIBRARY, STYLE = "dagre.min.js", "page.css"


def html(data: dict[str, Any], title: str) -> str:
    """The page."""
    style, library, program = static(STYLE), static(LIBRARY), _program()
    return _PAGE.format(
        policy=policy(),
        title=_escaped(title),
        style=style,
        data=as_json(data),
        library=library,
        program=program,
    )


def policy() -> str:
    """The policy of the page: it may run its own scripts, and nothing else."""
    scripts = " ".join(f"'{_hash(text)}'" for text in (static(LIBRARY), _program()))
    return (
        f"default-src 'none'; script-src {scripts}; style-src '{_hash(static(STYLE))}'; "
        "worker-src blob:; base-uri 'none'; form-action 'none'"
    )


def as_json(data: Any) -> str:
    """JSON that may stand in a script block: it has no `<`, no `>`, no `&`, and no line that a
    browser would take for the end of one."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


@cache
def static(name: str) -> str:
    """A file of the viewer."""
    return files("adjoint.viz").joinpath("static", name).read_text(encoding="utf-8").strip()


@cache
def _program() -> str:
    return "\n".join(["'use strict';", *map(static, SCRIPTS)])


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _escaped(text: str) -> str:
    signs = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
    return "".join(signs.get(sign, sign) for sign in text)


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<script type="application/json" id="data">{data}</script>
<script id="library">{library}</script>
<script>{program}</script>
</body>
</html>
"""
