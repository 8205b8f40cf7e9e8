"""What fusing wants to know of each node, before any is placed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjoint.ir.kernel_kind import View
from adjoint.ir.uop import UOp, toposort
from adjoint.schedule import classify
from adjoint.schedule.classify import POINTWISE, REDUCE, VIEW
from adjoint.schedule.strategy import step_kind
from adjoint.target import Target


@dataclass(slots=True, eq=False)
class Facts:
    """Of one node, on one target."""

    kind: str  # of step, or part of a kernel
    weight: int  # the cost of the op itself, for one element
    level: int  # above those of all its operands
    cost: int  # of one element computed anew from what will be in memory
    reduces: bool  # whether a reduction may share its kernel
    pieces: int  # from how many places an element may come, each of which a kernel has code for
    movable: bool = True  # whether code for it may be written wherever it is read


def facts_of(roots: Sequence[UOp], target: Target) -> dict[UOp, Facts]:
    """The facts of all nodes, sources first."""
    known: dict[UOp, Facts] = {}
    for node in toposort(roots):
        known[node] = _facts(node, [known[source] for source in node.src], target)
    return known


def _facts(node: UOp, below: list[Facts], target: Target) -> Facts:
    kind = step_kind(node, target)
    level = 1 + max([b.level for b in below], default=0)
    reduces = kind == REDUCE or (kind in (VIEW, POINTWISE) and any(b.reduces for b in below))
    kernel = node.op.kernel
    weight = classify.weight(node)
    found = Facts(kind, weight, level, _cost(node, kind, weight, below), reduces, 1)
    if type(kernel) is View and kernel.joins:
        found.pieces = sum([b.pieces if b.movable else 1 for b in below])
        found.movable = found.pieces <= max(target.limits.joined_pieces, len(below))
    elif below:
        found.pieces = max([b.pieces if b.movable else 1 for b in below])
    return found


def _cost(node: UOp, kind: str, weight: int, below: list[Facts]) -> int:
    if kind == POINTWISE:
        return weight + sum([b.cost for b in below])
    if kind != VIEW or node.op.kernel.repeats:  # what is spread is done once outside, or in memory
        return 1
    return below[0].cost
