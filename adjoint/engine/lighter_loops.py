"""Loops do only the work that each iteration needs.

Before: a loop whose body multiplies elements of a sequence, adds products that no iteration reads,
and returns unused rows.
After: one product of the whole sequence before the loop, one sum behind it, and no unused rows.
Values of earlier iterations that a gradient's loop would recompute are passed to it as rows
(`loop_rows.py`, `loop_sums.py`).

No bit changes: products move only where tiles compute them, whose order of summation does not
depend on anything that changes.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.engine.loop_rows import hand_on, move_products
from adjoint.engine.loop_sums import sums_apart
from adjoint.engine.turns import Turns, taken_apart
from adjoint.ir.kernel_kind import PART
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import origin_scope
from adjoint.ir.uop import UOp, rebuild, toposort
from adjoint.ir.values import is_known
from adjoint.target import Target


def lighter_loops(roots: Sequence[UOp], target: Target) -> list[UOp]:
    """The roots over such loops."""
    nodes = list(toposort(roots, stop=is_known))
    loops = _taken_apart(nodes, roots)
    if not loops:
        return list(roots)
    for turns in reversed(loops.values()):
        hand_on(turns, loops, target)
    for turns in loops.values():
        move_products(turns, target)
    new: dict[UOp, UOp] = {}
    for node in nodes:
        if is_known(node):
            new[node] = node
        elif node in loops:
            _build(node, loops[node], new, target)
        elif node not in new:
            src = tuple([new[s] for s in node.src])
            new[node] = node if src == node.src else rebuild(node, src)
    return [new[root] for root in roots]


def _taken_apart(nodes: Sequence[UOp], roots: Sequence[UOp]) -> dict[UOp, Turns]:
    """The loops of which only parts are used."""
    loops = [node for node in nodes if node.op is OPS["loop"] and not is_known(node)]
    if not loops:
        return {}
    whole = {s for node in nodes if node.op.kernel is not PART for s in node.src} | set(roots)
    wanted: dict[UOp, dict[int, None]] = {}
    for node in nodes:
        if node.op.kernel is PART:
            wanted.setdefault(node.src[0], {})[node.arg.index] = None
    return {node: taken_apart(node, sorted(wanted[node])) for node in loops if node not in whole}


def _build(node: UOp, turns: Turns, new: dict[UOp, UOp], target: Target) -> None:
    """The loops that one has become: its results, and rows that others read, are new nodes."""
    with origin_scope(node.raw_origin):
        for part in sums_apart(turns, target):
            for key, value in part.build(new).items():
                new[key if isinstance(key, UOp) else node.part(key)] = value
    new[node] = node  # which no result is a part of any more
