"""Buffers that a layer changes while it runs: the running statistics of norms."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.errors import AutodiffError
from adjoint.ir.kernel_kind import PARAMETER
from adjoint.ir.uop import UOp
from adjoint.ir.weak import WeakTable
from adjoint.tensor import Tensor
from adjoint.tensor.tracing import dependent, open_scopes

_MAX_WAITING_UPDATES = 16  # updates that may wait until a result is computed
_updated: WeakTable[Tensor] = WeakTable()


def update_buffers(op: str, buffers: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    """Give buffers new values, without a gradient.

    The values are computed with the step of an optimiser, which computes most of what they need
    anyway; at the latest after a number of updates, so that no graph of all batches grows.
    """
    for buffer, value in zip(buffers, values, strict=True):
        _check_scopes(op, value.uop)
        buffer.assign(value.detach().cast(buffer.dtype))
    if open_scopes.get():
        return
    for buffer in buffers:
        _updated.add(buffer)
    if _waiting(buffers[0].uop) >= _MAX_WAITING_UPDATES:
        buffers[0].realize(*buffers[1:])


def waiting_buffers() -> list[Tensor]:
    """Buffers whose new values have not been computed; the next result computes them with it."""
    if open_scopes.get():
        return []
    return [buffer for buffer in _updated.taken() if _waiting(buffer.uop)]


def _waiting(node: UOp) -> int:
    """How many assignments of a buffer have not been computed."""
    count = 0
    while node.op.name == "assign" and node.realized is None:
        node, count = node.src[0], count + 1
    return count


def _check_scopes(op: str, node: UOp) -> None:
    """A value that stands for one example of many, or one turn of a loop, is no module's state."""
    for scope in open_scopes.get():
        free = {v for v in scope.variables if _is_symbol(v)}
        if free and not scope.defers and dependent([node], free):
            problem = f"running statistics cannot be updated inside {scope.name}"
            fix = "call .eval() on the model, or make the layer with track_running_stats=False"
            raise AutodiffError("E5004", problem, op=op, help=fix)


def _is_symbol(node: UOp) -> bool:
    """Whether a variable stands for no value, as grad's do."""
    below = node.src[0] if node.op.name == "unique_identity" else node
    return below.op.kernel is PARAMETER
