"""Module → graph: every instruction as nodes of the library.

What may live here: the walk. What may not: how an opcode is lowered (its record), nor anything that
computes: literals become nodes through a function that the caller gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from adjoint.errors import AdjointError
from adjoint.ir.uop import UOp
from adjoint.module.instruction import Instruction, placed
from adjoint.module.opcode import Literal, Opcode


def lowered(
    instructions: Sequence[Instruction],
    outputs: Iterable[int],
    inputs: Iterable[UOp],
    literal: Literal,
    record_of: Callable[[str], Opcode | None],
) -> list[UOp]:
    """The nodes of the outputs, with these nodes as the inputs, in order."""
    given = iter(inputs)
    nodes: dict[int, UOp] = {}
    for ins in instructions:
        if ins.opcode == "Input":
            nodes[ins.id] = next(given)
            continue
        record = record_of(ins.opcode)
        assert record is not None
        try:
            operands = [nodes[o] for o in ins.operands]
            nodes[ins.id] = record.lower(operands, ins.attrs, ins.type, literal)
        except AdjointError as error:
            raise placed(error, ins.span, f"in %{ins.id} ({ins.opcode})") from None
    return [nodes[o] for o in outputs]
