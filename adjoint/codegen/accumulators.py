"""The accumulators of a loop program: which blocks update one, where and how its lanes are joined.

A renderer is a table from op to text plus a walk over the loop tree. This module has the facts that
such a walk needs and the tree only implies: which accumulators a block updates, where the lanes of
one become one value, and by which op. Nothing here knows a language.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from adjoint.errors import InternalError
from adjoint.ir.kernel_kind import JOINS
from adjoint.ir.loop_tree import Block, nested
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram


class Join(NamedTuple):
    """How the values of an accumulator's lanes become one."""

    op: str
    lanes: int


_NO_JOINS: Mapping[UOp, Join] = MappingProxyType({})


class Nest:
    """The blocks of a program, the updates of every accumulator, and those with a value per lane
    because the loop with lanes is around them."""

    def __init__(self, program: LoopProgram) -> None:
        self.root, self.parameters = nested(program.body), set(program.parameters)
        self.updates: dict[UOp, list[UOp]] = {}
        self._home: dict[UOp, int] = {}  # how many blocks are open where an accumulator is defined
        self._updated: dict[Block, dict[UOp, None]] = {}
        self._joins: dict[Block, dict[UOp, Join]] = {}
        per_lane = self._enter([self.root])
        self.per_lane = _per_lane(program, self._joins) if per_lane else set[UOp]()

    def length_of(self, head: UOp) -> UOp | None:
        """The node that gives the length of a loop, if that is known only when it runs."""
        if head.src:
            return head.src[0]
        size = OPS["const"](head.arg.size, head.dtype, (), None)
        return size if size in self.parameters else None

    def updated(self, block: Block) -> Iterable[UOp]:
        """The accumulators that are updated in a block and defined outside of it."""
        return self._updated.get(block, ())

    def joins(self, block: Block) -> Mapping[UOp, Join]:
        """The accumulators whose lanes become one at the end of this loop, and how."""
        return self._joins.get(block, _NO_JOINS)

    def all_joins(self) -> Iterable[tuple[UOp, Join]]:
        """Every accumulator whose lanes become one somewhere, and how."""
        return (pair for joins in self._joins.values() for pair in joins.items())

    def _enter(self, blocks: list[Block]) -> bool:
        """Look into the last of the open blocks; whether an accumulator is inside lanes."""
        inside, lanes = False, any(b.lanes > 1 for b in blocks)
        for item in blocks[-1].items:
            if isinstance(item, Block):
                inside |= self._enter([*blocks, item])
            elif item.op.name == "define_acc":
                self._home[item] = len(blocks)
                inside |= lanes
            elif item.op.name == "phi":
                self.updates.setdefault(item.src[0], []).append(item)
                self._note_update(item, blocks[self._home[item.src[0]] :])
        return inside

    def _note_update(self, phi: UOp, blocks: list[Block]) -> None:
        """Enter an update into the blocks between it and its accumulator."""
        acc = phi.src[0]
        for block in blocks:
            self._updated.setdefault(block, {})[acc] = None
        lanes = max((b.lanes for b in blocks), default=1)
        if lanes > 1:
            loop = next(b for b in blocks if b.is_loop)
            join = Join(_join_op(phi), lanes)
            if self._joins.setdefault(loop, {}).setdefault(acc, join) != join:
                raise InternalError(f"{acc!r} is joined in two ways")


def _join_op(phi: UOp) -> str:
    acc, value = phi.src[:2]
    if value.op.name in JOINS and acc in value.src:
        return value.op.name
    if value.op.name in ("fma", "dot_words") and acc is value.src[2]:
        return "add"
    problem = f"{value.op.name} does not say how the lanes of an accumulator are joined"
    raise InternalError(problem)


def _per_lane(program: LoopProgram, joins: Mapping[Block, Mapping[UOp, Join]]) -> set[UOp]:
    """Accumulators inside a loop with lanes whose values differ from lane to lane."""
    heads = [(block.head, accs) for block, accs in joins.items()]
    joined = {acc: head for head, accs in heads if head is not None for acc in accs}
    found: set[UOp] = set()
    while True:
        more = _one_round(program, joined, found)
        if more == found:
            return found
        found = more


def _one_round(program: LoopProgram, joined: dict[UOp, UOp], known: set[UOp]) -> set[UOp]:
    found = set(known)
    varying: set[UOp] = set()
    for node in program.body:
        name = node.op.name
        if name == "end_range":
            for acc, loop in joined.items():
                if loop is node.src[0]:
                    varying -= {n for n in varying if n is acc or n.src[:1] == (acc,)}
        elif name == "range":
            if node.arg.lanes > 1:
                varying.add(node)
        elif node in known or node in joined or any(s in varying for s in node.src):
            varying.add(node)
            if name == "define_acc" and node not in joined:
                found.add(node)
            if name == "phi" and node.src[0] not in joined and node.src[1] in varying:
                found.add(node.src[0])
    return found
