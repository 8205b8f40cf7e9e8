"""Composites become their bodies.

Before: softmax(x).
After: its primitives: max, sub, exp, reduce_sum, true_div. Nodes with values are leaves and stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjoint.ir.kernel_kind import PART
from adjoint.ir.opdef import expand_composite
from adjoint.ir.uop import UOp, rebuild, toposort
from adjoint.ir.values import is_known

Taken = Callable[[UOp], UOp | None]


def expand(roots: Sequence[UOp], taken: Taken = lambda node: None) -> list[UOp]:
    """The roots over primitives alone. `taken` may return a replacement for a composite other than
    its body: a node that a target computes as a whole.
    """
    new: dict[UOp, UOp] = {}
    _expand_into(roots, new, taken)
    return [new[root] for root in roots]


def _expand_into(roots: Sequence[UOp], new: dict[UOp, UOp], taken: Taken) -> None:
    """Recursion follows the nesting of composites, never the depth of the graph."""
    for node in toposort(roots, stop=lambda n: n in new or is_known(n)):
        if node in new:
            continue
        if is_known(node):
            new[node] = node
            continue
        src = tuple(new[s] for s in node.src)
        if node.op.kernel is PART and src[0].op.name == "bundle":
            new[node] = src[0].src[node.arg.index]
            continue
        same = node if src == node.src else rebuild(node, src)
        if same.op.kind == "composite" and not is_known(same):
            whole = taken(same)
            if whole is not same:
                body = expand_composite(same) if whole is None else whole
                _expand_into([body], new, taken)
                same = new[body]
        new[node] = new[same] = same
