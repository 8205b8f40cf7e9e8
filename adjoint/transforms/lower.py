"""lower: every stage that a function goes through, as text.

What may live here: a view of a traced function; only `explain` runs it, to say how long it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.backends.protocol import Backend
from adjoint.codegen.c.render import LANGUAGES as CSTYLE
from adjoint.engine import explain
from adjoint.engine.graph_key import backend_name
from adjoint.engine.measured_steps import seconds_of_steps
from adjoint.engine.pipeline import compile_graph
from adjoint.engine.program_cache import load_backend
from adjoint.engine.roofline import raised
from adjoint.engine.step_costs import StepCost, costs_of, products
from adjoint.engine.step_facts import peak_bytes, work_of
from adjoint.errors import ArgumentError
from adjoint.ir.uop import UOp
from adjoint.runtime.device import Device
from adjoint.stages import Schedule
from adjoint.target import DEFAULT_BACKEND
from adjoint.tensor import Tensor
from adjoint.transforms.call import name_of
from adjoint.transforms.capture import capture
from adjoint.transforms.jit.jitted import Jitted, jit
from adjoint.transforms.pytree import tree_leaves

LANGUAGES = ("llvm", *CSTYLE)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Lowered:
    """A function for arguments of some types: its module, its schedule, its kernels, their code."""

    name: str
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    roots: tuple[UOp, ...]
    plan: Schedule
    backend: Backend

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

    def explain(self, measure: bool = True) -> str:
        """The steps, each with the strategy that computes it, why, and what it costs: operations on
        floats, bytes, time, and the share of the roofline, which is what this machine can do.

        The function is run for that, a few times, without its effects; not with `measure=False`.
        """
        note = ""
        seconds = self.seconds() if measure else None
        if measure and seconds is None:
            note = "(no times: a call runs other steps than these; see adjoint.profile())"
        return explain.costs_text(self.plan, self.costs(seconds), note)

    def seconds(self, budget: float = 0.2) -> list[float] | None:
        """The least seconds of each step in the calls of so many seconds; None if a call runs other
        steps."""
        called = jit(self.fn)
        return seconds_of_steps(lambda: called(*self.args), self.plan, budget)

    def costs(self, seconds: Sequence[float] | None = None) -> list[StepCost]:
        """What each step does; with times, and what the machine could do, if they are given."""
        rows = costs_of(self.plan, seconds)
        if seconds is None:
            return rows
        return costs_of(self.plan, seconds, raised(self.backend, products(rows)))

    def source(self, language: str | None = None) -> str:
        """The code of the kernels: what runs, or the same in another language."""
        wanted = self.backend.language if language is None else language
        if wanted not in LANGUAGES:
            problem = f"no source in {language!r}"
            raise ArgumentError("E2008", problem, op="lower", help=f"one of {', '.join(LANGUAGES)}")
        own = wanted == self.backend.language
        return explain.source_text(
            self.plan, self.backend if own else load_backend(DEFAULT_BACKEND), wanted
        )

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
        backend = _backend(args, kwargs)
        plan = compile_graph(wanted, inputs, backend)
        return Lowered(name_of(fn), whole, args, roots, plan, backend)

    return lowered


def _backend(*arguments: Any) -> Backend:
    """The backend of the first tensor that is on one, else the default device's."""
    leaves = [v for v in tree_leaves(arguments) if isinstance(v, Tensor)]
    names = (backend_name(device) for device in (*(v.device for v in leaves), Device.DEFAULT))
    return load_backend(next((name for name in names if name), DEFAULT_BACKEND))
