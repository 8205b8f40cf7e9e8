"""SCATTER and SCATTER_ADD as loops: the updates one after another, the other axes vectorised.

Every piece of the grid owns some positions along the axes that are not indexed and goes through all
updates, so repeated indices have one defined result whatever the number of threads. Where the
indices of an axis only count the rows of the updates, a piece owns a row and goes through the
updates of that row. An index out of range touches nothing; it sets the flag cell to a code that
says what was wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import takewhile
from math import prod

from adjoint.ir.affine import strides_of
from adjoint.ir.dtype import dtypes
from adjoint.ir.kernel_kind import RANGE, Algorithm, is_constant
from adjoint.ir.sizes import is_one, same, varies
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.atomics import goes_by_atomics
from adjoint.kernel.algorithms.buckets import goes_by_buckets
from adjoint.kernel.algorithms.loops import (
    AlgorithmKernel,
    Loops,
    Shape,
    index_sum,
    lanes_for,
    number,
    split,
)
from adjoint.kernel.algorithms.scan import combined, held
from adjoint.kernel.counting import counts_along
from adjoint.ops.indexing import unwrapped, wrapped
from adjoint.target import Target

_INDEX_BITS = 56  # of a flag's code; the axis is above
_INDEX_LIMIT = 1 << (_INDEX_BITS - 1)


def flag_code(axis: int, index: UOp) -> UOp:
    """The flag code of a bad index along an axis: never 0.

    An index beyond ±2**55 is reported as that.
    """
    if index.dtype.itemsize == 8:
        index = index.minimum(_INDEX_LIMIT - 1)
    wide = index.cast(dtypes.int64).maximum(-_INDEX_LIMIT)
    return wide + (((axis + 1) << _INDEX_BITS) + _INDEX_LIMIT)


def checked(index: UOp, extent: int) -> tuple[UOp, UOp]:
    """A loaded index as int64, and whether it is in range."""
    if index.dtype is dtypes.uint64:
        return index.cast(dtypes.int64), index < extent
    wide = index.cast(dtypes.int64)
    inside = wide < extent
    return wide, inside if index.dtype.kind == "u" else inside.logical_and(wide >= 0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScatterLayout:
    """How the axes of x divide: those indexed, a contiguous run at the end, and the others; `rows`
    are those whose indices only count, so each row has updates of its own."""

    shape: Shape
    axes: Shape  # without rows
    rows: Shape
    others: Shape  # axes neither indexed nor part of the run
    inner: int  # elements of the run
    lanes: int  # of the run that go side by side

    @staticmethod
    def of(x: UOp, axes: Shape, target: Target, rows: Shape = ()) -> ScatterLayout:
        rank = len(x.shape)
        first = rank
        while first > 0 and first - 1 not in axes:
            first -= 1
        inner = prod(x.shape[first:])
        lanes = lanes_for(inner, x.dtype, target)
        if lanes == 1:
            first, inner = rank, 1
        others = tuple(a for a in range(first) if a not in axes)
        axes = tuple(a for a in axes if a not in rows)
        return ScatterLayout(x.shape, axes, rows, others, inner, lanes)

    @property
    def sizes(self) -> Shape:
        """Of the grid: rows, the other axes, and the blocks of the run."""
        return (*(self.shape[a] for a in (*self.rows, *self.others)), self.blocks)

    @property
    def blocks(self) -> int:
        return -(-self.inner // self.lanes)

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The indexed axes as (extent, stride), neighbours merged."""
        strides, found = strides_of(self.shape), dict[int, tuple[int, int]]()
        for axis in sorted(self.axes):
            before = found.pop(axis - 1, (1, 0))[0]
            found[axis] = before * self.shape[axis], strides[axis]
        return list(found.values())


