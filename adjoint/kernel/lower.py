"""A group of nodes as a loop program.

Before: div(exp(sub(x, max(x))), sum(...)) with its loops. After: for every row, a loop that finds
the maximum, one that sums and keeps the exponentials, one that divides and stores. What may live
here: writing the kernel-level nodes. What may not: the choice of loops (`choose.py`), the order of
nodes (`nest.py`), arithmetic in terms of basic ops (`decompose.py`).
"""

from __future__ import annotations

from itertools import count
from math import inf, prod
from typing import Any

import numpy as np

from adjoint.ir.affine import Lin, Loaded, Quotient, Var, flattened, var
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, toposort
from adjoint.kernel.choose import TILE, Choice, choose
from adjoint.kernel.decompose import decompose, decompose_node, held, rounded
from adjoint.kernel.frame import Assignment, Counters, Frame, frame_of
from adjoint.kernel.nest import Nest
from adjoint.kernel.special import checked, flag_code
from adjoint.kernel.walk import At, Gate, Walk, reduced_operands
from adjoint.ops.cost import DEAR
from adjoint.stages import Group, LoopProgram

_INDEX = dtypes.int64
_KEEP_BYTES = 1 << 16  # scratch for a row: what the first cache holds
_SMALL = 1 << 22  # operations below which a kernel is not worth a source of its own
_PLAIN_NUMBERS = (0.0, 1.0, -1.0, 2.0, 0.5, inf, -inf)  # a stride of 1 must be seen to be one


def lower(group: Group, name: str) -> tuple[LoopProgram, UOp | None]:
    """The program, and the node whose index it checks if it has a flag."""
    frame = frame_of(group)
    return Lowering(frame, choose(frame)).program(name)


