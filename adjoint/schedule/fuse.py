"""Fusion: which nodes share a kernel.

Nodes are placed from the results back to the leaves. The loop counters of a consumer flow to its
operands (`loop_axes.py`). A node joins the kernel of its consumers if that kernel would compute it
once per point of its loops. Otherwise it is recomputed if that is cheap, and gets memory and a
kernel of its own if not. A reduction joins if its result is indexed by loops that enclose the rest:
a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, repeat

from adjoint.ir.kernel_kind import Gather, View, is_constant, is_counting
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.scatter import read_by
from adjoint.ops.logic import is_copy, question_of
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
    WHOLE,
)
from adjoint.schedule.layout import below_windows, matrix_base, row_base, sorts
from adjoint.schedule.loop_axes import Atoms, Index
from adjoint.schedule.makers import Makers
from adjoint.schedule.node_facts import facts_of, goes_down, is_large
from adjoint.schedule.panel_units import PanelUnits
from adjoint.schedule.row_units import RowUnits
from adjoint.schedule.siblings import Siblings
from adjoint.schedule.unit_order import ordered
from adjoint.schedule.units import Order, Unit
from adjoint.schedule.whole import whole_base
from adjoint.target import Target

Uses = dict[tuple[Unit, Index], None]  # kernels that compute with a node, and where they read it
Needs = dict[Unit | None, None]  # steps that want a node in memory; None is the caller
Reason = tuple[str, str]  # for people: what became of a node, and why

INSIDE, BESIDE, OWN, STEP, THROUGH = (
    "inside its consumers' kernels",
    "one more result of a consumer's kernel",
    "a kernel of its own",
    "a step of its own",
    "read through, where its operand lies",
)


_PRODUCTS = 4  # that a kernel of tiles may hold, or columns of one
_STEPS = 8  # products with one right operand: of an unrolled loop, whose kernels are to be alike


class Fuser:
    """One schedule in the making."""

    def __init__(self, roots: Sequence[UOp], target: Target):
        self.target, self.limits = target, target.limits
        self.teams = target.team is not None
        self.facts = facts_of(roots, target)
        self.atoms = Atoms()
        self.panels = PanelUnits(self.facts, self.atoms, target)
        self.rows = RowUnits(self.atoms, target)
        self.uses: dict[UOp, Uses] = {}
        self.needs: dict[UOp, Needs] = {r: {None: None} for r in roots}
        self.units: dict[Unit, None] = {}
        self.steps = Order()
        self.makers = Makers()
        tiled = [node for node, facts in self.facts.items() if facts.tiled]
        self.factors = Counter(node.src[1] for node in tiled)  # and how many products have each
        self.finished: dict[UOp, Index] = {}  # where the results of products in tiles are used
        self.sorting: dict[UOp, Unit] = {}  # steps that can give these indices as well
        self.reasons: dict[UOp, Reason] = {}  # what became of each node, and why

    def run(self) -> list[Unit]:
        """The units, in an order in which they can run."""
        for node in reversed(self.facts):
            self._place(node)
        Siblings(self.units, self.steps, self.makers, self.teams).merge()
        return ordered(self.units, self.facts, self.makers)

    # ---- placing a node

    def _place(self, node: UOp) -> None:
        uses, needs = self.uses.pop(node, {}), self.needs.pop(node, {})
        if not uses and not needs:
            return
        kind = self.facts[node].kind
        if node.dtype and 0 in node.shape:
            self._reads(node, uses)
        elif kind == VIEW:
            self._place_view(node, uses, needs)
        elif kind == LEAF:
            self._place_leaf(node, uses, needs)
        elif kind == PART:
            self._reads(node, uses)
            self._want(node.src[0], uses, needs)
        elif kind == MEMORY or (kind == HOST and _aliases(node)):
            self._place_memory(node, uses, needs)
        elif sorts(node) is not None:
            self._place_step(node, SORT, uses, needs)
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
            self.makers.alias[node] = node.src[0]
            self.needs.setdefault(node.src[0], {}).update(needs)
            for unit in needs:
                if unit is not None:
                    unit.waits.update(dict.fromkeys(node.src[1:]))
        elif needs or not self.facts[node].movable or self._overflows(node, uses):
            self.reasons[node] = (
                OWN,
                _asked(needs) if needs else "its elements are not read in place",
            )
            self._new_kernel(node)
            self._reads(node, uses)
            self._link(node, uses, needs)
            return
        self.reasons[node] = THROUGH, "it only says where elements are"
        for unit, index in uses:
            self._flow(node, unit, index)

    def _place_memory(self, node: UOp, uses: Uses, needs: Needs) -> None:
        """The operand's bytes under another type: kernels read them there."""
        self.makers.alias[node] = node.src[0]
        self._reads(node, uses)
        self._want(node.src[0], uses, needs)

    def _want(self, node: UOp, uses: Uses, needs: Needs) -> None:
        """The node is needed in memory by all these."""
        wanted = self.needs.setdefault(node, {})
        wanted.update(needs)
        wanted.update({unit: None for unit, _ in uses})

    def _overflows(self, node: UOp, uses: Uses) -> bool:
        """Whether the kernels that read a view have enough to do without it."""
        return not (_aliases(node) and len(node.src) == 1) and self._are_done(uses)

    def _flow(self, node: UOp, unit: Unit, index: Index) -> None:
        """The operands of a node inside a kernel are read there, at the index that follows."""
        facts, settled = self.facts[node], self.atoms.settled
        unit.members += 1
        unit.weight += facts.weight
        for source, at in self._operands(node, facts.kind, unit, index):
            self.uses.setdefault(source, {})[(unit, settled(at))] = None

    def _operands(
        self, node: UOp, kind: str, unit: Unit, index: Index
    ) -> Iterable[tuple[UOp, Index]]:
        """The nodes that a node at an index reads, and their indices."""
        if kind == VIEW:
            if node.op.kernel.waits:
                unit.waits.update(dict.fromkeys(node.src[1:]))
            return self.atoms.through(node, index)
        if kind == REDUCE:
            pairs, loops = self.atoms.reduced(node, index)
            unit.reduced[node] = (self.finished.get(node, index), loops)
            if self.facts[node].tiled:
                self._multiply(node, unit, index)
            return pairs
        if type(node.op.kernel) is Gather:
            unit.checks = True
            return self._gathered(node, index)
        return () if is_counting(node) else zip(node.src, repeat(index))

    def _multiply(self, node: UOp, unit: Unit, index: Index) -> None:
        """A tiled product joins a kernel: operands that it reads repeatedly are in memory, unless
        they are computed row by row.
        """
        wanted = [below_windows(node.src[1])]
        if not self.panels.begins(node, unit, index):
            asked = question_of(node.src[0])
            rows = node.src[0] if asked is None else node.src[0].src[1]
            wanted += [row_base(rows, self.target.tile, node.src[1]), asked]
        unit.tiled = True
        for operand in wanted:
            if operand is not None:
                self.needs.setdefault(operand, {})[unit] = None

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
        why = _asked(needs) if needs else self._refusal(node, kind, settled, units)
        if not why:
            self.reasons[node] = (
                INSIDE,
                "that costs less than writing and reading it",
            )
            for unit, index in self.panels.places(node, settled):
                self._flow(node, unit, index)
            return
        host = self._host(node, kind, settled, units, needs)
        self.reasons[node] = OWN if host is None else BESIDE, why
        if host is None:
            self._new_kernel(node)
            self._reads(node, settled)
        else:
            unit, index = host
            unit.outputs[node] = index
            self.steps.widen(unit, self.facts[node].level)
            self.makers.maker[node] = unit
            for other, at in settled:
                if other is unit:
                    self._flow(node, unit, at)
                else:
                    other.reads[node] = None
            if (unit, index) not in settled:
                self._flow(node, unit, index)
        self._link(node, settled, needs)

    def _refusal(self, node: UOp, kind: str, uses: Uses, units: dict[Unit, None]) -> str:
        """Why the node is not computed inside its consumers, without memory; "" if it is."""
        if self._are_done(uses):
            return "a kernel that reads it has enough to do, or its index is a tangle"
        if is_copy(node):
            return "it is a copy that was asked for"
        if kind == REDUCE:
            return self._refused_sum(node, uses, units)
        if type(node.op.kernel) is Gather and any(unit.tiled for unit in units):
            return "a product in tiles does not look up indices"
        facts = self.facts[node]
        if facts.kept and len(units) > 1:
            return "several kernels read it, and one keeps it for the others"
        large = not self.teams and is_large(node, self.target)
        cheap = self.limits.cheap_large if large else self.limits.cheap
        if (facts.cost <= cheap and not facts.stored) or question_of(node) is not None:
            return ""  # what comes with a question is in memory, and so is the answer
        if len(units) > 1:
            again = self.panels.make_again(node, units)
            if again and all(self.rows.computes_once(unit, index) for unit, index in uses):
                return ""
            return "several kernels read it, and computing it again costs more than memory"
        for unit, index in uses:
            if self.rows.computes_once(unit, index):
                continue
            if not facts.reduces or not self.rows.makes_row(unit, index):
                return "its consumer would compute the same element many times"
        if len(uses) == 1 or next(iter(units)).outer is not None:
            return ""
        return "its consumer reads it at several places"

    def _refused_sum(self, node: UOp, uses: Uses, units: dict[Unit, None]) -> str:
        if self.panels.takes(node, uses, units):
            return ""
        if self.facts[node].tiled:
            fits = self._multiplies(node, uses, units)
            return (
                "" if fits else "a product in tiles, which its consumers do not read tile by tile"
            )
        if len(uses) != 1:
            return "it is summed once, and read in several places"
        if self._goes_down(node, units):
            return "columns of far memory are added up line by line, which takes a kernel"
        rows = all(self.rows.makes_row(unit, index) for unit, index in uses)
        return "" if rows else "its results are no rows of the kernel that reads them"

    def _goes_down(self, node: UOp, units: Iterable[Unit]) -> bool:
        """Whether a sum and one that needs it go down columns: all columns at once, from line to
        line of memory, which a kernel with sums one after another does not.
        """
        if self.teams or not goes_down(node, self.target):
            return False
        below = (n for unit in units for n in unit.reduced if goes_down(n, self.target))
        return any(self._needs(n, node) for n in below)

    def _needs(self, node: UOp, other: UOp) -> bool:
        """Whether a node is computed from another."""
        level, seen, waiting = self.facts[other].level, {node}, [node]
        while waiting:
            for source in waiting.pop().src:
                if source is other:
                    return True
                if source not in seen and self.facts[source].level > level:
                    seen.add(source)
                    waiting.append(source)
        return False

    def _multiplies(self, node: UOp, uses: Uses, units: dict[Unit, None]) -> bool:
        """Whether one kernel needs a product, each of its elements or some columns beside one
        another; other products of the same rows and columns may be there."""
        places = {(*index[:2], self.atoms.unshifted(index[2])) for _, index in uses}
        if len(units) != 1 or len(places) != 1 or len(uses) > _PRODUCTS:
            return False
        (unit,), (place,) = units, places
        if (unit.tiled or len(uses) > 1) and self.factors[node.src[1]] >= _STEPS:
            return False
        if unit.tiled:
            fits = self._goes_beside(node, unit, place)
        else:
            fits = self.rows.is_plain(unit, place) and self.rows.makes_row(unit, place)
        if fits:
            self.finished[node] = place
        return fits

    def _goes_beside(self, node: UOp, unit: Unit, place: Index) -> bool:
        """Whether a kernel has products of the same rows and columns, and no others."""
        if unit.panel is not None or len(unit.reduced) >= _PRODUCTS or not node.dtype.is_float:
            return False
        return all(
            self.atoms.settled(at) == place and other.dtype is node.dtype
            for other, (at, _) in unit.reduced.items()
        )

    def _is_turned_product(self, node: UOp) -> bool:
        """Whether a node is a copy of a product in another order, across which others would have
        to read: it is a kernel of its own."""
        if not is_copy(node):
            return False
        below = node.src[1]
        while self.facts[below].kind == VIEW and len(below.src) == 1:
            below = below.src[0]
        return self.facts[below].tiled

    def _are_done(self, uses: Uses) -> bool:
        """Whether one of the kernels has enough to do, or an index is better read from memory."""
        tangled = self.atoms.tangled
        return any(unit.full or tangled(index) for unit, index in uses)

    def _host(
        self, node: UOp, kind: str, uses: Uses, units: dict[Unit, None], needs: Needs
    ) -> tuple[Unit, Index] | None:
        """A consumer's kernel in which the node can be one more result."""
        if self._is_turned_product(node) or (kind == REDUCE and self._goes_down(node, units)):
            return None
        for unit, index in sorted(uses, key=lambda use: use[0].high):
            flat = list(chain(*index))
            inside = set(flat)
            if len(inside) != len(flat) or not self.atoms.images.keys().isdisjoint(inside):
                continue
            if kind == REDUCE and any(u is unit and at != index for u, at in uses):
                continue  # a kernel sums it once; other places would need it in memory
            if self.facts[node].tiled and not self.rows.is_plain(unit, index):
                continue
            if unit.tiled and type(node.op.kernel) is Gather:
                continue
            if is_copy(node) and (unit.outer is not None or any(map(is_copy, unit.outputs))):
                continue  # it lies across rows, or across another
            if kind == REDUCE and not self.panels.may_hold(node, unit):
                continue
            row = unit.outer is not None and inside == set(self.atoms.whole(unit.outer))
            wide = (self.rows.domain(unit), self.panels.counters(unit))
            fits = row or (kind == POINTWISE and inside in wide)
            if not row and (kind == REDUCE or self._is_of_row(node)):
                fits = fits or (unit.outer is None and self.rows.makes_row(unit, index))
            others = (u for u in (*units, *needs) if u is not None and u is not unit)
            if fits and not unit.full and not any(map(self.steps.before, others, repeat(unit))):
                return unit, index
        return None

    def _is_of_row(self, node: UOp) -> bool:
        """Whether a node is computed from a row's sums, so that a team that holds the row in
        registers can write it as one more result: otherwise the row would be read again.
        """
        return self.teams and self.facts[node].reduces

    def _new_kernel(self, node: UOp) -> None:
        index = tuple(self.atoms.new(n) for n in node.shape)
        level = self.facts[node].level
        unit = Unit("kernel", self.limits, {node: index}, level, level)
        if self.facts[node].kind == REDUCE:
            unit.outer = tuple(chain(*index))
        self.units[unit] = None
        self.makers.maker[node] = unit
        if self.facts[node].kind != LEAF:
            self._flow(node, unit, index)

    def _place_step(self, node: UOp, kind: str, uses: Uses, needs: Needs) -> None:
        self.reasons[node] = STEP, f"loops do not compute it: {kind}"
        level = self.facts[node].level
        unit = Unit(kind, self.limits, {}, level, level)
        self.units[unit] = None
        self._join_step(node, unit, uses, needs)
        order = sorts(node) if kind == SORT else None
        if order is not None:
            self.sorting[order] = unit
        sources = read_by(node, self.target) if order is None else order.src
        for wanted in dict.fromkeys(_in_memory(node, sources, kind, self.target)):
            unit.reads[wanted] = None
            self.needs.setdefault(wanted, {})[unit] = None

    def _join_step(self, node: UOp, unit: Unit, uses: Uses, needs: Needs) -> None:
        """The node is a result of the step: its only one, or the indices beside sorted values."""
        unit.outputs[node] = ()
        self.steps.widen(unit, self.facts[node].level)
        self.makers.maker[node] = unit
        self._reads(node, uses)
        self._link(node, uses, needs)

    def _link(
        self, node: UOp, uses: Iterable[tuple[Unit, Index]], needs: Iterable[Unit | None]
    ) -> None:
        maker = self.makers.maker[node]
        users = dict.fromkeys((*(u for u, _ in uses), *needs))
        others = [unit for unit in users if unit is not None and unit is not maker]
        self.steps.link(maker, others)
        for unit in others:
            indirect = unit.kind == "kernel" and unit in needs  # its parts or bytes are read
            (unit.waits if indirect else unit.reads)[node] = None


def _asked(needs: Needs) -> str:
    """Why a node must be in memory, whatever would be quicker."""
    return "it is a result" if None in needs else "a step that is no loop reads its memory"


def _in_memory(node: UOp, sources: Iterable[UOp], kind: str, target: Target) -> Iterable[UOp]:
    """The memory that a step of this kind reads of its operands: below views, if it supports
    strides.
    """
    if kind == LIBRARY:
        return [*(matrix_base(x, target) for x in node.src[:2]), *node.src[2:]]
    return [whole_base(node, x) for x in sources] if kind == WHOLE else sources


def _aliases(node: UOp) -> bool:
    kernel = node.op.kernel
    return type(kernel) is View and kernel.aliases
