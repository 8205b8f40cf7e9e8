"""Facts about integers in one iteration of an unrolled loop, whose counter is a constant.

So most bounds checks of a partial row are known to hold in all iterations but the last ones, and
are omitted.
"""

from __future__ import annotations

from collections.abc import Collection

from adjoint.ir.bounds import Range, bounds, is_discrete
from adjoint.ir.uop import UOp


class TurnBounds:
    """Ranges of nodes while some counters have a value."""

    def __init__(self, given: Collection[UOp]) -> None:
        self._given = set(given)  # numbers that a launch gives
        self._counters: dict[UOp, int] = {}
        self._known: dict[UOp, Range] = {}

    def assume(self, counter: UOp, value: int) -> None:
        """What the counter of a loop is in the turn that is being written."""
        self._counters[counter] = value
        self._known.clear()

    def forget(self, counter: UOp) -> None:
        """The loop is not written out, or ended."""
        if self._counters.pop(counter, None) is not None:
            self._known.clear()

    def is_less(self, node: UOp) -> bool:
        """Whether a comparison by `lt` is known to hold."""
        a, b = node.src
        if not self._counters or b in self._given or not (is_discrete(a) and is_discrete(b)):
            return False
        return self.of(a)[1] < self.of(b)[0]

    def of(self, node: UOp) -> Range:
        """The least and the greatest value."""
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = self._derived(node)
        return found

    def _derived(self, node: UOp) -> Range:
        if node in self._counters:
            return self._counters[node], self._counters[node]
        least, most = int(node.dtype.min), int(node.dtype.max)
        if node in self._given:
            return least, most
        if not node.src or node.op.bounds is None or not all(map(is_discrete, node.src)):
            return bounds(node)
        lo, hi = node.op.bounds(*map(self.of, node.src))
        return (int(lo), int(hi)) if least <= lo and hi <= most else (least, most)
