"""What the scheduler makes of each op: the one table of kinds and costs.

VIEW ops only move indices; POINTWISE ops compute an element from elements; REDUCE ops loop; the
others are steps of their own: LIBRARY, SPECIAL (kernels with an algorithm), CONTROL, HOST (NumPy);
MEMORY ops are another reading of the bytes of their operand.
"""

from __future__ import annotations

from math import prod
from typing import Any

from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.uop import UOp
from adjoint.kernel.decompose import KERNEL_OPS
from adjoint.ops.cost import DEAR

LEAF, VIEW, POINTWISE, REDUCE = "leaf", "view", "pointwise", "reduce"
LIBRARY, SPECIAL, SORT = "library", "special", "sort"
CONTROL, HOST, PART, MEMORY = "control", "host", "part", "memory"

_VIEWS = frozenset(
    {"reshape", "permute", "expand", "flip", "shrink", "pad_constant", "window", "cat", "wait"}
)
_REDUCES = frozenset({"reduce_sum", "reduce_prod", "max", "min", "any", "all", "fold"})
_SPECIAL = frozenset(
    {"scan_sum", "scan_prod", "scan_max", "scan_min", "scatter", "scatter_add", "argsort"}
)
_CONTROL = frozenset({"branch", "loop", "while"})
_WEIGHTS = {"true_div": 3, "sqrt": 3, "rsqrt": 4, "reciprocal": 3, "gather": 2}
LONGEST_SUM_OF_LOOPS = 8  # products: 4096 x 8 x 4096 takes 5.2 ms in loops, 7.2 in the library
CHEAP = 8  # an expression of at most this cost is computed again rather than stored


def kind_of(node: UOp) -> str:
    """What kind of step, or part of a kernel, the node is."""
    name = node.op.name
    if name in ("input", "buffer", "const"):
        return LEAF
    if name == "part":
        return PART
    if name in _CONTROL:
        return CONTROL
    if name == "custom_kernel":
        return SPECIAL
    if name == "bitcast" and node.dtype.itemsize != node.src[0].dtype.itemsize:
        return MEMORY
    if not _in_kernels(node):
        return HOST
    if name == "scan_sum" and counts(node):
        return POINTWISE
    for kind, names in ((VIEW, _VIEWS), (REDUCE, _REDUCES), (SPECIAL, _SPECIAL)):
        if name in names:
            return kind
    if name == "contract":
        return LIBRARY if uses_library(node) else REDUCE
    if name == "gather" or name in KERNEL_OPS:
        return POINTWISE
    return HOST


def _in_kernels(node: UOp) -> bool:
    kinds = [node.dtype, *(s.dtype for s in node.src)]
    return all(isinstance(k, DType) and not k.is_complex for k in kinds)


_REARRANGED = frozenset({"reshape", "expand", "permute", "flip", "shrink"})


def is_filled(node: UOp) -> bool:
    """Whether every element is the same constant."""
    return _below_views(node).op.name == "const"


def filled_value(node: UOp) -> Any:
    """The constant that fills a node, None if none does."""
    base = _below_views(node)
    return base.arg.value if base.op.name == "const" else None


def _below_views(node: UOp) -> UOp:
    while node.op.name in _REARRANGED:
        node = node.src[0]
    return node


def counts(node: UOp) -> bool:
    """Whether a running sum counts: steps of one integer, none of which leaves an index's dtype.

    A float's running sum is rounded at every step: it is no multiple of how many there are.
    """
    x = node.src[0]
    if not node.dtype.is_int or not is_filled(x):
        return False
    return abs(int(filled_value(x))) * node.shape[node.arg.axis] <= dtypes.int64.max


def uses_library(node: UOp) -> bool:
    """Strategy for a contraction: BLAS for floats, loops for integers and for short sums, where
    they are faster and have the same bits for any number of rows."""
    if node.dtype not in (dtypes.float32, dtypes.float64):
        return False
    return prod(node.shape) > 0 and summed_size(node) > LONGEST_SUM_OF_LOOPS


def summed_size(node: UOp) -> int:
    """How many products a contraction adds up for each element."""
    left, right, out = _terms(node)
    sizes = dict(zip(left, node.src[0].shape, strict=True))
    return prod(sizes[c] for c in left if c in right and c not in out)


def _terms(node: UOp) -> tuple[str, str, str]:
    sides, _, out = node.arg.spec.partition("->")
    left, _, right = sides.partition(",")
    return left, right, out


def weight(node: UOp) -> int:
    """The cost of the op itself, for one element."""
    return 12 if node.op.name in DEAR else _WEIGHTS.get(node.op.name, 1)


def is_dear(node: UOp) -> bool:
    """Whether one element of it is worth keeping."""
    return node.op.name in DEAR
