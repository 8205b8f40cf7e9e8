"""Which display is for what: the table of things that a notebook shows.

What may live here: the table, and how a display that fails is replaced by the plain text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.debug.explaining import Explanation
from adjoint.debug.memory_report import MemoryReport
from adjoint.debug.profiling import profile
from adjoint.module import Module
from adjoint.nn.module import Module as Layer
from adjoint.notebook.functions import (
    explanation_html,
    jitted_html,
    lowered_html,
    module_html,
    trace_html,
)
from adjoint.notebook.markup import Markup, block, pre
from adjoint.notebook.models import layer_html, loop_html
from adjoint.notebook.tensors import tensor_html
from adjoint.tensor import Tensor
from adjoint.training.loop import Loop
from adjoint.transforms.jit.jitted import Jitted
from adjoint.transforms.lower import Lowered
from adjoint.transforms.trace import Trace

_DISPLAYS: tuple[tuple[type, Callable[[Any], Markup]], ...] = (
    (Tensor, tensor_html),
    (Jitted, jitted_html),
    (Lowered, lowered_html),
    (Explanation, explanation_html),
    (Trace, trace_html),
    (Module, module_html),
    (Layer, layer_html),
    (Loop, loop_html),
    (profile, lambda found: block(pre(found.summary()))),
    (MemoryReport, lambda found: block(pre(repr(found)))),
)


def html(thing: Any) -> str:
    """The thing as a piece of HTML."""
    for kind, display in _DISPLAYS:
        if isinstance(thing, kind):
            return display(thing)
    return block(pre(repr(thing)))


def bundle(thing: Any) -> dict[str, str]:
    """The thing in every form that a notebook may choose from."""
    return {"text/plain": repr(thing), "text/html": html(thing)}
