"""The list of a kernel's nodes as nested scopes, and back.

A scope is the whole kernel, a loop or an IF. What may live here: the tree and walks over it. What
may not: what a pass does with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from adjoint.ir.dtype import VOID
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp

_ENDS = {"range": "end_range", "if": "endif"}


@dataclass(slots=True, eq=False, repr=False)
class Scope:
    """What is between a node that opens and the node that ends it; the root has neither."""

    head: UOp | None = None
    parent: Scope | None = None
    items: list[UOp | Scope] = field(default_factory=list)

    def opened(self, head: UOp) -> Scope:
        """A new scope at the end of this one."""
        inner = Scope(head, self)
        self.items.append(inner)
        return inner

    def chain(self) -> list[Scope]:
        """This scope and those around it, outermost first."""
        return [*(self.parent.chain() if self.parent is not None else []), self]

    def nodes(self) -> Iterator[UOp]:
        """Every node inside, in order, without heads and ends."""
        for item in self.items:
            if isinstance(item, Scope):
                yield from item.nodes()
            else:
                yield item

    def flat(self) -> list[UOp]:
        """The list, with heads and ends."""
        found: list[UOp] = []
        for item in self.items:
            if isinstance(item, Scope):
                assert item.head is not None
                found += [item.head, *item.flat(), OPS[_ENDS[item.head.op.name]](item.head)]
            else:
                found.append(item)
        return found

    def holds(self, op: str) -> bool:
        """Whether a node of that op is inside."""
        return any(node.op.name == op for node in self.nodes())


def nested(body: Sequence[UOp]) -> Scope:
    """The tree of a list."""
    scope = root = Scope()
    for node in body:
        if node.op.name in _ENDS:
            scope = scope.opened(node)
        elif node.op.name in _ENDS.values():
            assert scope.parent is not None
            scope = scope.parent
        else:
            scope.items.append(node)
    return root


_LEAVES = ("const", "define_global", "variable")
_FIXED = ("load", "phi", "define_acc", "define_local")  # stay where they were written


class Written:
    """A list while it is written. Loads and effects stay where they are put; arithmetic that is put
    in several scopes is written once, in the scope around all of them."""

    def __init__(self) -> None:
        self.root = self._scope = Scope()
        self._home: dict[UOp, Scope] = {}

    def put(self, *nodes: UOp) -> None:
        """Append nodes; those that stand in an open scope already are passed over."""
        for node in nodes:
            name = node.op.name
            if name in _ENDS:
                self._scope = self._scope.opened(node)
            elif name in _ENDS.values():
                assert self._scope.parent is not None
                self._scope = self._scope.parent
            elif name in _FIXED or node.dtype is VOID:
                self._scope.items.append(node)
            elif not self.knows(node):
                self._place(node)

    def knows(self, node: UOp) -> bool:
        """Whether the node can be used here, unless it is still to be put."""
        if node.op.name in (*_LEAVES, *_FIXED, "range"):
            return True
        home = self._home.get(node)
        return home is not None and home in self._scope.chain()

    def _place(self, node: UOp) -> None:
        before = self._home.get(node)
        if node.op.name == "special":
            self._home[node] = self.root
            self.root.items.insert(_behind_specials(self.root), node)
        elif before is None:
            self._home[node] = self._scope
            self._scope.items.append(node)
        else:
            before.items.remove(node)
            other = before.chain()
            shared = [a for a, b in zip(self._scope.chain(), other, strict=False) if a is b]
            target = self._home[node] = shared[-1]
            target.items.insert(target.items.index(other[len(shared)]), node)


def _behind_specials(root: Scope) -> int:
    """Where the index of a thread stands: at the top, in the order in which they are used."""
    at = 0
    for item in root.items:
        if isinstance(item, Scope) or item.op.name != "special":
            break
        at += 1
    return at


def cost_of(scope: Scope) -> int:
    """About how many scalar operations one run of what is inside takes."""
    total = 0
    for item in scope.items:
        if not isinstance(item, Scope):
            total += 1
        elif item.head is not None and item.head.op.name == "range":
            total += item.head.arg.size * (1 + cost_of(item))
        else:
            total += 1 + cost_of(item)
    return total
