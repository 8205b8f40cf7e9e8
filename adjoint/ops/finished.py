"""A product of matrices with what a library does to its elements before it writes them.

What may live here: the op. Which products become such ones is decided in `schedule/finishes.py`;
nodes of it are made there alone, over matrices: (batch, row, summed) and (batch, summed, column).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.arg import Arg
from adjoint.ir.derivative import NotDifferentiable
from adjoint.ir.dtype import DType
from adjoint.ir.kernel_kind import Finished, Reduce
from adjoint.ir.opdef import OPS, OpDef, internal
from adjoint.ir.uop import UOp
from adjoint.ops.contract import contract_map, contract_sizes, contracted_shape

KEPT = "kept"  # a step: what is there so far is a second result


class FinishedArg(Arg):
    spec: str  # "bmk,bkn->bmn"
    dtype: DType  # of the result
    factor: float
    adds: bool  # a matrix, the third operand
    steps: tuple[str, ...]  # "bias" and "gelu gradient" have one more operand each


def _type(src: tuple[UOp, ...], arg: FinishedArg) -> tuple[Any, Any]:
    shape = contracted_shape(arg.spec, src[0].shape, src[1].shape)
    return ((shape, shape), (arg.dtype, arg.dtype)) if KEPT in arg.steps else (shape, arg.dtype)


def _reference(a: Any, b: Any, *rest: Any, **attributes: Any) -> Any:
    arg, operands = FinishedArg(**attributes), iter([np.asarray(x, np.float64) for x in rest])
    found = np.matmul(a.astype(np.float64), b.astype(np.float64)) * arg.factor
    kept = found = found + next(operands) if arg.adds else found
    for step in arg.steps:
        match step:
            case "bias":
                kept = found = found + next(operands)
            case "relu" | "gelu":
                found = OPS[step].reference(found)
            case "gelu gradient":
                found = found * _slope(next(operands))
    results = tuple(x.astype(arg.dtype.np) for x in (found, kept))
    return results if KEPT in arg.steps else results[0]


def _slope(x: Any) -> Any:
    """The derivative of gelu by way of tanh."""
    root = np.sqrt(2 / np.pi)
    t = np.tanh(root * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x)


finished_product: OpDef = internal(
    "finished_product",
    "A product of matrices, and what is done to its elements before they are written.",
    "primitive",
    call=lambda operands, arg: UOp(finished_product, tuple(operands), arg),
    infer=_type,
    arg=FinishedArg,
    ad=NotDifferentiable("made of products when a program is compiled, behind all derivatives"),
    reference=_reference,
    uses_blas=True,
    opcode=False,
    kernel=Finished(
        "product",
        Reduce("add", lambda dtype: 0, sizes=contract_sizes, index_map=contract_map),
    ),
)
