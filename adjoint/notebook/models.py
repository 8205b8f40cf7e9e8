"""Models and training runs in notebooks: a table of parameters, curves of what was reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adjoint.ir.text import short_type
from adjoint.nn.module import Module as Layer
from adjoint.notebook.markup import Markup, block, folded, head, pre, table
from adjoint.tensor import Tensor
from adjoint.training.loop import Loop
from adjoint.training.plot_svg import svg
from adjoint.training.progress_text import number, size
from adjoint.training.runs.log import Run

_CURVES = 6  # of a run that are drawn
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
        *curves[:_CURVES],
    )


def loop_svg(loop: Loop) -> str | None:
    """The curve of the first value that was recorded."""
    return _first(loop.history)


def run_html(run: Run) -> Markup:
    """How it went, the last values, and a curve of each."""
    curves = _curves(run)
    values = [(name, number(points[-1][1])) for name, points in curves.items()]
    drawn = [Markup(svg({name: points}, name)) for name, points in curves.items()]
    return block(
        head(repr(run).strip("<>")),
        *([table(("value", "last"), values, 1)] if values else []),
        *drawn[:_CURVES],
    )


def run_svg(run: Run) -> str | None:
    """The curve of the first value of its log."""
    return _first(_curves(run))


def _curves(run: Run) -> dict[str, list[tuple[int, float]]]:
    return {
        name: [(step, value) for step, _, value in points]
        for name, points in run.curves.items()
        if points
    }


def _first(curves: Mapping[str, Sequence[tuple[float, float]]]) -> str | None:
    found = next(((name, points) for name, points in curves.items() if points), None)
    return None if found is None else svg({found[0]: found[1]}, found[0])
