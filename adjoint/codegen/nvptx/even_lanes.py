"""Integers whose lanes within a thread differ predictably.

The first lane of a thread has a number that is a multiple of the number of lanes per thread. So
dividing by a multiple of that gives all lanes the same quotient, the remainder increases by one
from lane to lane, and all lanes are on one side of a limit that is such a multiple.
"""

from __future__ import annotations

from adjoint.codegen.llvm.writer import Value
from adjoint.codegen.nvptx.alignment import Multiples
from adjoint.ir.uop import UOp

_DIVISIONS = {"floordiv": ("udiv", 0), "mod": ("urem", 1)}


def even_text(
    node: UOp, operands: list[Value], lanes: int, multiples: Multiples
) -> tuple[str, int] | None:
    """The instruction on the first lane that does for all, and the stride of its result."""
    if node.op.name in _DIVISIONS:
        instruction, stride = _DIVISIONS[node.op.name]
    elif node.op.name == "lt":
        instruction, stride = "icmp slt", 0
    else:
        return None
    a, by = operands
    if a.stride != 1 or by.stride != 0 or not node.src[0].dtype.is_int:
        return None
    if multiples.of(node.src[0]) % lanes or multiples.of(node.src[1]) % lanes:
        return None
    kind = f"i{node.src[0].dtype.bits}"
    return f"{instruction} {kind} {a.name}, {by.name}", stride
