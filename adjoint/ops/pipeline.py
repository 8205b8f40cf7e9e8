"""Where a value of a model in stages is: nodes that say so, and compute nothing.

`nn.parallel` puts one before the first layer of every stage; the gradient that comes back there is
of the same stage. What may live here: the record. What may not: how a graph is cut at it
(`sharding/stages.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.arg import Arg
from adjoint.ir.axes import same_axes
from adjoint.ir.batch import same_op
from adjoint.ir.derivative import Linear
from adjoint.ir.kernel_kind import Identity
from adjoint.ir.opdef import OpDef, internal
from adjoint.ir.uop import UOp


class StageArg(Arg):
    stage: int


def _to_stage(x: UOp, stage: int) -> UOp:
    return UOp(to_stage, (x,), StageArg(stage))


def _same(src: tuple[UOp, ...], arg: Any) -> tuple[Any, Any]:
    return src[0].shape, src[0].dtype


to_stage: OpDef = internal(
    "to_stage",
    "The same values, at a stage of a pipeline.",
    "primitive",
    arg=StageArg,
    call=_to_stage,
    infer=_same,
    ad=Linear(lambda g, x, stage: to_stage(g, stage)),
    reference=lambda x, stage: np.asarray(x),
    batch=same_op,
    kernel=Identity(),
    axes=same_axes,
)
