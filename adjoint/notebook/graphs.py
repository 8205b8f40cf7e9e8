"""Graphs in notebooks: drawings of graphs that are small enough to read, and whole pages.

What may live here: which graph an object has. What may not: how it is drawn (`viz/picture.py`).
"""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

from adjoint.errors import AdjointError
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import is_known
from adjoint.module import Module
from adjoint.notebook.markup import Markup, element
from adjoint.tensor import Tensor
from adjoint.transforms.jit.jitted import Jitted
from adjoint.transforms.lower import Lowered
from adjoint.transforms.trace import Trace
from adjoint.viz.bounded import bounded
from adjoint.viz.graph import finished, graph_of
from adjoint.viz.picture import svg
from adjoint.viz.subject import Subject, of_lowered, of_module, of_nodes, of_trace, of_traced
from adjoint.viz.view import View

MOST = 120  # nodes of a drawing in a notebook: more are for `adjoint.view`
_LONGEST = 16_000_000  # letters of a page in a notebook


def picture_of(thing: Any) -> Markup | None:
    """The drawing of a thing's graph; None if it has none, or a large one."""
    make = next((make for kind, make in _SUBJECTS if isinstance(thing, kind)), None)
    try:
        subject = None if make is None else make(thing)
    except AdjointError:  # a module that cannot be called, say: its text is shown
        return None
    if subject is None or not subject.roots or _is_large(subject):
        return None
    data, table = graph_of(subject)
    return Markup(svg(bounded(finished(data, table))))


def _is_large(subject: Subject) -> bool:
    return len(toposort(subject.roots, stop=subject.ends.__contains__)) > MOST


def _lazy(tensor: Tensor) -> Subject | None:
    return None if is_known(tensor.uop) else of_nodes([tensor.uop], "tensor", "lazy tensor")


def _last_trace(jitted: Jitted[..., Any]) -> Subject | None:
    kept = jitted.kept()
    return of_trace(kept[-1]) if kept else None


_SUBJECTS: tuple[tuple[type, Callable[[Any], Subject | None]], ...] = (
    (Tensor, _lazy),
    (UOp, lambda node: of_nodes([node], "graph", "graph")),
    (Jitted, _last_trace),
    (Lowered, of_lowered),
    (Trace, of_traced),
    (Module, lambda module: of_module(module, "module")),
)


def scrolled(picture: Markup) -> Markup:
    """A drawing that may be wider than the page."""
    return element("div", picture, style="overflow-x:auto;margin:4px 0")


def page_html(view: View) -> Markup:
    """The whole page in a frame, which may run its own scripts and nothing else."""
    page = view.html()
    if len(page) > _LONGEST:
        return element("div", f"{view!r}: too large for a notebook; .save(path), .show()")
    frame = (
        '<iframe sandbox="allow-scripts allow-downloads" style="width:100%;height:600px;'
        f'border:1px solid #8884" srcdoc="{html.escape(page, quote=True)}"></iframe>'
    )
    return Markup(frame)
