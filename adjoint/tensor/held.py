"""Reading a number or a mask also keeps small intermediate results that are needed elsewhere.

Otherwise a loop with `if float(error) < limit` would recompute, in every iteration, what led to all
the iterations before. Kept are small results of arithmetic to which something besides the graph of
the value refers: a tensor, or another graph. A large one is kept only if it depends on large
results that an earlier read has computed too: without it every read would compute more than the
last. Views are not kept, since the memory that a matrix product reads is part of how it is
computed. The node of a kept value stores it; no tensor changes, and none loses its history. What
may live here: finding such results. What may not: computing them.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Container
from sys import getrefcount

from adjoint.engine import realize as engine
from adjoint.engine.observers import watch
from adjoint.ir import sizes
from adjoint.ir.kernel_kind import Identity, Leaf, Memory, PerNode, View
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import is_known
from adjoint.ir.weak import WeakTable
from adjoint.runtime.buffer import Buffer
from adjoint.tensor.tracing import open_scopes

MOST = 1 << 14  # elements of a result that is kept whatever it depends on
LARGEST = 1 << 26  # bytes of any other
BUDGET = 1 << 30  # bytes of all of them together
_OWN = 4  # references of `_wanted` itself: the list, the table, the loop and the call
_NEAR = (View, Identity, Leaf, Memory, PerNode)  # kinds that compute nothing, or say little of it


def read(node: UOp) -> None:
    """Compute a node for Python to read, and keep intermediate results that are needed
    elsewhere.
    """
    if is_known(node):
        return
    apart = open_scopes.get() or watch.on or _memory.kept > BUDGET
    wanted = [] if apart else _wanted(node)
    if not wanted:
        engine.realize(node)
        return
    engine.compute_keeping(node, wanted)
    for other in wanted:
        if other.realized is not None:
            _memory.note(other.realized)


class _Memory:
    """How many bytes are kept: histories of tensors hold them, however long they are."""

    def __init__(self) -> None:
        self.kept = 0
        self._lock = threading.RLock()  # a collection may run `_gone` while `note` has it

    def note(self, buffer: Buffer) -> None:
        """Count a buffer as long as it lives."""
        with self._lock:
            self.kept += buffer.nbytes
        weakref.finalize(buffer, self._gone, buffer.nbytes).atexit = False

    def _gone(self, size: int) -> None:
        with self._lock:
            self.kept -= size


_memory = _Memory()


def _wanted(root: UOp) -> list[UOp]:
    """The results below the root that something besides its graph refers to, sources first."""
    order = toposort([root], stop=is_known)
    if sizes.living and any(sizes.varies(*node.shape) for node in order):
        return []
    uses: dict[UOp, int] = dict.fromkeys(order, 0)
    for node in order:
        if not is_known(node):
            for source in node.src:
                uses[source] += 1
    held = [node for node in order if getrefcount(node) > uses[node] + _OWN]
    large = [node for node in order if _is_result(node, root) and node.size > MOST]
    if len(held) < 2 and not large:  # the root
        return []
    computed = _computed(order)
    found = dict.fromkeys(_below_views(node) for node in held)
    kept = {n: None for n in found if n is not root and n in computed and _is_result(n, root)}
    again = _computed_again(order, kept) if large else set()
    wanted = [n for n in kept if n.size <= MOST or n in again]
    for node in set(large).intersection(computed).difference(wanted):
        _seen.add(node)
    return wanted


_seen: WeakTable[UOp] = WeakTable()  # large results that a read has computed and not kept


def _computed_again(order: list[UOp], held: Container[UOp]) -> set[UOp]:
    """The held nodes that depend on what an earlier read computed, but for other such nodes."""
    again, kept = set[UOp](), set[UOp]()
    for node in order:
        if is_known(node):
            continue
        if id(node) in _seen.references or not again.isdisjoint(node.src):
            fits = node in held and node.size * node.dtype.itemsize <= LARGEST
            (kept if fits else again).add(node)
    return kept


def _computed(order: list[UOp]) -> set[UOp]:
    """What depends on a value; the rest are constants, which no program needs as inputs."""
    found: set[UOp] = set()
    for node in order:
        if is_known(node) or not found.isdisjoint(node.src):
            found.add(node)
    return found


def _below_views(node: UOp) -> UOp:
    """The result that a chain of views and identities shows."""
    while node.src and not is_known(node) and type(node.op.kernel) in (View, Identity):
        node = node.src[getattr(node.op.kernel, "operand", 0)]
    return node


def _is_result(node: UOp, root: UOp) -> bool:
    """Whether a node computes one value, where the root is."""
    near = is_known(node) or type(node.op.kernel) in _NEAR or node.device != root.device
    return not near and type(node.dtype) is not tuple
