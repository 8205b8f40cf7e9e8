"""The loop program of a group: the loops are chosen, then written by the lowering for them."""

from __future__ import annotations

from dataclasses import replace

from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.origin import origin_scope
from adjoint.ir.sizes import lowest
from adjoint.ir.uop import UOp
from adjoint.kernel.column_sums import ColumnLowering
from adjoint.kernel.elements import INDICES, WideIndexError
from adjoint.kernel.loop_stages import LoopStages, frame_of
from adjoint.kernel.loop_strategy import Choice
from adjoint.kernel.lower import Lowering
from adjoint.kernel.product_order import choice_of
from adjoint.kernel.team_columns import TeamColumns, is_for_team_columns
from adjoint.kernel.team_kernel import TeamKernel
from adjoint.kernel.team_rows import TeamRows, is_for_team_rows
from adjoint.kernel.team_tiles import TeamTiles, is_for_team_tiles
from adjoint.stages import Group, LoopProgram
from adjoint.target import Target

_LITTLE = 4  # times as much is written as is read, where next to nothing is read
_MADE = 2  # times as long: caches take what is made of little at twice the speed of memory

_TEAMS = (
    (is_for_team_rows, TeamRows),
    (is_for_team_columns, TeamColumns),
    (is_for_team_tiles, TeamTiles),
)


def lower(group: Group, name: str, target: Target) -> tuple[LoopProgram, UOp | None]:
    """The program, and the node whose index it checks if it has a flag."""
    frame = frame_of(group)
    choice = choice_of(frame, target)
    with origin_scope(group.outputs[0][0].raw_origin):  # else each node looks for the user's frame
        try:
            lowering = _lowering(frame, choice, target, INDICES[target.index_bits])
            program, node = lowering.program(name)
        except WideIndexError:
            program, node = _lowering(frame, choice, target, dtypes.int64).program(name)
    return replace(program, far=_far(program, target.far_bytes)), node


def _lowering(
    frame: LoopStages, choice: Choice, target: Target, index_dtype: DType
) -> Lowering | TeamKernel:
    """What writes the loops that were chosen."""
    for holds, team in _TEAMS:
        if holds(frame, choice, target):
            return team(frame, choice, target, index_dtype)
    kind = ColumnLowering if choice.columns else Lowering
    return kind(frame, choice, index_dtype)


def _far(program: LoopProgram, least: int) -> tuple[int, ...]:
    """The buffers that are so long that a cache keeps none of one until it is read again."""
    size = {b.arg.index: lowest(b.arg.size) * b.arg.dtype.itemsize for b in program.buffers}
    written = {buffer.arg.index for buffer in program.buffers if buffer.arg.mutable}
    made = sum(size[i] for i in written)
    from_little = _LITTLE * (sum(size.values()) - made) <= made
    most = {i: _MADE * least if from_little and i in written else least for i in size}
    return tuple(i for i, nbytes in size.items() if nbytes >= most[i])
