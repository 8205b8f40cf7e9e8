"""How far a turn of a loop moves an index, as far as the nodes of a program say."""

from __future__ import annotations

from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram

_LINEAR = ("add", "sub", "mul")


class Steps:
    """The steps of the indices of a program."""

    def __init__(self, program: LoopProgram) -> None:
        self._given = set(program.parameters)
        self._known: dict[tuple[UOp, UOp], int | None] = {}

    def of(self, index: UOp, loop: UOp) -> int | None:
        """How much a turn of a loop moves an index; None if that is not known."""
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
