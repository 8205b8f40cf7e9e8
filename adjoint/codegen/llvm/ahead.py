"""Prefetch: a kernel asks for the next row of memory one iteration of the grid ahead.

A kernel that goes over a row several times reads memory in its first loop alone; in the others
memory is idle. So its loops prefetch the next row, each a share of an operand.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.steps import Steps
from adjoint.codegen.llvm.writer import Writer
from adjoint.ir.dtype import DType
from adjoint.ir.kernel_kind import LOAD, gate_of
from adjoint.ir.loop_tree import Block
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram

_LINE = 64  # bytes of a cache line
_MOST = 1 << 17  # bytes of a row: two of each operand stay near a core


class Ahead(NamedTuple):
    """The prefetch of a load: in the next row, which is `step` elements further in the loop `grid`,
    the share of its loop, one of `shares`.
    """

    step: int
    share: int
    shares: int
    grid: UOp


def rows_ahead(program: LoopProgram, root: Block, steps: Steps) -> dict[UOp, Ahead]:
    """The loads that ask for a row to come."""
    far = {buffer for buffer in program.buffers if buffer.arg.index in program.far}
    rows = next((block for block in root.blocks if block.head is program.grid), None)
    if not far or rows is None or rows.head is None or len(rows.blocks) < 2:
        return {}
    grid, found = rows.head, dict[UOp, Ahead]()
    work = [sum(1 for _ in stage.nodes()) for stage in rows.blocks]
    for loads, share, shares in _asking([_loads(stage, far) for stage in rows.blocks], work):
        found |= {n: Ahead(steps.of(n.src[1], grid) or 0, share, shares, grid) for n in loads}
    inside = [loop for stage in rows.blocks for loop in _loops(stage)]
    return {n: ahead for n, ahead in found.items() if _is_row(n, ahead.step, inside, steps)}


def _loads(block: Block, far: set[UOp]) -> dict[UOp, list[UOp]]:
    """The loads of a block, by operand."""
    found: dict[UOp, list[UOp]] = {}
    for node in block.nodes():
        if node.op.kernel is LOAD and node.src[0] in far and gate_of(node) is None:
            found.setdefault(node.src[0], []).append(node)
    return found


def _asking(loads: list[dict[UOp, list[UOp]]], work: list[int]) -> list[tuple[list[UOp], int, int]]:
    """For each operand the loads of the stages that ask for it, each for its share: of those that
    ask for the fewest others, and of these not the short ones. Operands with the least choice
    choose first."""
    busy = [0] * len(loads)
    buffers = list(dict.fromkeys(buffer for found in loads for buffer in found))
    chosen = []
    for buffer in sorted(buffers, key=lambda b: sum(b in found for found in loads)):
        stages = [i for i, found in enumerate(loads) if buffer in found]
        least = min(busy[i] for i in stages)
        stages = [i for i in stages if busy[i] == least]
        most = max(work[i] for i in stages)
        stages = [i for i in stages if 2 * work[i] >= most]
        shares = 1 << (len(stages).bit_length() - 1)
        for share, number in enumerate(stages[-shares:]):
            busy[number] += 1
            chosen.append((loads[number][buffer], share, shares))
    return chosen


def _loops(block: Block) -> list[UOp]:
    """The loops of a block, itself among them."""
    own = [block.head] if block.head is not None and block.is_loop else []
    return [*own, *(loop for inner in block.blocks for loop in _loops(inner))]


def _is_row(node: UOp, step: int, loops: list[UOp], steps: Steps) -> bool:
    """Whether an iteration of the grid reads a row, and the next row is ahead: a loop that covers
    more goes down a strip of columns, and another thread reads the memory beside it.
    """
    short = all(abs(steps.of(node.src[1], loop) or 0) < abs(step) for loop in loops)
    return short and _LINE <= abs(step) * node.dtype.itemsize <= _MOST


def ask(w: Writer, dtype: DType, buffer: str, index: str, ahead: Ahead, row: str) -> None:
    """Prefetches the lines ahead; these need not exist. `row` is the number of the row that is
    read.
    """
    start = w.emit(f"mul i64 {row}, {ahead.step}")
    inside = w.emit(f"sub i64 {index}, {start}")
    part = w.emit(f"ashr i64 {inside}, {ahead.shares.bit_length() - 1}")
    own = ahead.step + ahead.share * (ahead.step // ahead.shares)
    begin = w.emit(f"add i64 {start}, {own}")
    for first in range(0, max(w.lanes // ahead.shares, 1), max(_LINE // dtype.itemsize, 1)):
        at = w.emit(f"add i64 {begin}, {part}")
        place = w.emit(f"add i64 {at}, {first}")
        pointer = w.emit(f"getelementptr {ty.memory_type(dtype)}, ptr {buffer}, i64 {place}")
        ask_at(w, pointer)


def ask_at(w: Writer, pointer: str) -> None:
    """Prefetches the line of an address, which need not exist, into the second cache."""
    w.effect(w.call("void", "llvm.prefetch.p0", f"ptr {pointer}", "i32 0", "i32 2", "i32 1"))
