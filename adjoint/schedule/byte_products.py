"""Products of 8-bit integers by a library that accumulates in 32 bits.

Before: contract(cast(a), cast(b)), a and b int8.
After: finished_product(a, b) of int32, over rows and columns that are contiguous along the summed
axis, in whole groups of 16 bytes, as the library requires; other layouts are copied first.

No sum is large enough to wrap around, so the bits are those of the integers. The library takes only
int8 times int8; uint8 is left to loops.
"""

from __future__ import annotations

from adjoint.ir.dtype import dtypes
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.ops.finished import FinishedArg, finished_product
from adjoint.ops.logic import copied
from adjoint.ops.movement import padded
from adjoint.schedule.classify import summed_size
from adjoint.schedule.exact_products import narrow_operands
from adjoint.schedule.layout import strides_over
from adjoint.schedule.matrix_form import as_matrices
from adjoint.schedule.strategy import library_takes
from adjoint.target import Target

_GROUP = 16  # numbers that are read at once
_LARGEST = 1 << 14  # of a product of two bytes
_MOST = (1 << 31) // _LARGEST  # of which a sum may be made


def bytes_by_library(node: UOp, target: Target) -> UOp | None:
    """contract(a, b) of int8 = the library's product of them, cast to the dtype of the sums"""
    if not node.dtype.is_int or not library_takes(dtypes.int8, target):
        return None
    found = narrow_operands(node, (dtypes.int8,))
    if found is None or varies(*node.shape, *node.src[0].shape):
        return None
    if not target.limits.loop_products < summed_size(node) < _MOST:
        return None
    least = target.limits.batched_elements
    return as_matrices(node.arg.spec, found, _product, False, least).cast(node.dtype)


def _product(left: UOp, right: UOp, spec: str) -> UOp:
    sides = [_along(left), _along(right.permute([0, 2, 1])).permute([0, 2, 1])]
    return finished_product(sides, FinishedArg(spec, dtypes.int32, 1.0, False, ()))


def _along(x: UOp) -> UOp:
    """Rows of whole groups, each from its own 16 bytes on."""
    missing = -x.shape[2] % _GROUP
    if missing:
        return copied(padded(x, [0, 0, 0], [0, 0, missing]))
    strides = strides_over(x)
    lies = strides is not None and strides[2] == 1 and not any(n % _GROUP for n in strides[:2])
    return x if lies else copied(x)
