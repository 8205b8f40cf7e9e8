"""The reference device: a NumPy interpreter of the graph, the semantics of record.

Every primitive is run by the NumPy function in its record; composites have been expanded before.
float16 and bfloat16 are computed in float32 and rounded once per op. What may live here: the
interpreter. What may not: the meaning of any op.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.errors import AdjointError
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.opdef import attributes
from adjoint.ir.uop import UOp

Array = np.ndarray[Any, Any]
_NARROW = (dtypes.float16, dtypes.bfloat16)


Run = Callable[[Any, list[Any]], list[Any]]  # a Function on arrays


def evaluate(node: UOp, operands: list[Any], run: Run) -> Any:
    """The value of one primitive node from the values of its sources."""
    record = node.op
    extra = {"run": run} if record.calls else {}
    if record.widen:
        operands = [_widen(x, s.dtype) for x, s in zip(operands, node.src, strict=True)]
    try:
        with np.errstate(all="ignore"):
            value = record.reference(*operands, **attributes(node), **extra)
            return _shaped(value, node)
    except AdjointError as error:
        raise _located(error, node) from None


def _widen(x: Any, dtype: DType) -> Any:
    return x.astype(np.float32) if dtype in _NARROW else x


def _shaped(value: Any, node: UOp) -> Any:
    if isinstance(node.dtype, tuple):
        return tuple(
            np.asarray(v).astype(d.np, copy=False).reshape(s)
            for v, d, s in zip(value, node.dtype, node.shape, strict=True)
        )
    return np.asarray(value).astype(node.dtype.np, copy=False).reshape(node.shape)


def _located(error: AdjointError, node: UOp) -> AdjointError:
    """The same error, naming the op, its operands and the user's line."""
    operands = [(f"operand {i}", s) for i, s in enumerate(node.src)]
    place = f" (built by {node.origin})" if node.origin is not None else ""
    op = node.op.name
    return type(error)(error.code, error.problem + place, op=op, operands=operands, help=error.help)
