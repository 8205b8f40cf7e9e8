"""What the scheduler makes of each node: the kind that its record says, and what an element costs.

VIEW ops only move indices; POINTWISE ops compute an element from elements; REDUCE ops loop; the
others are steps of their own: LIBRARY, SPECIAL (kernels with an algorithm), CONTROL, HOST (NumPy);
MEMORY ops are another reading of the bytes of their operand.
"""

from __future__ import annotations

from math import prod

from adjoint.ir import axes
from adjoint.ir.dtype import dtypes
from adjoint.ir.kernel_kind import (
    Algorithm,
    Control,
    Host,
    Leaf,
    Library,
    Memory,
    Part,
    Pointwise,
    Reduce,
    View,
    kernel_of,
)
from adjoint.ir.uop import UOp

LEAF, VIEW, POINTWISE, REDUCE = Leaf.step, View.step, Pointwise.step, Reduce.step
LIBRARY, SPECIAL, SORT = Library.step, Algorithm.step, "sort"
CONTROL, HOST, PART, MEMORY = Control.step, Host.step, Part.step, Memory.step

LONGEST_SUM_OF_LOOPS = 8  # products: 4096 x 8 x 4096 takes 5.2 ms in loops, 7.2 in the library
CHEAP = 8  # an expression of at most this cost is computed again rather than stored


def kind_of(node: UOp) -> str:
    """What kind of step, or part of a kernel, the node is."""
    step = kernel_of(node).step
    return REDUCE if step == LIBRARY and not uses_library(node) else step


def uses_library(node: UOp) -> bool:
    """Strategy for a contraction: BLAS for floats, loops for integers and for short sums, where
    they are faster and have the same bits for any number of rows."""
    if node.dtype not in (dtypes.float32, dtypes.float64):
        return False
    return prod(node.shape) > 0 and summed_size(node) > LONGEST_SUM_OF_LOOPS


def summed_size(node: UOp) -> int:
    """How many products a contraction adds up for each element."""
    spec = axes.parse(node.arg.spec)
    sizes = dict(zip(spec.lhs, node.src[0].shape, strict=True))
    return prod(sizes[c] for c in spec.summed)


def weight(node: UOp) -> int:
    """The cost of the op itself, for one element."""
    return getattr(node.op.kernel, "cost", 1)
