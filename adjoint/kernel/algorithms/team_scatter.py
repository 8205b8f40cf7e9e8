"""SCATTER and SCATTER_ADD for teams of threads: updates are sorted by destination.

Sorting keeps the order of updates to one place, and each place adds its own updates one after
another. So the bits are those of one thread that goes through all updates. Three parts:
    updates in the order of their places (`radix_sort.py`); bad ones come last, and are reported
    starts[place] = the first update of each place, found by binary search
    for every place, and its elements: its updates, one after another
Few updates are not sorted: every place looks at all of them, in their order. Floats that are added
one by one to many places use `bucket_scatter.py`. Where the order does not matter, and where
any is allowed, `atomic_scatter.py` has the kernels.
"""

from __future__ import annotations

from math import prod

from adjoint.ir.affine import strides_of
from adjoint.ir.dtype import dtypes
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.atomic_scatter import by_atomics
from adjoint.kernel.algorithms.atomics import goes_by_atomics
from adjoint.kernel.algorithms.bucket_scatter import by_buckets
from adjoint.kernel.algorithms.buckets import goes_by_buckets
from adjoint.kernel.algorithms.loops import (
    AlgorithmSteps,
    Loops,
    index_sum,
    number,
    split,
)
from adjoint.kernel.algorithms.radix_sort import RadixSteps, Rows
from adjoint.kernel.algorithms.scan import combined, held
from adjoint.kernel.algorithms.scatter import checked, flag_code
from adjoint.kernel.algorithms.scatter_ends import Scatter, ScatterEnds
from adjoint.stages import LoopProgram
from adjoint.target import Target

Terms = tuple[tuple[UOp, int], ...]  # of an index
_FEWEST = 64  # updates that are worth sorting
_MOST = 1 << 30  # places, or updates


def _starts(s: Scatter, name: str) -> LoopProgram:
    """The first update of every place, and behind the last one's."""
    loops = Loops(dtypes.int32)
    starts = loops.buffer("starts", dtypes.int32, s.places + 1, True)
    keys = loops.buffer("sorted", dtypes.int32, s.count)
    with loops.grid(s.places + 1) as place:
        low = loops.register(number(0, dtypes.int32))
        high = loops.register(number(s.count, dtypes.int32))
        with loops.loop(s.count.bit_length()) as turn:
            middle = (low + high) // 2
            key = loops.load(keys, middle.minimum(s.count - 1))
            behind = (key < place).logical_and(middle < high)
            more = behind.where(middle + 1, low)
            less = behind.where(high, middle)
            found = loops.update(low, more, turn)
            loops.update(high, less, turn)
        loops.store(starts, place, found)
    return loops.program(s.node, name, 8 * s.count.bit_length())


