"""The reference device: a NumPy interpreter of the graph, which defines the semantics.

The NumPy function in its record computes each primitive; composites have been expanded before.
float16 and bfloat16 are computed in float32 and rounded once per op.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from adjoint.errors import AdjointError, CommunicationError, DeviceError
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.opdef import attributes
from adjoint.ir.uop import UOp
from adjoint.ops.indexing import RangeError
from adjoint.runtime.blas import on_one_thread

Array = np.ndarray[Any, Any]
_NARROW = (dtypes.float16, dtypes.bfloat16)


Run = Callable[[Any, list[Any]], list[Any]]  # a Function on arrays


def evaluate(node: UOp, operands: list[Any], run: Run) -> Any:
    """The value of one primitive node from the values of its sources."""
    extra = {"run": run} if node.op.takes_functions else {}
    try:
        with np.errstate(all="ignore"):
            return computed(node, operands, extra)
    except AdjointError as error:
        raise _located(error, node) from None
    except MemoryError:
        raise _out_of_memory(node) from None


def computed(node: UOp, operands: list[Any], extra: Any = MappingProxyType({})) -> Any:
    """`evaluate` for a caller that reports the origin of errors and has silenced NumPy's."""
    record = node.op
    if record.computes_in_f32:
        pairs = zip(operands, node.src, strict=True)
        operands = [x.astype(np.float32) if s.dtype in _NARROW else x for x, s in pairs]
    if record.uses_blas:
        value = on_one_thread(record.reference, operands, {**attributes(node), **extra})
        return _shaped(value, node)
    return _shaped(record.reference(*operands, **attributes(node), **extra), node)


def _shaped(value: Any, node: UOp) -> Any:
    if isinstance(node.dtype, tuple):
        return tuple(
            np.asarray(v).astype(d.np, copy=False).reshape(s)
            for v, d, s in zip(value, node.dtype, node.shape, strict=True)
        )
    return np.asarray(value).astype(node.dtype.np, copy=False).reshape(node.shape)


def _out_of_memory(node: UOp) -> DeviceError:
    count = node.size * node.dtype.itemsize if isinstance(node.dtype, DType) else "its"
    operands = [("result", node), *((f"operand {i}", s) for i, s in enumerate(node.src))]
    fix = "use a smaller shape or dtype, or drop tensors that are not needed"
    problem = f"no memory for {count} bytes"
    return DeviceError("E6004", problem, op=node.op.name, operands=operands, help=fix)


def _located(error: AdjointError, node: UOp) -> AdjointError:
    """The same error, naming the op, its operands and the user's line."""
    operands = [(f"operand {i}", s) for i, s in enumerate(node.src)]
    place = f" (built by {node.origin})" if node.origin is not None else ""
    op = node.op.name
    if isinstance(error, CommunicationError):
        return error.placed(op, place)  # its operands are members, and what they call
    if isinstance(error, RangeError):
        error = error.as_given(node)
    return type(error)(error.code, error.problem + place, op=op, operands=operands, help=error.help)
