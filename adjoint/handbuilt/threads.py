"""Threads as loops: a kernel with indices of threads → one that a single thread runs.

    before: gidx0, lidx0; a; barrier; b        after: for g: { for l: a    for l: b }

Groups are outer loops, the threads of a group are inner ones. At a barrier the inner loops end and
begin anew: all threads have done what is before it. A loop with a barrier inside stays around them,
since all threads go through it together. What one piece computes for another is kept per thread,
unless it follows from indices alone; a register that such a loop updates is memory per thread, read
at the start of a piece and written at its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from math import prod
from typing import Any

from adjoint.handbuilt.written import WrittenKernel, cost_of
from adjoint.ir.dtype import VOID
from adjoint.ir.kernel_kind import (
    ACCUMULATOR,
    BARRIER,
    CONSTANT,
    GLOBAL,
    LOAD,
    LOCAL,
    PHI,
    RANGE,
    THREAD,
    VARIABLE,
    KernelKind,
)
from adjoint.ir.loop_tree import Block, nested
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, rebuild, toposort
from adjoint.ops.loop_ops import LoadArg
from adjoint.stages import LoopProgram

_STAYS = (RANGE, LOAD, PHI, ACCUMULATOR, LOCAL)
_LEAVES = (CONSTANT, GLOBAL, LOCAL, VARIABLE, THREAD)


def as_loops(program: LoopProgram) -> LoopProgram:
    """The kernel without threads."""
    root = nested(program.body)
    if not (root.holds("special") or root.holds("barrier")):
        return program
    out = WrittenKernel()  # what follows from the group alone is computed once per group
    out.put(*_needed(_Threads(program, root).run().flat()))
    return replace(program, body=tuple(out.root.flat()), cost=cost_of(out.root))


class _Threads:
    def __init__(self, program: LoopProgram, root: Block) -> None:
        self.root = root
        specials = sorted({n.arg.name: n for n in program.body if n.op.kernel is THREAD}.items())
        self.groups = [n for name, n in specials if name[0] == "g"][::-1]  # x runs fastest
        self.threads = [n for name, n in specials if name[0] == "l"][::-1]
        numbered = (*_all(program.body, RANGE), *_all(program.body, ACCUMULATOR))
        self.ids = count(1 + max((n.arg.id for n in numbered), default=-1))
        self.loads = count(1 + max((n.arg.order for n in _all(program.body, LOAD)), default=-1))
        self.pieces: list[list[UOp | Block]] = []
        self.piece_of: dict[UOp, int] = {}
        self.fixed: dict[UOp, UOp] = {}  # what is the same in all pieces: groups, shared loops
        self.slots: dict[UOp, UOp] = {}  # memory per thread, by the value that is kept there
        self.names = {b.arg.name for b in (*program.buffers, *_all(program.body, LOCAL))}
        self.updates = {n.src[0]: n for n in _all(program.body, PHI)}

    def run(self) -> Block:
        new = Block()
        inner = new
        for index in self.groups:
            inner = inner.opened(self.counter(index))
            self.fixed[index] = inner.head  # type: ignore[assignment]
        local = [n for n in self.root.nodes() if n.op.kernel is LOCAL]
        plan = self.divide(self.root)
        self.keep()
        inner.items += [*local, *self.slots.values()]
        self.write(plan, inner)
        return new

    def counter(self, index: UOp) -> UOp:
        made: UOp = OPS["range"](next(self.ids), index.arg.size, 0, index.dtype)
        return made

    # ---- pieces

    def divide(self, block: Block) -> list[Any]:
        """Numbers of pieces, and loops around pieces as (loop, what is inside)."""
        plan: list[Any] = []
        piece: list[UOp | Block] = []

        def finish() -> None:
            if piece:
                plan.append(len(self.pieces))
                for node in _inside(piece):
                    self.piece_of.setdefault(node, len(self.pieces))
                self.pieces.append(list(piece))
                piece.clear()

        for item in block.items:
            if isinstance(item, Block) and item.holds("barrier"):
                finish()
                assert item.head is not None
                self.fixed[item.head] = item.head
                plan.append((item.head, self.divide(item)))
            elif isinstance(item, Block) or item.op.kernel not in (BARRIER, *_LEAVES):
                piece.append(item)
            elif item.op.kernel is BARRIER:
                finish()
        finish()
        return plan

    def keep(self) -> None:
        """Memory for what crosses from one piece to another."""
        for number, piece in enumerate(self.pieces):
            for node in _inside(piece):
                for source in node.src:
                    if self.piece_of.get(source, number) != number:
                        self.keep_value(source)

    def keep_value(self, node: UOp) -> None:
        if node.op.kernel is PHI and self.is_spread(node.src[0]):
            node = node.src[0]
        if node in self.slots or self.follows(node):
            return
        size = prod(index.arg.size for index in self.threads)
        name = next(n for i in count() if (n := f"kept{i}") not in self.names)
        self.names.add(name)
        self.slots[node] = OPS["define_local"](name, node.dtype, size)

    def is_spread(self, acc: UOp) -> bool:
        """Whether a register lives in several pieces."""
        return self.piece_of[acc] != self.piece_of[self.updates[acc]]

    def follows(self, node: UOp) -> bool:
        """Whether a value follows from indices and constants, so that any piece can compute it."""
        stop = lambda n: n in self.fixed or n.op.kernel in _LEAVES  # noqa: E731
        parts = toposort([node], stop=stop)
        changing = (LOAD, PHI, ACCUMULATOR, RANGE)
        return all(stop(n) or n.op.kernel not in changing for n in parts)

    # ---- writing

    def write(self, plan: Iterable[Any], target: Block) -> None:
        for part in plan:
            if isinstance(part, int):
                _Piece(self, part, target).write()
            else:
                head, inside = part
                self.write(inside, target.opened(head))


class _Piece:
    """What all threads do between two barriers."""

    def __init__(self, all_: _Threads, number: int, target: Block) -> None:
        self.all, self.number = all_, number
        self.items = all_.pieces[number]
        self.new: dict[UOp, UOp] = dict(all_.fixed)
        self.at: Any = None
        for index in all_.threads:
            target = target.opened(all_.counter(index))
            assert target.head is not None
            self.new[index] = target.head
        self.block = target
        self.inner = {n for n in _inside(self.items) if n.op.kernel is RANGE}
        self.known: set[UOp] = set()  # arithmetic that stands in front of everything else

    def write(self) -> None:
        if self.all.slots:
            self.at = self.flat_index()
        for node in dict.fromkeys(s for n in _inside(self.items) for s in n.src):
            if self.all.piece_of.get(node, self.number) != self.number:
                self.fetch(node)
        registers = [a for a in self.all.updates if self.updates_here(a) and a in self.all.slots]
        for acc in registers:
            self.take(acc)
        self.copy(self.items, self.block)
        for node, slot in self.all.slots.items():
            if self.all.piece_of[node] == self.number and node.op.kernel is not ACCUMULATOR:
                self.store(slot, self.new[node], self.block)
        for acc in registers:
            if self.loops_of(acc):
                self.store(self.all.slots[acc], self.new[self.all.updates[acc]], self.block)

    def updates_here(self, acc: UOp) -> bool:
        return self.all.piece_of[self.all.updates[acc]] == self.number

    def loops_of(self, acc: UOp) -> list[UOp]:
        return [r for r in self.all.updates[acc].src[2:] if r in self.inner]

    def fetch(self, node: UOp) -> None:
        """A value of another piece: read from where it was kept, or computed again."""
        key = node
        if node.op.kernel is PHI and node.src[0] in self.all.slots:
            key = node.src[0]
        slot = self.all.slots.get(key)
        if slot is not None:
            if key not in self.new:
                self.new[key] = self.load(slot)
            self.new[node] = self.new[key]
            return
        for part in toposort([node], stop=self.new.__contains__):
            self.value(part)

    def value(self, node: UOp) -> UOp:
        if node not in self.new and node.op.kernel in _LEAVES:
            self.new[node] = node
        elif node not in self.new:
            self.new[node] = self.front(rebuild(node, tuple(self.new.get(s, s) for s in node.src)))
        return self.new[node]

    def front(self, node: UOp) -> UOp:
        """A value that all of the piece can see."""
        if node not in self.known:
            self.known.add(node)
            self.block.items.append(node)
        return node

    def take(self, acc: UOp) -> None:
        """An accumulator that outlives this piece: its present value."""
        if acc not in self.new:
            self.new[acc] = self.load(self.all.slots[acc])
        if self.loops_of(acc):
            self.new[acc] = OPS["define_acc"](self.new[acc], next(self.all.ids))
            self.block.items.append(self.new[acc])

    def copy(self, items: Iterable[UOp | Block], target: Block) -> None:
        for item in items:
            if not isinstance(item, Block):
                self.node(item, target)
                continue
            assert item.head is not None
            head = rebuild(item.head, tuple(self.new.get(s, s) for s in item.head.src))
            if item.head.op.kernel is RANGE:  # this piece alone has the loop
                self.new[item.head] = head
            self.copy(item.items, target.opened(head))

    def node(self, node: UOp, target: Block) -> None:
        slot = self.all.slots.get(node.src[0]) if node.op.kernel is PHI else None
        if slot is not None and self.all.is_spread(node.src[0]):
            self.update(node, slot, target)
        elif node.op.kernel is ACCUMULATOR and node in self.all.slots:
            self.store(self.all.slots[node], self.new.get(node.src[0], node.src[0]), target)
        else:
            self.new[node] = rebuild(node, tuple(self.new.get(s, s) for s in node.src))
            if self.new[node] not in self.known:
                target.items.append(self.new[node])

    def update(self, phi: UOp, slot: UOp, target: Block) -> None:
        acc, value = phi.src[:2]
        new, loops = self.new.get(value, value), self.loops_of(acc)
        if not loops:
            self.new[phi] = new
            self.store(slot, new, target)
            return
        self.new[phi] = OPS["phi"](self.new[acc], new, *(self.new[r] for r in loops))
        target.items.append(self.new[phi])

    # ---- memory per thread

    def flat_index(self) -> UOp:
        total: UOp | None = None
        for index in self.all.threads:
            counter = self.new[index]
            if total is None:
                total = counter
                continue
            wide = OPS["const"](index.arg.size, counter.dtype, (), None)
            total = self.front(OPS["add"](self.front(OPS["mul"](total, wide)), counter))
        return OPS["const"](0, "int32", (), None) if total is None else total

    def load(self, slot: UOp) -> UOp:
        made = UOp(OPS["load"], (slot, self.at), LoadArg(1, next(self.all.loads)))
        self.block.items.append(made)
        return made

    def store(self, slot: UOp, value: UOp, target: Block) -> None:
        target.items.append(OPS["store"](slot, self.at, value))


def _needed(body: list[UOp]) -> list[UOp]:
    """The list without arithmetic that only another piece had a use for."""
    kept: list[UOp] = []
    used: set[UOp] = set()
    for node in reversed(body):
        if node in used or node.dtype is VOID or node.op.kernel in _STAYS:
            kept.append(node)
            used.update(node.src)
    return kept[::-1]


def _inside(items: Iterable[UOp | Block]) -> Iterable[UOp]:
    """Every node of a piece, with the heads of loops and conditions."""
    for item in items:
        if isinstance(item, Block):
            assert item.head is not None
            yield item.head
            yield from _inside(item.items)
        else:
            yield item


def _all(body: Iterable[UOp], kind: KernelKind) -> list[UOp]:
    return [n for n in body if n.op.kernel is kind]
