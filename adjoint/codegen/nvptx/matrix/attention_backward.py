"""The gradient of attention in two kernels: that of the queries, and those of keys and values.

Both compute weights again, from scores and the logarithm of every row's sum; with g the cotangent
of o, `delta` the sum of g * o along a row (which the first kernel writes and the second reads), and
ds = weights * (g vᵀ - delta): dq = ds k, dk = dsᵀ q, dv = weightsᵀ g. No two blocks add to one number, so that bits are the same
from run to run; scores are computed twice for it.
"""

from __future__ import annotations

from math import e, inf, log2

from adjoint.codegen.nvptx.matrix.attention_forward import (
    REGISTERS,
    ROWS,
    SIZES,
    Frame,
    Shape,
    places_of,
    store_row,
)
from adjoint.codegen.nvptx.matrix.hopper import WARPGROUP, both
from adjoint.codegen.nvptx.matrix.streams import (
    STAGES,
    Stream,
    copy_tile,
    fill,
    steps_along,
    steps_down,
)
from adjoint.codegen.nvptx.matrix.text import F32, Value, Values, constant
from adjoint.stages import Source

_READ = ("q", "k", "v", "g")
QUERIES = ("dq", "delta", *_READ, "o", "lse", *SIZES, *places_of("dq", *_READ, "o"))
KEYS = ("dk", "dv", *_READ, "lse", "delta", *SIZES, *places_of("dk", "dv", *_READ))
_LOG2E = log2(e)
_REGISTERS = REGISTERS | {2: (24, 240)}  # four products' totals are more


def backward_queries(shape: Shape, name: str = "attention_dq") -> Source:
    """The kernel of dq."""
    return _Queries(shape).source(name)


def backward_keys(shape: Shape, name: str = "attention_dk_dv") -> Source:
    """The kernel of dk and dv."""
    return _Keys(shape).source(name)


