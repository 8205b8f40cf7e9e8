"""Kernels that add products: their loops are chosen for the actual sizes.

The order in which such a kernel adds depends on its loops. So its lanes are chosen for the actual
size of a loop, not, as in other kernels, for all sizes that the loop can have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adjoint.ir.kernel_kind import reduce_of
from adjoint.ir.opdef import OPS
from adjoint.ir.plain_sizes import plain_value, with_plain_sizes
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.kernel.loop_stages import LoopCounters, LoopStages, adds, frame_of
from adjoint.kernel.loop_strategy import Choice, choose, reads_windows
from adjoint.stages import Group
from adjoint.target import Target


def choice_of(frame: LoopStages, target: Target) -> Choice:
    """The choice for a kernel."""
    group = frame.group
    some = any(_follows_loops(n) and not reads_windows(n) for n, _, _ in group.reduced)
    if not varies(*group.sizes) or not some:
        return choose(frame, target)
    return replace(choose(frame_of(_plain(group)), target), exact=True)


def orders_of(group: Group, target: Target) -> list[Any]:
    """In which order the kernel of a group adds up each of its products."""
    if not any(_follows_loops(node) for node, _, _ in group.reduced):
        return []
    frame = frame_of(_plain(group))
    choice = choose(frame, target)
    return [
        _order(node, frame, choice, number)
        for number, stage in enumerate(frame.stages)
        for node, _, _ in stage.reductions
        if _follows_loops(node)
    ]


def _follows_loops(node: UOp) -> bool:
    """Whether floats are added or multiplied, and not in the order of the tree."""
    joined = reduce_of(node).joining(node.dtype)[0] in ("add", "mul")
    return bool(node.dtype.is_float) and joined and not adds(node)


def _order(node: UOp, frame: LoopStages, choice: Choice, number: int) -> tuple[Any, ...]:
    stage = frame.stages[number]
    lengths = LoopCounters.of(stage.sizes, choice.stages[number]).sizes
    lanes = (choice.width, choice.last[number]) if choice.lanes == "inner" else ()
    if not lanes:
        lengths = tuple(n for n in stage.sizes if n != 1)
    return node.op.name, node.arg, node.dtype, stage.adds, lengths, lanes


def _plain(group: Group) -> Group:
    """The group with plain sizes."""
    shapes = [plain_value(n.shape) for n in group.inputs]
    rows = zip(group.inputs, shapes, strict=True)
    given = {n: OPS["input"](f"in{i}", s, n.dtype, n.device) for i, (n, s) in enumerate(rows)}
    new = with_plain_sizes([node for node, _ in group.outputs], given)
    return Group(
        tuple((new[node], index) for node, index in group.outputs),
        tuple(given.values()),
        plain_value(group.sizes),
        group.outer,
        tuple((new[node], index, loops) for node, index, loops in group.reduced),
    )
