"""SCAN as loops: serial along its axis, vectorised along all others.

Cumulative sums of floats go by blocks of sixteen, in the order of `ops/scan.py`. Products of floats
go one element after another. Other ops give the same in any order: rows go by blocks of eight, so
that an element waits for few others. Sums and products of floats accumulate in float64; every
element of them is rounded to float32, and to a narrower dtype from there. If a target has teams of
threads, long axes are cut into parts (`team_scan.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.kernel_kind import kernel_of
from adjoint.ir.sizes import divides, highest, varies
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import (
    AlgorithmKernel,
    Loops,
    index_sum,
    lanes_for,
    number,
    split,
)
from adjoint.ops.tree import GROUP
from adjoint.stages import LoopProgram
from adjoint.target import Target

_APART = 8  # elements of a block of a row, if the order does not matter
_BOOL = {"maximum": "logical_or", "minimum": "logical_and", "add": "logical_or"}


def held(dtype: DType) -> DType:
    """The dtype in which a kernel computes with values of a dtype."""
    return dtypes.float32 if dtype.is_float and dtype.itemsize < 4 else dtype


def join_of(node: UOp) -> str:
    """The op that a scan joins with."""
    return kernel_of(node).join(node)  # type: ignore[attr-defined]


def running(node: UOp) -> DType:
    """The dtype of a scan's running value."""
    adds = join_of(node) in ("add", "mul") and node.dtype.is_float
    return dtypes.float64 if adds else held(node.dtype)


def neutral(op: str, dtype: DType) -> Any:
    """The neutral element: for sums -0.0, since 0.0 + -0.0 is 0.0."""
    if op == "add":
        return -0.0 if dtype.is_float else 0
    if op == "mul":
        return 1
    return dtype.min if op == "maximum" else dtype.max


