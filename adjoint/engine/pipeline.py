"""Graph → schedule, as a literal list of passes.

    expand      composites become their bodies
    split       complex arithmetic becomes real (schedule/split_complex.py)
    prepare     the words that kernels are made of (schedule/legalise.py)
    fuse        which nodes share a kernel (schedule/fuse.py)
    lower       each group as loops (kernel/lower.py)
    plan        one arena for everything between inputs and outputs (schedule/memory.py)

What may live here: the order of the passes. What may not: any one pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.engine.lowering import scheduled
from adjoint.ir.expand import expand
from adjoint.ir.function import Function
from adjoint.ir.uop import UOp
from adjoint.runtime.timeline import span
from adjoint.stages import Schedule


def compile_graph(roots: Sequence[UOp], inputs: Sequence[UOp]) -> Schedule:
    """The steps that compute the roots from the inputs."""
    with span("expand", "compile"):
        expanded = expand(roots)
    return scheduled(expanded, inputs, _compile_function)


def _compile_function(function: Function) -> Schedule:
    return compile_graph(function.outputs, function.inputs)
