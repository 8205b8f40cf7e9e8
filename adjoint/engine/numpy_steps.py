"""Steps that Python runs: NumPy computes a node, or a Python loop runs a sub-program.

What may live here: running a HostStep or a ControlStep on arrays. What may not: native tables.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from adjoint.engine.step_facts import node_details, titles
from adjoint.ir.kernel_kind import HERE
from adjoint.runtime.buffer import in_bytes
from adjoint.runtime.interrupt import interruptible
from adjoint.runtime.reference import evaluate
from adjoint.runtime.spans import recorders, span
from adjoint.stages import ControlStep, HostStep

_LONG = 1 << 18  # elements from which NumPy may take so long that Ctrl-C must get through
Array = np.ndarray[Any, Any]
Run = Callable[[Any, list[Any]], list[Any]]


def host_results(step: HostStep | ControlStep, operands: list[Any], run: Run) -> tuple[Any, ...]:
    """The values of the step's results; `run` evaluates a function of the node on arrays."""
    if not recorders:
        return _results(step, operands, run)
    name, kind = titles(step)
    size = sum(np.asarray(x).nbytes for x in operands)
    with span(name, kind, bytes=size, **node_details(step.node)):
        return _results(step, operands, run)


def _results(step: HostStep | ControlStep, operands: list[Any], run: Run) -> tuple[Any, ...]:
    work = partial(evaluate, step.node, grouped(step, operands), run)
    plain = isinstance(step, HostStep) and step.node.op.kernel is not HERE
    large = plain and sum(np.size(x) for x in operands) > _LONG
    value = interruptible(work) if large else work()
    return value if isinstance(step.node.dtype, tuple) else (value,)


def grouped(step: HostStep | ControlStep, operands: list[Any]) -> list[Any]:
    """One operand per source: a source with several results is a tuple of them.

    A slot has the type of the node that was written there; a reshaped one shares it.
    """
    rest = iter(operands)
    return [
        tuple(in_bytes(next(rest), d, n) for d, n in zip(s.dtype, s.shape, strict=True))
        if isinstance(s.dtype, tuple)
        else in_bytes(next(rest), s.dtype, s.shape)
        for s in step.node.src
    ]
