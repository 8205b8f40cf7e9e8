"""Graph and shardings → the graph that every member of the mesh runs, with explicit collectives.

Before: exp(contract(x, w)), x and w split along the summed axis.
After: exp(all_reduce(contract(x, w))) on the parts that one member has.

There is one local graph: members differ in their inputs, and in AXIS_INDEX. Parts of a dimension
are equal; the last are padded, with elements that nothing reads or that are masked where they are
joined. A replicated value that is wanted in parts is computed in parts, down to leaves, so sharded
random numbers or zeros cost a part of the whole.

What may live here: local nodes for nodes. What may not: shardings (`propagate.py`, `convert.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adjoint.ir.expand import expand
from adjoint.ir.kernel_kind import CONSTANT, PART, Library, Reduce, is_counting
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import origin_scope
from adjoint.ir.uop import UOp, toposort
from adjoint.ops.collective import collective_permute, send_rows
from adjoint.sharding.along import (
    can_slice_folded,
    is_short,
    laid_along,
    made_along,
    slice_of_folded,
    windows_of_padded,
)
from adjoint.sharding.convert import converted, sliced_part
from adjoint.sharding.early import joined_early
from adjoint.sharding.joins import fewer_pieces, has_order, joined_pieces, reduced_pieces
from adjoint.sharding.linear import is_exact
from adjoint.sharding.local_nodes import attributes, constant, counted, own_rows, placeless
from adjoint.sharding.loops import LoopPlan, is_loop, loop_part, loop_plan
from adjoint.sharding.owners import made_by_owners, scattered_rows
from adjoint.sharding.propagate import (
    Plan,
    is_cut,
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
_SHARD, _COPY, _WINDOW = OPS["shard"], OPS["copy"], OPS["window"]
_INDEXING = {_GATHER, OPS["scatter_add"], OPS["scatter"]}


def kept_whole(node: UOp) -> UOp | None:
    """Composites that are not expanded before a graph is partitioned."""
    return node if node.op is send_rows else None


_ROUNDS = 4  # of planning: what is joined early changes what follows
_DEEPEST = 200  # nodes above a leaf that are computed in parts for one that is wanted so


@dataclass(slots=True, eq=False)
class Partition:
    """The local graph under construction: the sharding and the member's part of each node.

    `plan` computes the shardings of all nodes, `build` the member's parts.
    """

    mesh: Mesh
    order: str
    parameters: Mapping[UOp, UOp]  # the local node of each leaf that is given
    layouts: dict[UOp, Sharding] = field(default_factory=dict)
    plans: dict[UOp, Plan] = field(default_factory=dict)
    local: dict[UOp, UOp] = field(default_factory=dict)
    parts: dict[tuple[UOp, Sharding], UOp] = field(default_factory=dict)
    uses: Counter[UOp] = field(default_factory=Counter)
    given: Mapping[UOp, Sharding] = field(default_factory=dict)  # of leaves that do not say
    slices: Counter[UOp] = field(default_factory=Counter)  # that are whole, of what is split
    loops: dict[UOp, LoopPlan] = field(default_factory=dict)
    early: set[UOp] = field(default_factory=set)  # joined where they are made: see `early.py`
    apart: set[UOp] = field(default_factory=set)  # pending, and their pieces can be had
    pieces: dict[UOp, list[UOp]] = field(default_factory=dict)

    def inside(self, parameters: Mapping[UOp, UOp], given: Mapping[UOp, Sharding]) -> Partition:
        """Another graph, on the same mesh in the same order."""
        return Partition(self.mesh, self.order, parameters, given=given)

    def plan(self, roots: Sequence[UOp]) -> list[UOp]:
        """The layouts of everything that the roots need; the nodes, operands first."""
        order = toposort(roots, stop=self._stops)
        self.uses.update(roots)
        for node in order:
            self.uses.update(() if self._stops(node) else node.src)
        for _ in range(_ROUNDS):
            self.layouts.clear()
            self.apart.clear()
            for node in order:
                self._plan(node)
            early = joined_early(order, roots, self.layouts, self.plans) - self.early
            if not early:
                break
            self.early |= early
        plans = ((node, self.plans[node]) for node in order if node in self.plans)
        self.slices.update(node.src[0] for node, plan in plans if any(map(is_short, plan.along)))
        return order

    def add(self, roots: Sequence[UOp]) -> None:
        """Everything that the roots need."""
        self.build(self.plan(roots))

    def build(self, order: Sequence[UOp]) -> None:
        """The member's parts of planned nodes, operands first."""
        for node in order:
            with origin_scope(node.raw_origin):
                self._build(node)

    def _stops(self, node: UOp) -> bool:
        return node in self.parameters or is_leaf(node)

    def _plan(self, node: UOp) -> None:
        if node in self.parameters:
            known = self.given.get(node)
            self.layouts[node] = leaf_sharding(node, self.mesh) if known is None else known
        elif is_leaf(node):
            self.layouts[node] = Sharding(self.mesh)
        elif is_loop(node):
            outputs = expand(node.arg.body.outputs, kept_whole)
            self.loops[node] = loop_plan(self, node, outputs)
            self.layouts[node] = Sharding(self.mesh)
            self.plans[node] = Plan(self.loops[node].operands, Sharding(self.mesh))
        elif node.op.kernel is PART and node.src[0] in self.loops:
            self.layouts[node] = self.loops[node.src[0]].results[node.arg.index]
        else:
            given = [self.layouts[s] for s in node.src]
            apart = [s in self.apart for s in node.src]
            plan = planned(node, given, self.mesh, self.order, apart)
            self.plans[node] = plan
            if node in self.early:
                self.layouts[node] = plan.result.resolved()
            else:
                self.layouts[node] = plan.result
                if plan.result.pending and self.order == "fixed" and self._comes_apart(node, plan):
                    self.apart.add(node)

    def _comes_apart(self, node: UOp, plan: Plan) -> bool:
        """Whether the pieces of a pending value are available: those of a sum that is computed
        here, or of operands that are only split into pieces.
        """
        pairs = list(zip(node.src, plan.operands, strict=True))
        if not any(below.pending for _, below in pairs):
            return has_order(node)
        return all(
            s in self.apart and is_cut(self.layouts[s], below)
            for s, below in pairs
            if below.pending
        )

    def _build(self, node: UOp) -> None:
        if node in self.parameters:
            self.local[node] = self.parameters[node]
        elif is_leaf(node):
            self.local[node] = placeless(node)
        elif node in self.loops:
            self.local[node] = loop_part(self, node, self.loops[node])
        elif node.op.kernel is PART and node.src[0] in self.loops:
            self.local[node] = self.local[node.src[0]].part(node.arg.index)
        else:
            plan = self.plans[node]
            local = self._built(node, plan)
            if node in self.early:
                local = converted(local, node.shape, plan.result, plan.result.resolved())
            self.local[node] = local

    def wanted(self, node: UOp, layout: Sharding) -> UOp:
        """A member's part of a node in a sharding."""
        found = self.parts.get((node, layout))
        if found is None:
            with origin_scope(node.raw_origin):
                found = self._in_parts(node, layout, 0)
                if found is None:
                    found = self._repeated(node, layout)
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
            return constant(node, layout)
        if node in self.parameters or is_leaf(node) or depth > _DEEPEST or node in self.early:
            return None
        plan = self._plan_for(node, layout)
        if plan is None:
            return counted(self.local[node], layout) if is_counting(node) else None
        local = [
            self._part_below(source, below, depth + 1)
            for source, below in zip(node.src, plan.operands, strict=True)
        ]
        return self._made(node, plan, local)

    def _repeated(self, node: UOp, layout: Sharding) -> UOp | None:
        """A value that is repeated and split is moved first, then repeated: a bias, not a batch of
        it.
        """
        old = self.layouts[node]
        if node.op is not _EXPAND or node in self.parameters or old.pending or layout.pending:
            return None
        plan = self._plan_for(node, layout) if old.dims else None
        if plan is None:
            return None
        return self._made(node, plan, [self.wanted(node.src[0], plan.operands[0])])

    def _part_below(self, node: UOp, layout: Sharding, depth: int) -> UOp:
        found = self.parts.get((node, layout))
        if found is None:
            found = self._in_parts(node, layout, depth)
            if found is None:
                found = converted(self.local[node], node.shape, self.layouts[node], layout)
            self.parts[node, layout] = found
        return found

    def _plan_for(self, node: UOp, layout: Sharding) -> Plan | None:
        """The shardings that operands need for a result in a sharding; None if that is
        undetermined.
        """
        mesh = self.mesh
        if node.op is _RESHAPE:
            kept, found = reshaped_dims(mesh, node.shape, node.src[0].shape, layout.dims)
            dims = Sharding(mesh, kept).dims
            return Plan((Sharding(mesh, found),), layout) if dims == layout.dims else None
        terms = letters_of(node)
        owned = scattered_rows(node, layout)
        if owned is not None:
            rest = (Sharding(mesh),) * 2
            alone = layout.used == owned.axes
            return Plan((layout, *rest), layout, owned=owned) if alone else None
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
        joined = self._with_padding(node, plan)
        if joined is not None:
            return joined
        if self._is_piecewise(node, plan):
            return joined_pieces(node, self._pieces(node))
        local = [self.wanted(s, below) for s, below in zip(node.src, plan.operands, strict=True)]
        if node.op is _COPY:
            return local[0]
        return self._made(node, plan, local)

    def _with_padding(self, node: UOp, plan: Plan) -> UOp | None:
        """Windows of a padded value, and the slice of a fold, in one exchange of rows."""
        (below, *more) = (*node.src, None)
        under = self.plans.get(below) if below is not None and plan.along else None
        if under is None or len(more) != 1 or below in self.parameters:
            return None
        same = [along.dim for along in under.along] == [along.dim for along in plan.along]
        if not same or any(along.parts == 1 for along in plan.along):
            return None
        split = laid_along(plan.result, plan.along)
        x = self.wanted(below.src[0], under.operands[0])
        if node.op is _WINDOW and below.op is _PAD and _is_plain(below, plan):
            made = windows_of_padded(node, plan.along, below, x)
        elif node.op is _SHRINK and below.op is _FOLD and can_slice_folded(node, plan.along, below):
            shape = under.result.local(below.shape)
            made = slice_of_folded(node, plan.along, below, x, shape)
        else:
            return None
        return converted(made, node.shape, split, plan.result)

    # ---- pieces of what is pending

    def _is_piecewise(self, node: UOp, plan: Plan) -> bool:
        """Whether a node rounds pieces that are joined after it."""
        kept = any(below.pending for below in plan.operands)
        return kept and self.order == "fixed" and not is_exact(node)

    def _pieces(self, node: UOp) -> list[UOp]:
        """The pieces that a member has of a pending sum."""
        found = self.pieces.get(node)
        if found is None:
            plan = self.plans[node]
            with origin_scope(node.raw_origin):
                found = self._made_apart(node, plan)
            self.pieces[node] = found
        return found

    def _made_apart(self, node: UOp, plan: Plan) -> list[UOp]:
        """A node on each piece of its operands, as many of each as the one has that has fewest."""
        pairs = list(zip(node.src, plan.operands, strict=True))
        rows = [self._cut_pieces(s, below) if below.pending else [] for s, below in pairs]
        count = min(len(row) for row in rows if row)
        rows = [fewer_pieces(row, count) for row in rows]
        whole = [None if below.pending else self.wanted(s, below) for s, below in pairs]
        return [
            self._made_of(
                node, plan, [row[i] if row else x for row, x in zip(rows, whole, strict=True)]
            )
            for i in range(count)
        ]

    def _cut_pieces(self, node: UOp, layout: Sharding) -> list[UOp]:
        old = self.layouts[node]
        return [converted(piece, node.shape, old, layout) for piece in self._pieces(node)]

    def _made_of(self, node: UOp, plan: Plan, local: list[Any]) -> UOp:
        return local[0] if node.op is _COPY else self._made(node, plan, local)

    def _below_shards(self, node: UOp) -> UOp:
        """The operand of a SHARD: an intermediate sharding that nothing else needs is skipped, so
        that pending sums go to their final place at once.
        """
        (x,) = node.src
        while x.op is _SHARD and x not in self.parameters and self.uses[x] == 1 and not is_leaf(x):
            (x,) = x.src
        return x

    def _made(self, node: UOp, plan: Plan, local: list[UOp]) -> UOp:
        op = node.op
        if plan.owned is not None:
            return made_by_owners(node, plan.owned, local)
        if plan.along:
            times = self.slices[node.src[0]]
            return made_along(
                node, plan.along, local, plan.operands, plan.result, self.order, times
            )
        if type(op.kernel) in (Reduce, Library) and op is not _FOLD:
            terms = letters_of(node)
            if terms is not None:
                pieces = reduced_pieces(node, terms, local, plan.operands, self.order)
                if node in self.apart and not any(o.pending for o in plan.operands):
                    self.pieces[node] = pieces
                return joined_pieces(node, pieces)
        if op is send_rows and plan.result.axes(0):
            axes, size = plan.result.axes(0), plan.result.parts(0)
            return collective_permute(local[0], axes, size, node.arg.pairs)
        if op in _INDEXING:
            local = own_rows(node, local, plan)
        return UOp(op, tuple(local), attributes(node, local, plan.result))


def _is_plain(pad: UOp, plan: Plan) -> bool:
    return not any(pad.arg.interior[along.dim] for along in plan.along)


def _splits(assigned: Mapping[str, object]) -> bool:
    return not any(c in "1." for c in assigned)


__all__ = ["Partition", "sliced_part"]
