"""The gradient of attention in two kernels: that of the queries, and those of keys and values.

Both recompute weights, from scores and the logarithm of every row's sum. With g the cotangent of o,
`delta` the sum of g * o along a row (which the first kernel writes and the second reads), and ds =
weights * (g vᵀ - delta): dq = ds k, dk = dsᵀ q, dv = weightsᵀ g. No two blocks add to one number,
so that bits are the same from run to run; the price is that scores are computed twice.
"""

from __future__ import annotations

from math import e, inf, log2
from typing import ClassVar

from adjoint.codegen.nvptx.matrix.attention_frame import (
    Frame,
    Shape,
    column,
    half,
    parameters_of,
)
from adjoint.codegen.nvptx.matrix.hopper import WARPGROUP, Tile, both
from adjoint.codegen.nvptx.matrix.streams import STAGES
from adjoint.codegen.nvptx.matrix.text import F32, Value, Values, constant
from adjoint.stages import Source

_READ = ("q", "k", "v", "g")
_LOG2E = log2(e)


def queries_parameters(mask: bool) -> tuple[str, ...]:
    """Of the kernel of dq."""
    return parameters_of(("dq", "delta"), (*_READ, "o", "lse"), ("dq", *_READ, "o"), mask)


def keys_parameters(mask: bool) -> tuple[str, ...]:
    """Of the kernel of dk and dv."""
    return parameters_of(("dk", "dv"), (*_READ, "lse", "delta"), ("dk", "dv", *_READ), mask)


def backward_queries(shape: Shape, name: str = "attention_queries") -> Source:
    """The kernel of dq."""
    return _Queries(shape, queries_parameters(shape.mask)).source(name)


def backward_keys(shape: Shape, name: str = "attention_keys") -> Source:
    """The kernel of dk and dv."""
    return _Keys(shape, keys_parameters(shape.mask)).source(name)


def _factor(shape: Shape) -> Value:
    """Of scores, for powers of two."""
    return constant(shape.factor * _LOG2E, F32)


