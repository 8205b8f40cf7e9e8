"""The loop of each value: loop-invariant code is hoisted as far out as possible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adjoint.ir.kernel_kind import ACCUMULATOR, CONSTANT, GLOBAL, PHI, RANGE, VARIABLE
from adjoint.ir.loop_tree import Block
from adjoint.ir.uop import UOp, toposort

Loops = frozenset[UOp]
_NONE: Loops = frozenset()


class LoopOrder:
    """A kernel being put in order."""

    def __init__(self) -> None:
        self.root = Block()
        self.outer = [self.root]
        self._before = 0  # blocks of the innermost outer one that belong to earlier stages
        self._places: dict[Loops, Block] = {}  # of a stage: where what is inside of these loops is
        self._done: set[UOp] = set()
        self._deps: dict[UOp, Loops] = {}  # the loops that a node is inside of
        self._late: dict[UOp, Loops] = {}  # the loops behind which it comes, if there are any
        self._around: dict[UOp, Loops] = {}  # of an accumulator: the loops of its stage around it
        self._inside: dict[UOp, Loops] = {}  # and those that update it

    def enter(self, loop: UOp) -> None:
        """A loop around everything that follows."""
        self.outer.append(self.outer[-1].opened(loop))

    def listed(self) -> list[UOp]:
        """The whole kernel in running order."""
        return self.root.flat()

    def first(self, node: UOp) -> None:
        """Something that comes before all loops: scratch."""
        self.root.items.insert(0, node)
        self._done.add(node)

    def register(self, acc: UOp, around: Sequence[UOp], inside: Sequence[UOp]) -> None:
        """An accumulator, the loops of its stage around it, and those in which it is updated."""
        self._around[acc], self._inside[acc] = frozenset(around), frozenset(inside)

    def stage(self, paths: Sequence[Sequence[UOp]], effects: Iterable[UOp]) -> None:
        """Loops inside the outer ones, with the effects and everything they need.

        A path is a nest of loops from the outside in; paths with a common beginning share these
        loops.
        """
        blocks = {block.head: block for block in self.outer}
        last = self.outer[-1]
        self._before = len(last.blocks)
        self._places = {_NONE: self.root}
        for path in paths:
            around = last
            for loop in path:
                if loop not in blocks:
                    blocks[loop] = around.opened(loop)
                around = blocks[loop]
        for node in toposort(effects, stop=self._done.__contains__):
            if node not in self._done:
                self._put(node, blocks)

    def _put(self, node: UOp, blocks: dict[UOp | None, Block]) -> None:
        kernel = node.op.kernel
        if kernel is RANGE:
            self._deps[node] = frozenset({node})
        if kernel is CONSTANT or kernel is GLOBAL or kernel is VARIABLE or kernel is RANGE:
            return
        self._done.add(node)
        below, late = _joined(self._deps, node), _joined(self._late, node)
        here = below if kernel is not ACCUMULATOR else self._enclosing(node) | below
        place = self._places.get(here)
        if place is None:
            around = [blocks[loop].chain() for loop in here if loop in blocks]
            place = self._places[here] = max(around, key=len, default=[self.root])[-1]
        self._settle(node, below, late)
        self._insert(node, place, late)

    def _insert(self, node: UOp, place: Block, late: Loops) -> None:
        """Before the first block that need not come before it."""
        items, inner = place.items, place.blocks
        number = self._before if place is self.outer[-1] else 0
        if late:
            number = max([number, *(i + 1 for i, b in enumerate(inner) if b.head in late)])
        at = len(items)
        if number < len(inner):
            following = inner[number]
            at -= 1
            while items[at] is not following:  # few nodes stand behind a block
                at -= 1
        items.insert(at, node)

    def _enclosing(self, acc: UOp) -> Loops:
        around = self.outer[-1].head
        return self._around[acc] | (_NONE if around is None else {around})

    def _settle(self, node: UOp, below: Loops, late: Loops) -> None:
        """Records the facts about a node that its users need."""
        if node.op.kernel is ACCUMULATOR:
            below = below | self._enclosing(node) | self._inside[node]
        elif node.op.kernel is PHI:  # its final value is known behind its loops, where they are
            below = (below - frozenset(node.src[2:])) | self._enclosing(node.src[0])
            late = late | frozenset(node.src[2:])
        if below:
            self._deps[node] = below
        if late:
            self._late[node] = late


def _joined(loops: dict[UOp, Loops], node: UOp) -> Loops:
    """The loops of all sources; those of one, where the others add none."""
    found = _NONE
    for source in node.src:
        more = loops.get(source)
        if more is not None and more is not found:
            found = found | more if found else more
    return found
