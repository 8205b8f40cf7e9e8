"""Scans in which teams of threads share a row, and long axes are cut into parts.

A contiguous row, for every team:
    for each block of sixteen, side by side:    totals[block] = the value of the block
    for each block of blocks, side by side:     totals[block] = what comes before it there
    for each block of sixteen, side by side:    its elements, behind all that comes before
An axis that is too long for a team is cut: one kernel computes the value of each part, a scan of
these gives what comes before each part, and another kernel scans the parts behind that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import prod
from typing import NamedTuple

from adjoint.ir.dtype import DType
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import (
    FEW_REGISTERS,
    AlgorithmSteps,
    index_sum,
    number,
    split,
)
from adjoint.kernel.algorithms.scan import Scan, ScanLoops, neutral
from adjoint.ops.tree import GROUP
from adjoint.stages import LoopProgram
from adjoint.target import Target

_MOST = 1024  # threads of a team
_PART = GROUP**3  # elements of a row that is longer than a team of so many takes
_LINES = GROUP**2  # elements of a part, where neighbours in memory are other rows
_SHORTEST = 4 * GROUP  # row that is worth a team
_MANY = 1 << 17  # rows, from which on a thread has one
_BYTES = 100 << 10  # of scratch for elements
_SIDE_BY_SIDE = 4  # elements of a thread that are read at once
_APART = 4  # elements between two blocks in scratch, so that threads meet different banks


class _Element(NamedTuple):
    """How an element is read, and its result written."""

    load: Callable[[], UOp]
    store: Callable[[UOp], object]


class TeamScan(ScanLoops):
    """A kernel in which a team has a row, or a part of one, while it is written."""

    staged: dict[DType, UOp]  # elements and results in scratch

    def program(self, node: UOp, name: str) -> LoopProgram:
        """The whole."""
        scan, loops = self.scan, self.loops
        blocks = -(-(scan.part or scan.n) // GROUP)
        self.threads = 1 << (blocks - 1).bit_length()
        sizes = (scan.outer, scan.parts)
        with loops.grid(prod(sizes)) as position:
            self.outer, part = split(position, sizes)
            first = index_sum((part, scan.part))
            place = index_sum((self.outer, scan.parts), (part, 1))
            totals = loops.local("totals0", scan.kind, _padded(self.threads))
            self._read(first)
            self._blocks(first, totals, None)
            levels = list(self._above(totals))
            if scan.totals:
                total = self._joined(levels[-1], -(-self.threads // GROUP ** (len(levels) - 1)))
                loops.store(self.out, place, scan.rounded(total))
            else:
                base = None if self.base is None else loops.load(self.base, place)
                self._blocks(first, None, (base, levels))
                self._write(first)
        made = loops.program(node, name, 2 * (scan.part or scan.n))
        return replace(made, threads=self.threads, registers=FEW_REGISTERS)

    # ---- memory, by neighbouring threads: a thread's block of sixteen is apart from the next

    def _read(self, first: UOp) -> None:
        """The elements of the part in scratch, if they and their results fit there."""
        scan, size = self.scan, self.threads * (GROUP + _APART)
        kinds = list(dict.fromkeys((scan.given, scan.result)))
        fits = size * sum(kind.itemsize for kind in kinds) <= _BYTES
        self.staged = (
            {}
            if scan.totals or not fits
            else {
                kind: self.loops.local(f"elements{i}", kind, size) for i, kind in enumerate(kinds)
            }
        )
        if self.staged:
            self._pass_on(
                first,
                lambda at, spot, gate: self.loops.store(
                    self.staged[scan.given], spot, self._load(at, gate)
                ),
            )

    def _write(self, first: UOp) -> None:
        """The results, from scratch."""
        if self.staged:
            loops, results = self.loops, self.staged[self.scan.result]
            self._pass_on(
                first,
                lambda at, spot, gate: loops.store(self.out, at, loops.load(results, spot), gate),
            )

    def _pass_on(self, first: UOp, pass_one: Callable[[UOp, UOp, UOp | None], object]) -> None:
        """Every element: neighbours by neighbouring threads."""
        loops, lanes = self.loops, self.threads * _SIDE_BY_SIDE
        with loops.loop(lanes, lanes) as lane, loops.loop(GROUP // _SIDE_BY_SIDE) as step:
            inside = index_sum((step, lanes), (lane, 1))
            k = index_sum((first, 1), (inside, 1))
            spot = index_sum((inside, 1), (inside // GROUP, _APART))
            pass_one(self.scan.at(self.outer, k), spot, self._gate(k))

    def _gate(self, k: UOp) -> UOp | None:
        return None if self.scan.n % (self.threads * GROUP) == 0 else k < self.scan.n

    # ---- blocks

    def _blocks(
        self, first: UOp, totals: UOp | None, levels: tuple[UOp | None, list[UOp]] | None
    ) -> None:
        """Every block of sixteen elements: its total, or its elements behind all before it."""
        scan, loops = self.scan, self.loops
        with loops.loop(self.threads, self.threads) as t:
            base = scan.start if levels is None else self._before(t, *levels)
            register = loops.register(scan.start)
            with loops.loop(GROUP) as i:
                element = self._element_of(index_sum((first, 1), (t, GROUP), (i, 1)), t, i)
                value = scan.held(element.load())
                if scan.before and levels is not None:
                    element.store(scan.rounded(scan.join(base, register)))
                total = loops.update(register, scan.join(register, value), i)
                if not scan.before and levels is not None:
                    element.store(scan.rounded(scan.join(base, total)))
            if totals is not None:
                loops.store(totals, _spot(t), total)

    def _element_of(self, k: UOp, t: UOp, i: UOp) -> _Element:
        """Element i of block t: from scratch, or from memory."""
        if not self.staged:
            at, gate = self.scan.at(self.outer, k), self._gate(k)
            put = partial(self.loops.store, self.out, at, gate=gate)
            return _Element(partial(self._load, at, gate), put)
        spot = index_sum((t, GROUP + _APART), (i, 1))
        get = partial(self.loops.load, self.staged[self.scan.given], spot)
        return _Element(get, partial(self.loops.store, self.staged[self.scan.result], spot))

    def _load(self, at: UOp, gate: UOp | None) -> UOp:
        if gate is None:
            return self.loops.load(self.x, at)
        nothing = number(neutral(self.scan.op, self.scan.given), self.scan.given)
        return self.loops.here(OPS["load"](self.x, gate.where(at, number(0)), gate, nothing))

    def _above(self, totals: UOp) -> Iterator[UOp]:
        """For blocks, and blocks of blocks: what comes before each in the one around it; at last,
        of sixteen or fewer, their totals."""
        scan, loops, count, level = self.scan, self.loops, self.threads, 1
        while count > GROUP:
            before = loops.local(f"before{level}", scan.kind, _padded(count))
            count //= GROUP
            above = loops.local(f"totals{level}", scan.kind, _padded(count))
            with loops.loop(count, count) as c:
                register = loops.register(scan.start)
                with loops.loop(GROUP) as i:
                    at = index_sum((c, GROUP + 1), (i, 1))
                    value = loops.load(totals, at)
                    loops.store(before, at, scan.join(register, scan.start))
                    total = loops.update(register, scan.join(register, value), i)
                loops.store(above, _spot(c), total)
            yield before
            totals, level = above, level + 1
        yield totals

    def _before(self, t: UOp, base: UOp | None, levels: list[UOp]) -> UOp:
        """All that comes before block t."""
        scan, unit = self.scan, GROUP ** (len(levels) - 1)
        found = self._joined(levels[-1], self.threads // unit, t // unit if unit > 1 else t)
        found = found if base is None else scan.join(base, found)
        for level in reversed(levels[:-1]):
            unit //= GROUP
            there = self.loops.load(level, _spot(t // unit if unit > 1 else t))
            found = scan.join(found, there)
        return found

    def _joined(self, totals: UOp, count: int, until: UOp | None = None) -> UOp:
        """The first of so many totals, one after another; without an end, all."""
        scan, loops = self.scan, self.loops
        register = loops.register(scan.start)
        with loops.loop(count) as i:
            value = loops.load(totals, i)
            if until is not None:
                value = (i < until).where(value, scan.start)
            total = loops.update(register, scan.join(register, value), i)
        return total


def _padded(count: int) -> int:
    """The room for so many totals."""
    return count + count // GROUP


def _spot(place: UOp) -> UOp:
    """The place of a total in scratch: totals that threads read at once are in different banks."""
    return place + place // GROUP


def build_team_scan(node: UOp, target: Target) -> AlgorithmSteps | None:
    """The kernels of a scan for teams; None if a thread for each row is faster, or the order of its
    elements requires it.
    """
    scan = Scan.of(node)
    serial = scan.op == "mul" and scan.kind.is_float
    if target.team is None or serial or varies(scan.outer, scan.n, scan.inner) or not node.size:
        return None
    steps = ScanSteps(node, target, 2)
    found = steps.add(scan, 0, 1)
    return AlgorithmSteps(tuple(steps.parts), tuple(steps.scratch)) if found else None


class ScanSteps:
    """Kernels so far, with the places of their buffers; those of scratch follow the first."""

    def __init__(self, node: UOp, target: Target, first: int) -> None:
        self.node, self.target, self.first = node, target, first
        self.parts: list[tuple[LoopProgram, tuple[int, ...]]] = []
        self.scratch: list[tuple[DType, int]] = []

    def add(self, scan: Scan, out: int, x: int) -> bool:
        """The kernels of a scan; False if one thread for a row is best."""
        if scan.inner == 1 and scan.n >= _SHORTEST:
            if scan.n <= _MOST * GROUP:
                self._kernel(TeamScan, scan, out, x)
            else:
                self._in_parts(TeamScan, replace(scan, part=_PART), out, x)
        elif scan.n > _LINES and scan.outer * scan.inner < _MANY:
            self._in_parts(ScanLoops, replace(scan, part=_LINES), out, x)
        elif scan.before:
            self._kernel(ScanLoops, scan, out, x)
        else:
            return False
        return True

    def _in_parts(self, kind: type[ScanLoops], scan: Scan, out: int, x: int) -> None:
        count = scan.outer * scan.parts * scan.inner
        totals, before = self.memory(scan.kind, count), self.memory(scan.kind, count)
        self._kernel(kind, replace(scan, totals=True, before=False, result=scan.kind), totals, x)
        between = replace(scan, given=scan.kind, result=scan.kind, n=scan.parts, part=0)
        self.add(replace(between, reverse=False, before=True), before, totals)
        self._kernel(kind, replace(scan, based=True), out, x, before)

    def memory(self, dtype: DType, count: int) -> int:
        """The place of new scratch."""
        self.scratch.append((dtype, count))
        return self.first + len(self.scratch) - 1

    def _kernel(self, kind: type[ScanLoops], scan: Scan, *places: int) -> None:
        name = f"{self.node.op.name}_{len(self.parts)}_{scan.outer}_{scan.n}_{scan.inner}"
        self.parts.append((kind(scan, self.target).program(self.node, name), places))
