"""`Compilation`: the data that one pass hands to the next, from graph to program.

What may live here: the data, and how a pass over one graph becomes a pass over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from adjoint.backends.protocol import Backend, Kernel
from adjoint.ir.function import Function
from adjoint.ir.memory_limit import MemoryLimit
from adjoint.stages import LoopProgram, Source
from adjoint.target import Target


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compilation:
    """A graph and the functions of its loops and branches, inner ones first, the graph last.

    Each part is a `Graph`, then `Fused`, then a `Schedule`; later passes add `sources` and
    `kernels` of all parts, and the `program`. `MAIN` names the graph itself.
    """

    backend: Backend
    parts: Mapping[Any, Any]
    sources: Mapping[LoopProgram, Source] = field(default_factory=dict)
    kernels: Mapping[LoopProgram, Kernel] = field(default_factory=dict)
    program: Any = None
    limit: MemoryLimit | None = None  # of what a run takes

    @property
    def main(self) -> Any:
        """The graph itself, as far as it has come."""
        return self.parts[MAIN]


MAIN = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Around:
    """The context of a pass over one part: the target, the functions inside the part, and whether
    memory is limited.
    """

    target: Target
    made: Mapping[Function, Any]
    limited: bool


def each(work: Callable[[Any, Around], Any]) -> Callable[[Compilation], Compilation]:
    """A pass over one part as a pass over all, inner functions first."""

    def over_all(unit: Compilation) -> Compilation:
        made: dict[Any, Any] = {}
        around = Around(unit.backend.target, made, unit.limit is not None)
        for name, part in unit.parts.items():
            made[name] = work(part, around)
        return replace(unit, parts=made)

    return over_all
