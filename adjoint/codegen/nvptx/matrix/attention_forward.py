"""Attention in one kernel: softmax(q kᵀ) v for a tile of queries, tile after tile of keys.

A row's maximum and sum are kept while keys come in; what was added up under an older maximum is
scaled. The products of the next scores and of the last weights run while exponentials are computed.
Results: o, and for every row the logarithm of its sum, which the gradient needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import e, inf, log, log2

from adjoint.codegen.nvptx.geometry import Geometry
from adjoint.codegen.nvptx.matrix.hopper import WARPGROUP, Hopper, Tile, both
from adjoint.codegen.nvptx.matrix.streams import (
    STAGES,
    Place,
    Rows,
    Stream,
    copy_tile,
    fill,
    place_of,
    steps_along,
    steps_down,
)
from adjoint.codegen.nvptx.matrix.text import F32, Value, Values, constant
from adjoint.stages import Source

LANGUAGE = "nvptx sm_90a"
ROWS = 64  # of a product of a warpgroup
# Registers of a thread that copies and of one that computes, by warpgroups that compute: all have
# as many at first, and there are 65,536 of a processor.
REGISTERS = {1: (56, 256), 2: (40, 232), 3: (32, 160)}
_ALIGN = 1024


@dataclass(frozen=True, slots=True)
class Shape:
    """What a kernel is made for: dtype and size of a head, whether later keys are hidden; how many
    warpgroups compute, and how many keys (or queries, for their gradients) a tile has."""

    dtype: str
    head: int
    causal: bool
    groups: int = 2
    columns: int = 128
    alternate: bool = False  # whether warpgroups begin their products one after another
    scale: float = 0.0  # of scores; 0: one over the root of a head's size

    @property
    def factor(self) -> float:
        """What scores are multiplied by."""
        return self.scale or self.head**-0.5

    @property
    def width(self) -> int:
        """Columns of a tile, some of which may be zeros."""
        return 64 if self.head <= 64 else 128

    @property
    def rows(self) -> int:
        """Of the tile that stays."""
        return ROWS * self.groups

    @property
    def threads(self) -> int:
        return WARPGROUP * (self.groups + 1)


SIZES = ("queries", "keys", "heads", "shared_by", "blocks", "planes", "section")


def places_of(*names: str) -> tuple[str, ...]:
    """The parameters that say where matrices lie: their first element, and their strides."""
    axes = ("first", "batch", "head", "row")
    return tuple(f"{name}_{axis}" for name in names for axis in axes)


FORWARD = ("o", "lse", "q", "k", "v", *SIZES, *places_of("o", "q", "k", "v"))


class Frame:
    """What kernels of attention have in common: parameters, planes (a head of a batch), tiles."""

    def __init__(self, shape: Shape, names: tuple[str, ...]):
        self.shape, self.names = shape, names
        self.text = Hopper(shape.dtype)
        self.shared = self.text.shared()
        self.thread = self.text.special("tid.x")
        self.group = self.text.integer("lshr", self.thread, 7)
        self.place: Place = place_of(self.text, self.thread)
        self.used = 0

    def number(self, name: str) -> Value:
        """A parameter of 32 bits."""
        return self.text.narrow(Value("i64", f"%{name}"))

    def tile(self, rows: int, stages: int = 1) -> Tile:
        """Room for tiles."""
        found = Tile(self.used, rows, self.shape.width)
        self.used += stages * found.nbytes
        return found

    def barriers(self, count: int) -> int:
        """Room for barriers."""
        self.used += 8 * count
        return self.used - 8 * count

    def located(self, backwards: bool) -> tuple[Value, Value, Value, Value]:
        """Which plane a block has, its batch and head; and which tile of it. A section of planes is
        done at once, so that what its tiles read stays near."""
        text = self.text
        blocks, planes, section = map(self.number, ("blocks", "planes", "section"))
        here = text.special("ctaid.x")
        whole = text.mul(blocks, section)
        number = text.integer("sdiv", here, whole)
        rest = text.integer("srem", here, whole)
        first = text.mul(number, section)
        side = text.least(section, text.sub(planes, first))
        tile = text.integer("sdiv", rest, side)
        plane = text.add(first, text.integer("srem", rest, side))
        if backwards:  # long ones first
            tile = text.sub(text.sub(blocks, 1), tile)
        heads = self.number("heads")
        batch, head = text.integer("sdiv", plane, heads), text.integer("srem", plane, heads)
        return plane, batch, head, tile

    def rows_of(self, name: str, batch: Value, head: Value, count: Value) -> Rows:
        """The matrix of a batch and a head."""
        text = self.text
        offset = text.add(self._times(batch, name, "batch"), self._times(head, name, "head"))
        offset = text.add(offset, Value("i64", f"%{name}_first"))
        address = text.add(Value("i64", f"%{name}"), text.integer("shl", offset, 1))
        step = text.integer("shl", Value("i64", f"%{name}_row"), 1)
        return Rows(address, step, count, self.shape.head)

    def _times(self, index: Value, name: str, axis: str) -> Value:
        return self.text.mul(self.text.wide(index), Value("i64", f"%{name}_{axis}"))

    def source(self, name: str) -> Source:
        """The kernel's text."""
        shared = self.used
        geometry = Geometry(self.shape.threads, 1, 1, shared)
        metadata = "\n".join(geometry.text(0))
        whole = self.text.module(f"k_{name}", self.names, self.shape.threads, metadata)
        return Source(LANGUAGE, name, whole)