def combined(op: str, a: UOp, b: UOp) -> UOp:
    """The op on two values; on bools the extremes are logic."""
    name = _BOOL.get(op, "logical_and") if a.dtype.is_bool else op
    return UOp._apply(name, a, b)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scan:
    """The data to scan: `n` elements with stride `inner`, `outer` times; a kernel scans `part` of
    them.

    Results are elements, or with `totals` the values of whole parts; with `before` an element does
    not count itself. `based`: the total before each part is an input.
    """

    op: str
    kind: DType  # of running values
    given: DType
    result: DType
    outer: int
    n: int
    inner: int
    reverse: bool = False
    part: int = 0
    totals: bool = False
    before: bool = False
    based: bool = False

    @staticmethod
    def of(node: UOp) -> Scan:
        x, axis = node.src[0], node.arg.axis
        outer, inner = prod(x.shape[:axis]), prod(x.shape[axis + 1 :])
        kind = running(node)
        sizes = (outer, x.shape[axis], inner)
        return Scan(join_of(node), kind, x.dtype, node.dtype, *sizes, node.arg.reverse)

    @property
    def parts(self) -> int:
        return -(-self.n // self.part) if self.part else 1

    @property
    def group(self) -> int:
        """Elements of a block; all, where they go one after another."""
        fixed = self.op == "add" and self.kind.is_float
        return GROUP if fixed or self.part else highest(self.n)

    @property
    def has_any_order(self) -> bool:
        """Whether every order gives the same: not so for sums and products of floats."""
        return self.op in ("maximum", "minimum") or not self.kind.is_float

    @property
    def start(self) -> UOp:
        return number(neutral(self.op, self.kind), self.kind)

    def at(self, outer: UOp, k: UOp, column: tuple[tuple[UOp, int], ...] = ()) -> UOp:
        """The index of element k of a row, counted in the direction of the scan."""
        along = self.n - 1 - k if self.reverse else k
        return index_sum((outer, self.n * self.inner), (along, self.inner), *column)

    def held(self, value: UOp) -> UOp:
        """An element as a running value."""
        return value.cast(held(self.given)).cast(self.kind)

    def rounded(self, total: UOp) -> UOp:
        """A running value as a result."""
        return total.cast(held(self.result)).cast(self.result)

    def join(self, a: UOp, b: UOp) -> UOp:
        return combined(self.op, a, b)


class ScanLoops:
    """A kernel in which a lane has a row, or a part of one, while it is written."""

    def __init__(self, scan: Scan, target: Target) -> None:
        self.scan, self.loops = scan, Loops()
        buffer, all_parts = self.loops.buffer, scan.outer * scan.parts * scan.inner
        size = all_parts if scan.totals else scan.outer * scan.n * scan.inner
        self.out = buffer("out", scan.result, size, mutable=True)
        self.x = buffer("x", scan.given, scan.outer * scan.n * scan.inner)
        self.base = buffer("before", scan.kind, all_parts) if scan.based else None
        self.lanes = lanes_for(scan.inner, scan.kind, target)
        self.column: tuple[tuple[UOp, int], ...] = ()
        self.outer = number(0)

    def program(self, node: UOp, name: str) -> LoopProgram:
        """The whole."""
        scan, loops, lanes = self.scan, self.loops, self.lanes
        sizes = (scan.outer, scan.parts, -(-scan.inner // lanes))
        with loops.grid(prod(sizes)) as position:
            self.outer, part, block = split(position, sizes)
            with loops.block(scan.inner, lanes, block) as lane:
                self.column = ((block, lanes), (lane, 1))
                row = (self.outer, scan.parts * scan.inner), (part, scan.inner)
                place = index_sum(*row, *self.column)
                base = scan.start if self.base is None else loops.load(self.base, place)
                total = self._total(index_sum((part, scan.part)), base)
                if scan.totals:
                    loops.store(self.out, place, scan.rounded(total))
        return loops.program(node, name, 2 * (scan.part or scan.n) * lanes)

    def _total(self, first: UOp, base: UOp) -> UOp:
        """All elements from the first on, behind what comes before; their total."""
        scan = self.scan
        apart = scan.has_any_order and self.lanes == 1 and not scan.part and not varies(scan.n)
        if apart and scan.n >= 2 * _APART:
            return self._walk_apart(base)
        return self._walk(self._levels(), first, base)

    def _walk_apart(self, base: UOp) -> UOp:
        """A row by short blocks, each of which begins anew: its elements wait for one another, but
        not for those of the block before, whose total they are joined with."""
        scan, loops = self.scan, self.loops
        whole = loops.register(scan.start)
        with loops.loop(scan.n // _APART) as block:
            own, before = loops.register(scan.start), scan.join(base, whole)
            with loops.loop(_APART) as i:
                total = self._element(own, index_sum((block, _APART), (i, 1)), before, i)
            joined = loops.update(whole, scan.join(whole, total), block)
        if divides(_APART, scan.n):
            return joined
        rest = loops.register(joined)
        with loops.loop(scan.n % _APART) as i:
            at = index_sum((i, 1), (number(scan.n - scan.n % _APART), 1))
            return self._element(rest, at, base, i)

    def _levels(self) -> int:
        """Of blocks around the elements."""
        size, levels = self.scan.group, 0
        while size < highest(self.scan.part or self.scan.n):
            size, levels = size * self.scan.group, levels + 1
        return levels

    def _walk(self, level: int, first: UOp, base: UOp) -> UOp:
        """A block of this level, from its first element on, behind what comes before; its total."""
        scan, loops, unit = self.scan, self.loops, self.scan.group**level
        register = loops.register(scan.start)
        with self._turns(level, first, unit) as i:
            at = index_sum((first, 1), (i, unit))
            if level:
                inside = self._walk(level - 1, at, scan.join(base, register))
                total = loops.update(register, scan.join(register, inside), i)
            else:
                total = self._element(register, at, base, i)
        return total

    def _turns(self, level: int, first: UOp, unit: int) -> Any:
        """The loop over the blocks of a block."""
        scan, size = self.scan, unit * self.scan.group
        whole = scan.part or scan.n
        top = size >= highest(whole)
        if (top and not scan.part and level == 0) or divides(size, scan.n):
            return self.loops.loop(scan.n if top and level == 0 else scan.group)
        most = min(scan.group, -(-highest(whole) // unit))
        left = (scan.n - first + (unit - 1)) // unit
        return self.loops.loop(most, count=left.minimum(scan.group))

    def _element(self, register: UOp, k: UOp, base: UOp, loop: UOp) -> UOp:
        scan, loops = self.scan, self.loops
        at = scan.at(self.outer, k, self.column)
        value = scan.held(loops.load(self.x, at))
        if scan.before:
            loops.store(self.out, at, scan.rounded(scan.join(base, register)))
        total = loops.update(register, scan.join(register, value), loop)
        if not scan.totals and not scan.before:
            loops.store(self.out, at, scan.rounded(scan.join(base, total)))
        return total


def build_scan(node: UOp, target: Target, name: str = "") -> AlgorithmKernel:
    """The kernel of scan_sum, scan_prod, scan_max or scan_min on one contiguous operand."""
    return AlgorithmKernel(ScanLoops(Scan.of(node), target).program(node, name))