class _Backward(Frame):
    """Two tiles stay, two streams go by."""

    first: Value  # row of the tiles that stay

    def _prepare(self) -> None:
        shape, text = self.shape, self.text
        self.queries, self.keys = self.number("queries"), self.number("keys")
        self.staying = [self.tile(shape.rows) for _ in range(2)]
        tiles = [self.tile(shape.columns, STAGES) for _ in range(2)]
        self.streams = [
            Stream(text, self.shared, tile, self.barriers(2 * STAGES)) for tile in tiles
        ]
        self.ready = text.add(self.shared, self.barriers(1))
        self.vectors = self.used  # lse and delta of a stage, where they go by
        self.used += 2 * STAGES * 4 * shape.columns

    def _run(self) -> None:
        text = self.text
        text.when(text.compare("eq", self.thread, 0), self._make_barriers)
        text.barriers_ready()
        text.branch(text.compare("eq", self.group, 0), self._copies, self._computes)

    def _make_barriers(self) -> None:
        for stream in self.streams:
            stream.made(4 * self.shape.groups)
        self.text.barrier_made(self.ready, WARPGROUP)

    def _copies(self) -> None:
        raise NotImplementedError

    def _computes(self) -> None:
        raise NotImplementedError

    def _locate(self) -> None:
        """Which rows of the tiles are this thread's."""
        text = self.text
        own = text.mul(text.sub(self.group, 1), ROWS)
        row = text.add(text.mul(self.place.warp, 16), text.integer("lshr", self.place.lane, 2))
        first = text.add(text.add(self.first, own), row)
        self.rows = [first, text.add(first, 8)]
        self.pair = text.integer("shl", text.integer("and", self.place.lane, 3), 1)
        self.lefts = []
        for tile in self.staying:
            begin = text.add(text.add(self.shared, tile.offset), text.mul(own, 128))
            self.lefts.append(text.rows_of(begin))

    def _both_scores(self, turn: Value) -> tuple[Values, Values]:
        """Begin the products of the tiles that stay with those that go by."""
        text = self.text
        found = []
        for left, tile, stream in zip(self.lefts, self.staying, self.streams, strict=True):
            stream.wait_full(turn)
            right = text.rows_of(stream.address(turn))
            steps = list(zip(steps_along(tile), steps_along(stream.tile), strict=True))
            found.append(text.product(self.shape.columns, left, right, steps))
        return found[0], found[1]

    def _added(self, which: int, turn: Value, totals: Values, left: Values) -> Values:
        """Begin totals + left @ what goes by."""
        text, stream = self.text, self.streams[which]
        right = text.columns_of(stream.address(turn), stream.tile)
        steps = [(0, b) for b in steps_down(stream.tile)]
        return text.product(self.shape.width, left, right, steps, totals, turned=True)

    def _packed(self, values: Values) -> Values:
        return [self.text.packed(a, b) for a, b in zip(values[::2], values[1::2], strict=True)]

    def _factor(self) -> Value:
        return constant(self.shape.factor * _LOG2E, F32)

    def _stored(
        self, name: str, batch: Value, head: Value, totals: Values, factor: float, count: Value
    ) -> None:
        text = self.text
        to = self.rows_of(name, batch, head, count)
        for half, row in enumerate(self.rows):
            own = [t for i, t in enumerate(totals) if i % 4 // 2 == half]
            there = text.compare("slt", row, count)
            store_row(self, to, row, there, own, constant(factor, F32))


class _Queries(_Backward):
    """dq: q and g stay, k and v go by."""

    def __init__(self, shape: Shape):
        super().__init__(shape, QUERIES)
        self._prepare()
        text = self.text
        self.plane, self.batch, self.head, self.block = self.located(backwards=shape.causal)
        self.first = text.mul(self.block, shape.rows)
        self.turns, self.whole = self._counts()
        self._run()

    def _counts(self) -> tuple[Value, Value]:
        """Tiles of keys that the block looks at; and the first that is cut."""
        text, columns = self.text, self.shape.columns
        turns = text.up(self.keys, columns)
        whole = text.integer("sdiv", self.keys, columns)
        if self.shape.causal:
            turns = text.least(turns, text.up(text.add(self.first, self.shape.rows), columns))
            whole = text.least(whole, text.integer("sdiv", self.first, columns))
        return turns, text.least(whole, turns)

    def _copies(self) -> None:
        text = self.text
        text.registers(REGISTERS[self.shape.groups][0], more=False)
        shared_head = text.integer("sdiv", self.head, self.number("shared_by"))
        for name, tile in zip("qg", self.staying, strict=True):
            rows = self.rows_of(name, self.batch, self.head, self.queries)
            to = text.add(self.shared, tile.offset)
            copy_tile(text, self.place.thread, to, tile, rows, self.first)
        text.copies_end()
        moving = [self.rows_of(name, self.batch, shared_head, self.keys) for name in "kv"]

        def copy(which: int, turn: Value, address: Value) -> None:
            first = text.mul(turn, self.shape.columns)
            tile = self.streams[which].tile
            copy_tile(text, self.place.thread, address, tile, moving[which], first)

        fill(text, self.streams, self.turns, self.ready, copy)

    def _computes(self) -> None:
        text, shape = self.text, self.shape
        text.registers(REGISTERS[shape.groups][1], more=True)
        self._locate()
        self._load_rows()
        text.wait(self.ready, constant(0))
        state = [constant(0.0, F32)] * (shape.width // 2)
        zero = constant(0)
        state = text.loop(zero, self.whole, state, lambda i, v: self._turn(i, v, False))
        state = text.loop(self.whole, self.turns, state, lambda i, v: self._turn(i, v, True))
        self._stored("dq", self.batch, self.head, state, shape.factor, self.queries)

    def _load_rows(self) -> None:
        """lse (in powers of two, negated) of the thread's rows; delta is computed, and stored."""
        text = self.text
        plane = text.mul(text.wide(self.plane), text.wide(self.queries))
        self.shifts, self.deltas = [], []
        for row in self.rows:
            there = text.compare("slt", row, self.queries)
            place = text.integer("shl", text.add(plane, text.wide(row)), 2)
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
            rows = self.rows_of(name, self.batch, self.head, self.queries)
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
        scores, products = self._both_scores(turn)
        scores = text.finished(scores, pending=1)
        if cut:
            scores = self._hidden(scores, turn)
        factor = self._factor()
        weights = [
            text.exp2(text.fma(s, factor, self.shifts[i % 4 // 2])) for i, s in enumerate(scores)
        ]
        products = text.finished(products)
        self.streams[1].used(turn, self.place.leader)
        ds = [
            text.fmul(w, text.fsub(p, self.deltas[i % 4 // 2]))
            for i, (w, p) in enumerate(zip(weights, products, strict=True))
        ]
        totals = text.finished(self._added(0, turn, totals, self._packed(ds)))
        self.streams[0].used(turn, self.place.leader)
        return totals

    def _hidden(self, scores: Values, turn: Value) -> Values:
        """-inf where there is no key, or a later one than the query."""
        text = self.text
        start = text.add(text.mul(turn, self.shape.columns), self.pair)
        limits = []
        for row in self.rows:
            limit = text.least(self.keys, text.add(row, 1)) if self.shape.causal else self.keys
            limits.append(text.sub(limit, start))
        return [
            text.select(
                text.compare("sgt", limits[i % 4 // 2], 8 * (i // 4) + i % 2),
                score,
                constant(-inf, F32),
            )
            for i, score in enumerate(scores)
        ]


class _Keys(_Backward):
    """dk and dv: k and v stay, q and g go by, of all heads that share them."""

    def __init__(self, shape: Shape):
        super().__init__(shape, KEYS)
        self._prepare()
        text = self.text
        self.plane, self.batch, self.head, self.block = self.located(backwards=False)
        self.first = text.mul(self.block, shape.rows)
        self.sharing = self.number("shared_by")
        self._counts()
        self.turns = text.mul(self.sharing, self.count)
        self._run()

    def _counts(self) -> None:
        """The first tile of queries that sees these keys, how many there are, how many are cut."""
        text, columns = self.text, self.shape.columns
        tiles = text.up(self.queries, columns)
        self.start = self.cut = constant(0)
        self.count = tiles
        if self.shape.causal:
            self.start = text.least(tiles, text.integer("sdiv", self.first, columns))
            self.count = text.sub(tiles, self.start)
            end = text.up(text.add(self.first, self.shape.rows), columns)
            self.cut = text.least(self.count, text.sub(end, self.start))

    def _copies(self) -> None:
        text = self.text
        text.registers(_REGISTERS[self.shape.groups][0], more=False)
        for name, tile in zip("kv", self.staying, strict=True):
            rows = self.rows_of(name, self.batch, self.head, self.keys)
            to = text.add(self.shared, tile.offset)
            copy_tile(text, self.place.thread, to, tile, rows, self.first)
        text.copies_end()
        fill(text, self.streams, self.turns, self.ready, self._copy)

    def _copy(self, which: int, turn: Value, address: Value) -> None:
        text = self.text
        inside = text.integer("srem", turn, self.count)
        head = text.mul(self.head, self.sharing)
        head = text.add(head, text.integer("sdiv", turn, self.count))
        first = text.mul(text.add(self.start, inside), self.shape.columns)
        rows = self.rows_of("qg"[which], self.batch, head, self.queries)
        copy_tile(text, self.place.thread, address, self.streams[which].tile, rows, first)
        heads = text.mul(self.number("heads"), self.sharing)
        plane = text.add(text.mul(self.batch, heads), head)
        self._copy_vector(("lse", "delta")[which], which, turn, plane, first)

    def _copy_vector(self, name: str, which: int, turn: Value, plane: Value, first: Value) -> None:
        """A number per query: one or more threads' copies of four bytes."""
        text = self.text
        begin = text.mul(text.wide(plane), text.wide(self.queries))
        to = self._vector(which, turn)
        for part in range(0, self.shape.columns, WARPGROUP):
            column = text.add(self.place.thread, part)
            row = text.add(first, column)
            inside = text.compare("slt", column, self.shape.columns)
            there = both(text, inside, text.compare("slt", row, self.queries))
            place = text.integer("shl", text.add(begin, text.wide(row)), 2)
            source = text.add(Value("i64", f"%{name}"), place)
            target = text.add(to, text.integer("shl", column, 2))

            def copied(
                target: Value = target, source: Value = source, there: Value = there
            ) -> None:
                text.copy_number(target, source, there)

            if self.shape.columns < WARPGROUP:
                text.when(inside, copied)
            else:
                copied()

    def _vector(self, which: int, turn: Value) -> Value:
        """Where lse or delta of a turn is."""
        text = self.text
        size = 4 * self.shape.columns
        stage = text.integer("and", turn, STAGES - 1)
        begin = text.add(self.shared, self.vectors + which * STAGES * size)
        return text.add(begin, text.mul(stage, size))

    def _computes(self) -> None:
        text, shape = self.text, self.shape
        text.registers(_REGISTERS[shape.groups][1], more=True)
        self._locate()
        text.wait(self.ready, constant(0))
        state = [constant(0.0, F32)] * shape.width

        def head(h: Value, state: Values) -> Values:
            base = text.mul(h, self.count)
            if shape.causal:
                turn = lambda i, v: self._turn(text.add(base, i), i, v, True)  # noqa: E731
                state = text.loop(constant(0), self.cut, state, turn)
            turn = lambda i, v: self._turn(text.add(base, i), i, v, False)  # noqa: E731
            return text.loop(self.cut, self.count, state, turn)

        state = text.loop(constant(0), self.sharing, state, head)
        dk, dv = state[: shape.width // 2], state[shape.width // 2 :]
        self._stored("dk", self.batch, self.head, dk, shape.factor, self.keys)
        self._stored("dv", self.batch, self.head, dv, 1.0, self.keys)

    def _turn(self, turn: Value, inside: Value, state: Values, cut: bool) -> Values:
        """Everything is turned: rows are keys, columns are queries."""
        text, half = self.text, self.shape.width // 2
        dk, dv = state[:half], state[half:]
        scores, products = self._both_scores(turn)
        lse = self._columns(0, turn)
        scores = text.finished(scores, pending=1)
        if cut:
            scores = self._hidden(scores, inside)
        factor = self._factor()
        shifts = [text.fmul(x, constant(-_LOG2E, F32)) for x in lse]
        weights = [
            text.exp2(text.fma(s, factor, shifts[i // 4 * 2 + i % 2])) for i, s in enumerate(scores)
        ]
        dv = self._added(1, turn, dv, self._packed(weights))
        delta = self._columns(1, turn)
        products = text.finished(products, pending=1)
        ds = [
            text.fmul(w, text.fsub(p, delta[i // 4 * 2 + i % 2]))
            for i, (w, p) in enumerate(zip(weights, products, strict=True))
        ]
        dk = self._added(0, turn, dk, self._packed(ds))
        dv = text.finished(dv, pending=1)
        self.streams[1].used(turn, self.place.leader)
        dk = text.finished(dk)
        self.streams[0].used(turn, self.place.leader)
        return [*dk, *dv]

    def _columns(self, which: int, turn: Value) -> Values:
        """The numbers of the thread's columns."""
        text = self.text
        begin = text.add(self._vector(which, turn), text.integer("shl", self.pair, 2))
        found = []
        for column in range(0, self.shape.columns, 8):
            found += text.load_pair(text.add(begin, 4 * column))
        return found

    def _hidden(self, scores: Values, inside: Value) -> Values:
        """-inf where the key comes later than the query."""
        text = self.text
        start = text.mul(text.add(self.start, inside), self.shape.columns)
        start = text.add(start, self.pair)
        places = [text.sub(row, start) for row in self.rows]
        return [
            text.select(
                text.compare("sle", places[i % 4 // 2], 8 * (i // 4) + i % 2),
                score,
                constant(-inf, F32),
            )
            for i, score in enumerate(scores)
        ]