class _Apply:
    """The kernel in which every place goes through its updates."""

    def __init__(self, s: Scatter) -> None:
        self.s, self.loops = s, Loops()
        self.op, self.kind = s.node.op.kernel.join(s.node), held(s.node.dtype)
        buffer = self.loops.buffer
        self.out = buffer("out", s.node.dtype, s.node.size, True)
        self.x = None if s.x is None else buffer("x", s.x.dtype, s.x.size)
        self.updates = buffer("updates", s.updates.dtype, max(s.updates.size, 1))
        self.define()

    def define(self) -> None:
        """The buffers that say which updates a place has."""
        self.order = self.loops.buffer("order", dtypes.int32, self.s.count)
        self.starts = self.loops.buffer("starts", dtypes.int32, self.s.places + 1)

    def program(self, name: str) -> LoopProgram:
        s, loops = self.s, self.loops
        layout, strides = s.layout, strides_of(s.layout.shape)
        *others, blocks = layout.sizes
        sizes = (s.places, *others, blocks)
        with loops.grid(prod(sizes)) as position:
            place, *rest, block = split(position, sizes)
            coordinates = zip(split(place, s.extents), layout.axes, strict=True)
            terms = [(at, strides[axis]) for at, axis in coordinates]
            terms += [(at, strides[a]) for at, a in zip(rest, layout.others, strict=True)]
            known = self.known(position, place)
            with loops.block(layout.inner, layout.lanes, block) as lane:
                column = ((block, layout.lanes), (lane, 1))
                at = index_sum(*terms, *column)
                register = loops.register(self._before(at))
                total = self.updated(register, rest, column, known)
                loops.store(self.out, at, total.cast(s.node.dtype))
        return loops.program(s.node, name, 8 * self.each() * layout.lanes)

    def each(self) -> int:
        """How many updates a place goes through, or thereabouts."""
        return max(self.s.count // self.s.places, 1)

    def known(self, position: UOp, place: UOp) -> tuple[UOp, ...]:
        """What is the same for all that lies at a place: where its updates begin and end."""
        return self.loops.load(self.starts, place), self.loops.load(self.starts, place + 1)

    def updated(self, register: UOp, rest: list[UOp], column: Terms, known: tuple[UOp, ...]) -> UOp:
        """An element after its updates."""
        loops, (begin, end) = self.loops, known
        first = begin if self.op is not None else (end - 1).maximum(begin)  # the last one stays
        with loops.loop(self.s.count, count=(end - first).cast(dtypes.int64)) as u:
            value = self._update(first.cast(dtypes.int64) + u, rest, column)
            return loops.update(register, self._joined(register, value), u)

    def _joined(self, register: UOp, value: UOp) -> UOp:
        return value if self.op is None else combined(self.op, register, value)

    def _before(self, at: UOp) -> UOp:
        x = self.s.node.src[0]
        value = number(x.arg.value, x.dtype) if self.x is None else self.loops.load(self.x, at)
        return value.cast(self.kind)

    def _update(self, u: UOp, rest: list[UOp], column: Terms) -> UOp:
        found = self.loops.load(self.order, u)
        if self.s.carried:
            return found.bitcast(self.s.updates.dtype).cast(self.kind)
        return self._given(found.cast(dtypes.int64), rest, column)

    def _given(self, u: UOp, rest: list[UOp], column: Terms) -> UOp:
        """The element of update number u that goes here."""
        layout = self.s.layout
        sizes = tuple(layout.shape[a] for a in layout.others)
        strides = strides_of((*sizes, layout.inner))
        whole = prod(sizes) * layout.inner
        terms = zip(rest, strides, strict=False)
        return self.loops.load(self.updates, index_sum((u, whole), *terms, *column)).cast(self.kind)


class _ApplyFew(_Apply):
    """The kernel in which every place checks all updates."""

    def define(self) -> None:
        buffer = self.loops.buffer
        self.indices = [buffer(f"index{i}", x.dtype, x.size) for i, x in enumerate(self.s.indices)]
        self.flag = buffer("flag", dtypes.int64, 1, True)

    def each(self) -> int:
        return self.s.count

    def known(self, position: UOp, place: UOp) -> tuple[UOp, ...]:
        """The place; one update each is looked at by the first threads, which tell of a bad one."""
        mine = position.minimum(self.s.count - 1)
        for axis, (index, (_, good)) in zip(self.s.node.arg.axes, self._found(mine), strict=True):
            self.loops.store(self.flag, number(0), flag_code(axis, index), good.logical_not())
        return (place,)

    def updated(self, register: UOp, rest: list[UOp], column: Terms, known: tuple[UOp, ...]) -> UOp:
        (place,) = known
        with self.loops.loop(self.s.count) as u:
            goes = number(0)
            every: UOp | None = None
            for extent, (_, (wide, good)) in zip(self.s.extents, self._found(u), strict=True):
                goes = goes * extent + wide
                every = good if every is None else every.logical_and(good)
            assert every is not None
            here = every.logical_and(goes.eq(place))
            after = self._joined(register, self._given(u, rest, column))
            return self.loops.update(register, here.where(after, register), u)

    def _found(self, u: UOp) -> list[tuple[UOp, tuple[UOp, UOp]]]:
        """The indices of an update: unchanged, as int64, and whether it is in range."""
        loaded = [self.loops.load(buffer, u) for buffer in self.indices]
        return [(x, checked(x, n)) for x, n in zip(loaded, self.s.extents, strict=True)]


def _few(s: Scatter) -> AlgorithmSteps | None:
    """One kernel, if there is a thread per update to check its indices."""
    if s.places * prod(s.layout.sizes) < s.count:
        return None
    given = () if s.x is None else (1,)
    places = (0, *given, s.updates_place, *range(s.first_index, s.updates_place), s.flag)
    program = _ApplyFew(s).program(f"{s.node.op.name}_few")
    return AlgorithmSteps(((program, places),), flag=True)


def build_team_scatter(node: UOp, target: Target) -> AlgorithmSteps | None:
    """The kernels of a scatter for teams; None if they are no faster than plain loops."""
    if target.team is None or varies(*node.shape, *(n for s in node.src for n in s.shape)):
        return None
    s = Scatter(node, target)
    if not node.size or not 0 < s.count < _MOST or s.places >= _MOST:
        return None
    if s.count < _FEWEST:
        return _few(s)
    if goes_by_atomics(node):
        return by_atomics(s)
    if goes_by_buckets(node):
        return by_buckets(s, target, target.team)
    steps = RadixSteps(node, target, s.first_scratch)
    s.sorted, s.order = (steps.memory(dtypes.int32, s.count) for _ in range(2))
    starts = steps.memory(dtypes.int32, s.places + 1)
    rows = Rows(1, s.count, s.places.bit_length(), dtypes.int32)
    steps.sort(rows, ScatterEnds(s))
    name = node.op.name
    steps.parts.append((_starts(s, f"{name}_starts"), (starts, s.sorted)))
    given = () if s.x is None else (1,)
    places = (0, *given, s.updates_place, s.order, starts)
    steps.parts.append((_Apply(s).program(f"{name}_apply"), places))
    return AlgorithmSteps(tuple(steps.parts), tuple(steps.scratch), flag=True)
