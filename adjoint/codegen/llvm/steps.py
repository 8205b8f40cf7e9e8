"""The step of an index per loop iteration, and its divisors, as far as nodes tell."""

from __future__ import annotations

from math import gcd

from adjoint.ir.kernel_kind import RANGE
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram

_LINEAR = ("add", "sub", "mul")
_PICKED = ("add", "sub", "minimum", "maximum", "mod")  # what divides both operands divides these


class Steps:
    """The steps of the indices of a program."""

    def __init__(self, program: LoopProgram) -> None:
        self._given = set(program.parameters)
        self._known: dict[tuple[UOp, UOp], int | None] = {}
        self._divisors: dict[UOp, int] = {}

    def of(self, index: UOp, loop: UOp) -> int | None:
        """The step of an index per loop iteration; None if unknown."""
        key = (index, loop)
        if key not in self._known:
            self._known[key] = self._find(index, loop)
        return self._known[key]

    def _find(self, index: UOp, loop: UOp) -> int | None:
        if index is loop:
            return 1
        steps = [self.of(source, loop) for source in index.src]
        if not any(step != 0 for step in steps):
            return 0
        name = index.op.name
        if name not in _LINEAR or None in steps:
            return None
        a, b = (step or 0 for step in steps)
        if name != "mul":
            return a + b if name == "add" else a - b
        factor = index.src[0] if a == 0 else index.src[1]
        known = factor.op.name == "const" and factor not in self._given
        return (a + b) * int(factor.arg.value) if known else None

    def divisor(self, index: UOp) -> int:
        """A number that divides an index wherever the lanes of its loops begin; 0 divides 0."""
        if index not in self._divisors:
            self._divisors[index] = self._divides(index)
        return self._divisors[index]

    def _divides(self, index: UOp) -> int:
        name = index.op.name
        if index.op.kernel is RANGE:  # a grid begins anywhere
            return 1 if index.arg.grid else gcd(index.arg.start, index.arg.lanes)
        if name == "const":
            return 1 if index in self._given else abs(int(index.arg.value))
        if name not in (*_PICKED, "mul"):
            return 1
        a, b = (self.divisor(source) for source in index.src)
        return a * b if name == "mul" else gcd(a, b)
