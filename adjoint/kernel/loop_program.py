"""The loop program of a group: the loops are chosen, then written by the lowering for them."""

from __future__ import annotations

from dataclasses import replace

from adjoint.ir.dtype import dtypes
from adjoint.ir.origin import origin_scope
from adjoint.ir.sizes import lowest
from adjoint.ir.uop import UOp
from adjoint.kernel.column_sums import ColumnLowering
from adjoint.kernel.elements import INDICES, WideIndexError
from adjoint.kernel.loop_stages import frame_of
from adjoint.kernel.lower import Lowering
from adjoint.kernel.product_order import choice_of
from adjoint.stages import Group, LoopProgram
from adjoint.target import Target


def lower(group: Group, name: str, target: Target) -> tuple[LoopProgram, UOp | None]:
    """The program, and the node whose index it checks if it has a flag."""
    frame = frame_of(group)
    choice = choice_of(frame, target)
    kind = ColumnLowering if choice.columns else Lowering
    with origin_scope(group.outputs[0][0].raw_origin):  # else each node looks for the user's frame
        try:
            program, node = kind(frame, choice, INDICES[target.index_bits]).program(name)
        except WideIndexError:
            program, node = kind(frame, choice, dtypes.int64).program(name)
    return replace(program, far=_far(program, target.far_bytes)), node


def _far(program: LoopProgram, least: int) -> tuple[int, ...]:
    """The buffers that are so long that a cache keeps none of one until it is read again."""
    arguments = [buffer.arg for buffer in program.buffers]
    return tuple(a.index for a in arguments if lowest(a.size) * a.dtype.itemsize >= least)
