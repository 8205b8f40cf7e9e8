"""lower: every stage that a function goes through, as text.

What may live here: a view of a traced function; only `explain` runs it, to say how long it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, cast

from adjoint.backends.protocol import Backend
from adjoint.codegen.c.render import LANGUAGES as CSTYLE
from adjoint.display import Displayed
from adjoint.engine import explain
from adjoint.engine.graph_key import backend_name
from adjoint.engine.measured_steps import seconds_of_steps
from adjoint.engine.memory_limits import again_text
from adjoint.engine.pipeline import build, compile_graph
from adjoint.engine.program_cache import load_backend
from adjoint.engine.realize import local_function, pipeline_of
from adjoint.engine.roofline import raised
from adjoint.engine.step_costs import StepCost, costs_of, products
from adjoint.engine.step_facts import peak_bytes, work_of
from adjoint.errors import ArgumentError, ShardingError
from adjoint.ir.function import Function
from adjoint.ir.memory_limit import MemoryLimit, limited, without_donations
from adjoint.ir.uop import UOp
from adjoint.ir.values import mesh_among
from adjoint.ops.collective import COLLECTIVES, collective_line
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.device import Device
from adjoint.schedule.footprint import Footprint, footprint
from adjoint.sharding.order import order_of_products
from adjoint.stages import HostStep, Schedule
from adjoint.target import DEFAULT_BACKEND
from adjoint.tensor import Tensor
from adjoint.transforms.call import name_of
from adjoint.transforms.capture import capture
from adjoint.transforms.jit.jitted import Jitted, jit
from adjoint.transforms.pytree import tree_leaves

LANGUAGES = ("llvm", *CSTYLE)
_KINDS = ("kernels", "library", "host", "control")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Lowered(Displayed):
    """A function for arguments of some types: its module, its schedule, its kernels, their code."""

    name: str
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    function: Function
    plan: Schedule
    backend: Backend
    buffers: Callable[[], list[Buffer]] | None = None  # what a call would read, if one program runs
    limit: MemoryLimit | None = None  # of a jitted function that has one
    staged: Any = None  # its program on a mesh with stages

    def module(self) -> str:
        """The function as a Core module; captured tensors are literals there."""
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

    def recomputed(self) -> list[str]:
        """What a memory limit makes the program recompute: which step is repeated, its results,
        since when they were not kept, and how many bytes that frees.
        """
        return again_text(self.plan)

    def collectives(self) -> list[str]:
        """What members of a mesh say to one another, in order, with the bytes that each sends."""
        if self.staged is not None:
            found: list[str] = self.staged.lines()
            return found
        nodes = [s.node for s in self.plan.steps if isinstance(s, HostStep)]
        return [collective_line(n) for n in nodes if n.op in COLLECTIVES]

    def stages(self) -> Any:
        """On a mesh with stages: the order of microbatches, and what each stage keeps and sends."""
        if self.staged is None:
            problem = f"{self.name} is on no mesh with stages"
            raise ShardingError("E7005", problem, op="lower", help='Mesh({"pp": 2})')
        return self.staged.report()

    def explain(self, measure: bool = True) -> str:
        """The steps, each with its strategy, the reason, and its cost: operations on floats, bytes,
        time, and the share of this machine's roofline.

        It runs the program a few times to measure it, without prints and without changing anything.
        Not with `measure=False`.
        """
        note = ""
        seconds = self.seconds() if measure else None
        if measure and seconds is None:
            note = "(no times: a call runs other steps than these; see adjoint.profile())"
        lines = explain.costs_text(self.plan, self.costs(seconds), note)
        return "\n".join([lines, *(f"again: {line}" for line in self.recomputed())])

    def seconds(self, budget: float = 0.2) -> list[float] | None:
        """The least seconds of each step over runs of this many seconds, on the values that a call
        would read; state that a call would change stays unchanged. None if other steps run.
        """
        if self.buffers is None:
            return None
        function, given = self.function, self.buffers()
        with limited(self.limit):
            program = build(wanted_of(function), function.inputs, self.backend).program
        return seconds_of_steps(lambda: program.run(given), self.plan, budget)

    @property
    def roots(self) -> tuple[UOp, ...]:
        """The results, and what the function changes."""
        return self.function.outputs

    def costs(self, seconds: Sequence[float] | None = None) -> list[StepCost]:
        """The work of each step; with times, and the machine's roofline, if given."""
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
    def footprint(self) -> Footprint:
        """The memory that a call takes in all, by purpose: arguments, results, the arena of
        intermediate values, bodies of loops, and values that results replace.
        """
        limit = self.limit or MemoryLimit(0)
        return footprint(self.plan, limit, self.backend.memory.block_bytes)

    @property
    def counts(self) -> dict[str, int]:
        """Steps by kind, arithmetic, bytes that kernels touch, bytes of memory of one run."""
        return work_of(self.plan) | {"arena": self.plan.arena, "peak": peak_bytes(self.plan)}

    def __repr__(self) -> str:
        counted = self.counts
        steps = ", ".join(f"{counted[k]} {k}" for k in _KINDS if counted[k])
        return f"<lowered {self.name}: {steps or 'no steps'}, {counted['peak']} bytes at most>"

    def __str__(self) -> str:
        counts = ", ".join(f"{amount} {name}" for name, amount in self.counts.items())
        return f"{self.name}: {counts}\n{self.schedule()}"


def wanted_of(function: Function) -> list[UOp]:
    """What must be computed: the results that are no parameters."""
    given = set(function.inputs)
    return [n for n in dict.fromkeys(function.outputs) if n not in given]


def lower(fn: Callable[..., Any]) -> Callable[..., Lowered]:
    """A function that takes the arguments of `fn` and shows what `jit(fn)` would run for them; on a
    mesh, what each of its members runs.
    """
    jitted = fn if isinstance(fn, Jitted) else jit(fn)

    def lowered(*args: Any, **kwargs: Any) -> Lowered:
        recorded = jitted.recording(*args, **kwargs)
        function = recorded.function
        staged, compiled_as = None, cast(AbstractContextManager[None], nullcontext())
        mesh = mesh_among((*recorded.roots, *recorded.given))
        if mesh is not None:
            function = local_function(recorded.roots, list(recorded.given), mesh)
            staged = pipeline_of(recorded.roots, list(recorded.given), mesh)
            compiled_as = order_of_products()
        whole = (lambda *a: jitted.__wrapped__(*a, **kwargs)) if kwargs else jitted.__wrapped__
        backend = _backend(args, kwargs)
        limit = recorded.limit if mesh is None else without_donations(recorded.limit)
        with compiled_as, limited(limit):
            plan = compile_graph(wanted_of(function), function.inputs, backend)
        buffers = recorded.buffers if mesh is None else None
        facts = (function, plan, backend, buffers, limit, staged)
        return Lowered(name_of(fn), whole, args, *facts)

    return lowered


def _backend(*arguments: Any) -> Backend:
    """The backend of the first tensor that is on one, else the default device's."""
    leaves = [v for v in tree_leaves(arguments) if isinstance(v, Tensor)]
    names = (backend_name(device) for device in (*(v.device for v in leaves), Device.DEFAULT))
    return load_backend(next((name for name in names if name), DEFAULT_BACKEND))
