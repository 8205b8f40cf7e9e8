"""ARGSORT, and SORT with it, as one kernel: a row after another, in one of two ways.

Elements become integers of the same order first. A short row is ranked: the place of an element is
the number of those before it, counted in vector lanes. A long row is sorted by digits, from the
lowest; each round counts, adds and moves, and keeps the order of equal digits. Both are stable,
take the same steps for any data, and put NaN last (descending: first).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.sizes import highest, is_one
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import (
    AlgorithmKernel,
    Loops,
    index_sum,
    lanes_for,
    number,
    split,
)
from adjoint.target import Target

_UNUSED_BITS = {dtypes.bfloat16: 16, dtypes.float16: 13}  # at the end of the value in float32


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Order:
    """The integers that represent the elements of a dtype in the same order."""

    dtype: DType  # of the elements
    descending: bool

    @property
    def kind(self) -> DType:
        """The dtype of the integers."""
        return dtypes.int64 if self.dtype.itemsize == 8 else dtypes.int32

    @property
    def unused(self) -> int:
        """How many low bits carry no information."""
        return _UNUSED_BITS.get(self.dtype, 0)

    @property
    def bits(self) -> int:
        """How many bits of the integers count."""
        if self.dtype.is_bool or not self.dtype.is_float:
            return self.dtype.bits
        return self.kind.bits - self.unused

    @property
    def lowest(self) -> int:
        """The least of the integers."""
        small = self.dtype.is_bool or (self.dtype.is_int and self.dtype.itemsize < 4)
        low, high = (self.dtype.min, self.dtype.max) if small else (self.kind.min, self.kind.max)
        return ~int(high) if self.descending else int(low)

    def key(self, value: UOp) -> UOp:
        """The integer of an element."""
        number_ = self._float(value) if self.dtype.is_float else self._integer(value)
        return ~number_ if self.descending else number_

    def raised(self, value: UOp) -> UOp:
        """The integer of an element, as if it had no sign: the least is 0."""
        key = self.key(value)
        if self.bits == self.kind.bits:
            return key ^ self.kind.min
        return ((key.cast(dtypes.int64) - self.lowest) >> self.unused).cast(self.kind)

    def value(self, raised: UOp) -> tuple[UOp, UOp | None] | None:
        """The element of such an integer, and whether other elements have the same; None if the
        integer does not determine it.
        """
        if self.bits != self.kind.bits:
            return None
        key = raised ^ self.kind.min
        key = ~key if self.descending else key
        if not self.dtype.is_float:
            return (key ^ self.kind.min if self.dtype.kind == "u" else key).bitcast(
                self.dtype
            ), None
        most = number(self.kind.max, self.kind)
        turned = key ^ ((key >> (self.kind.bits - 1)) & most)
        return turned.bitcast(self.dtype), key.eq(0).logical_or(key.eq(most))

    def _integer(self, value: UOp) -> UOp:
        if self.dtype.kind == "u" and self.dtype.itemsize >= 4:
            return value.bitcast(self.kind) ^ self.kind.min
        return value.cast(self.kind)

    def _float(self, value: UOp) -> UOp:
        """Bits as sign and magnitude, converted to an integer; both zeros are 0."""
        value = value.cast(dtypes.float64 if self.dtype.itemsize == 8 else dtypes.float32)
        bits, most = value.bitcast(self.kind), number(self.kind.max, self.kind)
        turned = bits ^ ((bits >> (self.kind.bits - 1)) & most)
        return value.ne(value).where(most, value.eq(0).where(0, turned))


class _Sort:
    """The kernel of one node: what its rows are, and where results go."""

    def __init__(self, node: UOp, target: Target, values: bool, indices: bool) -> None:
        (x,) = node.src
        self.node, self.target, self.loops = node, target, Loops()
        self.order = Order(x.dtype, node.arg.descending)
        axis = node.arg.axis
        self.n = x.shape[axis]
        self.inner = prod(x.shape[axis + 1 :])
        self.sizes = prod(x.shape[:axis]), self.inner
        self.rows = prod(self.sizes)
        size, buffer = x.size, self.loops.buffer
        self.values = buffer("values", x.dtype, size, True) if values else None
        self.indices = buffer("indices", node.dtype, size, True) if indices else None
        self.x = buffer("x", x.dtype, size)
        self.scratch: list[tuple[DType, int]] = []

    def start(self, row: UOp) -> UOp:
        outer, inside = split(row, self.sizes)
        return index_sum((outer, self.n * self.inner), (inside, 1))

    def at(self, start: UOp, k: UOp) -> UOp:
        return index_sum((start, 1), (k, self.inner))

    def put(self, start: UOp, place: UOp, index: UOp) -> None:
        """The element at `index` of the row has this place in the result."""
        there = self.at(start, place)
        if self.indices is not None:
            self.loops.store(self.indices, there, index.cast(self.node.dtype))
        if self.values is not None:
            found = self.loops.load(self.x, self.at(start, index.cast(dtypes.int64)))
            self.loops.store(self.values, there, found)

    def finish(self, name: str, cost: int) -> AlgorithmKernel:
        return AlgorithmKernel(self.loops.program(self.node, name, cost), tuple(self.scratch))


def _ranked(sort: _Sort, name: str) -> AlgorithmKernel:
    """A short row: count the elements before each."""
    loops, n, order = sort.loops, sort.n, sort.order
    team = sort.target.team
    lanes = lanes_for(n, order.kind, sort.target) if team is None else team.threads_for(highest(n))
    keys = loops.local("keys", order.kind, highest(n))
    with loops.grid(sort.rows) as row:
        start = sort.start(row)
        with loops.loop(n, lanes) as k:
            loops.store(keys, k, order.key(loops.load(sort.x, sort.at(start, k))))
        with loops.loop(n, lanes) as i:
            mine = loops.load(keys, i)
            rank = loops.register(number(0, dtypes.int32))
            with loops.loop(n) as j:
                other = loops.load(keys, j)
                earlier = j.cast(dtypes.int32) < i.cast(dtypes.int32)
                before = (other < mine).logical_or(other.eq(mine).logical_and(earlier))
                place = loops.update(rank, rank + before.cast(dtypes.int32), j)
            sort.put(start, place.cast(dtypes.int64), i)
    found = sort.finish(name, 4 * n * n)
    return found if team is None else replace(found, program=replace(found.program, threads=lanes))


def _digit_bits(order: Order) -> int:
    """How many bits a digit has: 8, but the 19 of float16 are two digits of 10."""
    return 10 if order.bits == 19 else 8


def _rounds(order: Order) -> int:
    return -(-order.bits // _digit_bits(order))


class _Digits:
    """The rounds of a long row. An entry is key and index in 64 bits, or the two side by side."""

    def __init__(self, sort: _Sort) -> None:
        self.sort, self.loops = sort, sort.loops
        self.bits = _digit_bits(sort.order)
        self.rounds = _rounds(sort.order)
        self.radix = 1 << min(self.bits, sort.order.bits)
        self.packed = sort.order.bits <= 32
        sizes = [dtypes.int64] if self.packed else [dtypes.int64, dtypes.int32]
        kinds = sizes * min(self.rounds, 2)
        table = self.rounds * self.radix * 4
        limits, entries = sort.target.limits, highest(sort.n) * sum(k.itemsize for k in kinds)
        self.inside = entries + table <= limits.local_bytes
        self.groups = sort.rows if self.inside else min(highest(sort.rows), limits.scratch_groups)
        self.memory = [self.array(i, kind) for i, kind in enumerate(kinds)]
        self.table = self.loops.local("counts", dtypes.int32, self.rounds * self.radix)

    def array(self, i: int, kind: DType) -> UOp:
        if self.inside:
            return self.loops.local(f"entries{i}", kind, highest(self.sort.n))
        size = self.groups * self.sort.n
        self.sort.scratch.append((kind, size))
        return self.loops.buffer(f"entries{i}", kind, size, True)

    def build(self, name: str) -> AlgorithmKernel:
        sort = self.sort
        each = -(-sort.rows // self.groups)
        with self.loops.grid(self.groups) as group:
            base = number(0) if self.inside else index_sum((group, sort.n))
            if is_one(each):
                self.row(group, base)
            else:
                left = (sort.rows - group * each).minimum(each).maximum(0)
                with self.loops.loop(each, count=left) as r:
                    self.row(index_sum((group, each), (r, 1)), base)
        return sort.finish(name, each * sort.n * (8 + 6 * self.rounds))

    def row(self, row: UOp, base: UOp) -> None:
        start = self.sort.start(row)
        self.clear()
        self.count(start, base)
        self.add_up()
        for i in range(self.rounds):
            self.move(start, base, i)

    def clear(self) -> None:
        size = self.rounds * self.radix
        with self.loops.loop(size, lanes_for(size, dtypes.int32, self.sort.target)) as d:
            self.loops.store(self.table, d, number(0, dtypes.int32))

    def count(self, start: UOp, base: UOp) -> None:
        """Write the entries down, and count the digits of all rounds at once."""
        loops, order = self.loops, self.sort.order
        with loops.loop(self.sort.n) as k:
            key = order.key(loops.load(self.sort.x, self.sort.at(start, k)))
            raised = (key.cast(dtypes.int64) - order.lowest) >> order.unused
            entry = (raised << 32) | k if self.packed else raised
            loops.store(self.memory[0], index_sum((base, 1), (k, 1)), entry)
            for i in range(self.rounds):
                cell = self.cell(entry, i)
                loops.store(self.table, cell, loops.load(self.table, cell) + 1)

    def cell(self, entry: UOp, i: int) -> UOp:
        """The counter of an entry's digit in a round."""
        shift = i * self.bits + (32 if self.packed else 0)
        return ((entry >> shift) & (self.radix - 1)) + i * self.radix

    def add_up(self) -> None:
        """From how often a digit occurs to where its first entry goes."""
        loops = self.loops
        for i in range(self.rounds):
            before = loops.register(number(0, dtypes.int32))
            with loops.loop(self.radix) as d:
                cell = d + i * self.radix
                here = loops.load(self.table, cell)
                after = loops.update(before, before + here, d)
                loops.store(self.table, cell, after - here)

    def move(self, start: UOp, base: UOp, i: int) -> None:
        """One round: every entry to its place by one digit; in the last round, to the result."""
        loops, width = self.loops, 1 if self.packed else 2
        source, target = ((i + s) % 2 * width for s in (0, 1))
        with loops.loop(self.sort.n) as k:
            here = index_sum((base, 1), (k, 1))
            entry = loops.load(self.memory[source], here)
            index = self.index(entry, source, here, k, i)
            cell = self.cell(entry, i)
            place = loops.load(self.table, cell)
            loops.store(self.table, cell, place + 1)
            if i == self.rounds - 1:
                self.sort.put(start, place.cast(dtypes.int64), index)
                return
            there = index_sum((base, 1), (place.cast(dtypes.int64), 1))
            loops.store(self.memory[target], there, entry)
            if not self.packed:
                loops.store(self.memory[target + 1], there, index)

    def index(self, entry: UOp, source: int, here: UOp, k: UOp, i: int) -> UOp:
        if self.packed:
            return entry & 0xFFFFFFFF
        if i == 0:
            return k.cast(dtypes.int32)
        return self.loops.load(self.memory[source + 1], here)


def sort_program(
    node: UOp, target: Target, name: str = "", values: bool = True, indices: bool = True
) -> AlgorithmKernel:
    """The kernel of an argsort node that gives sorted values, indices, or both, in this order."""
    sort, limits = _Sort(node, target, values, indices), target.limits
    short = min(limits.ranked_row * _rounds(sort.order), limits.longest_ranked)
    return _ranked(sort, name) if highest(sort.n) <= short else _Digits(sort).build(name)


def build_argsort(node: UOp, target: Target, name: str = "") -> AlgorithmKernel:
    """The kernel of an argsort node."""
    return sort_program(node, target, name, values=False)
