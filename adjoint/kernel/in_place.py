"""Which results of a kernel may overwrite one of its operands."""

from __future__ import annotations

from adjoint.ir.kernel_kind import GLOBAL, LOAD, STORE
from adjoint.ir.uop import UOp, toposort


def written_over(body: tuple[UOp, ...]) -> tuple[tuple[int, int], ...]:
    """Results that can overwrite an operand: the kernel reads it at the place that it writes, and
    before that. A kernel writes an element once, so an element written at one place is read at no
    other.
    """
    loads: dict[UOp, set[UOp]] = {}
    stores: dict[UOp, dict[UOp, UOp | None]] = {}  # None: of a place that is written twice
    for node in body:
        if node.op.kernel is LOAD:
            loads.setdefault(node.src[0], set()).add(node.src[1] if len(node.src) == 2 else node)
        elif node.op.kernel is STORE and len(node.src) == 3 and node.src[0].op.kernel is GLOBAL:
            values = stores.setdefault(node.src[0], {})
            values[node.src[1]] = None if node.src[1] in values else node.src[2]
    return tuple(
        (out.arg.index, buffer.arg.index)
        for out, values in stores.items()
        for buffer, places in loads.items()
        if buffer.op.kernel is GLOBAL
        and buffer.arg.dtype.itemsize == out.arg.dtype.itemsize
        and all(_is_read(values.get(at), buffer, at) for at in places)
    )


def _is_read(value: UOp | None, buffer: UOp, place: UOp) -> bool:
    """Whether a value is computed from the memory there."""
    below = [] if value is None else toposort([value])
    return any(n.op.kernel is LOAD and n.src[0] is buffer and n.src[1] is place for n in below)
