"""vmap as a graph transform: a graph for one example becomes the graph for a batch of them.

In: roots, and for some leaves the same leaf with one more axis in front. Out: the roots with that
axis, where they depend on such a leaf. Each primitive's record says what it does (`batch`);
composites are expanded and batched inside, unless they have a rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adjoint.errors import AutodiffError
from adjoint.ir.opdef import expand_composite
from adjoint.ir.origin import enter_origin, leave_origin
from adjoint.ir.uop import UOp, rebuild, toposort


def batch(roots: Sequence[UOp], given: Mapping[UOp, UOp], size: int) -> list[tuple[UOp, bool]]:
    """Every root, and whether it has the new axis."""
    new: dict[UOp, tuple[UOp, bool]] = {leaf: (node, True) for leaf, node in given.items()}
    _batch_into(roots, new, size)
    return [new[root] for root in roots]


def _batch_into(roots: Sequence[UOp], new: dict[UOp, tuple[UOp, bool]], size: int) -> None:
    """Recursion follows the nesting of composites, never the depth of the graph."""
    for node in toposort(roots, stop=new.__contains__):
        if node in new:
            continue
        if not any(new[s][1] for s in node.src):
            new[node] = (_kept(node, new), False)
        elif node.op.kind == "composite" and node.op.batch is None:
            body = expand_composite(node)
            _batch_into([body], new, size)
            new[node] = new[body]
        else:
            new[node] = _batched(node, new, size)


def _kept(node: UOp, new: dict[UOp, tuple[UOp, bool]]) -> UOp:
    """The node without the axis; it changes only if it waits for something that has the axis."""
    src = tuple(new[s][0] for s in node.src)
    return node if src == node.src else rebuild(node, src)


def _batched(node: UOp, new: dict[UOp, tuple[UOp, bool]], size: int) -> tuple[UOp, bool]:
    if node.op.batch is None:
        problem = "has no batching rule, so it cannot be used inside vmap"
        raise AutodiffError("E5001", problem, op=node.op.name, operands=[("result", node)])
    src, flags = zip(*(new[s] for s in node.src), strict=True)
    token = enter_origin(node.raw_origin)
    try:
        result = node.op.batch(node, src, flags, size)
        return result if isinstance(result, tuple) else (result, True)
    finally:
        leave_origin(token)
