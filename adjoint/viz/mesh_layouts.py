"""The sharding of every value of a program, and the communication of its members.

Before: a traced graph whose leaves are sharded. After: a sharding for each of its nodes, including
those inside loops, and the collectives of the graph that a member runs, as plain data. What may
live here: asking the partition. What may not: shardings (`sharding/propagate.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adjoint.errors import AdjointError
from adjoint.ir.expand import expand
from adjoint.ir.function import UniqueName, functions_in
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import Site
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import is_known
from adjoint.ops.collective import COLLECTIVES, bytes_sent, collective_text
from adjoint.sharding.order import current_order
from adjoint.sharding.partition import Partition, kept_whole
from adjoint.sharding.propagate import leaf_sharding

Layouts = Mapping[UOp, Sharding]
Shown = Mapping[UOp, Sequence[Sharding]]  # of a node with several results, of each


@dataclass(slots=True, eq=False)
class _Noting(Partition):
    """A partition that remembers those of the loops inside."""

    noted: list[Partition] = field(default_factory=list)

    def inside(self, parameters: Mapping[UOp, UOp], given: Layouts) -> Partition:
        made = _Noting(self.mesh, self.order, parameters, given=given, noted=self.noted)
        self.noted.append(made)
        return made


def leaf_layouts(leaves: Sequence[UOp], mesh: Mesh) -> dict[UOp, Sharding]:
    """The shardings of the inputs."""
    return {leaf: leaf_sharding(leaf, mesh) for leaf in leaves}


def layouts_of(roots: Sequence[UOp], given: Layouts, mesh: Mesh) -> Shown:
    """The sharding of every node down to the inputs. If there are several meshes, each has its own
    nodes; a value from another is whole until a SHARD shards it.
    """
    order = toposort(roots, stop=lambda n: n in given or is_known(n))
    leaves = dict(given) | leaf_layouts([n for n in order if is_known(n) and n not in given], mesh)
    images = dict(zip(order, expand(order, kept_whole), strict=True))
    meshes = dict.fromkeys(n.device.mesh for n in order if isinstance(n.device, Sharding))
    if len(meshes) < 2:
        return _on_mesh(images, leaves, mesh)
    found: dict[UOp, Sequence[Sharding]] = {}
    for one in meshes:
        own = {node: image for node, image in images.items() if _is_on(node, one)}
        away = [n for n in toposort(list(own.values())) if _is_away(n, one)]
        here = {leaf: layout for leaf, layout in leaves.items() if layout.mesh == one}
        others = leaf_layouts([n for n in (*leaves, *away) if n not in here], one)
        found |= _on_mesh(own, here | others, one)
    return found


def _is_on(node: UOp, mesh: Mesh) -> bool:
    return isinstance(node.device, Sharding) and node.device.mesh == mesh


def _is_away(node: UOp, mesh: Mesh) -> bool:
    return isinstance(node.device, Sharding) and node.device.mesh != mesh


def _on_mesh(images: Mapping[UOp, UOp], leaves: Layouts, mesh: Mesh) -> Shown:
    """The shardings of nodes, by the partition of their expansions."""
    parameters = {leaf: _part_of(leaf, layout) for leaf, layout in leaves.items()}
    partition = _Noting(mesh, current_order(), parameters, given=leaves)
    try:
        partition.add(list(images.values()))
    except AdjointError:  # what cannot be partitioned says so when it is run
        return {}
    known: dict[UOp, Sequence[Sharding]] = {}
    for part in (*partition.noted, partition):
        known |= {node: (layout,) for node, layout in part.layouts.items()}
        known |= {loop: plan.results for loop, plan in part.loops.items()}
    found = {node: known[image] for node, image in images.items()}
    for node in images:
        found |= _inside(node, known)
    return found


def _inside(node: UOp, known: Shown) -> dict[UOp, Sequence[Sharding]]:
    """The same inside of loops."""
    found: dict[UOp, Sequence[Sharding]] = {}
    for function in functions_in(node):
        order = [*function.inputs, *toposort(function.outputs)]
        pairs = zip(order, expand(order, kept_whole), strict=True)
        found |= {n: known[image] for n, image in pairs if image in known}
        for inner in order:
            found |= _inside(inner, known)
    return found


def _part_of(leaf: UOp, layout: Sharding) -> UOp:
    made: UOp = OPS["input"].call(UniqueName("part"), layout.local(leaf.shape), leaf.dtype)
    return made


def layout_text(layouts: Sequence[Sharding]) -> str:
    """`P('dp', None)`, `whole`; then any pending sum; of several results each."""
    texts = list(map(_text, layouts))
    return texts[0] if len(set(texts)) == 1 else f"({'; '.join(texts)})"


def _text(layout: Sharding) -> str:
    split = repr(layout.spec) if layout.dims else "whole"
    joins = [f"{kind} over {axis}" for axis, kind in layout.pending]
    return f"{split}, pending {' and '.join(joins)}" if joins else split


# ---- what members say to one another


class Spoken:
    """The collectives that a member runs, each with its node of the traced graph.

    A collective keeps the origin of its node; among several nodes with one origin it belongs to the
    one of whose value a member has as many bytes as it sends, in the order of both.
    """

    def __init__(self, order: Sequence[UOp], layouts: Shown):
        self._near: dict[Site | None, list[UOp]] = {}
        for node in order:
            self._near.setdefault(node.raw_origin, []).append(node)
        self._layouts, self._met = layouts, set[UOp]()

    def rows(self, roots: Sequence[UOp], times: int = 1) -> Iterator[tuple[UOp, int, UOp | None]]:
        """`(collective, how often it is met, the node)`, in the order they are met."""
        for node in toposort(roots):
            if node.op in COLLECTIVES:
                yield node, times, self._node(node)
            for function in functions_in(node):
                turns = times * getattr(node.arg, "length", 1)
                yield from self.rows(function.outputs, turns)

    def _node(self, collective: UOp) -> UOp | None:
        near = self._near.get(collective.raw_origin, [])
        alike = [n for n in near if self._is_sent(n, collective)] or near
        found = next((n for n in alike if n not in self._met), alike[-1] if alike else None)
        if found is not None:
            self._met.add(found)
        return found

    def _is_sent(self, node: UOp, collective: UOp) -> bool:
        """Whether a member's part of the node is what it sends."""
        given, layouts = collective.src[0], self._layouts.get(node, ())
        if len(layouts) != 1 or isinstance(node.dtype, tuple):
            return False
        (layout,) = layouts
        axes = {*layout.used, *(axis for axis, _ in layout.pending)}
        same = (layout.local(node.shape), node.dtype) == (given.shape, given.dtype)
        return same and axes.issuperset(collective.arg.axes)


def collective_row(node: UOp, times: int) -> list[Any]:
    """`[op, what, bytes that a member sends, times, type]`."""
    kind = f"{node.dtype.short}{list(node.shape)}"
    return [node.op.name, collective_text(node), bytes_sent(node), times, kind]
