"""A hand-built program → one whose loops are done by several threads of the machine, and by lanes.

    before: for i: store(b0, i, x)          after: grid i, 8 lanes: store(b0, i, x)

Both are for loops whose turns do not meet: what one of them writes, no other reads or writes. Then
their order does not matter, and a value is computed as it was before, so the bits are the same. The
outermost loop is divided among threads. Lanes go to loops along which memory is contiguous; a loop
that updates a register keeps its order and has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from adjoint.handbuilt.linear_index import linear, steps_of, without
from adjoint.handbuilt.written import cost_of
from adjoint.ir.dtype import DType
from adjoint.ir.kernel_kind import ACCUMULATOR, IF, LOAD, LOCAL, PHI, RANGE, STORE
from adjoint.ir.loop_tree import Block, nested
from adjoint.ir.uop import UOp, rebuild
from adjoint.kernel.algorithms.loops import AlgorithmKernel, lanes_for
from adjoint.target import Target


@lru_cache(maxsize=1024)
def shared_out(kernel: AlgorithmKernel, target: Target) -> AlgorithmKernel:
    """The kernel for many threads and lanes; all of them may write its flag."""
    program = kernel.program
    flag = program.buffers[-1] if kernel.flag else None
    root = nested(program.body)
    first = root.items[0] if len(root.items) == 1 else None
    alone = isinstance(first, Block) and _turns_are_apart(first, flag)
    whole = first if isinstance(first, Block) and alone else root
    lanes = dict(_widened(root, flag, target))
    new: dict[UOp, UOp] = {}
    for node in program.body:
        if node is whole.head or node in lanes:
            arg = node.arg.replace(grid=node is whole.head, lanes=lanes.get(node, 1))
            new[node] = UOp(node.op, (), arg)
        else:
            new[node] = rebuild(node, tuple(new.get(s, s) for s in node.src))
    grid = None if whole.head is None else new[whole.head]
    body = tuple(new[n] for n in program.body)
    return replace(kernel, program=replace(program, body=body, grid=grid, cost=cost_of(whole)))


# ---- turns that do not meet


def _turns_are_apart(block: Block, flag: UOp | None, around: tuple[UOp, ...] = ()) -> bool:
    """Whether this is a loop, and no iteration reads or writes what another writes, with the
    enclosing counters fixed.
    """
    outer = block.head
    if outer is None or outer.op.kernel is not RANGE:
        return False
    accesses = _accesses(block, flag)
    own = {n for n in block.nodes() if n.op.kernel is LOCAL}
    written = {n.src[0] for n in accesses if n.op.kernel is STORE} - own
    steps: dict[UOp, tuple[int, dict[UOp, int]]] = {}
    spans: dict[UOp, tuple[int, int]] = {}
    for memory, index in (n.src[:2] for n in accesses if n.src[0] in written):
        found = linear(index)
        moves = {} if found is None else steps_of(found)
        by = moves.get(outer, 0)
        if found is None or not by:
            return False
        still = {n: moves[n] for n in around if n in moves}
        if steps.setdefault(memory, (by, still)) != (by, still):
            return False
        lo, hi = without(found, (outer, *around)).bounds()
        before = spans.get(memory, (lo, hi))
        spans[memory] = min(before[0], lo), max(before[1], hi)
    return all(hi - lo < abs(steps[m][0]) for m, (lo, hi) in spans.items())


def _accesses(block: Block, flag: UOp | None) -> list[UOp]:
    """Loads and stores, without those of the flag."""
    nodes = block.nodes()
    return [n for n in nodes if n.op.kernel in (LOAD, STORE) and n.src[0] is not flag]


# ---- lanes


def _widened(
    block: Block, flag: UOp | None, target: Target, around: tuple[UOp, ...] = ()
) -> Iterator[tuple[UOp, int]]:
    """The loops whose iterations run in lanes, and how many of them; never one inside another."""
    for item in block.items:
        if not isinstance(item, Block) or item.head is None:
            continue
        head = item.head
        lanes = _lanes_of(item, flag, target, around) if head.op.kernel is RANGE else 1
        if lanes > 1:
            yield head, lanes
        else:
            yield from _widened(item, flag, target, (*around, head))


def _lanes_of(block: Block, flag: UOp | None, target: Target, around: tuple[UOp, ...]) -> int:
    if not (_is_straight(block) and _is_contiguous(block, flag)):
        return 1
    if not _turns_are_apart(block, flag, around):
        return 1
    assert block.head is not None
    kinds: list[DType] = [n.src[0].arg.dtype for n in _accesses(block, flag)]
    return lanes_for(block.head.arg.size, max(kinds, key=lambda d: d.itemsize), target)


def _is_straight(block: Block) -> bool:
    """Whether there are no branches inside, no memory private to an iteration, and no accumulator
    that outlives an iteration.
    """
    own = {n for n in block.nodes() if n.op.kernel in (ACCUMULATOR, LOCAL)}
    local = any(n.op.kernel is LOCAL for n in own)
    carried = any(n.op.kernel is PHI and n.src[0] not in own for n in block.nodes())
    return not local and not carried and not _branches(block)


def _branches(block: Block) -> bool:
    inner = [item for item in block.items if isinstance(item, Block)]
    return any(s.head is None or s.head.op.kernel is IF or _branches(s) for s in inner)


def _is_contiguous(block: Block, flag: UOp | None) -> bool:
    """Whether neighbouring iterations write neighbouring elements, and read neighbouring or equal
    ones.
    """
    steps, head = set(), block.head
    assert head is not None
    for node in _accesses(block, flag):
        found = linear(node.src[1])
        steps.add((node.op.name, None if found is None else steps_of(found).get(head, 0)))
    return ("store", 1) in steps and steps <= {("store", 1), ("load", 1), ("load", 0)}
