"""The kernels that are no plain loop of an expression: a table from algorithm to builder.

A builder takes a node whose operands are contiguous row-major buffers, a target, and a name for the
kernel (by default made from op and shape). Buffers of the program: results, the operands that are
`read_by` the node in order, then what `AlgorithmKernel` lists.
"""

from __future__ import annotations

from collections.abc import Callable

from adjoint.ir.kernel_kind import kernel_of
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import AlgorithmKernel
from adjoint.kernel.algorithms.scan import build_scan
from adjoint.kernel.algorithms.scatter import build_scatter
from adjoint.kernel.algorithms.sort import build_argsort
from adjoint.target import Target

BUILDERS: dict[str, Callable[[UOp, Target, str], AlgorithmKernel]] = {
    "scan": build_scan,
    "scatter": build_scatter,
    "sort": build_argsort,
}


def build(node: UOp, target: Target, name: str = "") -> AlgorithmKernel:
    """The kernel of a node whose record names an algorithm of the table."""
    return BUILDERS[kernel_of(node).name](node, target, name)  # type: ignore[attr-defined]
