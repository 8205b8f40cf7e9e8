"""A loop program as nested blocks: what every renderer walks.

A renderer is a table from op to text plus a walk over these blocks. Here is what such a walk must
know and the flat list of nodes only implies: what is inside which loop, which accumulators a block
updates, where the lanes of one are joined, and by which op. Nothing here knows a language.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from adjoint.errors import InternalError
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram

JOINS = (
    "add",
    "mul",
    "maximum",
    "minimum",
    "logical_or",
    "logical_and",
    "logical_xor",
    "bitwise_or",
    "bitwise_and",
    "bitwise_xor",
)


class Join(NamedTuple):
    """How the values of an accumulator's lanes become one."""

    op: str
    lanes: int


@dataclass(slots=True, eq=False, repr=False)
class Block:
    """A loop, an IF, or the whole program (no head), and what runs in it, in order."""

    head: UOp | None
    items: list[UOp | Block] = field(default_factory=list)
    accumulators: dict[UOp, None] = field(default_factory=dict)  # updated here, defined outside
    joins: dict[UOp, Join] = field(default_factory=dict)  # those whose lanes end with this loop

    @property
    def lanes(self) -> int:
        head = self.head
        return head.arg.lanes if head is not None and head.op.name == "range" else 1


@dataclass(slots=True, eq=False, repr=False)
class Nest:
    """The blocks of a program, the updates of every accumulator, and those with a value per lane
    because the loop with lanes is around them."""

    root: Block
    updates: dict[UOp, list[UOp]]
    per_lane: set[UOp]


def nest(program: LoopProgram) -> Nest:
    """The blocks of a program."""
    root = Block(None)
    stack = [root]
    home: dict[UOp, int] = {}  # how many blocks are open where an accumulator is defined
    updates: dict[UOp, list[UOp]] = {}
    inside = False  # whether an accumulator is defined where lanes are open
    for node in program.body:
        name = node.op.name
        if name in ("end_range", "endif"):
            _close(stack, node)
            continue
        if name in ("range", "if"):
            block = Block(node)
            stack[-1].items.append(block)
            stack.append(block)
            continue
        stack[-1].items.append(node)
        if name == "define_acc":
            home[node] = len(stack)
            inside = inside or any(b.lanes > 1 for b in stack)
        elif name == "phi":
            updates.setdefault(node.src[0], []).append(node)
            _note_update(node, stack[home[node.src[0]] :])
    if len(stack) != 1:
        raise InternalError(f"{program.name}: {stack[-1].head!r} is not closed")
    return Nest(root, updates, _per_lane(program, root) if inside else set())


def _close(stack: list[Block], node: UOp) -> None:
    if len(stack) == 1 or stack[-1].head is not node.src[0]:
        raise InternalError(f"{node!r} closes what is not the innermost open block")
    stack.pop()


def _note_update(phi: UOp, blocks: list[Block]) -> None:
    """Enter an update into the blocks between it and its accumulator."""
    acc = phi.src[0]
    for block in blocks:
        block.accumulators[acc] = None
    lanes = max((b.lanes for b in blocks), default=1)
    if lanes > 1:
        loop = next(b for b in blocks if b.head is not None and b.head.op.name == "range")
        join = Join(_join_op(phi), lanes)
        if loop.joins.setdefault(acc, join) != join:
            raise InternalError(f"{acc!r} is joined in two ways")


def _join_op(phi: UOp) -> str:
    acc, value = phi.src[:2]
    if value.op.name in JOINS and acc in value.src:
        return value.op.name
    if value.op.name == "fma" and acc is value.src[2]:
        return "add"
    problem = f"{value.op.name} does not say how the lanes of an accumulator are joined"
    raise InternalError(problem)


def _per_lane(program: LoopProgram, root: Block) -> set[UOp]:
    """Accumulators inside a loop with lanes whose values differ from lane to lane."""
    joined = _joined(root)
    found: set[UOp] = set()
    while True:
        more = _one_round(program, joined, found)
        if more == found:
            return found
        found = more


def _joined(block: Block) -> dict[UOp, UOp]:
    """For every accumulator that is joined, the loop at whose end that is."""
    found = {acc: block.head for acc in block.joins if block.head is not None}
    for item in block.items:
        if isinstance(item, Block):
            found |= _joined(item)
    return found


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
