"""The scheduler's view of each node: the kind from its record, and the cost of an element.

VIEW ops only move indices; POINTWISE ops compute an element from elements; REDUCE ops loop; the
others are steps of their own: LIBRARY (products), ROUTINE (a library call for the whole node),
WHOLE (kernels for a composite), SPECIAL (kernels with an algorithm), CONTROL, HOST (NumPy); MEMORY
ops reinterpret the bytes of their operand.
"""

from __future__ import annotations

from math import prod

from adjoint.ir import axes
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
    Routine,
    View,
    Whole,
    kernel_of,
)
from adjoint.ir.uop import UOp

LEAF, VIEW, POINTWISE, REDUCE = Leaf.step, View.step, Pointwise.step, Reduce.step
LIBRARY, ROUTINE, SPECIAL, SORT = Library.step, Routine.step, Algorithm.step, "sort"
WHOLE = Whole.step
CONTROL, HOST, PART, MEMORY = Control.step, Host.step, Part.step, Memory.step


def kind_of(node: UOp) -> str:
    """What kind of step, or part of a kernel, the node's record says it is; contractions are
    LIBRARY, and `strategy.py` says on which targets they are."""
    return kernel_of(node).step


def summed_size(node: UOp) -> int:
    """How many products a contraction adds up for each element."""
    spec = axes.parse(node.arg.spec)
    sizes = dict(zip(spec.lhs, node.src[0].shape, strict=True))
    return prod(sizes[c] for c in spec.summed)


def product_count(node: UOp) -> int:
    """How many products a contraction adds up in all, with the sizes that it has now."""
    spec = axes.parse(node.arg.spec)
    pairs = zip(spec.terms, node.src, strict=True)
    sizes = {c: int(n) for term, x in pairs for c, n in zip(term, x.shape, strict=True)}
    return prod(sizes.values())


def weight(node: UOp) -> int:
    """The cost of the op itself, for one element."""
    return getattr(node.op.kernel, "cost", 1)