class _Scatter:
    """The kernel of one node, part by part."""

    def __init__(self, node: UOp, target: Target) -> None:
        x, *indices, updates = node.src
        self.node, self.machine, self.loops = node, target, Loops()
        rows, given = _indices_of(node, target)
        self.layout = ScatterLayout.of(x, node.arg.axes, target, rows)
        self.op = node.op.kernel.join(node)
        self.kind = held(node.dtype)
        self.count = prod(indices[0].shape[len(rows) :])  # updates of a row
        buffer = self.loops.buffer
        self.out = buffer("out", node.dtype, node.size, True)
        self.x = None if x not in read_by(node, target) else buffer("x", x.dtype, x.size)
        self.wraps = [index is not whole for index, whole in given]
        self.indices = [
            buffer(f"index{n}", i.dtype, max(i.size, 1)) for n, (i, _) in enumerate(given)
        ]
        self.updates = buffer("updates", updates.dtype, max(updates.size, 1))
        # Sums and products of narrow floats are rounded once, when all updates are in.
        self.rounded = self.kind is not node.dtype and self.op in ("add", "mul")
        self.target = buffer("wide", self.kind, node.size, True) if self.rounded else self.out
        self.flag = buffer("flag", dtypes.int64, 1, True)

    def build(self, name: str, in_place: bool) -> AlgorithmKernel:
        layout = self.layout
        with self.loops.grid(prod(layout.sizes)) as position:
            *at, block = split(position, layout.sizes)
            strides = strides_of(layout.shape)
            axes = (*layout.rows, *layout.others)
            terms = [(c, strides[a]) for c, a in zip(at, axes, strict=True)]
            start = index_sum(*terms, (block, layout.lanes))
            if not in_place or self.rounded:
                self.copy(self.out if in_place else self.x, self.target, start, block)
            if self.count:
                self.apply(position, start, block)
            if self.rounded:
                self.copy(self.target, self.out, start, block)
        scratch = ((self.kind, self.node.size),) if self.rounded else ()
        pieces = prod(n for n, _ in layout.runs) + 4 * self.count
        program = self.loops.program(self.node, name, pieces * layout.lanes)
        return AlgorithmKernel(program, scratch, flag=True)

    def copy(self, source: UOp | None, target: UOp, start: UOp, block: UOp) -> None:
        """All elements that this piece owns, in the dtype of the target; without a source, the
        number that all of x is."""
        runs, layout = self.layout.runs, self.layout
        with ExitStack() as stack:
            terms = [(start, 1)]
            for extent, stride in runs:
                contiguous = layout.lanes == 1 and is_one(stride)
                lanes = lanes_for(extent, self.kind, self.machine) if contiguous else 1
                terms.append((stack.enter_context(self.loops.loop(extent, lanes)), stride))
            lane = stack.enter_context(self.loops.block(layout.inner, layout.lanes, block))
            at = index_sum(*terms, (lane, 1))
            x = self.node.src[0]
            value = number(x.arg.value, x.dtype) if source is None else self.loops.load(source, at)
            self.loops.store(target, at, value.cast(target.dtype.base))

    def apply(self, position: UOp, start: UOp, block: UOp) -> None:
        """The updates, in the order of the flattened index."""
        loops, layout, zero = self.loops, self.layout, number(0)
        registers = [loops.register(zero) for _ in self.indices]
        with loops.loop(self.count) as u:
            number_of = index_sum((self.row(position), self.count), (u, 1))
            offset, inside, codes = self.places(registers, u, number_of)
            with loops.when(inside), loops.block(layout.inner, layout.lanes, block) as lane:
                value = loops.load(self.updates, self.update_at(position, number_of, block, lane))
                self.combine(index_sum((start, 1), (offset, 1), (lane, 1)), value)
        code = codes[-1]
        for earlier in codes[-2::-1]:
            code = earlier.ne(0).where(earlier, code)
        reports, pieces = code.ne(0), prod(layout.sizes[len(layout.rows) :])
        if position.op.kernel is RANGE and not is_one(pieces):
            # every piece of a row sees the same indices: one of them reports
            reports = reports.logical_and((position % pieces if layout.rows else position).eq(0))
        loops.store(self.flag, zero, code, reports)

    def row(self, position: UOp) -> UOp:
        """The number of the row whose updates a piece makes."""
        pieces = prod(self.layout.sizes[len(self.layout.rows) :])
        if not self.layout.rows:
            return number(0)
        return position if is_one(pieces) else position // pieces

    def places(self, registers: Sequence[UOp], u: UOp, at: UOp) -> tuple[UOp, UOp, list[UOp]]:
        """The offset of an update, whether it is inside, and the first bad index of every axis."""
        strides, terms, tests, codes = strides_of(self.layout.shape), [], [], []
        sides = zip(self.layout.axes, self.indices, registers, self.wraps, strict=True)
        for axis, buffer, register, wraps in sides:
            index = self.loops.load(buffer, at)
            if wraps:
                index = wrapped(index, self.layout.shape[axis])
            wide, inside = checked(index, self.layout.shape[axis])
            terms.append((wide, strides[axis]))
            tests.append(inside)
            seen = inside.logical_or(register.ne(0)).where(register, flag_code(axis, index))
            codes.append(self.loops.update(register, seen, u))
        every = tests[0]
        for test in tests[1:]:
            every = every.logical_and(test)
        return index_sum(*terms), every, codes

    def update_at(self, position: UOp, u: UOp, block: UOp, lane: UOp) -> UOp:
        """The index of the update for this position: the axes that are not indexed, in order."""
        layout = self.layout
        rest = tuple(layout.shape[a] for a in layout.others)
        at = split(position, layout.sizes)[len(layout.rows) : -1]
        strides = strides_of((*rest, layout.inner))
        terms = zip(at, strides, strict=False)
        whole = prod(rest) * layout.inner
        return index_sum((u, whole), *terms, (block, layout.lanes), (lane, 1))

    def combine(self, at: UOp, value: UOp) -> None:
        if self.op is None:
            self.loops.store(self.target, at, value)
            return
        before = self.loops.load(self.target, at).cast(self.kind)
        after = combined(self.op, before, value.cast(self.kind))
        self.loops.store(self.target, at, after.cast(self.target.dtype.base))


