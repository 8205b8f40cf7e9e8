"""The pipeline stage of each node of a local graph.

Leaves and markers (`to_stage`) have given stages. A forward node gets the last stage of its
operands. A node of the backward pass gets the stage of the forward values that it needs, or the
last stage of its users. A node without a stage is computed by every stage that needs it.

What may live here: stages of nodes. What may not: cutting (`pieces.py`), shardings, or time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from adjoint.errors import ShardingError
from adjoint.ir.kernel_kind import PART, Identity, View
from adjoint.ir.uop import UOp, toposort
from adjoint.ops.collective import to_stage
from adjoint.sharding.timetable import BACKWARD, FORWARD

Stages = Mapping[UOp, int | None]
Place = tuple[str, int]  # a direction and a stage


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """The stage of every node of a microbatch, and in which direction it is computed there."""

    stages: Stages
    forward: frozenset[UOp]

    def place(self, node: UOp) -> Place | None:
        """Where a node is computed; None: anywhere."""
        stage = self.stages.get(node)
        if stage is None:
            return None
        return (FORWARD if node in self.forward else BACKWARD), stage


def depth(order: Iterable[UOp], leaves: Stages) -> dict[UOp, int | None]:
    """The last stage that each node depends on; `order` has sources first."""
    found: dict[UOp, int | None] = {}
    for node in order:
        below = [s for s in (found[x] for x in node.src) if s is not None]
        if node in leaves:
            found[node] = leaves[node]
            continue
        if node.op is to_stage:
            below.append(node.arg.stage)
        found[node] = max(below, default=None)
    return found


def microbatch_stages(
    sources: Sequence[tuple[UOp, int | None]], leaves: Stages, count: int
) -> Placed:
    """The stages of the nodes that are computed for a microbatch. Each source has the stage that
    requests it, None: none in particular, as for a loss.
    """
    order = toposort([node for node, _ in sources])
    last = count - 1
    deep = depth(order, leaves)
    told = _below([node for node, stage in sources if stage is None])
    ahead = {n for n in order if deep[n] is not None and (deep[n] != last or n in told)}
    stages: dict[UOp, int | None] = {n: deep[n] if n in ahead else None for n in order}
    _place_backwards(order, sources, deep, ahead, stages, last)
    for node, stage in sources:
        if deep[node] is None and node not in leaves:
            stages[node] = last if stage is None else stage
    parts = [n for n in order if n.op.kernel is PART]
    stages |= {n: stages[n.src[0]] for n in parts}
    sent = [x for n in order for x in n.src if _is_before(stages[x], stages[n])]
    forward = told | _below([*sent])
    forward |= {n for n in parts if n.src[0] in forward}
    _check_order(order, stages, forward)
    return Placed(stages, frozenset(forward))


def _place_backwards(
    order: Sequence[UOp],
    sources: Sequence[tuple[UOp, int | None]],
    deep: Stages,
    ahead: set[UOp],
    stages: dict[UOp, int | None],
    last: int,
) -> None:
    wanted: dict[UOp, int] = {}
    for node, stage in sources:
        wanted[node] = max(wanted.get(node, 0), last if stage is None else stage)
    for node in reversed(order):
        if deep[node] is None or node in ahead:
            continue
        near = [s for x in node.src if x in ahead and (s := stages[x]) is not None]
        marked = node.op is to_stage
        stages[node] = node.arg.stage if marked else max([*near, wanted.get(node, 0)])
        for x in node.src:
            wanted[x] = max(wanted.get(x, 0), stages[node] or 0)


def _below(nodes: Sequence[UOp]) -> set[UOp]:
    return set(toposort(nodes))


def _is_before(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one < other


def _check_order(order: Sequence[UOp], stages: Stages, forward: set[UOp]) -> None:
    """A forward pass goes up the stages, a backward pass down."""
    for node in order:
        own = stages[node]
        for x in node.src:
            other = stages[x]
            if own is None or other is None or not x.src:
                continue
            up = node in forward
            wrong = (x not in forward or other > own) if up else x not in forward and other < own
            if wrong:
                raise uncut(node, f"stage {own} needs what stage {other} computes later")


def uncut(node: UOp, problem: str) -> ShardingError:
    """E7007 about a node that has no place among the stages."""
    fix = "name the modules that stages begin with, in the order in which they are called: "
    fix += 'shard_model(model, mesh, stages=["layers.4"])'
    return ShardingError("E7007", problem, op="pipeline", operands=[("value", node)], help=fix)


def once_stages(order: Sequence[UOp], leaves: Stages, forward_only: bool) -> dict[UOp, int | None]:
    """The stages of the nodes that are computed once: that of the largest operand, which then need
    not be sent; in a forward pass alone, the last stage of the operands.
    """
    if forward_only:
        return depth(order, leaves)
    found: dict[UOp, int | None] = {}
    for node in order:
        if node in leaves:
            found[node] = leaves[node]
        elif node.op is to_stage:
            found[node] = node.arg.stage
        elif node.op.kernel is PART:
            found[node] = found[node.src[0]]
        else:
            rows = [(_weight(x), s) for x in node.src if (s := found[x]) is not None]
            found[node] = max(rows)[1] if rows else None
    return found


def _weight(node: UOp) -> int:
    """Bytes that must be sent for a node."""
    while shows(node):
        (node,) = node.src
    found: int = node.size * node.dtype.itemsize
    return found


def shows(node: UOp) -> bool:
    """Whether a node shows another value, which is no larger, and is sent in its place."""
    if type(node.op.kernel) not in (View, Identity) or len(node.src) != 1:
        return False
    return bool(node.src[0].size <= node.size)
