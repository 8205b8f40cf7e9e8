"""Which wanted but unneeded results a program also returns.

Before: the graph of a number that Python reads, and intermediate results that are used elsewhere.
After: those results that the program may store without changing how it computes anything.

Elementwise arithmetic and sums have the same bits whatever is stored. The order in which loops add
a matrix product depends on what they are fused with (`kernel/product_order.py`). If storing a
result would change such an order, only results that are in memory anyway are kept. What may live
here: this decision.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.backends.protocol import Backend
from adjoint.engine import pipeline
from adjoint.engine.compilation import MAIN, Compilation
from adjoint.engine.varying import adds_by_length, product_orders
from adjoint.ir.uop import UOp
from adjoint.stages import Graph


def kept(
    needed: Sequence[UOp], wanted: Sequence[UOp], inputs: Sequence[UOp], backend: Backend
) -> set[UOp]:
    """The wanted nodes that are kept, of a graph over inputs alone."""
    if not adds_by_length([*needed, *wanted], backend.target):
        return set(wanted)
    alone = _orders(needed, inputs, backend)
    for some in (list(wanted), _in_memory(needed, wanted, inputs, backend)):
        if _orders([*needed, *some], inputs, backend) == alone:
            return set(some)
    return set()


def _orders(roots: Sequence[UOp], inputs: Sequence[UOp], backend: Backend) -> list[str]:
    """The orders of all products, in any order themselves."""
    groups = pipeline.groups_of(Graph(tuple(roots), tuple(inputs)), backend)
    return sorted(product_orders(groups, backend.target))


def _in_memory(
    needed: Sequence[UOp], wanted: Sequence[UOp], inputs: Sequence[UOp], backend: Backend
) -> list[UOp]:
    """The wanted nodes that are written to memory in any case."""
    whole = Compilation(backend, {MAIN: Graph((*needed, *wanted), tuple(inputs))})
    whole = pipeline.run_until(whole, "fuse")
    roots = whole.main.roots
    less = Compilation(backend, {**whole.parts, MAIN: Graph(roots[: len(needed)], tuple(inputs))})
    fused = pipeline.run_pass(less, "fuse").main
    written = {node for work in fused.work for node in work.nodes}
    ends = zip(wanted, roots[len(needed) :], strict=True)
    return [node for node, end in ends if fused.storage(end) in written]
