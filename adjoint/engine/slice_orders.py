"""Whether the products of a graph are added in the same order if its slices become arguments.

A program that contains its slices reads them in place, or copies them; a program that takes them as
arguments finds them contiguous.

Before: a graph, and the slices that are to become arguments.
After: yes, if each product is computed in the same way over operands of the same layout, whatever
happens to the rest.

What may live here: this decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.backends.protocol import Backend
from adjoint.engine import pipeline
from adjoint.engine.compilation import MAIN, Compilation
from adjoint.engine.graph_key import GraphKey, close_over_parameters
from adjoint.engine.varying import product_orders
from adjoint.ir.uop import UOp
from adjoint.schedule.classify import LIBRARY
from adjoint.schedule.layout import gemm_of
from adjoint.schedule.strategy import LOOPS
from adjoint.stages import Gemm, Graph


def adds_alike(
    key: GraphKey, roots: Sequence[UOp], slices: Sequence[int], backend: Backend
) -> bool:
    """Whether all products are, with these slices as arguments and without."""
    return _ways(key, roots, (), backend) == _ways(key, roots, slices, backend)


def _ways(
    key: GraphKey, roots: Sequence[UOp], lifted: Sequence[int], backend: Backend
) -> tuple[list[str], ...]:
    """The orders of loops and tiles, the calls of the library, and all that is no loop."""
    nodes, inputs = close_over_parameters(roots, key.leaves, [key.constants[i] for i in lifted])
    unit = Compilation(backend, {MAIN: Graph(tuple(nodes), tuple(inputs))})
    unit = pipeline.run_until(unit, "lower")
    works: list[Any] = [work for part in unit.parts.values() for work in part.work]
    groups = [work.group for work in works if work.group is not None]
    calls = [gemm_of(w.nodes[0], backend.target)[0] for w in works if w.strategy.use == LIBRARY]
    return (
        sorted(product_orders(groups, backend.target)),
        sorted(repr(_call(gemm)) for gemm in calls),
        sorted(w.strategy.name for w in works if w.strategy.use != LOOPS),
    )


def _call(gemm: Gemm) -> tuple[Any, ...]:
    """A call without the steps that are never taken."""
    batch, m, n = gemm.batch > 1, gemm.m > 1, gemm.n > 1
    lhs = (gemm.lhs[0] if batch else 0, gemm.lhs[1] if m else 0, gemm.lhs[2])
    rhs = (gemm.rhs[0] if batch else 0, gemm.rhs[1], gemm.rhs[2] if n else 0)
    sizes = (gemm.batch, gemm.m, gemm.n, gemm.k)
    made = (gemm.dtype.name, gemm.made.name, str(gemm.finish))
    return *made, *sizes, lhs, rhs, gemm.out
