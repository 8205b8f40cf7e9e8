"""The loop tree: a kernel as nested blocks.

    for i: { a; if c: { b } }      is      Block(None): [Block(i): [a, Block(if c): [b]]]

A loop program is the flat list of its nodes, with a node where every loop and IF ends; the tree
makes its nesting explicit. Lowering and hand-built kernels order their nodes in such a tree;
renderers and the interpreter of kernels walk it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from adjoint.errors import InternalError
from adjoint.ir.kernel_kind import RANGE, closes, opens
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp


@dataclass(slots=True, eq=False, repr=False)
class Block:
    """A loop, an IF, or the whole kernel (no head), and what runs in it, in order."""

    head: UOp | None = None
    parent: Block | None = None
    items: list[UOp | Block] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list, init=False)  # those among the items, in order

    def opened(self, head: UOp) -> Block:
        """A new block at the end of this one."""
        return self.ended_with(Block(head, self))

    def ended_with(self, inner: Block) -> Block:
        """The block, at the end of this one."""
        self.items.append(inner)
        self.blocks.append(inner)
        return inner

    @property
    def is_loop(self) -> bool:
        return self.head is not None and self.head.op.kernel is RANGE

    @property
    def lanes(self) -> int:
        """The number of iterations in lanes."""
        head = self.head
        return head.arg.lanes if head is not None and head.op.kernel is RANGE else 1

    def chain(self) -> list[Block]:
        """This block and those around it, outermost first."""
        found, block = [self], self.parent
        while block is not None:
            found.append(block)
            block = block.parent
        return found[::-1]

    def nodes(self) -> Iterator[UOp]:
        """Every node inside, in order, without heads and ends."""
        for item in self.items:
            if isinstance(item, Block):
                yield from item.nodes()
            else:
                yield item

    def holds(self, op: str) -> bool:
        """Whether a node of that op is inside."""
        return any(node.op.name == op for node in self.nodes())

    def flat(self) -> list[UOp]:
        """The contents as a list, with heads and ends."""
        found: list[UOp] = []
        for item in self.items:
            if isinstance(item, Block):
                head = item.head
                assert head is not None
                found += [head, *item.flat(), OPS[head.op.kernel.ends](head)]
            else:
                found.append(item)
        return found


def nested(body: Sequence[UOp]) -> Block:
    """The tree of a list."""
    block = root = Block()
    for node in body:
        if opens(node):
            block = block.opened(node)
        elif not closes(node):
            block.items.append(node)
        elif block.parent is None or block.head is not node.src[0]:
            raise InternalError(f"{node!r} closes what is not the innermost open block")
        else:
            block = block.parent
    if block is not root:
        raise InternalError(f"{block.head!r} is not closed")
    return root
