"""The divisors of an index: 16 bytes can be read at once if the first of them is at a multiple of
16.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import gcd

from adjoint.ir.uop import UOp

_MOST = 1 << 20  # of what is known; 0 is a multiple of everything


class Multiples:
    """Of the integers of a program; `lanes` says how many of a loop's lanes are a thread's own."""

    def __init__(self, given: Collection[UOp], lanes: Callable[[int], int]) -> None:
        self._given, self._lanes = set(given), lanes
        self._known: dict[UOp, int] = {}
        self._counters: dict[UOp, int] = {}

    def assume(self, counter: UOp, multiple: int) -> None:
        """Sets a divisor of a loop's counter in the iteration that is being written."""
        self._counters[counter] = multiple or _MOST
        self._known.clear()

    def of(self, node: UOp) -> int:
        """A divisor of the node's value in the first lane of a thread."""
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = min(gcd(self._find(node), _MOST), _MOST)
        return found

    def _find(self, node: UOp) -> int:
        match node.op.name:
            case "const":
                return 1 if node in self._given else abs(int(node.arg.value)) or _MOST
            case "range" if node in self._counters:
                return self._counters[node]
            case "range":
                return gcd(self._lanes(int(node.arg.lanes)), node.arg.start or _MOST)
            case "add" | "sub" | "minimum" | "maximum":
                return gcd(*map(self.of, node.src))
            case "mul":
                return self.of(node.src[0]) * self.of(node.src[1])
            case "where":
                return gcd(*map(self.of, node.src[1:]))
            case "cast" if node.src[0].dtype.is_int:
                return self.of(node.src[0])
            case "floordiv" | "mod":
                return self._divided(node)
            case _:
                return 1

    def _divided(self, node: UOp) -> int:
        x, by = node.src
        if by.op.name != "const" or by in self._given or int(by.arg.value) <= 0:
            return 1
        size = int(by.arg.value)
        if node.op.name == "mod":
            return gcd(self.of(x), size)
        return self.of(x) // size if self.of(x) % size == 0 else 1
