"""Rows of memory that are asked for one turn of a loop before they are read.

A kernel that goes over a row several times reads memory in its first loop alone; in the others
memory has nothing to do. So each loop asks for the next row of one operand, the last for that which
is read there alone. Where rows are read a piece at a time, a piece asks for that of the next row.
"""

from __future__ import annotations

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


def rows_ahead(program: LoopProgram, root: Block, steps: Steps) -> dict[UOp, int]:
    """The loads that ask for a row to come, and how many elements further it lies."""
    far = {buffer for buffer in program.buffers if buffer.arg.index in program.far}
    if not far:
        return {}
    found = _pieces(root, far, steps)
    grid = next((block for block in root.blocks if block.head is program.grid), None)
    if grid is None or grid.head is None or len(grid.blocks) < 2:
        return found
    for loads in _asking([_loads(stage, far) for stage in grid.blocks]):
        found |= {node: steps.of(node.src[1], grid.head) or 0 for node in loads}
    return {node: step for node, step in found.items() if _is_row(node, step)}


def _loads(block: Block, far: set[UOp]) -> dict[UOp, list[UOp]]:
    """The loads of a block, by operand."""
    found: dict[UOp, list[UOp]] = {}
    for node in block.nodes():
        if node.op.kernel is LOAD and node.src[0] in far and gate_of(node) is None:
            found.setdefault(node.src[0], []).append(node)
    return found


def _asking(loads: list[dict[UOp, list[UOp]]]) -> list[list[UOp]]:
    """For each operand the loads of one stage: of the last of those that ask for the fewest others;
    operands with the least choice choose first."""
    busy = [0] * len(loads)
    buffers = list(dict.fromkeys(buffer for found in loads for buffer in found))
    chosen = []
    for buffer in sorted(buffers, key=lambda b: sum(b in found for found in loads)):
        number = -min((busy[i], -i) for i, found in enumerate(loads) if buffer in found)[1]
        busy[number] += 1
        chosen.append(loads[number][buffer])
    return chosen


def _pieces(block: Block, far: set[UOp], steps: Steps) -> dict[UOp, int]:
    """Loads in a loop with lanes whose next piece of memory is not where this one ends."""
    found: dict[UOp, int] = {}
    head = block.head
    for inner in block.blocks:
        found |= _pieces(inner, far, steps)
        lane = inner.head
        if inner.lanes == 1 or lane is None or head is None or not block.is_loop or head.arg.grid:
            continue
        for node in [n for nodes in _loads(inner, far).values() for n in nodes]:
            step = steps.of(node.src[1], head)
            if step is not None and abs(step) > lane.arg.size:
                found[node] = step
    return found


def _is_row(node: UOp, step: int) -> bool:
    return _LINE <= abs(step) * node.dtype.itemsize <= _MOST


def ask(w: Writer, dtype: DType, buffer: str, index: str, step: int) -> None:
    """Memory is asked for the lines that lie so many elements further; there may be nothing."""
    for first in range(0, w.lanes, max(_LINE // dtype.itemsize, 1)):
        at = w.emit(f"add i64 {index}, {step + first}")
        pointer = w.emit(f"getelementptr {ty.memory_type(dtype)}, ptr {buffer}, i64 {at}")
        w.effect(w.call("void", "llvm.prefetch.p0", f"ptr {pointer}", "i32 0", "i32 2", "i32 1"))