def forward(shape: Shape, name: str = "attention") -> Source:
    """The kernel's source."""
    return _Forward(shape).source(name)


class _Forward(Frame):
    def __init__(self, shape: Shape):
        super().__init__(shape, FORWARD)
        text = self.text
        self.queries, self.keys = self.number("queries"), self.number("keys")
        self.plane, self.batch, self.head, self.block = self.located(backwards=shape.causal)
        self.first = text.mul(self.block, shape.rows)  # query of the block
        self.q_tile = self.tile(shape.rows)
        k_tile, v_tile = (self.tile(shape.columns, STAGES) for _ in "kv")
        self.k = Stream(text, self.shared, k_tile, self.barriers(2 * STAGES))
        self.v = Stream(text, self.shared, v_tile, self.barriers(2 * STAGES))
        self.q_ready = text.add(self.shared, self.barriers(1))
        self.turns, self.masked = self._counts()
        text.when(text.compare("eq", self.thread, 0), self._make_barriers)
        text.barriers_ready()
        text.branch(text.compare("eq", self.group, 0), self._copies, self._computes)

    def _counts(self) -> tuple[Value, Value]:
        """Tiles of keys that the block looks at; how many of them, from the last on, are cut."""
        text, columns = self.text, self.shape.columns
        turns = text.up(self.keys, columns)
        if not self.shape.causal:
            return turns, constant(1)
        turns = text.least(turns, text.up(text.add(self.first, self.shape.rows), columns))
        whole = text.integer("sdiv", self.first, columns)
        return turns, text.most(constant(1), text.sub(turns, whole))

    def _make_barriers(self) -> None:
        for stream in (self.k, self.v):
            stream.made(4 * self.shape.groups)
        self.text.barrier_made(self.q_ready, WARPGROUP)

    def _start(self, turn: Value) -> Value:
        """The first key of a turn: from the last tile to the first."""
        text = self.text
        return text.mul(text.sub(text.sub(self.turns, 1), turn), self.shape.columns)

    # ---- the warpgroup that copies

    def _copies(self) -> None:
        text, shape = self.text, self.shape
        text.registers(REGISTERS[shape.groups][0], more=False)
        q = self.rows_of("q", self.batch, self.head, self.queries)
        shared_head = text.integer("sdiv", self.head, self.number("shared_by"))
        both_ = [self.rows_of(name, self.batch, shared_head, self.keys) for name in "kv"]
        to = text.add(self.shared, self.q_tile.offset)
        copy_tile(text, self.place.thread, to, self.q_tile, q, self.first)
        text.copies_end()

        def copy(which: int, turn: Value, address: Value) -> None:
            tile = (self.k, self.v)[which].tile
            first = self._start(turn)
            copy_tile(text, self.place.thread, address, tile, both_[which], first)

        fill(text, (self.k, self.v), self.turns, self.q_ready, copy)

    # ---- those that compute

    def _computes(self) -> None:
        text, shape = self.text, self.shape
        text.registers(REGISTERS[shape.groups][1], more=True)
        self.own = text.sub(self.group, 1)
        own_rows = text.add(self.first, text.mul(self.own, ROWS))
        row = text.add(text.mul(self.place.warp, 16), text.integer("lshr", self.place.lane, 2))
        self.rows = [text.add(own_rows, row), text.add(text.add(own_rows, row), 8)]
        self.pair = text.integer("shl", text.integer("and", self.place.lane, 3), 1)
        base = text.add(self.shared, self.q_tile.offset)
        self.q_address = text.rows_of(text.add(base, text.mul(self.own, ROWS * 128)))
        if shape.alternate:  # the first one has its turn
            last = text.compare("eq", self.own, shape.groups - 1)
            text.when(last, lambda: text.give_turn(constant(1)))
        text.wait(self.q_ready, constant(0))
        zero = constant(0)
        scores = text.finished(self._scores(zero))
        self.k.used(zero, self.place.leader)
        lowest = [constant(-inf, F32)] * 2
        none = [constant(0.0, F32)] * 2
        weights, high, sums, _ = self._weights(scores, zero, lowest, none, cut=True)
        totals = [constant(0.0, F32)] * (shape.width // 2)
        state = [*totals, *high, *sums, *self._packed(weights)]
        state = text.loop(constant(1), self.masked, state, lambda i, v: self._turn(i, v, True))
        start = text.least(text.most(constant(1), self.masked), self.turns)
        state = text.loop(start, self.turns, state, lambda i, v: self._turn(i, v, False))
        totals, high, sums, packed = self._split(state)
        last = text.sub(self.turns, 1)
        totals = text.finished(self._gathered(last, totals, packed))
        self._store(totals, high, sums)

    def _split(self, state: Values) -> tuple[Values, Values, Values, Values]:
        n = self.shape.width // 2
        return state[:n], state[n : n + 2], state[n + 2 : n + 4], state[n + 4 :]

    def _scores(self, turn: Value) -> Values:
        """Begin q kᵀ."""
        text, shape = self.text, self.shape
        self.k.wait_full(turn)
        right = text.rows_of(self.k.address(turn))
        steps = list(zip(steps_along(self.q_tile), steps_along(self.k.tile), strict=True))
        return text.product(shape.columns, self.q_address, right, steps)

    def _gathered(self, turn: Value, totals: Values, packed: Values) -> Values:
        """Begin totals + weights v."""
        text = self.text
        self.v.wait_full(turn)
        right = text.columns_of(self.v.address(turn), self.v.tile)
        steps = [(0, b) for b in steps_down(self.v.tile)]
        return text.product(self.shape.width, packed, right, steps, totals, turned=True)

    def _turn(self, turn: Value, state: Values, cut: bool) -> Values:
        text = self.text
        totals, high, sums, packed = self._split(state)
        if self.shape.alternate:
            text.take_turn(text.add(self.own, 1))
        scores = self._scores(turn)
        before = text.sub(turn, 1)
        totals = self._gathered(before, totals, packed)
        if self.shape.alternate:
            text.give_turn(text.add(self._next(), 1))
        scores = text.finished(scores, pending=1)
        self.k.used(turn, self.place.leader)
        weights, high, sums, scales = self._weights(scores, turn, high, sums, cut)
        totals = text.finished(totals)
        self.v.used(before, self.place.leader)
        totals = [text.fmul(x, scales[i % 4 // 2]) for i, x in enumerate(totals)]
        return [*totals, *high, *sums, *self._packed(weights)]

    def _next(self) -> Value:
        """The warpgroup whose turn is next."""
        return self.text.integer("srem", self.text.add(self.own, 1), self.shape.groups)

    def _packed(self, weights: Values) -> Values:
        """As the left operand of a product."""
        return [self.text.packed(a, b) for a, b in zip(weights[::2], weights[1::2], strict=True)]

    def _weights(
        self, scores: Values, turn: Value, high: Values, sums: Values, cut: bool
    ) -> tuple[Values, Values, Values, Values]:
        """exp(scores - their maximum so far), the new maximum and sums, and what those before are
        multiplied by."""
        text = self.text
        if cut:
            scores = self._hidden(scores, turn)
        factor = constant(self.shape.factor * log2(e), F32)
        new_high, new_sums, scales, shifts = [], [], [], []
        for half in range(2):
            own = [s for i, s in enumerate(scores) if i % 4 // 2 == half]
            most = self._across(own, high[half])
            used = most
            if cut:  # a row of which nothing is seen yet
                empty = text.is_equal(most, constant(-inf, F32))
                used = text.select(empty, constant(0.0, F32), most)
            shift = text.negated(text.fmul(used, factor))
            scales.append(text.exp2(text.fma(high[half], factor, shift)))
            new_high.append(most)
            shifts.append(shift)
        weights = [text.exp2(text.fma(s, factor, shifts[i % 4 // 2])) for i, s in enumerate(scores)]
        for half in range(2):
            own = [w for i, w in enumerate(weights) if i % 4 // 2 == half]
            new_sums.append(text.fma(sums[half], scales[half], joined(own, text.fadd)))
        return weights, new_high, new_sums, scales

    def _across(self, values: Values, before: Value) -> Value:
        """The maximum of a row, whose parts are in four threads."""
        text = self.text
        most = text.fmax(joined(values, text.fmax), before)
        for distance in (1, 2):
            most = text.fmax(most, text.across(most, distance))
        return most

    def _hidden(self, scores: Values, turn: Value) -> Values:
        """-inf where there is no key, or a later one than the query."""
        text = self.text
        start = text.add(self._start(turn), self.pair)
        limits = []
        for row in self.rows:
            limit = self.keys
            if self.shape.causal:
                limit = text.least(limit, text.add(row, 1))
            limits.append(text.sub(limit, start))
        found = []
        for i, score in enumerate(scores):
            column = 8 * (i // 4) + i % 2
            seen = text.compare("sgt", limits[i % 4 // 2], column)
            found.append(text.select(seen, score, constant(-inf, F32)))
        return found

    # ---- results

    def _store(self, totals: Values, high: Values, sums: Values) -> None:
        text = self.text
        o = self.rows_of("o", self.batch, self.head, self.queries)
        first = text.compare("eq", self.pair, 0)
        plane = text.mul(text.wide(self.plane), text.wide(self.queries))
        for half, row in enumerate(self.rows):
            total = sums[half]
            for distance in (1, 2):
                total = text.fadd(total, text.across(total, distance))
            inverse = text.reciprocal(total)
            there = text.compare("slt", row, self.queries)
            self._store_row(o, row, there, half, totals, inverse)
            scaled = text.fmul(high[half], constant(self.shape.factor, F32))
            lse = text.fma(text.log2(total), constant(log(2), F32), scaled)
            place = text.integer("shl", text.add(plane, text.wide(row)), 2)
            address = text.add(Value("i64", "%lse"), place)
            text.store("f32", lse, address, both(text, there, first))

    def _store_row(
        self, o: Rows, row: Value, there: Value, half: int, totals: Values, inverse: Value
    ) -> None:
        store_row(
            self, o, row, there, [t for i, t in enumerate(totals) if i % 4 // 2 == half], inverse
        )


def joined(values: Values, join: Callable[[Value, Value], Value]) -> Value:
    """By pairs, so that few wait for one another."""
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=False)
        values = [*(join(a, b) for a, b in pairs), *values[len(values) & ~1 :]]
    return values[0]


def store_row(
    frame: Frame, to: Rows, row: Value, there: Value, numbers: Values, factor: Value
) -> None:
    """What a thread has of a row, times a factor. Its numbers lie in pairs, eight apart; four
    threads hand them to one another so that each writes eight side by side."""
    text, lane = frame.text, frame.place.lane
    own = text.integer("and", lane, 3)
    start = text.add(to.address, text.mul(text.wide(row), to.step))
    start = text.add(start, text.wide(text.integer("shl", own, 4)))
    scaled = [text.fmul(x, factor) for x in numbers]
    words = [text.packed(a, b) for a, b in zip(scaled[::2], scaled[1::2], strict=True)]
    for first in range(0, min(len(words), to.columns // 8), 4):
        turned = text.turned(words[first : first + 4], lane)
        inside = text.compare("slt", text.add(own, first), to.columns // 8)
        text.store_four(turned, text.add(start, 16 * first), both(text, there, inside))
