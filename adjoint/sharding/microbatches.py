"""A graph whose batch comes in microbatches → what one member computes for each, and what once.

Microbatches are members in time: the graph is partitioned over a mesh with an axis for them in
place of `pp`. A member does the collectives of that axis (an all_reduce, an all_gather) by itself,
one microbatch after another. So a batch in m microbatches has the bits of one over m members.

Before: loss(x), x of 16 rows, 4 microbatches.
After: sum(x of 4 rows), once for each; of the joined sums, / 16.

What may live here: the two graphs. What may not: stages (`stages.py`), or when what runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from adjoint.errors import ShardingError
from adjoint.ir.dtype import dtypes
from adjoint.ir.expand import expand
from adjoint.ir.function import UniqueName
from adjoint.ir.kernel_kind import Identity
from adjoint.ir.mesh import PIPELINE_AXIS, Axes, Dims, Mesh, Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import origin_scope
from adjoint.ir.uop import UOp, rebuild, substitute, toposort
from adjoint.ops.collective import (
    COLLECTIVES,
    all_gather,
    all_reduce,
    axis_index,
    reduce_scatter,
    to_stage,
)
from adjoint.sharding.partition import Partition, kept_whole
from adjoint.sharding.propagate import leaf_sharding

MICROBATCH = "microbatch"
_SHARD, _CONST, _INPUT = OPS["shard"], OPS["const"], OPS["input"].call


@dataclass(frozen=True, slots=True, eq=False)
class Join:
    """What microbatches say to one another: `source` of each, joined, is `joined`."""

    source: UOp
    joined: UOp
    kind: str  # sum, max, min, prod; "": side by side
    dim: int
    early: bool  # it needs no parameter, and so is known before the stages begin


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TimedGraph:
    """What a member computes for each microbatch (the sources of joins), and once (the roots)."""

    mesh: Mesh
    timed: Mesh  # an axis for microbatches instead of that for stages
    parameters: tuple[UOp, ...]  # of the leaves
    leaves: tuple[Sharding, ...]
    places: tuple[tuple[UOp, Axes], ...]  # parameters for places along axes of the timed mesh
    joins: tuple[Join, ...]
    roots: tuple[UOp, ...]
    results: tuple[Sharding, ...]  # of the roots, on the mesh

    @property
    def turning(self) -> set[UOp]:
        """The parameters that differ between microbatches."""
        own = {p for p, s in zip(self.parameters, self.leaves, strict=True) if s.turns}
        return own | {p for p, axes in self.places if MICROBATCH in axes}


def timed_graph(roots: Sequence[UOp], leaves: Sequence[UOp], mesh: Mesh, order: str) -> TimedGraph:
    """The graphs of a member for the roots, given its parts of the leaves."""
    layouts = [leaf_sharding(leaf, mesh) for leaf in leaves]
    timed = _timed_mesh(mesh)
    whole = [_INPUT(UniqueName(f"leaf{i}"), n.shape, n.dtype) for i, n in enumerate(leaves)]
    turning = {w for w, s in zip(whole, layouts, strict=True) if s.turns}
    closed = substitute(expand(roots, kept_whole), _closing(roots, leaves, whole))
    closed = _retimed(closed, timed, turning, dict(zip(whole, layouts, strict=True)))
    own = [_timed(s, timed, s.turns) for s in layouts]
    parameters = [
        _INPUT(UniqueName(f"part{i}"), layout.local(n.shape), n.dtype)
        for i, (n, layout) in enumerate(zip(leaves, own, strict=True))
    ]
    given = dict(zip(whole, own, strict=True))
    partition = _TimedPartition(
        timed, order, dict(zip(whole, parameters, strict=True)), given=given
    )
    partition.add(closed)
    asked = [_without_turns(partition.layouts[node]) for node in closed]
    found = [partition.wanted(node, layout) for node, layout in zip(closed, asked, strict=True)]
    indices = [node for node in toposort(found) if node.op is axis_index]
    places = [_INPUT(UniqueName(f"place{i}"), (), dtypes.int64) for i in range(len(indices))]
    local = substitute(found, dict(zip(indices, places, strict=True)))
    staged = {p for p, layout in zip(parameters, layouts, strict=True) if layout.stage is not None}
    joins, rest = _Joining(mesh.microbatches, staged).all(local)
    made = TimedGraph(
        mesh,
        timed,
        tuple(parameters),
        tuple(layouts),
        tuple((p, n.arg.axes) for p, n in zip(places, indices, strict=True)),
        joins,
        tuple(rest),
        tuple(_result_layout(mesh, s.dims, r) for r, s in zip(roots, asked, strict=True)),
    )
    _check_apart(made)
    return made


class _TimedPartition(Partition):
    """A partition in which no sharding that a user requests takes the rows out of their turns."""

    def _plan(self, node: UOp) -> None:
        super()._plan(node)
        layout = self._in_turns(node) if node.op is _SHARD else None
        if layout is not None:
            self.plans[node] = replace(self.plans[node], result=layout)
            self.layouts[node] = layout

    def _in_turns(self, node: UOp) -> Sharding | None:
        (x,), asked = node.src, self.layouts[node]
        below = self.layouts[x]
        dim = next((d for d, axes in enumerate(below.dims) if MICROBATCH in axes), None)
        if dim is None or MICROBATCH in asked.used:
            return None
        dims = [asked.axes(d) for d in range(len(node.shape))]
        dims[dim] = (*dims[dim], MICROBATCH)
        return Sharding(asked.mesh, dims)


def asked_layout(root: UOp) -> Sharding | None:
    """The sharding in which a result was requested, if it was."""
    while type(root.op.kernel) is Identity and root.op is not _SHARD:
        root = root.src[root.op.kernel.operand]
    return root.arg.sharding if root.op is _SHARD else None


def _result_layout(mesh: Mesh, dims: Dims, root: UOp) -> Sharding:
    asked = asked_layout(root)
    if asked is None:
        return Sharding(mesh, dims)
    return Sharding(mesh, dims, (), asked.stage, asked.turns)


def _timed_mesh(mesh: Mesh) -> Mesh:
    sizes = {MICROBATCH: mesh.microbatches}
    sizes |= {n: s for n, s in zip(mesh.names, mesh.shape, strict=True) if n != PIPELINE_AXIS}
    return Mesh(sizes)


def _timed(layout: Sharding, timed: Mesh, turns: bool) -> Sharding:
    dims = list(layout.dims)
    if turns:
        dims = [(*layout.axes(0), MICROBATCH), *dims[1:]]
    return Sharding(timed, dims)


def _without_turns(layout: Sharding) -> Sharding:
    kept = [tuple(a for a in axes if a != MICROBATCH) for axes in layout.dims]
    return Sharding(layout.mesh, kept)


def _closing(
    roots: Sequence[UOp], leaves: Sequence[UOp], whole: Sequence[UOp]
) -> Mapping[UOp, UOp]:
    """Leaves as parameters, constants without a device: nodes of a mesh would not mix with those of
    another."""
    found = dict(zip(leaves, whole, strict=True))
    for node in toposort(expand(roots, kept_whole), stop=found.__contains__):
        if node.op is _CONST and node.arg.device is not None and node not in found:
            found[node] = _CONST(node.arg.value, node.arg.dtype, node.arg.shape)
    return found


def _retimed(
    roots: Sequence[UOp], timed: Mesh, turning: set[UOp], layouts: Mapping[UOp, Sharding]
) -> list[UOp]:
    """Shardings on the timed mesh: of a stage, a marker; of a value that comes in turns, rows in
    turns.

    A parameter that is split over members of the batch is gathered for microbatches, once: if its
    dimensions stayed split, the rows of microbatches would be gathered instead. A parameter that
    the program shards where it is used stays split, as experts do beside tokens that come to them.
    """
    rows = {axis for leaf in turning for axis in layouts[leaf].used}
    new: dict[UOp, UOp] = {}
    used = {leaf: _gathered(leaf, layouts[leaf], rows, timed) for leaf in layouts}
    turns, after = set(turning), set[UOp]()
    for node in toposort(roots):
        src = tuple(new[s] for s in node.src)
        if any(s in turns for s in node.src):
            turns.add(node)
        if any(s in after for s in node.src):
            after.add(node)
        if node in turns and node not in after:
            src = tuple(
                used[s] if s in used and s not in turns else n
                for s, n in zip(node.src, src, strict=True)
            )
        if node.op is _SHARD:
            new[node] = _laid(node, src[0], timed, turns, after)
            continue
        new[node] = node if src == node.src else rebuild(node, src)
        if node not in turns and any(s in used for s in node.src):
            used[node] = rebuild(node, tuple(used.get(s, new[s]) for s in node.src))
    return [new[root] for root in roots]


def _gathered(leaf: UOp, layout: Sharding, rows: set[str], timed: Mesh) -> UOp:
    if layout.turns or not rows.intersection(layout.used):
        return leaf
    kept = [tuple(a for a in axes if a not in rows) for axes in layout.dims]
    found: UOp = _SHARD(leaf, Sharding(timed, kept))
    return found


def _laid(node: UOp, x: UOp, timed: Mesh, turns: set[UOp], after: set[UOp]) -> UOp:
    layout = node.arg.sharding
    if layout.turns:
        turns.add(node)
    if layout.stage is None:
        found = _timed(layout, timed, layout.turns)
        return UOp(_SHARD, (x,), node.arg.replace(sharding=found, back=None))
    after.add(node)
    while x.op is to_stage and x.arg.stage == layout.stage and x.src[0].op is _SHARD:
        x = x.src[0].src[0]  # a layout that only this one needs is not made on the way
    with origin_scope(node.raw_origin):
        made: UOp = to_stage(_SHARD(x, _timed(layout, timed, False)), layout.stage)
    return made


# ---- joins


class _Joining:
    """The joins of microbatches while they are found."""

    def __init__(self, count: int, staged: set[UOp]):
        self.count, self.joins = count, list[Join]()
        self.staged = set(staged)  # nodes that need a parameter, or a mark

    def all(self, roots: Sequence[UOp]) -> tuple[tuple[Join, ...], list[UOp]]:
        """The joins, and the roots over their results."""
        new: dict[UOp, UOp] = {}
        for node in toposort(roots):
            if _is_scattered(node):
                new[node] = node  # taken apart where its parts are gathered
                continue
            src = tuple(new[s] for s in node.src)
            scattered = next((s for s in node.src if _is_scattered(s)), None)
            if scattered is not None:
                with origin_scope(node.raw_origin):
                    new[node] = self._scattered_once(node, scattered, new)
            elif node.op in COLLECTIVES and MICROBATCH in node.arg.axes:
                with origin_scope(node.raw_origin):
                    new[node] = self._taken_apart(node, src[0])
            else:
                new[node] = node if src == node.src else rebuild(node, src)
            if node.op is to_stage or any(s in self.staged for s in (*node.src, *src)):
                self.staged |= {node, new[node]}
        return tuple(self.joins), [new[root] for root in roots]

    def _taken_apart(self, node: UOp, source: UOp) -> UOp:
        """A collective over microbatches and members: over those first, then over these."""
        rest = tuple(axis for axis in node.arg.axes if axis != MICROBATCH)
        size, scattered = node.arg.size // self.count, []
        if node.op is all_reduce:
            while source.op is reduce_scatter and MICROBATCH not in source.arg.axes:
                scattered.append(source)
                source = source.src[0]
            found = self._join(source, node.arg.by, 0, source.shape)
            for below in reversed(scattered):
                found = rebuild(below, (found,))
            return all_reduce(found, rest, size, node.arg.by) if rest else found
        if node.op is all_gather and node.arg.axes[-1] == MICROBATCH:
            dim = node.arg.dim
            extent = source.shape[dim] * self.count
            shape = (*source.shape[:dim], extent, *source.shape[dim + 1 :])
            found = self._join(source, "", dim, shape)
            return all_gather(found, rest, size, dim) if rest else found
        raise _coupled(node)

    def _scattered_once(self, node: UOp, scattered: UOp, new: Mapping[UOp, UOp]) -> UOp:
        """A value that is scattered over members and microbatches and gathered over these: the sum
        of all microbatches, scattered over members, and gathered over those that it was gathered
        over.
        """
        summed = []
        while scattered.op is all_reduce:
            summed.append(scattered)
            (scattered,) = scattered.src
        arg, gone = scattered.arg, node.arg.axes if node.op is all_gather else ()
        alike = gone and gone == arg.axes[-len(gone) :] and node.arg.dim == arg.dim
        if not alike or len(arg.axes) < 2:
            raise _coupled(scattered)
        source = new[scattered.src[0]]
        found = self._join(source, arg.by, 0, source.shape)
        found = reduce_scatter(found, arg.axes[:-1], arg.size // self.count, arg.dim, arg.by)
        for above in reversed(summed):
            found = rebuild(above, (found,))
        rest, size = gone[:-1], node.arg.size // self.count
        return all_gather(found, rest, size, arg.dim) if rest else found

    def _join(self, source: UOp, kind: str, dim: int, shape: tuple[int, ...]) -> UOp:
        for known in self.joins:
            if (known.source, known.kind, known.dim) == (source, kind, dim):
                return known.joined
        joined = _INPUT(UniqueName(f"joined{len(self.joins)}"), shape, source.dtype)
        self.joins.append(Join(source, joined, kind, dim, source not in self.staged))
        if source in self.staged:
            self.staged.add(joined)
        return joined


def _is_scattered(node: UOp) -> bool:
    """A part of a sum over microbatches and members, summed over other members or not yet."""
    while node.op is all_reduce and MICROBATCH not in node.arg.axes:
        (node,) = node.src
    return node.op is reduce_scatter and node.arg.axes[-1] == MICROBATCH


def _check_apart(graph: TimedGraph) -> None:
    """Raise if a value that is computed once needs a single microbatch, or one that is computed for
    each needs all of them.
    """
    turning = graph.turning
    if turning.intersection(toposort(graph.roots)):
        raise _coupled(_first_user(graph.roots, turning))
    late = {join.joined for join in graph.joins if not join.early}
    for join in graph.joins:
        none = {j.joined for j in graph.joins} if join.early else late
        if none & set(toposort([join.source])):
            raise _coupled(_first_user([join.source], none))


def _first_user(roots: Sequence[UOp], turning: set[UOp]) -> UOp:
    return next(n for n in toposort(roots) if turning.intersection(n.src) or n in turning)


def _coupled(node: UOp) -> ShardingError:
    return ShardingError(
        "E7007",
        "rows of different microbatches need one another before the end of the forward pass",
        op="pipeline",
        operands=[("value", node)],
        help="what is computed over a whole batch (a batch norm, the root of a mean) cannot be "
        "cut; normalise each row, or train on a mesh without `pp`",
    )


__all__ = ["MICROBATCH", "Join", "TimedGraph", "timed_graph"]