def counted_rows(node: UOp) -> Shape:
    """The axes whose indices count along the first axes of the updates, as those of
    `x.scatter_add(1, index, updates)` do along axis 0: the updates of a row are for that row of x.
    """
    x, *indices, _ = node.src
    axis_of = {counts_along(i): a for i, a in zip(indices, node.arg.axes, strict=True)}
    rows = takewhile(
        lambda d: d in axis_of and same(x.shape[axis_of[d]], indices[0].shape[d]),
        range(len(indices[0].shape)),
    )
    found = tuple(axis_of[d] for d in rows)
    return found if len(found) < len(indices) and not varies(*x.shape) else ()


def _indices_of(node: UOp, target: Target) -> tuple[Shape, list[tuple[UOp, UOp]]]:
    """The axes that are rows; of every other one the index that the kernel reads, and what that is
    once it counts from the beginning. Of kernels for teams only those with buckets or atomic
    operations count so."""
    x, *indices, _ = node.src
    alone = target.team is None
    rows = counted_rows(node) if alone else ()
    wraps = alone or goes_by_atomics(node) or goes_by_buckets(node)
    pairs = zip(indices, node.arg.axes, strict=True)
    return rows, [(unwrapped(i, x.shape[a]) if wraps else i, i) for i, a in pairs if a not in rows]


def read_by(node: UOp, target: Target) -> tuple[UOp, ...]:
    """The operands that an algorithm reads from memory. If the target of a scatter is one number
    everywhere, the kernel writes it itself; it may count negative indices from the end itself, and
    reads none that only count rows.
    """
    if type(node.op.kernel) is not Algorithm or node.op.kernel.name != "scatter":
        return node.src
    x, updates = node.src[0], node.src[-1]
    alone = is_constant(x) and x not in node.src[1:]
    indices = (index for index, _ in _indices_of(node, target)[1])
    return (*(() if alone else (x,)), *indices, updates)


def build_scatter(
    node: UOp, target: Target, name: str = "", in_place: bool = False
) -> AlgorithmKernel:
    """The kernel of a scatter on contiguous operands.

    With `in_place` the result's memory already holds x, and only the updates are done.
    """
    return _Scatter(node, target).build(name, in_place)
