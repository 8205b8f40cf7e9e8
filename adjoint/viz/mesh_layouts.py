"""How every value of a program lies on its mesh, and what its members say to one another.

Before: a traced graph whose leaves are laid out. After: a layout for each of its nodes, those
inside of loops too, and the collectives of the graph that a member runs, as plain data. What may
live here: asking the partition. What may not: layouts (`sharding/propagate.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adjoint.errors import AdjointError
from adjoint.ir.expand import expand
from adjoint.ir.function import Function, UniqueName, functions_in
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import is_known
from adjoint.ops.collective import COLLECTIVES, bytes_sent, collective_text
from adjoint.sharding.order import current_order
from adjoint.sharding.partition import Partition, kept_whole
from adjoint.sharding.propagate import leaf_sharding
from adjoint.viz.source_lines import SourceLines

Layouts = Mapping[UOp, Sharding]
Shown = Mapping[UOp, Sequence[Sharding]]  # of a node with several results, of each


@dataclass(slots=True, eq=False)
class _Noting(Partition):
    """A partition that remembers those of the loops inside."""

    loops: list[Partition] = field(default_factory=list)

    def inside(self, parameters: Mapping[UOp, UOp], given: Layouts) -> Partition:
        made = _Noting(self.mesh, self.order, parameters, given=given, loops=self.loops)
        self.loops.append(made)
        return made


def leaf_layouts(leaves: Sequence[UOp], mesh: Mesh) -> dict[UOp, Sharding]:
    """How what is given lies."""
    return {leaf: leaf_sharding(leaf, mesh) for leaf in leaves}


def layouts_of(roots: Sequence[UOp], given: Layouts, mesh: Mesh) -> Shown:
    """The layout of every node down to what is given; none where the graph is on other meshes,
    too."""
    order = toposort(roots, stop=lambda n: n in given or is_known(n))
    leaves = dict(given) | leaf_layouts([n for n in order if is_known(n) and n not in given], mesh)
    images = dict(zip(order, expand(order, kept_whole), strict=True))
    parameters = {leaf: _part_of(leaf, layout) for leaf, layout in leaves.items()}
    partition = _Noting(mesh, current_order(), parameters, given=leaves)
    try:
        partition.add(list(images.values()))
    except AdjointError:  # on several meshes: none of them has all of it
        return {}
    known: dict[UOp, Sequence[Sharding]] = {}
    for part in (*partition.loops, partition):
        known |= {node: (layout,) for node, layout in part.layouts.items()}
        known |= part.results
    found = {node: known[image] for node, image in images.items()}
    for node in order:
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
    """`P('dp', None)`, `whole`; what is still to be joined behind it; of several results each."""
    texts = list(map(_text, layouts))
    return texts[0] if len(set(texts)) == 1 else f"({'; '.join(texts)})"


def _text(layout: Sharding) -> str:
    split = repr(layout.spec) if layout.dims else "whole"
    joins = [f"{kind} over {axis}" for axis, kind in layout.pending]
    return f"{split}, pending {' and '.join(joins)}" if joins else split


# ---- what members say to one another


def collectives_of(function: Function, lines: SourceLines) -> list[list[Any]]:
    """`[op, what, bytes that a member sends, times, type, place]`, in the order they are met."""
    return list(_met(function.outputs, 1, lines))


def _met(roots: Sequence[UOp], times: int, lines: SourceLines) -> list[list[Any]]:
    rows = []
    for node in toposort(roots):
        if node.op in COLLECTIVES:
            kind = f"{node.dtype.short}{list(node.shape)}"
            place = lines.place(node.raw_origin)
            rows.append([node.op.name, collective_text(node), bytes_sent(node), times, kind, place])
        for function in functions_in(node):
            turns = times * getattr(node.arg, "length", 1)
            rows += _met(function.outputs, turns, lines)
    return rows
