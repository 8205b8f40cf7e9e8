"""The gradient of a loss as programs to read: its Core module, and the kernels it becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.module import differentiate
from adjoint.transforms.capture import capture
from adjoint.transforms.lower import lower
from adjoint.transforms.pytree import tree_leaves
from adjoint.transforms.reverse import value_and_grad

Loss = Callable[..., Any]


def gradient_program(loss: Loss, model: Any, *batch: Any, lines: int = 24, width: int = 100) -> str:
    """The module that computes the loss and its gradient for the model's tensors, shortened."""
    module = capture(loss, model, *batch)
    inputs = [ins for ins in module.inputs if ins.type.dtype.is_inexact]
    count = len(tree_leaves(model))
    wrt = [ins.id for ins in inputs if ins.id < count]
    return shortened(differentiate(module, wrt).gradient_module.text(), lines, width)


def kernels(loss: Loss, model: Any, *batch: Any, lines: int = 24, width: int = 100) -> str:
    """What runs for the loss and its gradient, in order, shortened."""
    lowered = lower(value_and_grad(loss))(model, *batch)
    counts = lowered.counts
    steps = [line for line in lowered.schedule().splitlines() if line.startswith(_STEPS)]
    library = counts["library"]  # of a GPU
    head = f"{counts['kernels']} kernels" + f" and {library} calls of a library" * (library > 0)
    work = f"{counts['flops'] / 1e6:.1f} million operations, {counts['peak'] / 1e6:.2f} MB at most"
    return f"{head}; {work}\n{shortened(chr(10).join(steps), lines, width)}"


_STEPS = ("kernel ", "library ", "host ", "control ")


def shortened(text: str, lines: int, width: int) -> str:
    """The first and the last lines, cut at a width, and how many are left out between them."""
    every = [line if len(line) <= width else line[: width - 1] + "…" for line in text.splitlines()]
    if len(every) <= lines:
        return "\n".join(every)
    head, tail = (lines + 1) // 2, lines // 2
    left_out = f"... {len(every) - head - tail} more lines ..."
    return "\n".join([*every[:head], left_out, *every[len(every) - tail :]])
