"""Loads of all iterations of a loop are issued before any is used, so that they overlap.

Only for a loop that is unrolled, has no inner loop, and loads from memory that nothing changes.
"""

from __future__ import annotations

from collections.abc import Collection

from adjoint.ir.kernel_kind import ACCUMULATOR, LOAD, PHI, STORE
from adjoint.ir.loop_tree import Block
from adjoint.ir.uop import UOp

_MOST = 16  # turns, whose loads registers hold


def early_nodes(block: Block, size: int, fixed: Collection[UOp]) -> list[UOp]:
    """The nodes of an iteration that are computed before any iteration continues: loads, and their
    operands; none if that would gain nothing, or change something.
    """
    items = block.items
    if not 1 < size <= _MOST or any(isinstance(item, Block) for item in items):
        return []
    nodes = [item for item in items if isinstance(item, UOp)]
    loads = [n for n in nodes if n.op.kernel is LOAD]
    if not loads or any(n.src[0] not in fixed for n in loads):
        return []
    if not any(n.op.kernel is PHI for n in nodes) or any(n.op.kernel is STORE for n in nodes):
        return []
    return _with_sources(nodes, loads)


def _with_sources(nodes: list[UOp], loads: list[UOp]) -> list[UOp]:
    """The loads and their operands among the nodes; none if one is a running value."""
    needed = set(loads)
    for node in reversed(nodes):
        if node in needed:
            needed.update(node.src)
    if any(n.op.kernel in (ACCUMULATOR, PHI) for n in needed):
        return []
    return [n for n in nodes if n in needed]
