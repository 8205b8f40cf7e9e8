"""What the back-end packages hand to one another. Data only.

A schedule is a list of steps in the order they run; each step computes one node from values that
earlier steps, or buffers, hold.
"""

from __future__ import annotations

from dataclasses import dataclass

from adjoint.ir.uop import UOp


@dataclass(frozen=True, slots=True)
class ExecItem:
    """One step: the primitive node it computes and the nodes whose last use it is."""

    node: UOp
    last_uses: tuple[UOp, ...]

    def __str__(self) -> str:
        kind = f"{self.node.dtype}{list(self.node.shape)}"
        return f"{self.node.op.name} : {kind} @{self.node.device}"


@dataclass(frozen=True, slots=True)
class Schedule:
    """Steps, and for every root asked for the primitive node that holds its value."""

    items: tuple[ExecItem, ...]
    roots: tuple[UOp, ...]
    values: tuple[UOp, ...]
