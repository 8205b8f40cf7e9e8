"""The table from classes to their notebook displays.

What may live here: the table, and how the plain text replaces a display that fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.debug.explaining import Explanation
from adjoint.debug.memory_report import MemoryReport
from adjoint.debug.profiling import profile
from adjoint.ir.uop import UOp
from adjoint.module import Module
from adjoint.nn.module import Module as Layer
from adjoint.notebook.functions import (
    explanation_html,
    jitted_html,
    lowered_html,
    module_html,
    node_html,
    trace_html,
)
from adjoint.notebook.graphs import page_html, picture_of
from adjoint.notebook.markup import Markup, block, pre
from adjoint.notebook.models import layer_html, loop_html, loop_svg, run_html, run_svg
from adjoint.notebook.tensors import tensor_html, tensor_svg
from adjoint.tensor import Tensor
from adjoint.training.loop import Loop
from adjoint.training.runs.log import Run
from adjoint.transforms.jit.jitted import Jitted
from adjoint.transforms.lower import Lowered
from adjoint.transforms.trace import Trace
from adjoint.viz.view import View

_DISPLAYS: tuple[tuple[type, Callable[[Any], Markup]], ...] = (
    (Tensor, tensor_html),
    (Jitted, jitted_html),
    (Lowered, lowered_html),
    (Explanation, explanation_html),
    (Trace, trace_html),
    (Module, module_html),
    (Layer, layer_html),
    (Loop, loop_html),
    (Run, run_html),
    (View, page_html),
    (UOp, node_html),
    (profile, lambda found: block(pre(found.summary()))),
    (MemoryReport, lambda found: block(pre(repr(found)))),
)

_DRAWINGS: tuple[tuple[type, Callable[[Any], str | None]], ...] = (
    (Tensor, tensor_svg),
    (Loop, loop_svg),
    (Run, run_svg),
)


def html(thing: Any) -> str:
    """The thing as a piece of HTML."""
    for kind, display in _DISPLAYS:
        if isinstance(thing, kind):
            return display(thing)
    return block(pre(repr(thing)))


def svg(thing: Any) -> str | None:
    """The thing as a drawing: a graph, a line of values, curves; None where that says nothing."""
    for kind, draw in _DRAWINGS:
        if isinstance(thing, kind):
            return draw(thing)
    return picture_of(thing)


def bundle(thing: Any) -> dict[str, str]:
    """The thing in every form that a notebook may choose from."""
    found = {"text/plain": repr(thing), "text/html": html(thing)}
    drawn = svg(thing)
    return found if drawn is None else found | {"image/svg+xml": drawn}
