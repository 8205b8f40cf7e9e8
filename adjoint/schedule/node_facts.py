"""What fusing wants to know of each node, before any is placed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjoint.ir.kernel_kind import Library, View
from adjoint.ir.uop import UOp, toposort
from adjoint.schedule.classify import POINTWISE, REDUCE, VIEW, weight
from adjoint.schedule.strategy import TILES, choose, step_kind
from adjoint.target import Target


@dataclass(slots=True, eq=False)
class Facts:
    """Of one node, on one target."""

    kind: str  # of step, or part of a kernel
    weight: int  # the cost of the op itself, for one element
    level: int  # above those of all its operands
    cost: int  # of one element computed anew from what will be in memory
    reduces: bool  # whether a reduction may share its kernel
    pieces: int  # from how many places an element may come, each of which its users have code for
    tiled: bool = False  # whether it is a product in tiles
    movable: bool = True  # whether code for it may be written wherever it is read


def facts_of(roots: Sequence[UOp], target: Target) -> dict[UOp, Facts]:
    """The facts of all nodes, sources first."""
    known: dict[UOp, Facts] = {}
    for node in toposort(roots):
        known[node] = _facts(node, [known[source] for source in node.src], target)
    return known


def _facts(node: UOp, below: list[Facts], target: Target) -> Facts:
    kind, own = step_kind(node, target), weight(node)
    level, cost, pieces, reduces = 0, own, 1, False
    for operand in below:
        level = operand.level if operand.level > level else level
        pieces = operand.pieces if operand.pieces > pieces else pieces
        cost += operand.cost
        reduces = reduces or operand.reduces
    found = Facts(kind, own, level + 1, cost, reduces, pieces)
    if kind != POINTWISE:
        _view_or_step(node, below, found, target)
    return found


def _view_or_step(node: UOp, below: list[Facts], found: Facts, target: Target) -> None:
    """What differs where elements are moved, or are in memory."""
    kernel, kind = node.op.kernel, found.kind
    found.reduces = kind == REDUCE or (kind == VIEW and found.reduces)
    spread = kind != VIEW or kernel.repeats  # what is spread is done once outside, or in memory
    found.cost = 1 if spread else below[0].cost
    found.tiled = type(kernel) is Library and choose(node, target).use == TILES
    if type(kernel) is View and kernel.joins:
        pieces = sum([operand.pieces for operand in below])
        found.movable = pieces <= max(target.limits.joined_pieces, len(below))
        found.pieces = pieces if found.movable else 1