class _Queries(Frame):
    """dq: q and g stay, k and v go by."""

    stays, goes = ("q", "g"), ("k", "v")
    backwards = True  # rows that see many keys first

    def counted(self) -> None:
        """Tiles of keys that the item looks at; and the first that is cut."""
        text, columns = self.text, self.shape.columns
        self.turns, whole = text.up(self.keys, columns), text.integer("sdiv", self.keys, columns)
        if self.shape.causal:
            seen = text.up(text.add(self.first, self.shape.rows), columns)
            self.turns = text.least(self.turns, seen)
            whole = text.least(whole, text.integer("sdiv", self.first, columns))
        self.whole = text.least(whole, self.turns)

    def copied(self, name: str, to: Value, tile: Tile, first: Value) -> None:
        self.copy_rows(self.rows_of(name, self.head, self.queries), to, tile, first)

    def copy(self, which: int, turn: Value, at: Value) -> None:
        text, stream = self.text, self.streams[which]
        head = text.integer("sdiv", self.head, self.number("shared_by"))
        rows = self.rows_of(self.goes[which], head, self.keys)
        self.copy_rows(rows, stream.address(at), stream.tile, self._start(turn))

    def _start(self, turn: Value) -> Value:
        return self.text.mul(turn, self.shape.columns)

    def compute(self) -> None:
        text, shape = self.text, self.shape
        self._load_rows()
        state = [constant(0.0, F32)] * (shape.width // 2)
        zero = constant(0)
        state = text.loop(zero, self.whole, state, lambda i, v: self._turn(i, v, False))
        state = text.loop(self.whole, self.turns, state, lambda i, v: self._turn(i, v, True))
        self.release()
        factors = [constant(shape.factor, F32)] * 2
        self.store_rows(self.rows_of("dq", self.head, self.queries), state, factors)

    def _load_rows(self) -> None:
        """lse (in powers of two, negated) of the thread's rows; delta is computed, and stored."""
        text = self.text
        self.shifts, self.deltas = [], []
        for row in self.rows:
            there, place = text.compare("slt", row, self.queries), self.per_row(row)
            lse = text.load(text.add(Value("i64", "%lse"), place), there)
            self.shifts.append(text.fmul(lse, constant(-_LOG2E, F32)))
            delta = self._delta(row, there)
            first = both(text, there, text.compare("eq", self.pair, 0))
            text.store("f32", delta, text.add(Value("i64", "%delta"), place), first)
            self.deltas.append(delta)

    def _delta(self, row: Value, there: Value) -> Value:
        """The sum of g * o along a row, by four threads."""
        text = self.text
        own = text.integer("and", self.place.lane, 3)
        starts = []
        for name in "go":
            rows = self.rows_of(name, self.head, self.queries)
            start = text.add(rows.address, text.mul(text.wide(row), rows.step))
            starts.append(text.add(start, text.wide(text.integer("shl", own, 4))))
        pieces = self.shape.head // 8
        total = constant(0.0, F32)
        for first in range(0, pieces, 4):
            inside = both(text, there, text.compare("slt", text.add(own, first), pieces))
            words = [text.load_four(text.add(start, 16 * first), inside) for start in starts]
            for pair in zip(*words, strict=True):
                (a, b), (c, d) = map(text.unpacked, pair)
                total = text.fma(b, d, text.fma(a, c, total))
        for distance in (1, 2):
            total = text.fadd(total, text.across(total, distance))
        return total

    def _turn(self, turn: Value, totals: Values, cut: bool) -> Values:
        text = self.text
        scores, products = self.along_rows(0, 0, turn), self.along_rows(1, 1, turn)
        start = self._start(turn)
        scores = self.masked(text.finished(scores, pending=1), start, self.head)
        if cut:
            scores = self.hidden_after(scores, start)
        factor = _factor(self.shape)
        weights = [
            text.exp2(text.fma(x, factor, self.shifts[half(i)])) for i, x in enumerate(scores)
        ]
        products = text.finished(products)
        self.used_up(1, turn)
        ds = [
            text.fmul(w, text.fsub(p, self.deltas[half(i)]))
            for i, (w, p) in enumerate(zip(weights, products, strict=True))
        ]
        totals = text.finished(self.along_columns(0, turn, totals, self.packed(ds)))
        self.used_up(0, turn)
        return totals


class _Keys(Frame):
    """dk and dv: k and v stay, q and g stream past, of all heads that share them. Everything is
    transposed: rows are keys, columns are queries.
    """

    stays, goes = ("k", "v"), ("q", "g")
    registers: ClassVar = Frame.registers | {2: (24, 240)}  # totals of four products

    def __init__(self, shape: Shape, names: tuple[str, ...]):
        super().__init__(shape, names)
        self.vectors = self.used  # lse and delta of a stage
        self.used += 2 * STAGES * 4 * shape.columns

    def counted(self) -> None:
        """The first tile of queries that sees these keys, how many there are, how many are cut; and
        turns: all of these, for each head."""
        text, columns = self.text, self.shape.columns
        tiles = text.up(self.queries, columns)
        self.start, self.count, self.cut = constant(0), tiles, constant(0)
        if self.shape.causal:
            self.start = text.least(tiles, text.integer("sdiv", self.first, columns))
            self.count = text.sub(tiles, self.start)
            end = text.up(text.add(self.first, self.shape.rows), columns)
            self.cut = text.least(self.count, text.sub(end, self.start))
        self.sharing = self.number("shared_by")
        self.turns = text.mul(self.sharing, self.count)

    def copied(self, name: str, to: Value, tile: Tile, first: Value) -> None:
        self.copy_rows(self.rows_of(name, self.head, self.keys), to, tile, first)

    def copy(self, which: int, turn: Value, at: Value) -> None:
        text, stream = self.text, self.streams[which]
        inside = text.integer("srem", turn, self.count)
        head = text.mul(self.head, self.sharing)
        head = text.add(head, text.integer("sdiv", turn, self.count))
        first = text.mul(text.add(self.start, inside), self.shape.columns)
        rows = self.rows_of(self.goes[which], head, self.queries)
        self.copy_rows(rows, stream.address(at), stream.tile, first)
        heads = text.mul(self.number("heads"), self.sharing)
        plane = text.add(text.mul(self.batch, heads), head)
        self._copy_vector(("lse", "delta")[which], self._vector(which, at), plane, first)

    def _copy_vector(self, name: str, to: Value, plane: Value, first: Value) -> None:
        """A number per query, each by a thread."""
        text, columns, thread = self.text, self.shape.columns, self.place.thread
        assert columns <= WARPGROUP
        row = text.add(first, thread)
        there = text.compare("slt", row, self.queries)
        begin = text.mul(text.wide(plane), text.wide(self.queries))
        place = text.integer("shl", text.add(begin, text.wide(row)), 2)
        source = text.add(Value("i64", f"%{name}"), place)
        target = text.add(to, text.integer("shl", thread, 2))
        text.when(
            text.compare("slt", thread, columns), lambda: text.copy_number(target, source, there)
        )

    def _vector(self, which: int, at: Value) -> Value:
        """The address of lse or delta for an iteration."""
        text = self.text
        size = 4 * self.shape.columns
        stage = text.integer("and", at, STAGES - 1)
        begin = text.add(self.shared, self.vectors + which * STAGES * size)
        return text.add(begin, text.mul(stage, size))

    def compute(self) -> None:
        text, shape = self.text, self.shape
        state = [constant(0.0, F32)] * shape.width
        state = text.loop(constant(0), self.sharing, state, self._turns)
        self.release()
        dk, dv = state[: shape.width // 2], state[shape.width // 2 :]
        for name, totals, factor in (("dk", dk, shape.factor), ("dv", dv, 1.0)):
            rows = self.rows_of(name, self.head, self.keys)
            self.store_rows(rows, totals, [constant(factor, F32)] * 2)

    def _turns(self, number: Value, state: Values) -> Values:
        """The tiles of one of the heads of q."""
        text = self.text
        base = text.mul(number, self.count)
        self.of_q = text.add(text.mul(self.head, self.sharing), number)
        if self.shape.causal:
            state = text.loop(
                constant(0), self.cut, state, lambda i, v: self._turn(text.add(base, i), i, v, True)
            )
        return text.loop(
            self.cut, self.count, state, lambda i, v: self._turn(text.add(base, i), i, v, False)
        )

    def _turn(self, turn: Value, inside: Value, state: Values, cut: bool) -> Values:
        text, middle = self.text, self.shape.width // 2
        dk, dv = state[:middle], state[middle:]
        scores, products = self.along_rows(0, 0, turn), self.along_rows(1, 1, turn)
        lse = self._columns(0, turn)
        start = text.mul(text.add(self.start, inside), self.shape.columns)
        scores = self.masked(text.finished(scores, pending=1), start, self.of_q, turned=True)
        if cut:
            scores = self._hidden(scores, start)
        factor = _factor(self.shape)
        shifts = [text.fmul(x, constant(-_LOG2E, F32)) for x in lse]
        weights = [text.exp2(text.fma(x, factor, shifts[_pair(i)])) for i, x in enumerate(scores)]
        dv = self.along_columns(1, turn, dv, self.packed(weights))
        delta = self._columns(1, turn)
        products = text.finished(products, pending=1)
        ds = [
            text.fmul(w, text.fsub(p, delta[_pair(i)]))
            for i, (w, p) in enumerate(zip(weights, products, strict=True))
        ]
        dk = self.along_columns(0, turn, dk, self.packed(ds))
        dv = text.finished(dv, pending=1)
        self.used_up(1, turn)
        dk = text.finished(dk)
        self.used_up(0, turn)
        return [*dk, *dv]

    def _columns(self, which: int, turn: Value) -> Values:
        """The numbers of the thread's columns."""
        text = self.text
        vector = self._vector(which, self.at(turn))
        begin = text.add(vector, text.integer("shl", self.pair, 2))
        found = []
        for place in range(0, self.shape.columns, 8):
            found += text.load_pair(text.add(begin, 4 * place))
        return found

    def _hidden(self, scores: Values, start: Value) -> Values:
        """-inf if the key comes later than the query."""
        text = self.text
        first = text.add(start, self.pair)
        places = [text.sub(row, first) for row in self.rows]
        return [
            text.select(text.compare("sle", places[half(i)], column(i)), x, constant(-inf, F32))
            for i, x in enumerate(scores)
        ]


def _pair(register: int) -> int:
    """Which of the numbers of a thread's columns a register of a product needs."""
    return register // 4 * 2 + register % 2
