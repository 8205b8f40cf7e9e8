"""The kernels of ops with an algorithm: a table from algorithm to builder.

A builder takes a node whose operands are contiguous row-major buffers, a target, and a name for the
kernel (by default made from op and shape). Buffers of the program: results, the operands that are
`read_by` the node in order, then what `AlgorithmKernel` lists.
"""

from __future__ import annotations

from collections.abc import Callable

from adjoint.ir.kernel_kind import kernel_of
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import AlgorithmKernel, AlgorithmSteps
from adjoint.kernel.algorithms.scan import build_scan
from adjoint.kernel.algorithms.scatter import build_scatter
from adjoint.kernel.algorithms.sort import build_argsort
from adjoint.kernel.algorithms.team_scan import build_team_scan
from adjoint.kernel.algorithms.team_scatter import build_team_scatter
from adjoint.kernel.algorithms.team_sort import build_team_sort
from adjoint.target import Target

BUILDERS: dict[str, Callable[[UOp, Target, str], AlgorithmKernel]] = {
    "scan": build_scan,
    "scatter": build_scatter,
    "sort": build_argsort,
}


TEAMS: dict[str, Callable[[UOp, Target], AlgorithmSteps | None]] = {
    "scan": build_team_scan,
    "scatter": build_team_scatter,
    "sort": build_team_sort,
}


def build_steps(node: UOp, target: Target) -> AlgorithmSteps | None:
    """The kernels of a node, if a team of threads is faster than a thread for each row."""
    builder = TEAMS.get(kernel_of(node).name)  # type: ignore[attr-defined]
    return None if builder is None else builder(node, target)


def build(node: UOp, target: Target, name: str = "") -> AlgorithmKernel:
    """The kernel of a node whose record names an algorithm of the table."""
    return BUILDERS[kernel_of(node).name](node, target, name)  # type: ignore[attr-defined]
