"""Graph and shardings → the graph that every member of the mesh runs, with explicit collectives.

Before: exp(contract(x, w)), x and w split along what is summed.
After: exp(all_reduce(contract(x, w))) on the parts that one member has.

There is one local graph: members differ in what they are given, and in AXIS_INDEX. Parts of a
dimension are equal; the last are filled up, with elements that nothing reads or that are masked
where they are joined. A value that is whole and wanted in parts is computed in parts, down to
leaves, so a sharded draw or a sharded zero costs a part of the whole.

What may live here: local nodes for nodes. What may not: layouts (`propagate.py`, `convert.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from adjoint.ir.expand import expand
from adjoint.ir.kernel_kind import CONSTANT, PART, Library, Reduce, is_counting
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import origin_scope
from adjoint.ir.uop import UOp, toposort
from adjoint.ops.collective import axis_index, collective_permute, send_rows
from adjoint.sharding.convert import converted, sliced_part
from adjoint.sharding.indexing import counted_axis
from adjoint.sharding.joins import reduced_part
from adjoint.sharding.loops import is_loop, loop_part
from adjoint.sharding.propagate import (
    Plan,
    is_leaf,
    leaf_sharding,
    letters_of,
    plan_of,
    planned,
    whole_plan,
)
from adjoint.sharding.reshapes import reshaped_dims

_EXPAND, _RESHAPE, _SHRINK, _PAD, _FOLD, _CONST, _GATHER = (
    OPS[name] for name in ("expand", "reshape", "shrink", "pad_constant", "fold", "const", "gather")
)
_SHARD, _COPY = OPS["shard"], OPS["copy"]
_INDEXING = {_GATHER, OPS["scatter_add"], OPS["scatter"]}


def kept_whole(node: UOp) -> UOp | None:
    """Composites that are not expanded before a graph is partitioned."""
    return node if node.op is send_rows else None


_DEEPEST = 200  # nodes above a leaf that are computed in parts for one that is wanted so


@dataclass(slots=True, eq=False)
class Partition:
    """The local graph while it grows: for each node its layout and what a member has of it."""

    mesh: Mesh
    order: str
    parameters: Mapping[UOp, UOp]  # the local node of each leaf that is given
    layouts: dict[UOp, Sharding] = field(default_factory=dict)
    local: dict[UOp, UOp] = field(default_factory=dict)
    parts: dict[tuple[UOp, Sharding], UOp] = field(default_factory=dict)
    uses: Counter[UOp] = field(default_factory=Counter)
    given: Mapping[UOp, Sharding] = field(default_factory=dict)  # of leaves that do not say
    results: dict[UOp, tuple[Sharding, ...]] = field(default_factory=dict)  # of loops

    def inside(self, parameters: Mapping[UOp, UOp], given: Mapping[UOp, Sharding]) -> Partition:
        """Another graph, on the same mesh in the same order."""
        return Partition(self.mesh, self.order, parameters, given=given)

    def add(self, roots: Sequence[UOp]) -> None:
        """Everything that the roots need."""
        order = toposort(roots, stop=self._stops)
        self.uses.update(roots)
        for node in order:
            self.uses.update(() if self._stops(node) else node.src)
        for node in order:
            if node not in self.local:
                with origin_scope(node.raw_origin):
                    self._add(node)

    def _stops(self, node: UOp) -> bool:
        return node in self.parameters or is_leaf(node) or node in self.local

    def _add(self, node: UOp) -> None:
        if node in self.parameters:
            known = self.given.get(node)
            self.layouts[node] = leaf_sharding(node, self.mesh) if known is None else known
            self.local[node] = self.parameters[node]
        elif is_leaf(node):
            self.layouts[node] = Sharding(self.mesh)
            self.local[node] = _placeless(node)
        elif is_loop(node):
            made = loop_part(self, node, expand(node.arg.body.outputs, kept_whole))
            self.layouts[node] = Sharding(self.mesh)
            self.results[node], self.local[node] = made.results, made.node
        elif node.op.kernel is PART and node.src[0] in self.results:
            self.layouts[node] = self.results[node.src[0]][node.arg.index]
            self.local[node] = self.local[node.src[0]].part(node.arg.index)
        else:
            given = [self.layouts[s] for s in node.src]
            plan = planned(node, given, self.mesh, self.order)
            self.layouts[node] = plan.result
            self.local[node] = self._built(node, plan)

    def wanted(self, node: UOp, layout: Sharding) -> UOp:
        """What a member has of a node in a layout."""
        found = self.parts.get((node, layout))
        if found is None:
            with origin_scope(node.raw_origin):
                found = self._in_parts(node, layout, 0)
                if found is None:
                    old = self.layouts[node]
                    found = converted(self.local[node], node.shape, old, layout)
            self.parts[node, layout] = found
        return found

    # ---- values that are whole, in parts

    def _in_parts(self, node: UOp, layout: Sharding, depth: int) -> UOp | None:
        """A part of a value that is whole everywhere, computed from parts; None if it cannot be."""
        if self.layouts[node] == layout:
            return self.local[node]
        if self.layouts[node].dims or self.layouts[node].pending or layout.pending:
            return None
        if node.op.kernel is CONSTANT and node not in self.parameters:
            return _constant(node, layout)
        if node in self.parameters or is_leaf(node) or depth > _DEEPEST:
            return None
        plan = self._plan_for(node, layout)
        if plan is None:
            return _counted(self.local[node], layout) if is_counting(node) else None
        local = [
            self._part_below(source, below, depth + 1)
            for source, below in zip(node.src, plan.operands, strict=True)
        ]
        return self._made(node, plan, local)

    def _part_below(self, node: UOp, layout: Sharding, depth: int) -> UOp:
        found = self.parts.get((node, layout))
        if found is None:
            found = self._in_parts(node, layout, depth)
            if found is None:
                found = converted(self.local[node], node.shape, self.layouts[node], layout)
            self.parts[node, layout] = found
        return found

    def _plan_for(self, node: UOp, layout: Sharding) -> Plan | None:
        """How operands must lie for a result in a layout; None if that cannot be said."""
        mesh = self.mesh
        if node.op is _RESHAPE:
            kept, found = reshaped_dims(mesh, node.shape, node.src[0].shape, layout.dims)
            dims = Sharding(mesh, kept).dims
            return Plan((Sharding(mesh, found),), layout) if dims == layout.dims else None
        terms = letters_of(node)
        if terms is None or node.op in _INDEXING:
            return None
        pairs = [(c, layout.axes(d)) for d, c in enumerate(terms.out)]
        assigned = {c: axes for c, axes in pairs if axes}
        if len(assigned) != len([axes for _, axes in pairs if axes]) or not _splits(assigned):
            return None
        whole = whole_plan(node, mesh).operands
        plan = plan_of(node, terms, assigned, (), whole, mesh)
        uneven = any(not o.fits(s.shape) for o, s in zip(plan.operands, node.src, strict=True))
        return None if uneven and node.op.level != "both" else plan

    # ---- a node on what a member has of its operands

    def _built(self, node: UOp, plan: Plan) -> UOp:
        if node.op is _SHARD:
            return self.wanted(self._below_shards(node), plan.result)
        local = [self.wanted(s, below) for s, below in zip(node.src, plan.operands, strict=True)]
        if node.op is _COPY:
            return local[0]
        return self._made(node, plan, local)

    def _below_shards(self, node: UOp) -> UOp:
        """What a SHARD lays out: a layout that nothing else needs is not made on the way, so that
        what is pending goes where it belongs at once."""
        (x,) = node.src
        while x.op is _SHARD and x not in self.parameters and self.uses[x] == 1 and not is_leaf(x):
            (x,) = x.src
        return x

    def _made(self, node: UOp, plan: Plan, local: list[UOp]) -> UOp:
        op = node.op
        if type(op.kernel) in (Reduce, Library) and op is not _FOLD:
            terms = letters_of(node)
            if terms is not None:
                return reduced_part(node, terms, local, plan.operands, self.order)
        if op is send_rows and plan.result.axes(0):
            axes, size = plan.result.axes(0), plan.result.parts(0)
            return collective_permute(local[0], axes, size, node.arg.pairs)
        if op in _INDEXING:
            local = _own_rows(node, local, plan)
        return UOp(op, tuple(local), _attributes(node, local, plan.result))


def _splits(assigned: Mapping[str, object]) -> bool:
    return not any(c in "1." for c in assigned)


def _placeless(node: UOp) -> UOp:
    """A constant on no device: the program has one."""
    if node.op is _CONST and node.arg.device is not None:
        made: UOp = _CONST(node.arg.value, node.arg.dtype, node.arg.shape)
        return made
    return node


def _constant(node: UOp, layout: Sharding) -> UOp:
    made: UOp = _CONST(node.arg.value, node.arg.dtype, layout.local(node.shape))
    return made


def _counted(local: UOp, layout: Sharding) -> UOp | None:
    """A part of a running count: it begins where the part does."""
    axis, reverse = local.arg.axis, local.arg.reverse
    if reverse or len(layout.used) == 0 or layout.dims[:axis] != ((),) * axis:
        return None
    if len(layout.dims) != axis + 1 or not local.shape[axis]:
        return None
    axes, parts = layout.axes(axis), layout.parts(axis)
    extent = -(-local.shape[axis] // parts)
    one = local.src[0]
    bounds = [(0, extent if d == axis else n) for d, n in enumerate(one.shape)]
    step = one.shrink([(0, 1) if d == axis else (0, n) for d, n in enumerate(one.shape)])
    count = UOp(local.op, (one.shrink(bounds),), local.arg)
    before = (axis_index(axes, parts) * extent).cast(local.dtype)
    return count + before * step.cast(local.dtype)


def _own_rows(node: UOp, local: list[UOp], plan: Plan) -> list[UOp]:
    """Indices that count along a split axis count a member's own rows."""
    found = list(local)
    for number, index in enumerate(node.src[1 : 1 + len(node.arg.axes)], 1):
        along = counted_axis(index)
        axis = node.arg.axes[number - 1]
        if along is None or not plan.operands[0].axes(axis):
            continue
        shape = local[number].shape
        ones: UOp = OPS["const"](1, index.dtype, (shape[along],))
        rows = (ones.scan_sum(0) - 1).cast(index.dtype)
        flat = [n if d == along else 1 for d, n in enumerate(shape)]
        found[number] = rows.reshape(flat).expand(shape)
    return found


def _attributes(node: UOp, local: list[UOp], layout: Sharding) -> object:
    """The node's attributes, about what a member has."""
    op, arg = node.op, node.arg
    if op is _EXPAND or op is _RESHAPE:
        return arg.replace(shape=layout.local(node.shape))
    if op is _FOLD:
        return arg.replace(shape=layout.local(node.shape))
    if op is _SHRINK:
        pairs = list(zip(arg.stop, local[0].shape, node.src[0].shape, strict=True))
        return arg.replace(stop=tuple(stop if n == old else n for stop, n, old in pairs))
    return arg


__all__ = ["Partition", "sliced_part"]