class Lowering(Walk):
    """One kernel being written."""

    def __init__(self, frame: Frame, choice: Choice):
        super().__init__(frame.group.inputs)
        self.frame, self.choice = frame, choice
        self.counters = Assignment.of(frame, choice.outer, choice.stages)
        self.nest = Nest()
        self.buffers: dict[UOp, UOp] = {}
        self.flag: tuple[UOp, UOp] | None = None
        self.stage = 0
        self.effects: list[list[UOp]] = [[] for _ in range(len(frame.stages) + 1)]  # rows last
        self.accs: list[list[UOp]] = [[] for _ in frame.stages]
        self.loops: list[list[UOp]] = []
        self.results: dict[UOp, UOp] = {}
        self.grid: UOp | None = None
        self._ids = count()
        self._index: dict[Any, UOp] = {}
        self._computed: dict[Any, tuple[int, UOp]] = {}
        self._scratch: dict[Any, UOp] = {}
        self._given: set[UOp] = set()  # constants that could be parameters
        self._checked: dict[Any, Lin] = {}
        self._define_buffers()

    def _define_buffers(self) -> None:
        outputs = [node for node, _ in self.frame.group.outputs]
        for number, node in enumerate((*outputs, *self.frame.group.inputs)):
            own = number < len(outputs)
            name = f"out{number}" if own else f"in{number - len(outputs)}"
            key = (node, "out") if own else node
            self.buffers[key] = OPS["define_global"](number, name, own, node.dtype, node.size)  # type: ignore[index]

    # ---- the whole

    def program(self, name: str) -> tuple[LoopProgram, UOp | None]:
        self._open_loops()
        for number in range(len(self.frame.stages)):
            self._write_stage(number)
        self.effects[-1] += self._row_stores()
        for number, loops in enumerate(self.loops):
            self.nest.stage(loops, self.effects[number], self.accs[number])
        self.nest.stage([], self.effects[-1], [])
        body = tuple(self.nest.listed())
        buffers = tuple(self.buffers.values())
        if self.flag is not None:
            buffers = (*buffers, self.flag[0])
        lines = _lines(self.frame.group)
        cost = _cost(body)
        small = cost * (1 if self.grid is None else self.grid.arg.size) < _SMALL
        given = self._parameters(body) if small else ()
        plain = not self.frame.group.reduced
        pairs = _in_place(body, buffers) if plain else ()
        program = LoopProgram(name, buffers, (), body, self.grid, cost, lines, given, pairs)
        return program, None if self.flag is None else self.flag[1]

    def _parameters(self, body: tuple[UOp, ...]) -> tuple[UOp, ...]:
        """Sizes, strides and the user's numbers, which a small kernel gets when it is launched."""
        found: dict[UOp, None] = {}
        for node in body:
            if node.op.name == "range" and not node.arg.grid:
                found[self._number(node.arg.size)] = None
            for source in node.src:
                if source in self._given:
                    found[source] = None
        return tuple(n for n in found if float(n.arg.value) not in _PLAIN_NUMBERS)

    def _range(self, size: int, lanes: int = 1, grid: bool = False) -> UOp:
        return OPS["range"](next(self._ids), size, 0, _INDEX, lanes, grid)

    def _open_loops(self) -> None:
        """The grid, the loop of the lanes if they go across rows, and the loops of each stage."""
        outer, choice = list(self.counters.outer.vars), self.choice
        lane = outer.pop(choice.lane) if choice.lanes == "outer" else None
        plain = not self.frame.group.reduced and len(self.frame.stages) == 1
        inner = [self._ordered(c, n) for n, c in enumerate(self.counters.stages)]
        if plain and choice.tile is not None:
            self._open_tiles(inner[0])
            return
        if plain and inner[0]:
            keep = 1 if len(inner[0]) + len(outer) > 1 else 0
            outer, inner[0] = (
                [*outer, *inner[0][: len(inner[0]) - keep]],
                inner[0][len(inner[0]) - keep :],
            )
        width = choice.width if lane is None and plain and not inner[0] else 1
        if lane is not None and not outer:
            outer, lane, width = [lane], None, choice.width
        self._open_grid(outer, width)
        if lane is not None:
            self._index[lane] = self._range(lane.size, choice.width)
            self.nest.enter(self._index[lane])
        inside = choice.width if choice.lanes == "inner" else 1
        for counters in inner:
            self.loops.append([self._loop(v, inside if v is counters[-1] else 1) for v in counters])

    def _open_tiles(self, loops: list[Var]) -> None:
        """The grid goes over tiles; inside one, a few steps along one loop, lanes along the other.

        Before: for i, for j: out[i, j] = x[j, i]. After: strips of 16 i and 32 j at a time.
        """
        assert self.choice.tile is not None
        across, lane = self.counters.stages[0].vars[self.choice.tile], loops[-1]
        sides = ((across, TILE, 1), (lane, 2 * TILE, self.choice.width))
        tiles = [Var(-(-v.size // step)) for v, step, _ in sides]
        self._open_grid([*(v for v in loops[:-1] if v is not across), *tiles], 1)
        inside = []
        for tile, (counter, step, lanes) in zip(tiles, sides, strict=True):
            first = self.index(var(tile) * step)
            left = UOp(OPS["sub"], (self._number(counter.size), first))
            whole = counter.size % step == 0
            count = None if whole else UOp(OPS["minimum"], (left, self._number(step)))
            loop = OPS["range"](next(self._ids), step, 0, _INDEX, lanes, False, count)
            self._index[counter] = UOp(OPS["add"], (first, loop))
            inside.append(loop)
        self.loops.append(inside)

    def _ordered(self, counters: Counters, number: int) -> list[Var]:
        """The loop that has the lanes goes innermost."""
        loops = list(counters.vars)
        if self.choice.lanes == "inner" and loops:
            loops.append(loops.pop(self.choice.last[number]))
        return loops

    def _loop(self, counter: Var, lanes: int) -> UOp:
        loop = self._range(counter.size, lanes if counter.size >= lanes else 1)
        self._index[counter] = loop
        return loop

    def _open_grid(self, outer: list[Var], lanes: int) -> None:
        total = prod(v.size for v in outer)
        if total == 1:
            for counter in outer:
                self._index[counter] = self._number(0)
            return
        self.grid = self._range(total, lanes, grid=True)
        self.nest.enter(self.grid)
        whole = Var(total)
        self._index[whole] = self.grid
        left = var(whole)
        for counter in reversed(outer):
            left, at = left // counter.size, left % counter.size
            self._index[counter] = self.index(at)

    # ---- stages

    def _write_stage(self, number: int) -> None:
        self.stage = number
        stage = self.frame.stages[number]
        for node, index, loops in stage.reductions:
            at = self.counters.at(index, node, number)
            self._reduce(node, at, self.counters.at(loops, node, number))
        for node, index in stage.stores:
            self.effects[number].append(self._store(node, self.counters.at(index, node, number)))

    def _row_stores(self) -> list[UOp]:
        self.stage = len(self.frame.stages)
        return [self._store(n, self.counters.at(i, n, None)) for n, i in self.frame.rows]

    def _store(self, node: UOp, at: At) -> UOp:
        value = self.value(node, at)
        if node.dtype is not value.dtype:
            value = UOp(OPS["cast"], (value,), OPS["cast"].arg(node.dtype))  # type: ignore[misc]
        place = self.index(flattened(at, node.shape))
        return OPS["store"](self.buffers[(node, "out")], place, value)  # type: ignore[index]

    def _reduce(self, node: UOp, at: At, places: tuple[Lin, ...]) -> None:
        operands, gate = reduced_operands(node, at, places)
        values = [self.value(s, p, gate) for s, p in zip(node.src, operands, strict=True)]
        op, start = _joining(node)
        kind = held(node.dtype)
        value = self._term(node, values, kind)
        if gate:
            value = self.select(gate, value, self._constant(start, kind))
        loops = self.loops[self.stage]
        if not loops:
            self.results[node] = rounded(value, node.dtype)
            return
        acc = OPS["define_acc"](self._constant(start, kind), next(self._ids))
        total = OPS["phi"](acc, UOp(OPS[op], (acc, value)), *loops)
        self.accs[self.stage].append(acc)
        self.effects[self.stage].append(total)
        self.results[node] = rounded(total, node.dtype)

    def _term(self, node: UOp, values: list[UOp], kind: DType) -> UOp:
        """What is added: the element in the dtype of the sum, or the product of two."""
        if len(values) == 2:
            return UOp(OPS["mul" if kind is not dtypes.bool_ else "logical_and"], tuple(values))
        (value,) = values
        source = node.src[0].dtype
        if kind is value.dtype:
            return value
        return decompose(OPS["cast"], (value,), None, kind, source)

    # ---- elements

    def load(self, node: UOp, place: Lin, gate: Gate) -> UOp:
        buffer, at = self.buffers[node], self.index(place)
        if gate:
            zero = OPS["const"](0, node.dtype, (), None)  # as it lies in memory
            value = OPS["load"](buffer, at, self.condition(gate), zero)
        else:
            value = OPS["load"](buffer, at)
        kind = held(node.dtype)
        return value if kind is node.dtype else UOp(OPS["cast"], (value,), OPS["cast"].arg(kind))  # type: ignore[misc]

    def constant(self, node: UOp, value: Any) -> UOp:
        made = self._constant(value, node.dtype)
        if made.dtype.is_float:
            self._given.add(made)
        return made

    def _constant(self, value: Any, dtype: DType) -> UOp:
        """A constant as it is held: a narrow float rounded to its dtype first."""
        kind = held(dtype)
        if kind is not dtype and value == value:
            with np.errstate(over="ignore"):  # the nearest value may be an infinity
                value = float(dtype.np.type(value))
        return OPS["const"](value, kind, (), None)

    def counted(self, node: UOp, x: Lin) -> UOp:
        return decompose(OPS["cast"], (self.index(x),), None, node.dtype)

    def apply(self, node: UOp, operands: list[UOp], at: At, gate: Gate) -> UOp:
        value = decompose_node(node, tuple(operands))
        key = None if gate else self._keepable(node, at)  # a gated load is 0 where it is shut
        if key is not None:
            self._computed.setdefault(key, (self.stage, value))
        return value

    def select(self, gate: Gate, value: UOp, other: UOp) -> UOp:
        return UOp(OPS["where"], (self.condition(gate), value, other))

    def loaded(self, node: UOp, axis: int, index: UOp, at: At, gate: Gate, size: int) -> Lin:
        key = (index, at, gate, size)
        if key not in self._checked:
            element = self.value(index, at, gate)
            wide, inside = checked(element, size)
            safe = UOp(OPS["where"], (inside, wide, self._number(0)))
            bad = UOp(OPS["logical_not"], (inside,))
            self._flag_store(node, axis, element, bad, gate)
            self._checked[key] = var(Loaded(safe, size))
        return self._checked[key]

    def _flag_store(self, node: UOp, axis: int, index: UOp, bad: UOp, gate: Gate) -> None:
        if self.flag is None:
            slot = OPS["define_global"](len(self.buffers), "flag", True, _INDEX, 1)
            self.flag = (slot, node)
        if gate:
            bad = UOp(OPS["logical_and"], (bad, self.condition(gate)))
        store = OPS["store"](self.flag[0], self._number(0), flag_code(axis, index), bad)
        self.effects[self.stage].append(store)

    def reduction(self, node: UOp, at: At) -> UOp:
        return self.results[node]

    # ---- values kept for a later stage

    def _keepable(self, node: UOp, at: At) -> Any:
        """A key that is the same in every stage of these loops; None for what is not kept."""
        if len(self.frame.stages) < 2 or self.stage >= len(self.frame.stages):
            return None
        if node.op.name not in DEAR or self.choice.lanes == "outer":
            return None  # rows side by side would share the scratch
        counters = self.counters.stages[self.stage].vars
        place = {v: i for i, v in enumerate(counters)}
        sizes = tuple(v.size for v in counters)
        if prod(sizes) * 8 > _KEEP_BYTES or not any(v in x.atoms() for x in at for v in counters):
            return None
        return node, sizes, tuple(_renamed(x, place) for x in at)

    def kept(self, node: UOp, at: At, gate: Gate) -> UOp | None:
        if gate or node.op.name not in DEAR:
            return None
        key = self._keepable(node, at)
        found = None if key is None else self._computed.get(key)
        if found is None or found[0] == self.stage:
            return None
        stage, value = found
        if key not in self._scratch:
            self._scratch[key] = self._keep(stage, value)
        return OPS["load"](self._scratch[key], self._position(self.stage))

    def _keep(self, stage: int, value: UOp) -> UOp:
        size = prod(v.size for v in self.counters.stages[stage].vars)
        room = 1 << (size - 1).bit_length()  # rows of similar length share a source
        scratch = OPS["define_local"](f"kept{len(self._scratch)}", value.dtype, room)
        self.nest.first(scratch)
        self.effects[stage].append(OPS["store"](scratch, self._position(stage), value))
        return scratch

    def _position(self, stage: int) -> UOp:
        counters = self.counters.stages[stage].vars
        return self.index(flattened(tuple(map(var, counters)), tuple(v.size for v in counters)))

    # ---- index arithmetic

    def index(self, x: Lin) -> UOp:
        """An index expression as nodes."""
        total: UOp | None = None
        for atom, factor in x.terms:
            term = self._atom(atom)
            if factor != 1:
                term = UOp(OPS["mul"], (term, self._number(factor)))
            total = term if total is None else UOp(OPS["add"], (total, term))
        if total is None:
            return self._number(x.const)
        return UOp(OPS["add"], (total, self._number(x.const))) if x.const else total

    def _atom(self, atom: Any) -> UOp:
        found = self._index.get(atom)
        if found is None:
            if isinstance(atom, Loaded):
                found = atom.node
            else:
                op = "floordiv" if isinstance(atom, Quotient) else "mod"
                found = UOp(OPS[op], (self.index(atom.of), self._number(atom.by)))
            self._index[atom] = found
        return found

    def _number(self, value: int) -> UOp:
        made = OPS["const"](value, _INDEX, (), None)
        self._given.add(made)
        return made

    def condition(self, gate: Gate) -> UOp:
        """All conditions of a gate."""
        total: UOp | None = None
        for part in [p for c in gate for p in self._condition(*c)]:
            total = part if total is None else UOp(OPS["logical_and"], (total, part))
        return OPS["const"](True, dtypes.bool_, (), None) if total is None else total

    def _condition(self, kind: str, x: Lin, extent: int) -> list[UOp]:
        place = self.index(x)
        if kind == "step":
            rest = UOp(OPS["mod"], (place, self._number(extent)))
            return [UOp(OPS["eq"], (rest, self._number(0)))]
        lo, hi = x.bounds()
        parts = [] if lo >= 0 else [UOp(OPS["le"], (self._number(0), place))]
        return [*parts, *([] if hi < extent else [UOp(OPS["lt"], (place, self._number(extent)))])]


def _renamed(x: Lin, place: dict[Var, int]) -> Any:
    return x.const, tuple(
        (place[a] if isinstance(a, Var) and a in place else a, f) for a, f in x.terms
    )


def _joining(node: UOp) -> tuple[str, Any]:
    """The op that joins two partial results, and what changes nothing under it."""
    name, kind = node.op.name, node.dtype
    if name in ("any", "all") or kind is dtypes.bool_:
        both = name in ("all", "min", "reduce_prod")
        return ("logical_and", True) if both else ("logical_or", False)
    if name == "reduce_prod":
        return "mul", 1
    if name in ("max", "min"):
        least = -inf if kind.is_float else kind.min
        most = inf if kind.is_float else kind.max
        return ("maximum", least) if name == "max" else ("minimum", most)
    return "add", 0


def _lines(group: Group) -> tuple[str, ...]:
    origins = [node.origin for node, _ in group.outputs]
    return tuple(dict.fromkeys(str(o) for o in origins if o is not None))


def _in_place(body: tuple[UOp, ...], buffers: tuple[UOp, ...]) -> tuple[tuple[int, int], ...]:
    """Results that can overwrite an operand: it is read where they are written, and before that."""
    loads: dict[UOp, set[UOp]] = {}
    for node in body:
        if node.op.name == "load":
            loads.setdefault(node.src[0], set()).add(node.src[1] if len(node.src) == 2 else node)
    pairs = []
    for store in (n for n in body if n.op.name == "store" and len(n.src) == 3):
        out, place = store.src[:2]
        below = set(toposort([store.src[2]]))
        pairs += [
            (out.arg.index, buffer.arg.index)
            for buffer, places in loads.items()
            if places == {place}
            and buffer.op.name == "define_global"
            and buffer.arg.dtype.itemsize == out.arg.dtype.itemsize
            and any(n.op.name == "load" and n.src[0] is buffer for n in below)
        ]
    return tuple(pairs)


def _cost(body: tuple[UOp, ...]) -> int:
    """Nodes computed in one turn of the grid."""
    total, times = 0.0, [1.0]
    for node in body:
        name = node.op.name
        if name == "range":
            arg = node.arg
            times.append(times[-1] * (1 if arg.grid else -(-arg.size // arg.lanes)))
        elif name == "end_range":
            times.pop()
        else:
            total += times[-1]
    return max(int(total), 1)
