"""A group of nodes as a loop program.

Before: div(exp(sub(x, max(x))), sum(...)) with its loops. After: for every row, a loop that finds
the maximum, one that sums and keeps the exponentials, one that divides and stores. Elsewhere: the
choice of loops (`loop_strategy.py`), sums of columns (`column_sums.py`), the order of nodes
(`loop_order.py`), arithmetic in basic ops (`decompose.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, pairwise
from math import prod
from typing import Any

from adjoint.ir.affine import Affine, IndexVar, Loaded, flattened, var
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.kernel_kind import EXPENSIVE, RANGE, reduce_of
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import divides, highest, is_one, less, varies
from adjoint.ir.uop import UOp
from adjoint.ir.values import is_size
from adjoint.kernel.algorithms.scatter import checked, flag_code
from adjoint.kernel.decompose import decompose, decompose_node
from adjoint.kernel.elements import PLAIN_NUMBERS, Elements
from adjoint.kernel.in_place import written_over
from adjoint.kernel.index_maps import At, Gate, joined, reduced_operands
from adjoint.kernel.loop_order import LoopOrder
from adjoint.kernel.loop_stages import Assignment, LoopCounters, LoopStages, adds
from adjoint.kernel.loop_strategy import Choice
from adjoint.kernel.reduction_lines import LineLoops
from adjoint.kernel.reduction_tree import Copy, Spot, Tree, TreePart
from adjoint.ops.mathematics.nodes import cast, compute_dtype, rounded
from adjoint.ops.tree import BLOCK, GROUP, LANES
from adjoint.stages import Index, LoopProgram

_MIN_OPERATIONS = 1 << 22  # operations below which a kernel is not worth a source of its own
_TREE_NUMBERS = (GROUP, LANES, GROUP * LANES, BLOCK)  # loops as long as the code says


class Lowering(Elements):
    """One kernel being written."""

    def __init__(self, frame: LoopStages, choice: Choice, index_dtype: DType):
        super().__init__(frame.group.inputs, index_dtype)
        self.frame, self.choice = frame, choice
        self.counters = Assignment.of(frame, choice.outer, choice.stages)
        self.nest = LoopOrder()
        self.flag: tuple[UOp, UOp] | None = None
        self.stage = 0
        self.pieces = self._cut()  # of the loop that has the lanes
        self.effects: list[list[UOp]] = [[] for _ in range(len(frame.stages) + 1)]  # rows last
        self.paths: list[list[tuple[UOp, ...]]] = [[] for _ in frame.stages]  # of loops
        self.row_paths: list[tuple[UOp, ...]] = []  # where what is stored once per row is found
        self.trees: dict[int, Tree] = {}  # stages in which floats are added up
        self.flat: dict[int, Affine] = {}  # the position in the loops of a stage
        self.spots: tuple[Spot, ...] = ()  # where the element that is being written may lie
        self.own: Gate = ()  # where the loops that are being written are inside
        self.results: dict[UOp, UOp] = {}
        self.grid: UOp | None = None
        self._ids = count()
        self._computed: dict[Any, tuple[int, list[tuple[UOp, Affine]]]] = {}
        self._scratch: dict[Any, UOp] = {}
        self._checked: dict[Any, Affine] = {}
        self._define_buffers()

    def _define_buffers(self) -> None:
        outputs = [node for node, _ in self.frame.group.outputs]
        for number, node in enumerate((*outputs, *self.frame.group.inputs)):
            own = number < len(outputs)
            name = f"out{number}" if own else f"in{number - len(outputs)}"
            key = (node, "out") if own else node
            self.buffers[key] = OPS["define_global"](number, name, own, node.dtype, node.size)

    # ---- elements

    def load(self, node: UOp, place: Affine, gate: Gate) -> UOp:
        """Threads read what is at hand behind every check, so that a check does not keep a load
        that is the same for all turns of a loop inside of it. An index behind its check is none."""
        low, high = place.bounds()
        inside = less(-1, low) and less(high, node.size)
        free = self.choice.flat and node.dtype.is_float and inside
        return super().load(node, place, () if free else gate)

    # ---- the whole

    def program(self, name: str) -> tuple[LoopProgram, UOp | None]:
        self._open_loops()
        for number in range(len(self.frame.stages)):
            self._write_stage(number)
        self.effects[-1] += self._row_stores()
        for number, paths in enumerate(self.paths):
            self.nest.stage(paths, self.effects[number])
        self.nest.stage(self.row_paths, self.effects[-1])
        body = tuple(self.nest.listed())
        buffers = tuple(self.buffers.values())
        if self.flag is not None:
            buffers = (*buffers, self.flag[0])
        cost = _cost(body)
        most = _cost(body, highest) * (1 if self.grid is None else highest(self.grid.arg.size))
        known = self.choice.square or self.choice.columns  # whose code is about its sizes
        given = self._parameters(body, most < _MIN_OPERATIONS and not known)
        plain = not self.frame.group.reduced and not known  # squares may overlap
        pairs = written_over(body) if plain else ()
        program = LoopProgram(name, buffers, (), body, self.grid, cost, (), given, pairs, most)
        return program, None if self.flag is None else self.flag[1]

    def _parameters(self, body: tuple[UOp, ...], small: bool) -> tuple[UOp, ...]:
        """Sizes, strides and the user's numbers, which a small kernel gets when it is launched;
        any kernel gets sizes that vary."""
        found: dict[UOp, None] = {}
        for node in body:
            if node.op.kernel is RANGE and not node.arg.grid:
                found[self._number(node.arg.size)] = None
            for source in node.src:
                if source in self._given or is_size(source):
                    found[source] = None
        written_out = range(len(self.spots) + 1) if self.choice.phases else ()
        fixed = (*PLAIN_NUMBERS, *written_out, *(_TREE_NUMBERS if self.trees else ()))
        by = {n.src[1] for n in body if n.op.name in ("floordiv", "mod")} if self.trees else set()
        plain = [n for n in found if n not in by and float(n.arg.value) not in fixed]
        given = {n for n in plain if small} | {n for n in found if varies(n.arg.value)}
        return tuple(n for n in found if n in given)

    def _range(
        self, size: int, lanes: int = 1, grid: bool = False, count: UOp | None = None
    ) -> UOp:
        self.check_fits(0, size)
        return OPS["range"](next(self._ids), size, 0, self.index_dtype, lanes, grid, count)

    def _open_loops(self) -> None:
        """The grid, the loop of the lanes if they go across rows, and the loops of each stage."""
        outer, choice = list(self.counters.outer.vars), self.choice
        lane = outer.pop(choice.lane) if choice.lanes == "outer" else None
        plain = not self.frame.group.reduced and len(self.frame.stages) == 1
        inner = [self._ordered(c, n) for n, c in enumerate(self.counters.stages)]
        if plain and choice.tile is not None:
            open_tiles = self._open_squares if choice.square else self._open_tiles
            open_tiles(inner[0])
            return
        if choice.phases:
            self._write_out(inner[0].pop(-2))
        if plain and inner[0]:
            # the innermost stays, if not alone
            stays = len(inner[0]) + len(outer) > 1 and not choice.flat
            cut = len(inner[0]) - stays
            outer, inner[0] = [*outer, *inner[0][:cut]], inner[0][cut:]
        width = choice.width if lane is None and plain and not inner[0] else 1
        if lane is not None and (choice.flat or not outer):
            outer, lane, width = [*outer, lane], None, choice.width
        self._open_grid(outer, width)
        if lane is not None:
            self._index[lane] = self._range(lane.size, choice.width)
            self.nest.enter(self._index[lane])
        inside = choice.width if choice.lanes == "inner" else 1
        for number, counters in enumerate(inner):
            if self.frame.stages[number].adds:
                self.trees[number] = self._tree(number)
                self.paths[number] = list(self.trees[number].paths)
                continue
            fewer = not self.frame.stages[number].reductions  # whose order follows the lanes
            if choice.pieces:
                self.paths[number] = [(self._loop(v, inside, fewer),) for v in self.pieces]
                continue
            loops = [self._loop(v, inside if v is counters[-1] else 1, fewer) for v in counters]
            self.paths[number] = [tuple(loops)] if loops else []

    def _cut(self) -> list[IndexVar]:
        if not self.choice.pieces:
            return []
        end = self.counters.stages[0].sizes[self.choice.last[0]]
        return [IndexVar(b - a) for a, b in pairwise((*self.choice.pieces, end))]

    def _tree(self, number: int) -> Tree:
        sizes = self.counters.stages[number].sizes
        make = lambda size, lanes, run: self._range(size, lanes, False, run)  # noqa: E731
        row = sizes[-1] if sizes else 1  # the last block of a long sum may be one element
        loops = LineLoops(prod(sizes), make, self.index, self._index.__setitem__, row)
        return loops.tree(self.choice.lanes != "outer")

    def _write_out(self, short: IndexVar) -> None:
        """A loop without iterations of its own: the stage is written once for each of them."""
        around = self.counters.stages[0].vars[:-1]
        line = flattened(tuple(map(var, around)), tuple(v.size for v in around))
        self.spots = tuple((line, Affine(at), ()) for at in range(short.size))

    def _open_tiles(self, loops: list[IndexVar]) -> None:
        """The grid goes over tiles; inside one, a few steps along one loop, lanes along the other.

        Before: for i, for j: out[i, j] = x[j, i]. After: strips of 16 i and 32 j at a time.
        """
        assert self.choice.tile is not None
        across, lane = self.counters.stages[0].vars[self.choice.tile], loops[-1]
        strip = self.choice.strip
        sides = ((across, strip, 1), (lane, 2 * strip, self.choice.width))
        tiles = [IndexVar(-(-v.size // step)) for v, step, _ in sides]
        self._open_grid([*(v for v in loops[:-1] if v is not across), *tiles], 1)
        inside = []
        for tile, (counter, step, lanes) in zip(tiles, sides, strict=True):
            first = self.index(var(tile) * step)
            left = UOp(OPS["sub"], (self._number(counter.size), first))
            whole = divides(step, counter.size)
            count = None if whole else UOp(OPS["minimum"], (left, self._number(step)))
            loop = self._range(step, lanes, count=count)
            self._index[counter] = UOp(OPS["add"], (first, loop))
            inside.append(loop)
        self.paths[0] = [tuple(inside)]

    def _open_squares(self, loops: list[IndexVar]) -> None:
        """The grid goes along lines of the operand; inside, a few squares, which renderers
        transpose in registers. The last square of a loop begins where it ends with the loop.

        Before: for i, for j: out[i, j] = x[j, i]. After: squares of 16 by 16, some along i, and
        some of these along j.
        """
        assert self.choice.tile is not None
        across, lane = self.counters.stages[0].vars[self.choice.tile], loops[-1]
        sides = tuple(zip((lane, across), self.choice.squares, (self.choice.strip, 1), strict=True))
        pieces = [IndexVar(-(-v.size // (self.choice.strip * most))) for v, most, _ in sides]
        self._open_grid([*(v for v in loops[:-1] if v is not across), *pieces], 1)
        turns, inside = [], []
        for piece, (counter, most, lanes) in zip(pieces, sides, strict=True):
            turn, loop = self._squares(counter, piece, most, lanes)
            turns.append(turn)
            inside.append(loop)
        self.paths[0] = [(*turns, *reversed(inside))]

    def _squares(
        self, counter: IndexVar, piece: IndexVar, most: int, lanes: int
    ) -> tuple[UOp, UOp]:
        """The loop over the squares of a piece along a counter, and the one inside of a square."""
        side, first = self.choice.strip, var(piece) * most
        squares, turn = -(-counter.size // side), IndexVar(min(most, -(-counter.size // side)))
        left = UOp(OPS["minimum"], (self.index(first * -1 + squares), self._number(most)))
        self._index[turn] = self._range(turn.size, count=left if squares % turn.size else None)
        start = self.index((first + var(turn)) * side)
        if counter.size % side:
            start = UOp(OPS["minimum"], (start, self._number(counter.size - side)))
        loop = self._range(side, lanes)
        self._index[counter] = UOp(OPS["add"], (start, loop))
        return self._index[turn], loop

    def _ordered(self, counters: LoopCounters, number: int) -> list[IndexVar]:
        """The loop that has the lanes goes innermost."""
        loops = list(counters.vars)
        if self.choice.lanes == "inner" and loops:
            loops.append(loops.pop(self.choice.last[number]))
        return loops

    def _loop(self, counter: IndexVar, lanes: int, fewer: bool) -> UOp:
        """A loop with lanes; with fewer, if it is too short and their number does not matter."""
        length = counter.size if self.choice.exact else highest(counter.size)
        if length < lanes:
            lanes = 1 << (max(length, 1).bit_length() - 1) if fewer else 1
        loop = self._range(counter.size, lanes)
        self._index[counter] = loop
        return loop

    def _open_grid(self, outer: list[IndexVar], lanes: int) -> None:
        total = prod(v.size for v in outer)
        if is_one(total):
            for counter in outer:
                self._index[counter] = self._number(0)
            return
        self.grid = self._range(total, lanes, grid=True)
        self.nest.enter(self.grid)
        whole = IndexVar(total)
        self._index[whole] = self.grid
        left = var(whole)
        for counter in reversed(outer):
            left, at = left // counter.size, left % counter.size
            self._index[counter] = self.index(at)

    # ---- stages

    def _write_stage(self, number: int) -> None:
        self.stage = number
        counters = self.counters.stages[number]
        if number in self.trees:
            self._write_tree(number, counters)
            return
        if self.pieces:
            self._write_pieces(number, counters)
            return
        self.flat[number] = flattened(tuple(map(var, counters.vars)), counters.sizes)
        loops = self.paths[number][0] if self.paths[number] else ()
        self._write_part(number, loops, {})

    def _write_pieces(self, number: int, counters: LoopCounters) -> None:
        """The stores of each piece of the loop that has the lanes."""
        lane = self.choice.last[number]
        for start, piece in zip(self.choice.pieces, self.pieces, strict=True):
            places = [var(v) for v in counters.vars]
            places[lane] = var(piece) + start
            counters.go_each(places)
            self._write_stores(number)

    def _write_part(self, number: int, loops: tuple[UOp, ...], before: dict[UOp, UOp]) -> None:
        """The tasks of one nest of loops; `before`: accumulators of a tree that continue."""
        stage = self.frame.stages[number]
        for node, index, places in stage.reductions:
            value = self._summand(node, index, places)
            self._reduce(node, value, loops, before)
        self._write_stores(number)

    def _write_stores(self, number: int) -> None:
        for gate in self._spotted(number):
            for node, index in self.frame.stages[number].stores:
                at = self.counters.at(index, node, number)
                self.effects[number].append(self._store(node, at, gate))

    def _spotted(self, number: int) -> Iterator[Gate]:
        """The bounds check of each spot, with the counters of the stage there."""
        if not self.spots:
            yield self.own
        for line, column, gate in self.spots:
            self.counters.stages[number].go_to(line, column)
            yield joined(self.own, gate)

    def _write_tree(self, number: int, counters: LoopCounters) -> None:
        """Whole rows, then the remainder of one; then every total is added to the enclosing one."""
        tree = self.trees[number]
        around = tree.parts[0].loops[:-1]
        carried = self._carried(number, around) if tree.carried else {}
        last = dict(carried)
        copied = {} if tree.copy is None else self._copied(number, counters, tree.copy)
        for part in tree.parts:
            self.flat[number], self.own, self.spots = part.place, part.gate, part.spots
            if tree.copy is not None:
                self._add_copied(copied, part.inside + tree.copy.first, part, last)
                continue
            if not part.spots:
                counters.go(part.place)
            self._write_part(number, part.loops, last)
        self.own, self.spots = (), ()
        for node, total in last.items():
            outside = around
            if node in carried:
                total, outside = OPS["phi"](carried[node], total, around[-1]), around[:-1]
                self.effects[number].append(total)
            self.results[node] = rounded(self._risen(node, total, outside), node.dtype)

    def _carried(self, number: int, loops: tuple[UOp, ...]) -> dict[UOp, UOp]:
        """Totals that continue over the iterations of the innermost of these loops."""
        nodes = [node for node, _, _ in self.frame.stages[number].reductions if adds(node)]
        return {node: self._accumulator(node, loops[:-1], loops[-1:]) for node in nodes}

    def _copied(self, number: int, counters: LoopCounters, copy: Copy) -> dict[UOp, UOp]:
        """Everything but the sums of floats, whose summands go to scratch: a buffer for each."""
        line, column, once = copy.spot
        self.flat[number] = line * counters.sizes[-1] + column
        counters.go_to(line, column)
        place = self.index(copy.place)
        lines: dict[UOp, UOp] = {}  # of summands
        found: dict[UOp, UOp] = {}
        for node, index, places in self.frame.stages[number].reductions:
            value = self._summand(node, index, places)
            if not adds(node):
                neutral = self._constant(joining(node)[1], value.dtype)
                value = self.select(once, value, neutral) if once else value
                self._reduce(node, value, copy.loops, {})
                continue
            if value not in lines:
                lines[value] = self._line(f"block{number}_{len(lines)}", value, counters)
                self.effects[number].append(OPS["store"](lines[value], place, value))
            found[node] = lines[value]
        self._write_stores(number)
        return found

    def _line(self, name: str, value: UOp, counters: LoopCounters) -> UOp:
        """Scratch for the values of a block."""
        size = min(
            max(highest(prod(counters.sizes)), LANES), BLOCK + 2 * highest(counters.sizes[-1])
        )
        line: UOp = OPS["define_local"](name, value.dtype, 1 << (size - 1).bit_length())
        self.nest.first(line)
        return line

    def _add_copied(
        self, lines: dict[UOp, UOp], at: Affine, part: TreePart, last: dict[UOp, UOp]
    ) -> None:
        """A part of a tree whose summands are in scratch."""
        place = self.index(at)
        for node, line in lines.items():
            neutral = self._constant(joining(node)[1], compute_dtype(node.dtype))
            inside = (self.condition(part.gate), neutral) if part.gate else ()
            self._reduce(node, OPS["load"](line, place, *inside), part.loops, last)

    def _risen(self, node: UOp, total: UOp, loops: tuple[UOp, ...]) -> UOp:
        """A total of the innermost loop, added in each enclosing loop in turn."""
        op, _ = joining(node)
        for depth in range(len(loops) - 1, -1, -1):
            acc = self._accumulator(node, loops[:depth], loops[depth : depth + 1])
            total = OPS["phi"](acc, UOp(OPS[op], (acc, total)), loops[depth])
            self.effects[self.stage].append(total)
        return total

    def _accumulator(
        self, node: UOp, around: tuple[UOp, ...], inside: tuple[UOp, ...], start: UOp | None = None
    ) -> UOp:
        if start is None:
            start = self._constant(joining(node)[1], compute_dtype(node.dtype))
        acc: UOp = OPS["define_acc"](start, next(self._ids))
        self.nest.register(acc, around, inside)
        return acc

    def _row_stores(self) -> list[UOp]:
        self.stage = len(self.frame.stages)
        return [self._store(n, self.counters.at(i, n, None)) for n, i in self.frame.rows]

    def _store(self, node: UOp, at: At, gate: Gate = ()) -> UOp:
        value = self.value(node, at, gate)
        if node.dtype is not value.dtype and value.op.name == "cast":
            value = value.src[0] if value.src[0].dtype is node.dtype else value  # as it was
        if node.dtype is not value.dtype:
            value = UOp(OPS["cast"], (value,), OPS["cast"].arg(node.dtype))  # type: ignore[misc]
        place = self.index(flattened(at, node.shape))
        condition = self.condition(gate) if gate else None
        return OPS["store"](self.buffers[(node, "out")], place, value, condition)

    def _summand(self, node: UOp, index: Index, places: Index) -> UOp:
        """The term of a reduction in one iteration of its loops; the neutral element where there is
        none.
        """
        kind = compute_dtype(node.dtype)
        total = self._constant(joining(node)[1], kind)
        for spot in self._spotted(self.stage):
            at, loops = (self.counters.at(i, node, self.stage) for i in (index, places))
            operands, inside = reduced_operands(node, at, loops)
            gate = joined(spot, inside)
            values = [self.value(s, p, gate) for s, p in zip(node.src, operands, strict=True)]
            value = self._term(node, values, kind)
            total = self.select(gate, value, total) if gate else value
        return total

    def _reduce(
        self, node: UOp, value: UOp, loops: tuple[UOp, ...], before: dict[UOp, UOp]
    ) -> None:
        op, _ = joining(node)
        if not loops:
            self.results[node] = rounded(value, node.dtype)
            return
        tree = self.stage in self.trees and adds(node)
        around, inside = (loops[:-1], loops[-1:]) if tree else ((), loops)
        acc = self._accumulator(node, around, inside, before.get(node) if tree else None)
        total = OPS["phi"](acc, UOp(OPS[op], (acc, value)), *inside)
        self.effects[self.stage].append(total)
        if tree:
            before[node] = total
            return
        found = rounded(total, node.dtype)
        known = self.results.get(node)  # of the whole rows, where this is what is left
        self.results[node] = found if known is None else UOp(OPS[op], (known, found))

    def _term(self, node: UOp, values: list[UOp], kind: DType) -> UOp:
        """The term that is added: the element in the dtype of the sum, or the product of two."""
        if len(values) == 2:
            return UOp(OPS["mul" if kind is not dtypes.bool_ else "logical_and"], tuple(values))
        (value,) = values
        source = node.src[0].dtype
        if kind is value.dtype:
            return value
        return decompose(OPS["cast"], (value,), None, kind, source)

    # ---- indices that are loaded

    def loaded(self, node: UOp, axis: int, index: UOp, at: At, gate: Gate, size: int) -> Affine:
        key = (index, at, gate, size)
        if key not in self._checked:
            element = self.value(index, at, gate)
            wide, inside = checked(element, size)
            wide = cast(wide, self.index_dtype)
            safe = UOp(OPS["where"], (inside, wide, self._number(0)))
            bad = UOp(OPS["logical_not"], (inside,))
            self._flag_store(node, axis, element, bad, gate)
            self._checked[key] = var(Loaded(safe, size))
        return self._checked[key]

    def _flag_store(self, node: UOp, axis: int, index: UOp, bad: UOp, gate: Gate) -> None:
        if self.flag is None:
            slot = OPS["define_global"](len(self.buffers), "flag", True, dtypes.int64, 1)
            self.flag = (slot, node)
        if gate:
            bad = UOp(OPS["logical_and"], (bad, self.condition(gate)))
        store = OPS["store"](self.flag[0], self._number(0), flag_code(axis, index), bad)
        self.effects[self.stage].append(store)

    def reduction(self, node: UOp, at: At) -> UOp:
        return self.results[node]

    # ---- values kept for a later stage

    def apply(self, node: UOp, operands: list[UOp], at: At, gate: Gate) -> UOp:
        value = decompose_node(node, tuple(operands))
        everywhere = gate == self.own  # under another gate a load is 0 where that is shut
        key = self._keepable(node, at) if everywhere else None
        if key is not None:
            stage, values = self._computed.setdefault(key, (self.stage, []))
            if stage == self.stage:
                values.append((value, self.flat[stage]))
        return value

    def _keepable(self, node: UOp, at: At) -> Any:
        """A key that is the same in every stage of these loops; None for a value that is not
        kept.
        """
        if len(self.frame.stages) < 2 or self.stage >= len(self.frame.stages):
            return None
        if not _is_expensive(node) or self.choice.lanes == "outer":
            return None  # rows side by side would share the scratch
        sizes, tree = self.counters.stages[self.stage].sizes, self.trees.get(self.stage)
        if highest(prod(sizes)) * 8 > self.choice.scratch or (tree is not None and tree.in_spots):
            return None
        flat = self.flat[self.stage]
        found = tuple(_along(x, flat) for x in at)
        if None in found or not any(factor for _, factor in found):  # type: ignore[misc]
            return None
        return node, prod(sizes), found

    def kept(self, node: UOp, at: At, gate: Gate) -> UOp | None:
        if gate != self.own or not _is_expensive(node):
            return None
        key = self._keepable(node, at)
        found = None if key is None else self._computed.get(key)
        if found is None or found[0] == self.stage:
            return None
        if key not in self._scratch:
            self._scratch[key] = self._keep(*found)
        return OPS["load"](self._scratch[key], self.index(self.flat[self.stage]))

    def _keep(self, stage: int, values: list[tuple[UOp, Affine]]) -> UOp:
        size = max(highest(prod(self.counters.stages[stage].sizes)), LANES)
        room = 1 << (size - 1).bit_length()  # rows of similar length share a source
        kind = values[0][0].dtype
        scratch: UOp = OPS["define_local"](f"kept{len(self._scratch)}", kind, room)
        self.nest.first(scratch)
        stores = [OPS["store"](scratch, self.index(place), value) for value, place in values]
        self.effects[stage].extend(stores)
        return scratch


def _is_expensive(node: UOp) -> bool:
    """Whether an element is worth keeping for a later loop."""
    return getattr(node.op.kernel, "cost", 1) >= EXPENSIVE


def _along(x: Affine, flat: Affine) -> tuple[Affine, int] | None:
    """An index as something that is the same in all loops, plus a multiple of the position."""
    step = min((f for _, f in flat.terms), default=0)
    counter = next((a for a, f in flat.terms if f == step), None)
    factor = 0 if counter is None else x.factor(counter)
    if factor is None or (factor and not divides(step, factor)):
        return None
    rest = x + flat * -(factor // step) if factor else x
    loops = flat.atoms()
    return (
        None if any(a in loops for a in rest.atoms()) else (rest, factor // step if factor else 0)
    )


def joining(node: UOp) -> tuple[str, Any]:
    """The op of a reduction, and its neutral element."""
    return reduce_of(node).joining(node.dtype)


def _cost(body: tuple[UOp, ...], length: Callable[[int], int] = int) -> int:
    """The nodes computed in one iteration of the grid."""
    total, times = 0.0, [1.0]
    for node in body:
        name = node.op.name
        if name == "range":
            arg = node.arg
            times.append(times[-1] * (1 if arg.grid else -(-length(arg.size) // arg.lanes)))
        elif name == "end_range":
            times.pop()
        else:
            total += times[-1]
    return max(int(total), 1)
