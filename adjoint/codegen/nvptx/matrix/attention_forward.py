"""Attention in one kernel: softmax(q kᵀ) v for a tile of queries, tile after tile of keys.

The kernel keeps a row's maximum and sum while it reads keys, and rescales what it added under an
older maximum. The products of the next scores and of the last weights run while exponentials are
computed. Results: o, and for every row the logarithm of its sum, which the gradient needs.
"""

from __future__ import annotations

from math import e, inf, log, log2

from adjoint.codegen.nvptx.matrix.attention_frame import (
    Frame,
    Shape,
    half,
    joined,
    parameters_of,
)
from adjoint.codegen.nvptx.matrix.hopper import Tile, both
from adjoint.codegen.nvptx.matrix.text import F32, Value, Values, constant
from adjoint.stages import Source


def forward_parameters(mask: bool) -> tuple[str, ...]:
    """Of the kernel."""
    return parameters_of(("o", "lse"), ("q", "k", "v"), ("o", "q", "k", "v"), mask)


def forward(shape: Shape, name: str = "attention") -> Source:
    """The kernel's source."""
    return _Forward(shape, forward_parameters(shape.mask)).source(name)


class _Forward(Frame):
    stays, goes = ("q",), ("k", "v")
    backwards = True  # rows that see many keys first

    def counted(self) -> None:
        """Tiles of keys that the item reads; how many of them, from the last on, are masked."""
        text, columns = self.text, self.shape.columns
        self.turns, self.cut = text.up(self.keys, columns), constant(1)
        if self.shape.causal:
            seen = text.up(text.add(self.first, self.shape.rows), columns)
            self.turns = text.least(self.turns, seen)
            whole = text.integer("sdiv", self.first, columns)
            self.cut = text.most(constant(1), text.sub(self.turns, whole))

    def _start(self, turn: Value) -> Value:
        """The first key of an iteration: from the last tile to the first."""
        text = self.text
        return text.mul(text.sub(text.sub(self.turns, 1), turn), self.shape.columns)

    def copied(self, name: str, to: Value, tile: Tile, first: Value) -> None:
        self.copy_rows(self.rows_of(name, self.head, self.queries), to, tile, first)

    def copy(self, which: int, turn: Value, at: Value) -> None:
        text, stream = self.text, self.streams[which]
        head = text.integer("sdiv", self.head, self.number("shared_by"))
        rows = self.rows_of(self.goes[which], head, self.keys)
        self.copy_rows(rows, stream.address(at), stream.tile, self._start(turn))

    # ---- computing

    def begin(self) -> None:
        if self.shape.alternate:  # the first one has its turn
            text = self.text
            last = text.compare("eq", self.own, self.shape.groups - 1)
            text.when(last, lambda: text.give_turn(constant(1)))

    def compute(self) -> None:
        text, zero = self.text, constant(0)
        scores = text.finished(self.along_rows(0, 0, zero))
        self.used_up(0, zero)
        lowest, none = [constant(-inf, F32)] * 2, [constant(0.0, F32)] * 2
        weights, high, sums, _ = self._weights(scores, zero, lowest, none, cut=True)
        totals = [constant(0.0, F32)] * (self.shape.width // 2)
        state = [*totals, *high, *sums, *self.packed(weights)]
        state = text.loop(constant(1), self.cut, state, lambda i, v: self._turn(i, v, True))
        state = text.loop(self.cut, self.turns, state, lambda i, v: self._turn(i, v, False))
        self.release()
        totals, high, sums, packed = self._split(state)
        last = text.sub(self.turns, 1)
        totals = text.finished(self._gathered(last, totals, packed))
        self.used_up(1, last)
        self._store(totals, high, sums)

    def _split(self, state: Values) -> tuple[Values, Values, Values, Values]:
        n = self.shape.width // 2
        return state[:n], state[n : n + 2], state[n + 2 : n + 4], state[n + 4 :]

    def _gathered(self, turn: Value, totals: Values, packed: Values) -> Values:
        """Begin totals + weights v."""
        self.streams[1].wait_full(self.at(turn))
        return self.along_columns(1, turn, totals, packed)

    def _turn(self, turn: Value, state: Values, cut: bool) -> Values:
        text, alternate = self.text, self.shape.alternate
        totals, high, sums, packed = self._split(state)
        if alternate:
            text.take_turn(text.add(self.own, 1))
        scores = self.along_rows(0, 0, turn)
        before = text.sub(turn, 1)
        totals = self._gathered(before, totals, packed)
        if alternate:
            after = text.integer("srem", text.add(self.own, 1), self.shape.groups)
            text.give_turn(text.add(after, 1))
        scores = text.finished(scores, pending=1)
        self.used_up(0, turn)
        weights, high, sums, scales = self._weights(scores, turn, high, sums, cut)
        totals = text.finished(totals)
        self.used_up(1, before)
        totals = [text.fmul(x, scales[half(i)]) for i, x in enumerate(totals)]
        return [*totals, *high, *sums, *self.packed(weights)]

    def _weights(
        self, scores: Values, turn: Value, high: Values, sums: Values, cut: bool
    ) -> tuple[Values, Values, Values, Values]:
        """exp(scores - their maximum so far), the new maximum and sums, and what those before are
        multiplied by."""
        text, start = self.text, self._start(turn)
        scores = self.masked(scores, start, self.head)
        if cut:
            scores = self.hidden_after(scores, start)
        factor = constant(self.shape.factor * log2(e), F32)
        new_high, scales, shifts = [], [], []
        for number in range(2):
            most = self._most([x for i, x in enumerate(scores) if half(i) == number], high[number])
            sure = not cut and not self.shape.mask
            shift = text.negated(text.fmul(most if sure else self._seen(most), factor))
            scales.append(text.exp2(text.fma(high[number], factor, shift)))
            new_high.append(most)
            shifts.append(shift)
        weights = [text.exp2(text.fma(x, factor, shifts[half(i)])) for i, x in enumerate(scores)]
        new_sums = []
        for number in range(2):
            own = [x for i, x in enumerate(weights) if half(i) == number]
            new_sums.append(text.fma(sums[number], scales[number], joined(own, text.fadd)))
        return weights, new_high, new_sums, scales

    def _seen(self, most: Value) -> Value:
        """A row without visible keys so far has weights of 0: not exp(-inf + inf)."""
        empty = self.text.is_equal(most, constant(-inf, F32))
        return self.text.select(empty, constant(0.0, F32), most)

    def _most(self, values: Values, before: Value) -> Value:
        """The maximum of a row, which four threads share."""
        text = self.text
        most = text.fmax(joined(values, text.fmax), before)
        for distance in (1, 2):
            most = text.fmax(most, text.across(most, distance))
        return most

    def _store(self, totals: Values, high: Values, sums: Values) -> None:
        text, inverses = self.text, []
        first = text.compare("eq", self.pair, 0)
        for number, row in enumerate(self.rows):
            total = sums[number]
            for distance in (1, 2):
                total = text.fadd(total, text.across(total, distance))
            inverse = text.reciprocal(total)
            scaled = text.fmul(high[number], constant(self.shape.factor, F32))
            lse = text.fma(text.log2(total), constant(log(2), F32), scaled)
            if self.shape.mask:  # a row that sees nothing is zeros, and its weights are
                empty = text.is_equal(high[number], constant(-inf, F32))
                inverse = text.select(empty, constant(0.0, F32), inverse)
                lse = text.select(empty, constant(inf, F32), lse)
            inverses.append(inverse)
            address = text.add(Value("i64", "%lse"), self.per_row(row))
            there = both(text, first, text.compare("slt", row, self.queries))
            text.store("f32", lse, address, there)
        self.store_rows(self.rows_of("o", self.head, self.queries), totals, inverses)
