"""ARGSORT, and SORT with it, for teams of threads: radix sort of long rows.

What may live here: how elements become entries of `radix_sort.py`, and entries results. What may
not: how entries are sorted.
"""

from __future__ import annotations

from math import prod

from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import AlgorithmSteps
from adjoint.kernel.algorithms.merge_sort import MergedRows, MergeLoops
from adjoint.kernel.algorithms.radix_sort import Ends, RadixSteps, Rows, TileLoops
from adjoint.kernel.algorithms.row_sort import RowLoops, WholeRows
from adjoint.kernel.algorithms.sort import Order
from adjoint.target import Target

_MANY = 64  # rows that are worth a team each; a few are sorted by all threads


class _SortEnds(Ends):
    """From the elements of x to sorted values, indices, or both."""

    def __init__(self, node: UOp, values: bool, indices: bool) -> None:
        (x,) = node.src
        axis = node.arg.axis
        self.node, self.x = node, x
        self.order = Order(x.dtype, node.arg.descending)
        self.n, self.inner = x.shape[axis], prod(x.shape[axis + 1 :])
        self.rows = prod(x.shape[:axis]) * self.inner
        self.results = [("values", x.dtype)] * values + [("places", node.dtype)] * indices

    def define_operands(self, tile: TileLoops) -> None:
        tile.buffer("x", self.x.dtype, self.x.size, len(self.results))

    def define_results(self, tile: TileLoops) -> None:
        for place, (name, dtype) in enumerate(self.results):
            tile.buffer(name, dtype, self.x.size, place, True)

    def _at(self, row: UOp, k: UOp) -> UOp:
        """The index of element k of a row."""
        if self.inner == 1:
            return row * self.n + k
        outer, inside = row // self.inner, row % self.inner
        return (outer * self.n + k) * self.inner + inside

    def first(self, tile: TileLoops, row: UOp, k: UOp, inside: UOp) -> UOp:
        at = self._at(row, inside.where(k, 0))
        return self.order.raised(tile.loops.load(tile.named["x"], at))

    def last(self, tile: TileLoops, row: UOp, place: UOp, key: UOp, at: UOp, inside: UOp) -> None:
        there = self._at(row, place)
        if "places" in tile.named:
            tile.loops.store(tile.named["places"], there, at.cast(self.node.dtype), inside)
        if "values" in tile.named:
            tile.loops.store(tile.named["values"], there, self._value(tile, row, key, at), inside)

    def _value(self, tile: TileLoops, row: UOp, key: UOp, at: UOp) -> UOp:
        """The element of an entry: decoded from its key, or read from memory if several elements
        have one key.
        """
        known = self.order.value(key)
        at = at.cast(tile.rows.places)
        safe = at if self.n % tile.rows.tile == 0 else (at < self.n).where(at, 0)
        if known is None:
            return tile.loops.load(tile.named["x"], self._at(row, safe))
        value, alike = known
        if alike is None:
            return value
        load = OPS["load"](tile.named["x"], self._at(row, safe), alike, value)
        return tile.loops.here(load)


def build_team_sort(
    node: UOp, target: Target, values: bool = False, indices: bool = True
) -> AlgorithmSteps | None:
    """The kernels of a sort for teams; None if ranking the elements is faster."""
    (x,) = node.src
    if target.team is None or varies(*x.shape) or not x.size:
        return None
    ends = _SortEnds(node, values, indices)
    order = ends.order
    steps = RadixSteps(node, target, len(ends.results) + 1)
    whole = WholeRows(ends.rows, ends.n, order.bits, order.kind)
    merged = MergedRows(*whole)
    if merged.fit:
        steps.parts.append(MergeLoops(merged, ends).program(node, steps.name("merged")))
    elif ends.n <= target.limits.longest_ranked:
        return None
    elif whole.fit and ends.rows >= _MANY:
        steps.parts.append(RowLoops(whole, ends).program(node, steps.name("rows")))
    else:
        steps.sort(Rows(*whole), ends)
    return AlgorithmSteps(tuple(steps.parts), tuple(steps.scratch))
