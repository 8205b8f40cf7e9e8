"""Row-wise work on a panel: reductions of its rows one after another, then the finished rows.

Before: rows of scores in scratch. After, for every row:
    for columns: the maximum
    for columns: kept[column] = exp(score - maximum);  the sum of kept, by the reduction tree
    for columns: the row of the second product's operand, over the scores; results as wide as it
An element is computed once: summands and expensive values stay in a line of scratch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from adjoint.errors import InternalError
from adjoint.ir.affine import ZERO, Affine, flattened
from adjoint.ir.dtype import DType
from adjoint.ir.kernel_kind import EXPENSIVE, Library, reduce_of
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, toposort
from adjoint.kernel.algorithms.loops import number
from adjoint.kernel.decompose import decompose, decompose_node
from adjoint.kernel.index_maps import At, Gate, reduced_operands
from adjoint.kernel.loop_stages import adds, flat
from adjoint.kernel.masks import Mask
from adjoint.kernel.packing import Packing
from adjoint.kernel.reduction_tree import Tree, TreeLoops
from adjoint.kernel.row_stops import behind
from adjoint.ops.mathematics.nodes import compute_dtype, rounded
from adjoint.stages import Group, Index

_LINE = 16  # elements: rows are so many times an odd number apart


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sum:
    """A reduction of the group: the place of its result, and its loops."""

    node: UOp
    at: Index
    loops: Index

    @property
    def is_product(self) -> bool:
        """Whether it multiplies matrices."""
        return type(self.node.op.kernel) is Library


class PanelRows(Packing):
    """Writes a kernel that works on rows in scratch.

    `lanes` columns are processed together; `width` is the length of a row, `room` of its place in
    scratch.
    """

    def __init__(self, group: Group, kind: DType, lanes: int):
        super().__init__(group)
        self.kind, self.lanes = kind, lanes
        sums = [Sum(*found) for found in group.reduced]
        self.second = _last([s for s in sums if s.is_product], group)
        self.first = [s for s in sums if s.is_product and s is not self.second]
        self.reduced = {s.node: s for s in sums if not s.is_product}
        self.outer = {*flat(self.second.at[:2])}
        self.width = self._length(flat(self.second.loops))
        self.room = (self.width // _LINE + 1) * _LINE | _LINE  # rows do not share places of a cache
        self.scores: dict[UOp, UOp] = {}  # scratch of first products
        self.row, self.column = ZERO, ZERO  # of the panel
        self.found: dict[UOp, UOp] = {}  # what reductions of the row gave
        self.ends: UOp | None = None  # of each row, behind which all weights are zeros, in scratch
        self.held: dict[UOp, UOp] = {}  # the same of all rows, in scratch
        self.stop: Mask | None = None  # behind which nothing is computed of a row
        self.reach: UOp | None = None  # parts of the row before that
        self.place = ZERO  # of the row in the product
        self.finishing: UOp | None = None  # the total of the second product that is being finished
        self._names = count()
        self._kept: dict[Any, UOp] = {}  # lines of scratch with values of this row
        self._new: list[tuple[UOp, At, UOp]] = []  # expensive values of the loop that is written

    # ---- indices

    def _operand(self, part: Sum, which: int = 0) -> UOp:
        """An element of an operand where the loops are."""
        places, gate = reduced_operands(part.node, *self.places_of(part))
        if gate:
            raise InternalError(f"{part.node}: a row reads no element under a condition")
        return self.value(part.node.src[which], places[which])

    def go_to_row(self, row: Affine) -> None:
        """From here on the loops are at a row of the product."""
        self.place = row
        self._go(flat(self.second.at[1:2]), row)

    def go_to_column(self, part: Sum, column: Affine) -> None:
        """From here on the loops of a reduction are at a column."""
        self._go(flat(part.loops), column)

    def places_of(self, part: Sum) -> tuple[At, At]:
        """The place of the result of a reduction, and of its loops."""
        return self._place(part.at), self._place(part.loops)

    def start_of(self, node: UOp) -> UOp:
        """What a reduction starts from."""
        return _start(node)

    # ---- outputs: once per row, as wide as the panel, or results of the second product

    def _outputs(self, loops: set[int]) -> list[tuple[UOp, Index]]:
        """The results that are indexed by the rows and these loops."""
        return [(n, i) for n, i in self.group.outputs if {*flat(i)} - self.outer == loops]

    def _store_all(self, outputs: Sequence[tuple[UOp, Index]]) -> None:
        found = [(node, at, self.value(node, at)) for node, at in self._placed(outputs)]
        for node, at, value in found:
            if node.dtype is not value.dtype:
                value = UOp(OPS["cast"], (value,), OPS["cast"].arg(node.dtype))  # type: ignore[misc]
            place = self.index(flattened(at, node.shape))
            self.loops.store(self.buffers[node, "out"], place, value)

    def _placed(self, outputs: Sequence[tuple[UOp, Index]]) -> list[tuple[UOp, At]]:
        return [(node, self._place(index)) for node, index in outputs]

    # ---- a row

    def write_row(self, weights: UOp) -> None:
        """All that is done to the row where the loops are; `weights`: scratch for the operand of
        the second product."""
        self.found, self._kept = {}, {}
        self.reach = self._reached()
        for some in self._levels():
            self._reduce(some)
        for node, line in self.held.items():
            self.loops.store(line, self.index(self.row), self.found[node])
        if self.ends is None:
            with self.loops.loop(self.width, self.lanes) as turn:
                self._weigh(weights, self._counter(self.width, turn))
        else:
            self._weigh_parts(weights, self.ends)
        self._forget()
        self._store_all(self._outputs(set()))

    def _forget(self) -> None:
        """Values of loops that have ended are computed again: a row of one column has the same
        places in every loop, and so have results without axes."""
        self._memo.clear()

    def _weigh(self, weights: UOp, column: Affine) -> UOp:
        """The finished element of a column, and all results there."""
        summed, self.column = flat(self.second.loops), column
        self._forget()
        self._go(summed, column)
        value = self._operand(self.second)
        self._store_all(self._outputs({*summed}))
        self.loops.store(weights, self._cell(column), value)
        return value

    def _weigh_parts(self, weights: UOp, ends: UOp) -> None:
        """The same, part by part of the row, and the end of the last part with a non-zero. The sum
        of absolute values is 0 or NaN exactly then.
        """
        loops, zero = self.loops, number(0.0, self.kind)
        end = loops.register(number(0))
        with loops.loop(self._parts, count=self.reach) as part:
            first = self._counter(self._parts, part) * self._part
            total = loops.register(zero)
            with loops.loop(self._part, self.lanes, self._left(first)) as turn:
                value = self._weigh(weights, first + self._counter(self._part, turn))
                more = UOp(OPS["add"], (total, UOp(OPS["abs"], (value,))))
                total = loops.update(total, more, turn)
            something = UOp(OPS["ne"], (total, zero))
            reach = UOp(OPS["where"], (something, self.index(first + self._part), end))
            end = loops.update(end, reach, part)
        if self.stop is not None and self.reach is not None:
            value = behind(self, self.stop.node, self.second)
            self._fill(weights, self._cell(ZERO), self.reach, value)
            more = UOp(OPS["lt"], (self.reach, number(self._parts)))
            more = UOp(OPS["logical_and"], (more, UOp(OPS["ne"], (value, zero))))
            end = UOp(OPS["where"], (more, number(self._parts * self._part), end))
        loops.store(ends, self.index(self.row), end)

    # ---- columns of a row, all or up to a mask

    @property
    def _part(self) -> int:
        """Columns of a part of a row."""
        return 2 * self.lanes

    @property
    def _parts(self) -> int:
        return -(-self.width // self._part)

    def _left(self, first: Affine) -> UOp | None:
        """How many columns a part has, from its first on; None: all."""
        if self.width % self._part == 0:
            return None
        return UOp(OPS["minimum"], (self.index(first * -1 + self.width), number(self._part)))

    def _reached(self) -> UOp | None:
        """The parts of the row that are not behind the mask, if there is one."""
        if self.stop is None:
            return None
        kept = UOp(OPS["maximum"], (self.index(self.stop.distance(ZERO, self.place)), number(0)))
        more = UOp(OPS["add"], (kept, number(self._part - 1)))
        parts = UOp(OPS["floordiv"], (more, number(self._part)))
        return UOp(OPS["minimum"], (parts, number(self._parts)))

    @contextmanager
    def _columns(self) -> Iterator[tuple[UOp, ...]]:
        """The loops over the columns of the row that are not behind the mask."""
        if self.stop is None:
            with self.loops.loop(self.width, self.lanes) as turn:
                self.column = self._counter(self.width, turn)
                yield (turn,)
            return
        with self.loops.loop(self._parts, count=self.reach) as part:
            first = self._counter(self._parts, part) * self._part
            with self.loops.loop(self._part, self.lanes, self._left(first)) as turn:
                self.column = first + self._counter(self._part, turn)
                yield (part, turn)

    def _fill(self, memory: UOp, begin: UOp, reach: UOp, value: UOp) -> None:
        """A value behind the parts that are reached, in a row that begins there."""
        first = UOp(OPS["mul"], (reach, number(self._part)))
        left = UOp(OPS["sub"], (number(self.width), first))
        start = UOp(OPS["add"], (begin, first))
        with self.loops.loop(self.width, self.lanes, left) as turn:
            self.loops.store(memory, UOp(OPS["add"], (start, turn)), value)

    def _cell(self, column: Affine) -> UOp:
        """A place of the present row in the panel."""
        return self.index(self.row * self.room + column)

    def _levels(self) -> list[list[Sum]]:
        """The reductions by level: those of a level need only those of levels before."""
        known = {*self.group.inputs, *(part.node for part in self.first)}
        levels: dict[UOp, int] = {}
        turns: dict[int, list[Sum]] = {}
        for node in toposort([n for n, _ in self.group.outputs], stop=known.__contains__):
            below = 0 if node in known else max((levels[s] for s in node.src), default=0)
            levels[node] = below + (node in self.reduced)
            if node in self.reduced:
                turns.setdefault(below, []).append(self.reduced[node])
        return [turns[level] for level in sorted(turns)]

    def _reduce(self, parts: Sequence[Sum]) -> None:
        """Reductions in one loop over the columns; floats are added up behind it."""
        loops, lines = self.loops, {}
        totals = {p: loops.register(_start(p.node)) for p in parts if not adds(p.node)}
        with self._columns() as inside:
            self._forget()
            self._new = []
            values = [(part, self._summand(part)) for part in parts]
            for part, value in values:
                if part in totals:
                    joined = UOp(OPS[_join(part.node)], (totals[part], value))
                    totals[part] = loops.update(totals[part], joined, *inside)
                else:
                    lines[part] = self._line(value)
            self._keep()
        if self.stop is not None and self.reach is not None:
            filled = {line: behind(self, self.stop.node, part) for part, line in lines.items()}
            for line, value in filled.items():
                self._fill(line, number(0), self.reach, value)
        for part, total in (totals | self._add_up(lines)).items():
            self.found[part.node] = rounded(total, part.node.dtype)

    def _summand(self, part: Sum) -> UOp:
        """The term of a reduction, in the dtype of its total."""
        self._go(flat(part.loops), self.column)
        return self.in_sum(part, self._operand(part))

    def in_sum(self, part: Sum, value: UOp) -> UOp:
        """An element in the dtype of a reduction's total."""
        kind = compute_dtype(part.node.dtype)
        if kind is value.dtype:
            return value
        return decompose(OPS["cast"], (value,), None, kind, part.node.src[0].dtype)

    def _line(self, value: UOp) -> UOp:
        """A line of scratch with the values of this loop."""
        if value not in self._kept:
            line = self.loops.local(f"line{next(self._names)}", value.dtype, self.width)
            self.loops.store(line, self.index(self.column), value)
            self._kept[value] = line
        return self._kept[value]

    def _keep(self) -> None:
        """Expensive values of this loop are at hand in those that follow."""
        for node, at, value in self._new:
            key = self._key(node, at)
            if key is not None:
                self._kept[key] = self._line(value)
        self._new = []

    def _key(self, node: UOp, at: At) -> Any:
        """A key that is the same for an element in every loop over this row; None unless it is
        indexed along the row.
        """
        places = tuple(None if x == self.column else x for x in at)
        rest, counters = [x for x in places if x is not None], self.column.atoms()
        apart = all(counters.isdisjoint(x.atoms()) for x in rest)
        return (node, places) if apart and len(rest) == len(at) - 1 else None

    # ---- sums, by the one tree

    def _add_up(self, lines: dict[Sum, UOp]) -> dict[Sum, UOp]:
        if not lines:
            return {}
        make = lambda size, lanes, count: self.loops.range(size, lanes, count)  # noqa: E731
        tree = TreeLoops(self.width, make, self.index, self._index.__setitem__).tree(True)
        totals = self._nested(tree, list(lines.items()), 0)
        return dict(zip(lines, totals, strict=True))

    def _nested(self, tree: Tree, lines: list[tuple[Sum, UOp]], depth: int) -> list[UOp]:
        """The totals of the loops from a depth on."""
        loops, around = self.loops, tree.parts[0].loops[:-1]
        if depth == len(around):
            return self._added(tree, lines)
        totals = [loops.register(_start(part.node)) for part, _ in lines]
        loops.enter(around[depth])
        inner = self._nested(tree, lines, depth + 1)
        totals = [
            loops.update(total, UOp(OPS[_join(part.node)], (total, found)), around[depth])
            for (part, _), total, found in zip(lines, totals, inner, strict=True)
        ]
        loops.leave()
        return totals

    def _added(self, tree: Tree, lines: list[tuple[Sum, UOp]]) -> list[UOp]:
        """The innermost loops: whole rows of the tree, then the remainder of one."""
        loops = self.loops
        totals = [_start(part.node) for part, _ in lines]
        for piece in tree.parts:
            totals = [loops.register(total) for total in totals]
            loops.enter(piece.loops[-1])
            place, gate = self.index(piece.place), piece.gate
            for i, (part, line) in enumerate(lines):
                inside = (self.condition(gate), _start(part.node)) if gate else ()
                value = loops.here(OPS["load"](line, place, *inside))
                joined = UOp(OPS[_join(part.node)], (totals[i], value))
                totals[i] = loops.update(totals[i], joined, piece.loops[-1])
            loops.leave()
        return totals

    # ---- elements

    def apply(self, node: UOp, operands: list[UOp], at: At, gate: Gate) -> UOp:
        value = decompose_node(node, tuple(operands))
        if not gate and getattr(node.op.kernel, "cost", 1) >= EXPENSIVE:
            self._new.append((node, at, value))
        return value

    def kept(self, node: UOp, at: At, gate: Gate) -> UOp | None:
        if gate or not self._kept or self.finishing is not None:
            return None
        line = self._kept.get(self._key(node, at))
        return None if line is None else self.loops.load(line, self.index(self.column))

    def reduction(self, node: UOp, at: At) -> UOp:
        if node is self.second.node:
            assert self.finishing is not None
            return self.finishing
        if node in self.scores:
            return self.loops.load(self.scores[node], self._cell(at[2]))
        if self.finishing is None:
            return self.found[node]
        return self.loops.load(self.held[node], self.index(self.row))


def _last(products: list[Sum], group: Group) -> Sum:
    """The product that the others are made for."""
    stop = {*group.inputs}.__contains__
    below = {p: {*toposort([p.node], stop=stop)} for p in products}
    for part in products:
        if all(other.node in below[part] for other in products):
            return part
    raise InternalError("no product of the kernel comes after all others")


def _join(node: UOp) -> str:
    return reduce_of(node).joining(node.dtype)[0]


def _start(node: UOp) -> UOp:
    """What a reduction starts from."""
    kind: DType = compute_dtype(node.dtype)
    made: UOp = OPS["const"](reduce_of(node).joining(node.dtype)[1], kind, (), None)
    return made
