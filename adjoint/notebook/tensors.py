"""Tensors in notebooks: their type, their values, and a line or an image if that says more.

Nothing is computed here that `repr` would not compute: for a tensor without a value only the type
is shown, unless it is small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.dtype import plain
from adjoint.ir.text import short_type
from adjoint.ir.values import is_known
from adjoint.notebook.graphs import picture_of, scrolled
from adjoint.notebook.markup import Markup, block, folded, head, pre
from adjoint.notebook.pictures import image, range_text, sparkline
from adjoint.tensor import Tensor
from adjoint.training.runs.images import pixels

_LINE_FROM = 8  # numbers of a row: fewer are read
_LINES = 12  # of values; more are folded where a picture stands for them
_MOST_LINES = 40  # where no picture does
_READ = 1 << 22  # elements: more are not looked through for a picture


def tensor_html(tensor: Tensor) -> Markup:
    """Type, place and origin in a line; values below."""
    text = repr(tensor)  # computes what is small, outside of transforms
    if not is_known(tensor.uop) or isinstance(tensor.device, tuple):
        drawn = picture_of(tensor)
        return block(head(_facts(tensor)), pre(text), *([] if drawn is None else [scrolled(drawn)]))
    values = plain(tensor.numpy()) if tensor.uop.size <= _READ else None
    if values is None or values.dtype.kind not in "biuf":
        return block(head(_facts(tensor)), pre(text))
    shown = _picture(values)
    short = text.count("\n") < (_LINES if shown else _MOST_LINES)
    values_of = pre(text) if short else folded("values", pre(text))
    return block(head(f"{_facts(tensor)}{_range(values)}"), *shown, values_of)


def tensor_svg(tensor: Tensor) -> str | None:
    """A line of a row that is there; the graph of what is not computed, if it is small."""
    repr(tensor)  # computes what is small, outside of transforms
    if not is_known(tensor.uop):
        return picture_of(tensor)
    if tensor.ndim != 1 or not _LINE_FROM <= tensor.uop.size <= _READ:
        return None
    values = plain(tensor.numpy())
    return sparkline(values) if values.dtype.kind in "biuf" else None


def _facts(tensor: Tensor) -> str:
    parts = [short_type(tensor.shape, tensor.dtype), str(tensor.device)]
    if tensor.requires_grad:
        parts.append("requires grad" if tensor.grad is None else "has a gradient")
    if not is_known(tensor.uop):
        parts.append("not computed: .realize() does")
        parts += [str(tensor.uop.origin)] if tensor.uop.origin else []
    return " · ".join(parts)


def _range(values: Any) -> str:
    if values.size < 2 or values.dtype.kind == "b":
        return ""
    return f" · {range_text(values)}"


def _picture(values: np.ndarray[Any, Any]) -> list[Markup]:
    """An image of a matrix, a line of a row, or nothing."""
    if values.ndim == 1 and len(values) >= _LINE_FROM:
        line = sparkline(values)
        return [] if line is None else [line]
    colours = pixels(values)
    return [] if colours is None else [image(colours)]
