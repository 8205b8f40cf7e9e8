"""Which pending values are joined where they are made, because several things need them joined.

Before: y pending; (y * 2).exp() and y.relu() each join: all_reduce(y * 2), all_reduce(y).
After: all_reduce(y), and both go on from there.

What is pending stays so through what is linear, and is joined where it is needed. Where one value
reaches several such places, joining it once costs less. The bytes of whole values are compared, so
the number of members does not show. What may live here: that choice. What may not: layouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from adjoint.ir.mesh import Sharding
from adjoint.ir.uop import UOp

if TYPE_CHECKING:
    from adjoint.sharding.propagate import Plan

Places = dict[UOp, int]  # where something is joined, and what that costs


def joined_early(
    order: Sequence[UOp],
    roots: Sequence[UOp],
    layouts: Mapping[UOp, Sharding],
    plans: Mapping[UOp, Plan],
) -> set[UOp]:
    """The nodes that are joined where they are made."""
    pending = {node for node in order if layouts[node].pending}
    if not pending:
        return set()
    asked = _asked(order, roots, layouts, plans, pending)
    keepers = _keepers(order, plans, pending)
    early: set[UOp] = set()
    reached: dict[UOp, Places] = {}
    for node in reversed(order):
        if node not in pending:
            continue
        whole = 2 * _bytes(node)
        places = dict.fromkeys([node], asked[node]) if asked.get(node) else {}
        for keeper in keepers.get(node, ()):
            places |= reached[keeper]
        if whole <= sum(places.values()) and places != {node: whole}:
            if len(places) > 1 or node in places:
                early.add(node)
            places = {node: whole} if node in early else places
        reached[node] = places
    return early


def _asked(
    order: Sequence[UOp],
    roots: Sequence[UOp],
    layouts: Mapping[UOp, Sharding],
    plans: Mapping[UOp, Plan],
    pending: set[UOp],
) -> dict[UOp, int]:
    """What it costs to join nodes for those who ask for it: a reduction into parts half as much."""
    wanted: dict[UOp, set[Sharding]] = {}
    for root in roots:
        if root in pending:
            wanted.setdefault(root, set()).add(layouts[root].resolved())
    for node in order:
        plan = plans.get(node)
        if plan is None:
            continue
        for source, below in zip(node.src, plan.operands, strict=True):
            if source in pending and not below.pending:
                wanted.setdefault(source, set()).add(below)
    return {
        node: sum(_cost(node, layouts[node], layout) for layout in asked)
        for node, asked in wanted.items()
    }


def _keepers(
    order: Sequence[UOp], plans: Mapping[UOp, Plan], pending: set[UOp]
) -> dict[UOp, list[UOp]]:
    """For each pending node those that go on with it as it is."""
    found: dict[UOp, list[UOp]] = {}
    for node in order:
        plan = plans.get(node)
        if plan is not None and node in pending:
            for source, below in zip(node.src, plan.operands, strict=True):
                if below.pending:
                    found.setdefault(source, []).append(node)
    return found


def _cost(node: UOp, old: Sharding, new: Sharding) -> int:
    axes = {axis for axis, _ in old.pending}
    return _bytes(node) * (1 if axes.intersection(new.used) else 2)


def _bytes(node: UOp) -> int:
    return int(node.size) * node.dtype.itemsize
