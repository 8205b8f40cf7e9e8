"""Which scatters use atomic operations on memory.

What may live here: the rule, and the dtype of what is joined, which `atomic_scatter.py` and its
callers share.
"""

from __future__ import annotations

from math import prod

from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.exactness import deterministic
from adjoint.ir.kernel_kind import Algorithm
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp

# Numbers of an update. An atomic addition takes about as long as 30 bytes of memory; sorting costs
# an update as much as 130 bytes, and its numbers then little more than their own.
_WIDEST = 8
_FEWEST, _MOST = 64, 1 << 30  # updates, and numbers


def goes_by_atomics(node: UOp) -> bool:
    """Whether threads join the updates with their places in any order.

    Integers have one result. Sums of floats have others from run to run, so they must be allowed;
    extremes of floats would need an order of NaNs and zeros.
    """
    kernel = node.op.kernel
    if type(kernel) is not Algorithm or kernel.name != "scatter":
        return False
    if varies(*node.shape, *(n for s in node.src for n in s.shape)):
        return False
    join, (x, *indices, updates) = kernel.join(node), node.src
    if node.dtype.is_float:
        joined = join == "add" and not deterministic.allowed()
    else:
        joined = node.dtype.is_int and join in ("add", "maximum", "minimum")
    each = prod(n for axis, n in enumerate(x.shape) if axis not in node.arg.axes)
    enough = _FEWEST <= indices[0].size and 0 < updates.size < _MOST and 0 < node.size < _MOST
    return joined and enough and each <= _WIDEST and updates.dtype is node.dtype


def joined_as(dtype: DType) -> DType:
    """The dtype in memory that values are joined in: narrow floats are rounded once."""
    if dtype.itemsize >= 4:
        return dtype
    return {"f": dtypes.float32, "i": dtypes.int32, "u": dtypes.uint32}[dtype.kind]
