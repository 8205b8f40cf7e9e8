"""Which values of a program may be written where they are used, instead of having a name.

A value is: if it is used once, in its own block, and no accumulator that it reads is updated
between the two places. What may live here: that question. What may not: any text.
"""

from __future__ import annotations

from adjoint.codegen.blocks import Block, Nest
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram

_NAMED = frozenset({"load", "define_acc", "phi", "special", "define_local", "range"})


class Uses:
    """The places of definition and use of every node."""

    def __init__(self, program: LoopProgram, nest: Nest) -> None:
        self.place = {node: i for i, node in enumerate(program.body)}
        self.users: dict[UOp, list[UOp]] = {}
        for node in program.body:
            for source in _values(node):
                self.users.setdefault(source, []).append(node)
        self.home: dict[UOp, Block] = {}
        self._enter(nest.root)
        self.updates = {acc: [self.place[p] for p in phis] for acc, phis in nest.updates.items()}
        self._reads: dict[UOp, frozenset[UOp]] = {}

    def _enter(self, block: Block) -> None:
        for item in block.items:
            if isinstance(item, Block):
                if item.head is not None:
                    self.home[item.head] = block  # its length or condition is read outside of it
                self._enter(item)
            else:
                self.home[item] = block

    def is_inline(self, node: UOp) -> bool:
        """Whether the value may be written where it is used."""
        users = self.users.get(node, [])
        if len(users) != 1 or self.home[users[0]] is not self.home[node]:
            return False
        first, last = self.place[node], self.place[users[0]]
        reads = self._reads[node] = self._accumulators(node)
        return not any(first < p < last for acc in reads for p in self.updates.get(acc, ()))

    def is_only_stored(self, node: UOp) -> bool:
        """Whether the value goes to memory and nowhere else."""
        users = self.users.get(node, [])
        return all(u.op.name == "store" and u.src[1] is not node for u in users)

    def keep(self, node: UOp) -> None:
        """The node has a name after all: it is read where it is defined."""
        self._reads.pop(node, None)

    def _accumulators(self, node: UOp) -> frozenset[UOp]:
        """Those that the text of the value reads."""
        found: set[UOp] = set()
        for source in node.src:
            if source.op.name == "define_acc":
                found.add(source)
            elif source.op.name == "phi":
                found.add(source.src[0])
            elif source.op.name not in _NAMED:
                found |= self._reads.get(source, frozenset())
        return frozenset(found)


def _values(node: UOp) -> tuple[UOp, ...]:
    """The sources whose values a node reads."""
    match node.op.name:
        case "end_range" | "endif" | "barrier":
            return ()
        case "phi":
            return node.src[1:2]
        case _:
            return node.src
