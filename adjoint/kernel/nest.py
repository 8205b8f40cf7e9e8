"""Nested loops and what is computed in each: values go as far out as they can.

What may live here: the order of nodes in a loop program. What may not: what they compute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, toposort

_LEAVES = frozenset({"const", "define_global", "variable", "range"})


@dataclass(slots=True, eq=False)
class Scope:
    """The inside of a loop; the outermost scope has no range."""

    range: UOp | None
    items: list[UOp | Scope] = field(default_factory=list)

    def listed(self) -> list[UOp]:
        """Everything in running order."""
        inside: list[UOp] = []
        for item in self.items:
            inside.extend(item.listed() if isinstance(item, Scope) else [item])
        if self.range is None:
            return inside
        return [self.range, *inside, OPS["end_range"](self.range)]


class Nest:
    """A kernel being put in order."""

    def __init__(self) -> None:
        self.root = Scope(None)
        self.outer = [self.root]
        self._done: set[UOp] = set()
        self._deps: dict[UOp, frozenset[UOp]] = {}

    def enter(self, loop: UOp) -> None:
        """A loop around everything that follows."""
        self.outer.append(Scope(loop))

    def listed(self) -> list[UOp]:
        """The whole kernel in running order; a scope goes behind what its parent does before."""
        for parent, child in zip(reversed(self.outer[:-1]), reversed(self.outer), strict=False):
            parent.items.append(child)
        return self.root.listed()

    def first(self, node: UOp) -> None:
        """Something that comes before all loops: scratch."""
        self.root.items.insert(0, node)
        self._done.add(node)

    def stage(
        self, loops: Sequence[UOp], effects: Iterable[UOp], accumulators: Iterable[UOp]
    ) -> None:
        """One nest of loops inside the outer ones: its effects and all that they need."""
        for acc in accumulators:
            self._deps[acc] = frozenset(loops)
            self._done.add(acc)
            self.outer[-1].items.append(acc)
        inner = [Scope(loop) for loop in loops]
        chain = [*self.outer, *inner]
        for node in toposort(effects, stop=self._done.__contains__):
            self._put(node, chain)
        for parent, child in zip(reversed(chain), [None, *reversed(inner)], strict=False):
            if child is not None:
                parent.items.append(child)

    def _put(self, node: UOp, chain: list[Scope]) -> None:
        if node in self._done or node.op.name in _LEAVES:
            return
        self._done.add(node)
        below = self._below(node)
        place = next((s for s in reversed(chain) if s.range in below), chain[0])
        if node.op.name == "phi":  # its final value is known behind its loops, where they are
            around = self.outer[-1].range
            after = below - frozenset(node.src[2:])
            self._deps[node] = after if around is None else after | {around}
        place.items.append(node)

    def _below(self, node: UOp) -> frozenset[UOp]:
        """The loops that a node is inside of."""
        found: frozenset[UOp] = frozenset()
        for source in node.src:
            found |= self._of(source)
        self._deps[node] = found
        return found

    def _of(self, node: UOp) -> frozenset[UOp]:
        known = self._deps.get(node)
        if known is None:
            known = frozenset({node}) if node.op.name == "range" else frozenset()
            self._deps[node] = known
        return known
