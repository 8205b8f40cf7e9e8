"""Nested loops and what is computed in each: values go as far out as they can.

What may live here: the order of nodes in a loop program. What may not: what they compute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, toposort

_LEAVES = frozenset({"const", "define_global", "variable", "range"})
Loops = frozenset[UOp]


@dataclass(slots=True, eq=False)
class Scope:
    """The inside of a loop: nodes, a loop, nodes, a loop …, nodes. The outermost has no range."""

    range: UOp | None
    depth: int = 0
    slots: list[list[UOp]] = field(default_factory=lambda: [[]])
    children: list[Scope] = field(default_factory=list)
    start: int = 0  # before it nothing can be placed any more: an earlier stage stands there

    def add(self, child: Scope) -> None:
        """One more loop behind all that is here."""
        self.children.append(child)
        self.slots.append([])

    def listed(self) -> list[UOp]:
        """Everything in running order."""
        inside = list(self.slots[0])
        for child, after in zip(self.children, self.slots[1:], strict=True):
            inside += [*child.listed(), *after]
        if self.range is None:
            return inside
        return [self.range, *inside, OPS["end_range"](self.range)]


class Nest:
    """A kernel being put in order."""

    def __init__(self) -> None:
        self.root = Scope(None)
        self.outer = [self.root]
        self._done: set[UOp] = set()
        self._deps: dict[UOp, Loops] = {}  # the loops that a node is inside of
        self._late: dict[UOp, Loops] = {}  # the loops behind which it comes
        self._around: dict[UOp, Loops] = {}  # of an accumulator: the loops of its stage around it
        self._inside: dict[UOp, Loops] = {}  # and those that update it

    def enter(self, loop: UOp) -> None:
        """A loop around everything that follows."""
        self.outer.append(Scope(loop, len(self.outer)))

    def listed(self) -> list[UOp]:
        """The whole kernel in running order; a scope goes behind what its parent does before."""
        for parent, child in zip(reversed(self.outer[:-1]), reversed(self.outer), strict=False):
            parent.add(child)
        return self.root.listed()

    def first(self, node: UOp) -> None:
        """Something that comes before all loops: scratch."""
        self.root.slots[0].insert(0, node)
        self._done.add(node)

    def register(self, acc: UOp, around: Sequence[UOp], inside: Sequence[UOp]) -> None:
        """An accumulator, the loops of its stage around it, and those in which it is updated."""
        self._around[acc], self._inside[acc] = frozenset(around), frozenset(inside)

    def stage(self, paths: Sequence[Sequence[UOp]], effects: Iterable[UOp]) -> None:
        """Loops inside the outer ones, with the effects and all that they need.

        A path is a nest of loops from the outside in; paths that begin alike share these loops.
        """
        scopes: dict[UOp | None, Scope] = {scope.range: scope for scope in self.outer}
        last = self.outer[-1]
        last.start = len(last.children)
        for path in paths:
            parent = last
            for loop in path:
                if loop not in scopes:
                    scopes[loop] = Scope(loop, parent.depth + 1)
                    parent.add(scopes[loop])
                parent = scopes[loop]
        for node in toposort(effects, stop=self._done.__contains__):
            self._put(node, scopes)

    def _put(self, node: UOp, scopes: dict[UOp | None, Scope]) -> None:
        if node in self._done or node.op.name in _LEAVES:
            return
        self._done.add(node)
        below = self._below(node)
        late = self._late_of(node)
        here = below if node.op.name != "define_acc" else self._enclosing(node) | below
        inside = [scopes[loop] for loop in here if loop in scopes]
        place = max(inside, key=lambda s: s.depth, default=self.root)
        self._settle(node, below, late)
        behind = [i + 1 for i, child in enumerate(place.children) if child.range in late]
        place.slots[max([place.start, *behind])].append(node)

    def _enclosing(self, acc: UOp) -> Loops:
        around = self.outer[-1].range
        return self._around[acc] | (frozenset() if around is None else {around})

    def _settle(self, node: UOp, below: Loops, late: Loops) -> None:
        """What is known of a node for those that use it."""
        self._deps[node], self._late[node] = below, late
        if node.op.name == "define_acc":
            self._deps[node] = below | self._enclosing(node) | self._inside[node]
        elif node.op.name == "phi":  # its final value is known behind its loops, where they are
            self._deps[node] = (below - frozenset(node.src[2:])) | self._enclosing(node.src[0])
            self._late[node] = late | frozenset(node.src[2:])

    def _late_of(self, node: UOp) -> Loops:
        found: Loops = frozenset()
        for source in node.src:
            found |= self._late.get(source, frozenset())
        return found

    def _below(self, node: UOp) -> Loops:
        """The loops that a node is inside of."""
        found: Loops = frozenset()
        for source in node.src:
            found |= self._of(source)
        return found

    def _of(self, node: UOp) -> Loops:
        if node.op.name == "range":
            return frozenset({node})
        return self._deps.get(node, frozenset())
