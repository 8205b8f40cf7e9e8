"""Which nodes share a kernel.

Nodes are placed from the results back to the leaves. A consumer's loop counters flow to what it
reads (`loop_axes.py`); a node joins the kernel of its consumers where it would be computed once per
point of that kernel's loops, is computed again where that is cheap, and gets memory and a kernel of
its own where neither holds. A reduction joins if its result lives on loops that enclose the rest: a
row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from adjoint.errors import InternalError
from adjoint.ir.kernel_kind import Counting, Gather, Part, Reduce, View, is_constant, kernel_of
from adjoint.ir.sizes import highest
from adjoint.ir.uop import UOp, toposort
from adjoint.schedule.classify import (
    HOST,
    LEAF,
    LIBRARY,
    MEMORY,
    PART,
    POINTWISE,
    REDUCE,
    SORT,
    VIEW,
    weight,
)
from adjoint.schedule.layout import matrix_base, sorts
from adjoint.schedule.loop_axes import Atoms, Axis, Index
from adjoint.schedule.strategy import step_kind
from adjoint.target import Limits, Target

_MAX_SEARCHED = 2000  # kernels that a search for a cycle looks at before it gives up


@dataclass(slots=True, eq=False)
class Unit:
    """A step: what it computes and what it reads from memory."""

    kind: str
    limits: Limits
    outputs: dict[UOp, Index]
    low: int  # the level of the first of its results, and of the last
    high: int
    reads: dict[UOp, None] = field(default_factory=dict)
    users: dict[Unit, None] = field(default_factory=dict)
    outer: Axis | None = None
    reduced: dict[UOp, tuple[Index, Index]] = field(default_factory=dict)  # where, over what
    waits: dict[UOp, None] = field(default_factory=dict)  # what must be done before it
    members: int = 0  # how many nodes are computed inside
    weight: int = 0  # what they cost together

    @property
    def full(self) -> bool:
        """Whether it is large enough: compiling takes more than linear time, walks go deep."""
        limits = self.limits
        return self.members > limits.kernel_nodes or self.weight > limits.kernel_cost

    @property
    def nodes(self) -> list[UOp]:
        return list(self.outputs)


Uses = dict[tuple[Unit, Index], None]  # kernels that compute with a node, and where they read it
Needs = dict[Unit | None, None]  # steps that want a node in memory; None is the caller


class Fuser:
    """One schedule in the making."""

    def __init__(self, roots: Sequence[UOp], target: Target):
        self.target = target
        self.kinds: dict[UOp, str] = {}
        self.atoms = Atoms()
        self.order = toposort(roots)
        self.levels: dict[UOp, int] = {}
        self.costs: dict[UOp, int] = {}
        self.reduces: dict[UOp, bool] = {}  # whether a reduction may share its kernel
        self.uses: dict[UOp, Uses] = {}
        self.needs: dict[UOp, Needs] = {r: {None: None} for r in roots}
        self.units: list[Unit] = []
        self.wide: dict[Unit, None] = {}  # with results of several levels: ways back down
        self.maker: dict[UOp, Unit] = {}  # of every node in memory that is computed here
        self.sorting: dict[UOp, Unit] = {}  # steps that can give these indices as well
        self.alias: dict[UOp, UOp] = {}  # nodes that are another node's memory
        self.pieces: dict[UOp, int] = {}
        for node in self.order:
            self.pieces[node] = self._pieces(node)
            self.levels[node] = 1 + max((self.levels[s] for s in node.src), default=0)
            self.costs[node] = self._cost(node)
            self.reduces[node] = self._kind(node) == REDUCE or (
                self._kind(node) in (VIEW, POINTWISE) and any(self.reduces[s] for s in node.src)
            )

    def _kind(self, node: UOp) -> str:
        """What kind of step, or part of a kernel, the node is on this target."""
        found = self.kinds.get(node)
        if found is None:
            found = self.kinds[node] = step_kind(node, self.target)
        return found

    def _cost(self, node: UOp) -> int:
        """Of one element computed anew from what will be in memory."""
        kind = self._kind(node)
        if kind == POINTWISE:
            return weight(node) + sum(self.costs[s] for s in node.src)
        if kind != VIEW or _view(node).repeats:  # what is spread is done once outside, or in memory
            return 1
        return self.costs[node.src[0]]

    def _pieces(self, node: UOp) -> int:
        """From how many places an element may come, each of which the kernel has code for."""
        below = [self.pieces[s] if self._movable(s) else 1 for s in node.src]
        return sum(below) if _joins(node) else max(below, default=1)

    def _movable(self, node: UOp) -> bool:
        """Whether code for a node may be written wherever it is read."""
        return self.pieces[node] <= max(
            self.target.limits.joined_pieces, len(node.src)
        ) or not _joins(node)

    def run(self) -> list[Unit]:
        """The units, in an order in which they can run."""
        for node in reversed(self.order):
            self._place(node)
        self._merge_siblings()
        return self._ordered()

    # ---- placing a node

    def _place(self, node: UOp) -> None:
        uses, needs = self.uses.get(node, {}), self.needs.get(node, {})
        if not uses and not needs:
            return
        kind = SORT if sorts(node) is not None else self._kind(node)
        if node.dtype and not isinstance(node.dtype, tuple) and node.size == 0:
            self._reads(node, uses)
        elif kind == LEAF:
            self._place_leaf(node, uses, needs)
        elif kind == PART:
            self._reads(node, uses)
            self.needs.setdefault(node.src[0], {}).update(needs)
            self.needs[node.src[0]].update({unit: None for unit, _ in uses})
        elif kind == MEMORY or (kind == HOST and _aliases(node)):
            self._place_memory(node, uses, needs)
        elif kind == VIEW:
            self._place_view(node, uses, needs)
        elif kind in (POINTWISE, REDUCE):
            self._place_computed(node, kind, uses, needs)
        elif node in self.sorting:
            self._join_step(node, self.sorting[node], uses, needs)
        else:
            self._place_step(node, kind, uses, needs)

    def _place_leaf(self, node: UOp, uses: Uses, needs: Needs) -> None:
        if not is_constant(node):
            self._reads(node, uses)
        elif needs and node.dtype.is_complex:
            self._place_step(node, HOST, uses, needs)
        elif needs:
            self._new_kernel(node)

    def _reads(self, node: UOp, uses: Iterable[tuple[Unit, Index]]) -> None:
        for unit, _ in uses:
            unit.reads[node] = None

    def _place_view(self, node: UOp, uses: Uses, needs: Needs) -> None:
        if needs and _aliases(node):
            self.alias[node] = node.src[0]
            self.needs.setdefault(node.src[0], {}).update(needs)
            for unit in needs:
                if unit is not None:
                    unit.waits.update(dict.fromkeys(node.src[1:]))
        elif needs or not self._movable(node) or self._overflows(node, uses):
            self._new_kernel(node)
            self._reads(node, uses)
            self._link(node, uses, needs)
            return
        for unit, index in uses:
            self._flow(node, unit, index)

    def _place_memory(self, node: UOp, uses: Uses, needs: Needs) -> None:
        """The operand's bytes under another type: kernels read them there."""
        self.alias[node] = node.src[0]
        self._reads(node, uses)
        wanted = self.needs.setdefault(node.src[0], {})
        wanted.update(needs)
        wanted.update({unit: None for unit, _ in uses})

    def _overflows(self, node: UOp, uses: Iterable[tuple[Unit, Index]]) -> bool:
        """Whether the kernels that read a view have enough to do without it."""
        if _aliases(node) and len(node.src) == 1:
            return False
        return any(unit.full or self.atoms.tangled(index) for unit, index in uses)

    def _flow(self, node: UOp, unit: Unit, index: Index) -> None:
        """The operands of a node inside a kernel are read there, at the index that follows."""
        kind = self._kind(node)
        unit.members += 1
        unit.weight += weight(node)
        if kind == VIEW:
            unit.waits.update(dict.fromkeys(node.src[1:] if _view(node).waits else ()))
            pairs = self.atoms.through(node, index)
        elif kind == REDUCE:
            pairs, loops = self.atoms.reduced(node, index)
            unit.reduced[node] = (index, loops)
        elif type(node.op.kernel) is Gather:
            pairs = self._gathered(node, index)
        else:
            pairs = [(s, index) for s in node.src if type(kernel_of(node)) is not Counting]
        for source, at in pairs:
            self.uses.setdefault(source, {})[(unit, self.atoms.settled(at))] = None

    def _gathered(self, node: UOp, index: Index) -> list[tuple[UOp, Index]]:
        data, indices = node.src[0], node.src[1:]
        rank = len(indices[0].shape)
        rest = iter(index[rank:])
        place = tuple(
            self.atoms.image((node, d, index), n, None) if d in node.arg.axes else next(rest)
            for d, n in enumerate(data.shape)
        )
        return [(data, place), *((i, index[:rank]) for i in indices)]

    def _place_computed(self, node: UOp, kind: str, uses: Uses, needs: Needs) -> None:
        settled = {(unit, self.atoms.settled(index)): None for unit, index in uses}
        units = dict.fromkeys(unit for unit, _ in settled)
        if not needs and self._joins(node, kind, settled, units):
            for unit, index in settled:
                self._flow(node, unit, index)
            return
        host = self._host(node, kind, settled, units, needs)
        if host is None:
            self._new_kernel(node)
            self._reads(node, settled)
        else:
            unit, index = host
            unit.outputs[node] = index
            self._widen(unit, self.levels[node], self.levels[node])
            self.maker[node] = unit
            for other, at in settled:
                if other is unit:
                    self._flow(node, unit, at)
                else:
                    other.reads[node] = None
            if (unit, index) not in settled:
                self._flow(node, unit, index)
        self._link(node, settled, needs)

    def _joins(self, node: UOp, kind: str, uses: Uses, units: dict[Unit, None]) -> bool:
        """Whether the node is computed inside its consumers and needs no memory."""
        if any(unit.full or self.atoms.tangled(index) for unit, index in uses):
            return False
        if kind == REDUCE:
            return len(uses) == 1 and all(self._makes_row(unit, index) for unit, index in uses)
        if self.costs[node] <= self.target.limits.cheap:
            return True
        if len(units) > 1:
            return False
        once = all(
            self._once(unit, index) or (self.reduces[node] and self._makes_row(unit, index))
            for unit, index in uses
        )
        return once and (len(uses) == 1 or next(iter(units)).outer is not None)

    def _once(self, unit: Unit, index: Index) -> bool:
        """Whether computing at this index does nothing twice that could be done once."""
        found = self.atoms.roots(index)
        if found is None:
            return False
        if not found:  # a single number: computed before all loops
            return True
        if unit.outer is not None and found <= set(self.atoms.whole(unit.outer)):
            return True
        return self._domain(unit) <= found or self._loops(unit, found)

    def _loops(self, unit: Unit, found: set[int]) -> bool:
        """Whether the index is a row and the loops of one of the unit's reductions."""
        outer = set(self.atoms.whole(unit.outer or ()))
        return any(
            outer | {a for axis in self.atoms.settled(loops) for a in axis} <= found
            for _, loops in unit.reduced.values()
        )

    def _domain(self, unit: Unit) -> set[int]:
        """The counters of the largest of its results."""
        sets = [{a for axis in self.atoms.settled(i) for a in axis} for i in unit.outputs.values()]
        return max(sets, key=len) if sets else set()

    def _makes_row(self, unit: Unit, index: Index) -> bool:
        """Whether something at this index can be a row of the kernel; if so, it is from now on."""
        found = {a for axis in index for a in axis}
        if any(a in self.atoms.images for a in found):
            return False
        if unit.outer is not None:
            return set(self.atoms.whole(unit.outer)) == found
        domain = self._domain(unit)
        if not found <= domain:
            return False
        rows, row = (highest(self.atoms.count(some)) for some in (found, domain - found))
        limits = self.target.limits
        if row > limits.long_row and rows < limits.many_rows:
            return False
        unit.outer = tuple(sorted(found))
        return True

    def _host(
        self, node: UOp, kind: str, uses: Uses, units: dict[Unit, None], needs: Needs
    ) -> tuple[Unit, Index] | None:
        """A consumer's kernel in which the node can be one more result."""
        for unit, index in sorted(uses, key=lambda use: use[0].high):
            flat = [a for axis in index for a in axis]
            if len(set(flat)) != len(flat) or any(a in self.atoms.images for a in flat):
                continue
            if kind == REDUCE and any(u is unit and at != index for u, at in uses):
                continue  # a kernel sums it once; other places would need it in memory
            inside = set(flat)
            row = unit.outer is not None and inside == set(self.atoms.whole(unit.outer))
            fits = row or (kind == POINTWISE and inside == self._domain(unit))
            if kind == REDUCE and not row:
                fits = unit.outer is None and self._makes_row(unit, index)
            others = [u for u in (*units, *needs) if u is not None and u is not unit]
            if fits and not unit.full and not any(self._before(other, unit) for other in others):
                return unit, index
        return None

    def _before(self, first: Unit, last: Unit) -> bool:
        """Whether `last` needs something that `first` makes, as far as one can see."""
        if self._lowest_after(first) >= last.high:
            return False
        seen, stack = {first}, [first]
        while stack:
            for user in stack.pop().users:
                if user is last or len(seen) > _MAX_SEARCHED:
                    return True
                if user not in seen:
                    seen.add(user)
                    stack.append(user)
        return False

    def _lowest_after(self, first: Unit) -> int:
        """Below this level nothing can use the unit: levels rise, except inside wide units."""
        low = first.low
        left = list(self.wide)
        while reached := [unit for unit in left if unit.high > low]:
            low = min(low, *(unit.low for unit in reached))
            left = [unit for unit in left if unit not in reached]
        return low

    def _widen(self, unit: Unit, low: int, high: int) -> None:
        unit.low, unit.high = min(unit.low, low), max(unit.high, high)
        if unit.low < unit.high:
            self.wide[unit] = None

    def _new_kernel(self, node: UOp) -> None:
        index = tuple(self.atoms.new(n) for n in node.shape)
        level = self.levels[node]
        unit = Unit("kernel", self.target.limits, {node: index}, level, level)
        if self._kind(node) == REDUCE:
            unit.outer = tuple(a for axis in index for a in axis)
        self.units.append(unit)
        self.maker[node] = unit
        if self._kind(node) != LEAF:
            self._flow(node, unit, index)

    def _place_step(self, node: UOp, kind: str, uses: Uses, needs: Needs) -> None:
        level = self.levels[node]
        unit = Unit(kind, self.target.limits, {}, level, level)
        self.units.append(unit)
        self._join_step(node, unit, uses, needs)
        order = sorts(node) if kind == SORT else None
        if order is not None:
            self.sorting[order] = unit
        for source in dict.fromkeys(node.src if order is None else order.src):
            wanted = matrix_base(source) if kind == LIBRARY else source
            unit.reads[wanted] = None
            self.needs.setdefault(wanted, {})[unit] = None

    def _join_step(self, node: UOp, unit: Unit, uses: Uses, needs: Needs) -> None:
        """The node is a result of the step: its only one, or the indices beside sorted values."""
        unit.outputs[node] = ()
        self._widen(unit, self.levels[node], self.levels[node])
        self.maker[node] = unit
        self._reads(node, uses)
        self._link(node, uses, needs)

    def _link(
        self, node: UOp, uses: Iterable[tuple[Unit, Index]], needs: Iterable[Unit | None]
    ) -> None:
        maker = self.maker[node]
        for unit in dict.fromkeys((*(u for u, _ in uses), *needs)):
            if unit is not None and unit is not maker:
                maker.users[unit] = None
                indirect = unit.kind == "kernel" and unit in needs  # its parts or bytes are read
                (unit.waits if indirect else unit.reads)[node] = None

    # ---- kernels side by side

    def _merge_siblings(self) -> None:
        """Reductions over the same loops are one kernel: the gradients of scale and shift."""
        groups: dict[tuple[object, ...], list[Unit]] = {}
        for unit in self.units:
            key = self._sibling_key(unit)
            if key is not None:
                groups.setdefault(key, []).append(unit)
        for members in groups.values():
            first, *rest = members
            for other in rest:
                if not self._before(first, other) and not self._before(other, first):
                    self._merge(first, other)

    def _sibling_key(self, unit: Unit) -> tuple[object, ...] | None:
        if unit.kind != "kernel" or len(unit.outputs) != 1 or len(unit.reduced) != 1:
            return None
        (node,), (root,) = unit.reduced, unit.outputs
        kernel = node.op.kernel
        if node is not root or type(kernel) is not Reduce or kernel.index_map is not None:
            return None
        return node.src[0].shape, node.arg

    def _merge(self, first: Unit, other: Unit) -> None:
        """The other's counters become the first's; its result one more of the first."""
        (node,), mine = other.reduced, next(iter(first.reduced))
        index = first.outputs[mine]
        first.outputs[node] = index
        first.reduced[node] = first.reduced[mine]
        self._widen(first, other.low, other.high)
        first.reads.update(other.reads)
        first.users.update(other.users)
        first.waits.update(other.waits)
        self.maker[node] = first
        self.units.remove(other)
        self.wide.pop(other, None)
        for unit in self.units:
            if other in unit.users:
                unit.users[first] = unit.users.pop(other)

    # ---- order

    def _ordered(self) -> list[Unit]:
        """Makers before users; among those that are ready, in the order of the graph.

        What a unit waits for comes first as well, unless that needs a unit which is waiting.
        """
        place = {node: i for i, node in enumerate(self.order)}
        rank = {u: min(place[n] for n in u.outputs) for u in self.units}
        opened: set[Unit] = set()
        done: dict[Unit, None] = {}
        stack = sorted(rank, key=rank.__getitem__, reverse=True)
        while stack:
            unit = stack[-1]
            if unit in opened:
                stack.pop()
                done.setdefault(unit)
                continue
            opened.add(unit)
            first = self._makers(unit.reads) - {unit}
            if any(m in opened and m not in done for m in first):
                raise InternalError("two kernels need one another")
            waits = self._makers(unit.waits) - opened - first
            first |= {m for m in waits if not self._needs_any(m, opened - done.keys(), done)}
            missing = [m for m in first if m not in done]
            stack.extend(sorted(missing, key=rank.__getitem__, reverse=True))
        return list(done)

    def _needs_any(self, unit: Unit, wanted: set[Unit], done: dict[Unit, None]) -> bool:
        """Whether the unit reads, through others that are not done, what one of these makes."""
        seen, stack = {unit}, [unit]
        while stack:
            for maker in self._makers(stack.pop().reads):
                if maker in wanted:
                    return True
                if maker not in seen and maker not in done:
                    seen.add(maker)
                    stack.append(maker)
        return False

    def _makers(self, nodes: Iterable[UOp]) -> set[Unit]:
        """The units in whose memory these nodes lie."""
        stored = map(self.storage, nodes)
        return {self.maker[node] for node in stored if node in self.maker}

    def storage(self, node: UOp) -> UOp:
        """The node in whose memory this one lies."""
        while node in self.alias or type(node.op.kernel) is Part:
            node = self.alias[node] if node in self.alias else node.src[0]
        return node


def _view(node: UOp) -> View:
    kernel = node.op.kernel
    assert isinstance(kernel, View)
    return kernel


def _joins(node: UOp) -> bool:
    kernel = node.op.kernel
    return type(kernel) is View and kernel.joins


def _aliases(node: UOp) -> bool:
    kernel = node.op.kernel
    return type(kernel) is View and kernel.aliases
