"""Pending values that several ops need joined are joined once, where they are made.

Before: y pending; (y * 2).exp() and y.relu() each join: all_reduce(y * 2), all_reduce(y).
After: all_reduce(y), and both use its result.

A pending value stays pending through linear ops, and is joined where an op needs it. If one value
reaches several such ops, joining it once costs less. The bytes of whole values are compared, so the
choice does not depend on the number of members. What may live here: that choice. What may not:
shardings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from adjoint.ir.mesh import Sharding
from adjoint.ir.uop import UOp

if TYPE_CHECKING:
    from adjoint.sharding.propagate import Plan


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
    needs = _needs(plans, pending)
    early: set[UOp] = set()
    settled: set[UOp] = set()
    for node in order:
        if node not in pending or node in settled:
            continue
        reached = _through(node, keepers, needs)
        if 2 * _bytes(node) < sum(asked.get(place, 0) for place in reached):
            early.add(node)
            settled |= reached
    return early


def _through(
    node: UOp, keepers: Mapping[UOp, list[UOp]], needs: Mapping[UOp, set[UOp]]
) -> set[UOp]:
    """The node, and the nodes that are pending because of it alone: joining it joins them."""
    found, new = {node}, [node]
    while new:
        following = dict.fromkeys(k for n in new for k in keepers.get(n, ()))
        new = [k for k in following if k not in found and needs[k] <= found]
        found.update(new)
    return found


def _needs(plans: Mapping[UOp, Plan], pending: set[UOp]) -> dict[UOp, set[UOp]]:
    """For each pending node the pending operands on which it depends."""
    found = {}
    for node in pending:
        pairs = zip(node.src, plans[node].operands, strict=True) if node in plans else ()
        found[node] = {source for source, below in pairs if below.pending}
    return found


def _asked(
    order: Sequence[UOp],
    roots: Sequence[UOp],
    layouts: Mapping[UOp, Sharding],
    plans: Mapping[UOp, Plan],
    pending: set[UOp],
) -> dict[UOp, int]:
    """The cost of joining nodes for their users: a reduction into parts costs half as much."""
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
    """For each pending node the users that keep it pending."""
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
