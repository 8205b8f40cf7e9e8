"""Models and training runs in notebooks: a table of parameters, curves of what was reported."""

from __future__ import annotations

from adjoint.ir.text import short_type
from adjoint.nn.module import Module as Layer
from adjoint.notebook.markup import Markup, block, folded, head, pre, table
from adjoint.tensor import Tensor
from adjoint.training.loop import Loop
from adjoint.training.plot_svg import svg
from adjoint.training.progress_text import number, size

_ROWS = 200  # of a table; of more tensors only the sums


def layer_html(model: Layer) -> Markup:
    """Every parameter and buffer: name, type, elements; the structure to unfold."""
    wanted = list(model.named_parameters())
    others = list(model.named_buffers())
    count = sum(_elements(t) for _, t in wanted)
    held = sum(_elements(t) * t.dtype.itemsize for _, t in (*wanted, *others))
    title = f"{type(model).__name__} · {count:,} parameters in {len(wanted)} tensors · {size(held)}"
    rows = [_row(name, tensor, "") for name, tensor in wanted]
    rows += [_row(name, tensor, "buffer") for name, tensor in others]
    left_out = f"and {len(rows) - _ROWS} more tensors" if len(rows) > _ROWS else ""
    return block(
        head(title),
        table(("name", "type", "", "elements"), rows[:_ROWS], 1),
        *([head(left_out)] if left_out else []),
        folded("structure", pre(repr(model))),
    )


def _elements(tensor: Tensor) -> int:
    return int(tensor.uop.size)


def _row(name: str, tensor: Tensor, kind: str) -> tuple[str, ...]:
    return name, short_type(tensor.shape, tensor.dtype), kind, f"{_elements(tensor):,}"


def loop_html(loop: Loop) -> Markup:
    """How far it is, what was reported last, and a curve of each value that was recorded."""
    values = [(name, number(value)) for name, value in loop.values.items()]
    curves = [Markup(svg({name: points}, name)) for name, points in loop.history.items() if points]
    return block(
        head(f"{loop.label or 'training'} · step {loop.step} of {loop.steps}"),
        *([table(("value", "last"), values, 1)] if values else []),
        *curves[:6],
    )
