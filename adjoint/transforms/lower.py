"""lower: every stage that a function goes through, as text.

What may live here: a view of a traced function. What may not: anything that runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.codegen.c.render import LANGUAGES as CSTYLE
from adjoint.engine import explain
from adjoint.engine.memory import peak_bytes
from adjoint.engine.pipeline import compile_graph
from adjoint.engine.steps import work_of
from adjoint.errors import ArgumentError
from adjoint.ir.uop import UOp
from adjoint.stages import Schedule
from adjoint.transforms.call import name_of
from adjoint.transforms.capture import capture
from adjoint.transforms.jit.jitted import Jitted, jit

LANGUAGES = ("llvm", *CSTYLE)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Lowered:
    """A function for arguments of some types: its module, its schedule, its kernels, their code."""

    name: str
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    roots: tuple[UOp, ...]
    plan: Schedule

    def module(self) -> str:
        """The function as a Core module; what it reads from outside is a literal there."""
        return str(capture(self.fn, *self.args))

    def graph(self) -> str:
        """The graph, with the user's lines."""
        return explain.stage_text("graph", self.roots, self.plan)

    def schedule(self) -> str:
        """Slots of memory with their places in the arena, and the steps in order."""
        return explain.stage_text("schedule", self.roots, self.plan)

    def kernels(self) -> list[str]:
        """The loops of every kernel."""
        return explain.loops_of(self.plan)

    def source(self, language: str = "llvm") -> str:
        """The code of the kernels: what runs, LLVM's, or the same in another language."""
        if language not in LANGUAGES:
            problem = f"no source in {language!r}"
            raise ArgumentError("E2008", problem, op="lower", help=f"one of {', '.join(LANGUAGES)}")
        return explain.source_text(self.plan, language)

    @property
    def counts(self) -> dict[str, int]:
        """Steps by kind, arithmetic, bytes that kernels touch, bytes of memory of one run."""
        return work_of(self.plan) | {"arena": self.plan.arena, "peak": peak_bytes(self.plan)}

    def __str__(self) -> str:
        counts = ", ".join(f"{amount} {name}" for name, amount in self.counts.items())
        return f"{self.name}: {counts}\n{self.schedule()}"


def lower(fn: Callable[..., Any]) -> Callable[..., Lowered]:
    """A function that takes the arguments of `fn` and shows what `jit(fn)` would run for them."""
    jitted = fn if isinstance(fn, Jitted) else jit(fn)

    def lowered(*args: Any, **kwargs: Any) -> Lowered:
        function = jitted.function(*args, **kwargs)
        roots, inputs = function.outputs, function.inputs
        given = set(inputs)
        wanted: Sequence[UOp] = [n for n in dict.fromkeys(roots) if n not in given]
        whole = (lambda *a: jitted.__wrapped__(*a, **kwargs)) if kwargs else jitted.__wrapped__
        return Lowered(name_of(fn), whole, args, roots, compile_graph(wanted, inputs))

    return lowered
