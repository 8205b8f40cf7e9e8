"""Which step computes each value in memory, during fusion."""

from __future__ import annotations

from collections.abc import Iterable

from adjoint.ir.kernel_kind import Part
from adjoint.ir.uop import UOp
from adjoint.schedule.units import Unit


class Makers:
    """The steps by the nodes they compute, and whose memory views share."""

    def __init__(self) -> None:
        self.maker: dict[UOp, Unit] = {}  # of every node in memory that is computed here
        self.alias: dict[UOp, UOp] = {}  # nodes that are another node's memory

    def storage(self, node: UOp) -> UOp:
        """The node whose memory this one shares."""
        while node in self.alias or type(node.op.kernel) is Part:
            node = self.alias[node] if node in self.alias else node.src[0]
        return node

    def of(self, nodes: Iterable[UOp]) -> set[Unit]:
        """The units that compute the memory of these nodes."""
        stored = map(self.storage, nodes)
        return {self.maker[node] for node in stored if node in self.maker}

    def makes(self, node: UOp) -> bool:
        """Whether the node's memory is computed here."""
        return self.storage(node) in self.maker
