"""A hand-built kernel while a pass writes it, and what it costs."""

from __future__ import annotations

from adjoint.ir.dtype import VOID
from adjoint.ir.kernel_kind import (
    ACCUMULATOR,
    CONSTANT,
    GLOBAL,
    LOAD,
    LOCAL,
    PHI,
    RANGE,
    THREAD,
    VARIABLE,
    closes,
    opens,
)
from adjoint.ir.loop_tree import Block
from adjoint.ir.uop import UOp

_LEAVES = (CONSTANT, GLOBAL, VARIABLE)
_FIXED = (LOAD, PHI, ACCUMULATOR, LOCAL)  # stay where they were written


class WrittenKernel:
    """A kernel while it is written. Loads and effects stay where they are put; arithmetic that is
    put in several blocks is written once, in the block around all of them."""

    def __init__(self) -> None:
        self.root = self._block = Block()
        self._home: dict[UOp, Block] = {}

    def put(self, *nodes: UOp) -> None:
        """Append nodes; those in an enclosing open block are skipped."""
        for node in nodes:
            if opens(node):
                self._block = self._block.opened(node)
            elif closes(node):
                assert self._block.parent is not None
                self._block = self._block.parent
            elif node.op.kernel in _FIXED or node.dtype is VOID:
                self._block.items.append(node)
            elif not self.knows(node):
                self._place(node)

    def knows(self, node: UOp) -> bool:
        """Whether the node can be used here, unless it is still to be put."""
        if node.op.kernel in (*_LEAVES, *_FIXED, RANGE):
            return True
        home = self._home.get(node)
        return home is not None and home in self._block.chain()

    def _place(self, node: UOp) -> None:
        before = self._home.get(node)
        if node.op.kernel is THREAD:
            self._home[node] = self.root
            self.root.items.insert(_behind_specials(self.root), node)
        elif before is None:
            self._home[node] = self._block
            self._block.items.append(node)
        else:
            before.items.remove(node)
            other = before.chain()
            shared = [a for a, b in zip(self._block.chain(), other, strict=False) if a is b]
            target = self._home[node] = shared[-1]
            target.items.insert(target.items.index(other[len(shared)]), node)


def _behind_specials(root: Block) -> int:
    """The place of a thread's index: at the top, in the order of use."""
    at = 0
    for item in root.items:
        if isinstance(item, Block) or item.op.kernel is not THREAD:
            break
        at += 1
    return at


def cost_of(block: Block) -> int:
    """About how many scalar operations one run of the contents takes."""
    total = 0
    for item in block.items:
        if not isinstance(item, Block):
            total += 1
        elif item.head is not None and item.head.op.kernel is RANGE:
            total += item.head.arg.size * (1 + cost_of(item))
        else:
            total += 1 + cost_of(item)
    return total
