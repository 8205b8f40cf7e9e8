"""A graph as ordered pieces of work: kernels as groups, and steps of other kinds.

Before: exp(x @ w) over primitives.
After: [library: contract], [kernel: exp over loops (m, n), reading the product].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from adjoint.ir.kernel_kind import is_constant
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp, toposort
from adjoint.schedule.fuse import Fuser, Reason
from adjoint.schedule.strategy import strategy_of
from adjoint.schedule.units import Unit
from adjoint.stages import Graph, Group, Index, Strategy
from adjoint.target import Target


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Work:
    """One step: its kind, the nodes it makes, the nodes in memory it reads; a kernel's group."""

    kind: str
    nodes: tuple[UOp, ...]
    reads: tuple[UOp, ...]
    group: Group | None
    strategy: Strategy | None = None

    def __str__(self) -> str:
        names = ", ".join(node.op.name for node in self.nodes)
        loops = f", loops {self.group.sizes}" if self.group else ""
        return f"{self.kind}: {names}{loops}" + (f"; {self.strategy}" if self.strategy else "")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fused:
    """A graph in pieces, in running order; `alias` says which nodes are another node's memory,
    `reasons` what became of each node that is computed, and why."""

    graph: Graph
    work: tuple[Work, ...]
    alias: Mapping[UOp, UOp]
    reasons: Mapping[UOp, Reason] = field(default_factory=dict)

    def storage(self, node: UOp) -> UOp:
        """The node whose memory holds this one."""
        while node in self.alias:
            node = self.alias[node]
        return node


def fuse_groups(graph: Graph, target: Target) -> Fused:
    """The work that computes the roots."""
    fuser = Fuser(graph.roots, target)
    units = fuser.run()
    work = tuple(_work(fuser, unit) for unit in units)
    return Fused(graph, work, fuser.makers.alias, fuser.reasons)


def choose_strategies(fused: Fused, target: Target) -> Fused:
    """Every piece of work with how it is computed, and why."""
    return replace(fused, work=tuple(_with_strategy(work, target) for work in fused.work))


def _with_strategy(work: Work, target: Target) -> Work:
    reduced = tuple(node for node, _, _ in work.group.reduced) if work.group else ()
    rows = work.group is not None and _works_on_rows(work.group)
    return replace(work, strategy=strategy_of(work.nodes, reduced, target, rows))


def _works_on_rows(group: Group) -> bool:
    """Whether something besides results of products is computed beside them: for their rows."""
    places = {at for _, at, _ in group.reduced}
    if len(places) != 1:
        return len(places) > 1
    (at,) = places
    return any({*chain(*index)} != {*chain(*at)} for _, index in group.outputs)


def _work(fuser: Fuser, unit: Unit) -> Work:
    reads = tuple(dict.fromkeys(unit.reads))
    group = _group(fuser, unit) if unit.kind == "kernel" else None
    return Work(unit.kind, tuple(unit.outputs), reads, group)


def _group(fuser: Fuser, unit: Unit) -> Group:
    """The unit with its loops numbered from 0."""
    numbers: dict[int, int] = {}

    def renumbered(index: Index) -> Index:
        settled = fuser.atoms.settled(index)
        return tuple(tuple(numbers.setdefault(a, len(numbers)) for a in axis) for axis in settled)

    outputs = tuple((node, renumbered(index)) for node, index in unit.outputs.items())
    reduced = tuple(
        (n, renumbered(at), renumbered(loops)) for n, (at, loops) in unit.reduced.items()
    )
    rows = unit.outer if unit.reduced else None  # of a sum that went elsewhere there are none
    (outer,) = renumbered((rows or (),))
    sizes = tuple(fuser.atoms.sizes[a] for a in numbers)
    inputs = _in_order_of_use([n for n in unit.reads if n not in unit.outputs], unit)
    return Group(outputs, inputs, sizes, outer, reduced)


def _in_order_of_use(reads: Sequence[UOp], unit: Unit) -> tuple[UOp, ...]:
    """The operands of a unit in the order in which its results use them, independent of the rest of
    the graph: equal units share one kernel.
    """
    found = toposort([*unit.outputs], stop=set(reads).__contains__)
    places = {node: place for place, node in enumerate(found)}
    return tuple(sorted(reads, key=lambda node: places.get(node, len(places))))


def group_key(group: Group, nodes: Sequence[UOp]) -> tuple[Any, ...]:
    """A key for what a group computes: groups with one key have the same loops. With dynamic sizes,
    no group equals another.

    `nodes` are those of the group, sources first (`nodes_of`); inputs are identified by their
    types.
    """
    numbers: dict[UOp, int] = {}
    items: list[Any] = []
    inputs = set(group.inputs)
    for node in nodes:
        if varies(*node.shape):
            return (group,)
        numbers[node] = len(numbers)
        if is_constant(node):
            items.append(node)
        elif node in inputs:
            items += (node.shape, node.dtype)
        else:
            items += (node.op, node.arg, node.shape, node.dtype, *[numbers[s] for s in node.src])
    items += [numbers[node] for node in group.inputs]
    items += [(numbers[node], index) for node, index in group.outputs]
    items += [(numbers[node], index, loops) for node, index, loops in group.reduced]
    return (*items, group.sizes, group.outer, len(group.inputs), len(group.outputs))


def nodes_of(group: Group) -> list[UOp]:
    """The inputs of a group and all nodes between them and its results, sources first."""
    roots = [*group.inputs, *(node for node, _ in group.outputs)]
    return toposort(roots, stop=set(group.inputs).__contains__)
