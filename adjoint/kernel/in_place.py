"""Which results of a kernel may lie where one of its operands lies."""

from __future__ import annotations

from adjoint.ir.kernel_kind import GLOBAL, LOAD, STORE
from adjoint.ir.uop import UOp, toposort


def written_over(body: tuple[UOp, ...]) -> tuple[tuple[int, int], ...]:
    """Results that can overwrite an operand: it is read where they are written, and before that."""
    loads: dict[UOp, set[UOp]] = {}
    for node in body:
        if node.op.kernel is LOAD:
            loads.setdefault(node.src[0], set()).add(node.src[1] if len(node.src) == 2 else node)
    pairs = []
    for store in (n for n in body if n.op.kernel is STORE and len(n.src) == 3):
        out, place = store.src[:2]
        if out.op.kernel is not GLOBAL:  # kept for a later loop of the same kernel
            continue
        below = set(toposort([store.src[2]]))
        pairs += [
            (out.arg.index, buffer.arg.index)
            for buffer, places in loads.items()
            if places == {place}
            and buffer.op.kernel is GLOBAL
            and buffer.arg.dtype.itemsize == out.arg.dtype.itemsize
            and any(n.op.kernel is LOAD and n.src[0] is buffer for n in below)
        ]
    return tuple(pairs)
