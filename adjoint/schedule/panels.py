"""Chains of product, row-wise work and product, whose intermediate values are never written.

Before: contract(softmax(contract(q, kᵀ)), v): three kernels, and scores in memory between them.
After: the second product is marked as one whose left operand is computed row by row, with its
products and reductions; `fuse.py` then lets these join its kernel (`kernel/panels.py`).

What may live here: which chains qualify. What may not: how nodes are placed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from math import prod

from adjoint.ir.kernel_kind import Gather, Library, Reduce, is_counting
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.ops.words import contract_words
from adjoint.schedule.classify import POINTWISE, REDUCE, VIEW
from adjoint.schedule.loop_axes import Atoms, Index
from adjoint.schedule.node_facts import Facts
from adjoint.target import Limits, Target

_LARGER = 4  # times: rows between products, than their right operands
_MOST_STEPS = 200  # of a walk; longer chains are not one kernel


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Panel:
    """The operands of the rows of a product's left operand, and the length of the rows."""

    products: frozenset[UOp]
    width: int
    members: frozenset[UOp]  # all nodes on the way to these products


def panels_of(facts: Mapping[UOp, Facts], target: Target) -> dict[UOp, Panel]:
    """The products whose left operand is such a chain, each with the nodes of the chain."""
    found: dict[UOp, Panel] = {}
    for node, known in facts.items():
        if known.tiled and facts[node.src[0]].reduces:
            panel = _Walk(node, facts, target.limits).panel()
            if panel is not None:
                found[node] = panel
    return found


def is_along_rows(node: UOp, width: int) -> bool:
    """Whether a reduction joins so many elements along axes, and no products."""
    kernel = node.op.kernel
    if type(kernel) is not Reduce or kernel.index_map is not None or kernel.apart:
        return False
    return prod(kernel.loops_of(node)) == width


def is_large(node: UOp, limits: Limits) -> bool:
    """Whether a product is so large, and its operands so small, that its elements are computed
    again rather than kept in memory."""
    if type(node.op.kernel) is not Library or node.ndim != 3 or varies(*node.shape):
        return False
    operands = sum(prod(source.shape[1:]) for source in node.src)
    large = node.size * node.dtype.itemsize >= limits.recomputed_bytes
    return large and prod(node.shape[1:]) >= _LARGER * operands


class _Walk:
    """Walks from the left operand of a product down to memory."""

    def __init__(self, node: UOp, facts: Mapping[UOp, Facts], limits: Limits):
        self.node, self.facts, self.limits = node, facts, limits
        self.atoms = Atoms()
        self.start = tuple(self.atoms.new(n) for n in node.src[0].shape)
        self.products: dict[UOp, None] = {}
        self.rows = 0  # reductions of them

    def panel(self) -> Panel | None:
        """The chain found, if it deserves a kernel: a product, and a reduction of its rows."""
        if varies(*self.node.shape[1:], self.width) or self.width > self.limits.panel_row:
            return None
        stack, seen = [(self.node.src[0], self.start)], set[tuple[UOp, Index]]()
        while stack:
            node, index = stack.pop()
            at = (node, self.atoms.settled(index))
            if at not in seen:
                seen.add(at)
                stack += self._below(*at)
            if len(seen) > _MOST_STEPS:
                return None
        large = any(is_large(part, self.limits) for part in self.products)
        if not self.products or not (self.rows or large) or not self._pays():
            return None
        return Panel(frozenset(self.products), self.width, frozenset(node for node, _ in seen))

    @property
    def width(self) -> int:
        """How long a row is."""
        found: int = self.node.src[0].shape[2]
        return found

    def _pays(self) -> bool:
        """Whether so many rows fit in scratch that packing the right operands for them is little
        (all rows, or these are not many times larger than the rows, as windows of small pictures
        are), or all rows are so many times larger than these that memory is saved."""
        _, rows, width = self.node.src[0].shape
        fit = self.limits.panel_bytes // (width * self.node.dtype.itemsize)
        packed = sum(prod(part.src[1].shape[1:]) for part in (self.node, *self.products))
        little = rows <= fit or packed <= _LARGER * rows * width
        return (fit >= self.limits.panel_rows and little) or rows * width >= _LARGER * packed

    def _below(self, node: UOp, index: Index) -> list[tuple[UOp, Index]]:
        facts = self.facts[node]
        if facts.kind == VIEW and facts.movable:
            return self.atoms.through(node, index)
        if facts.kind == POINTWISE and type(node.op.kernel) is not Gather:
            return [] if is_counting(node) else [(source, index) for source in node.src]
        if facts.tiled and self._is_panel(node, index):
            self.products[node] = None
        elif facts.kind == REDUCE and self._is_row(node, index):
            self.rows += 1
            return self.atoms.reduced(node, index)[0]
        return []

    def _is_panel(self, node: UOp, index: Index) -> bool:
        """Whether a product at an index has the same rows, and a column for each place of one."""
        batch, rows, _ = self.atoms.settled(self.start)
        plain = self.atoms.images.keys().isdisjoint(index[2]) and not varies(node.src[0].shape[2])
        alike = index[:2] == (batch, rows) and node.dtype is self.node.dtype
        in_words = node.op is contract_words  # its columns are packed by a kernel of their own
        return plain and alike and not in_words and node.shape[2] == self.width

    def _is_row(self, node: UOp, index: Index) -> bool:
        """Whether a reduction goes over one row."""
        batch, rows, _ = self.atoms.settled(self.start)
        alike = sorted(chain(*index)) == sorted((*batch, *rows))
        return alike and is_along_rows(node, self.width)
