"""Graph → program: the list of passes, and the table of contents of the compiler.

Every graph goes through this list once, in order. The driver times and counts every pass, prints
its result if `ADJOINT_SHOW` names it, and verifies the result if `ADJOINT_VERIFY` is set. What may
live here: the order of the passes. What may not: any one pass (`passes.py`, `finish.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns

from adjoint import config
from adjoint.backends.protocol import Backend
from adjoint.engine import finish, passes, tuning, varying, verify_passes
from adjoint.engine.compilation import MAIN, Compilation
from adjoint.ir.memory_limit import current_limit
from adjoint.ir.uop import UOp
from adjoint.runtime.spans import span
from adjoint.schedule.groups import Fused
from adjoint.stages import Graph, Group, Schedule


@dataclass(frozen=True, slots=True)
class Pass:
    """One row: its name, and the function from compilation to compilation."""

    name: str
    run: Callable[[Compilation], Compilation]


PASSES = (
    Pass("expand", passes.expand_graphs),  # composites → primitives; bodies of loops join
    Pass("simplify", passes.simplify),  # -(-x), x * 1 → x: rules that keep every bit
    Pass("legalise", passes.legalise),  # complex, argmax, any contraction → the words of kernels
    Pass("fuse", passes.fuse),  # nodes → groups, a kernel each
    Pass("strategy", passes.strategy),  # groups → loops, a library, an algorithm, the host; why
    Pass("lower", passes.lower),  # groups → steps; a kernel's group → its loops
    Pass("optimise", passes.optimise),  # abs(neg(x)), min(i, 16) → abs(x), i: rules of kernels
    Pass("plan", passes.plan),  # slots → places in one arena
    Pass("render", passes.render),  # loops → source
    Pass("compile", finish.compile_sources),  # source → code, here and nowhere else
    Pass("bind", finish.bind),  # steps and code → a program
)


@dataclass(slots=True)
class PassStatistics:
    """How often a pass ran in this process, and how long in all."""

    runs: int = 0
    seconds: float = 0.0


statistics: dict[str, PassStatistics] = {row.name: PassStatistics() for row in PASSES}


def run_passes(unit: Compilation, until: str = "bind") -> Compilation:
    """The compilation after the pass of that name."""
    shown, verified = config.SHOW.value(), config.VERIFY.value()
    if shown:
        _show("graph", shown, unit, unit)
    for row in PASSES:
        start, before = perf_counter_ns(), unit
        with span(row.name, "compile"):
            unit = row.run(unit)
        count = statistics[row.name]
        count.runs, count.seconds = count.runs + 1, count.seconds + _since(start)
        if verified:
            verify_passes.check(row.name, before, unit)
        if shown:
            _show(row.name, shown, before, unit)
        if row.name == until:
            break
    return unit


def _since(start: int) -> float:
    return (perf_counter_ns() - start) / 1e9


def _show(name: str, shown: Sequence[str], before: Compilation, unit: Compilation) -> None:
    """Print the result of a pass, to the standard error stream."""
    from adjoint.engine import explain  # with all the languages it can show

    for title in explain.titles_of(name):
        if title in shown or "all" in shown:
            text = explain.compilation_text(name, before, unit)
            print(f"---- {title}\n{text}", file=sys.stderr)
            return


def compile_graph(roots: Sequence[UOp], inputs: Sequence[UOp], backend: Backend) -> Schedule:
    """The steps that compute the roots from the inputs, on the backend."""
    schedule: Schedule = run_passes(_begun(roots, inputs, backend), until="plan").main
    return schedule


def build(roots: Sequence[UOp], inputs: Sequence[UOp], backend: Backend) -> Compilation:
    """The program that computes the roots from the inputs, on the backend, and its sources."""
    return run_passes(_begun(roots, inputs, backend))


def _begun(roots: Sequence[UOp], inputs: Sequence[UOp], backend: Backend) -> Compilation:
    """The graph to compile: one of plain sizes, if its values would depend on what varies."""
    tuning.switch(build)
    graph = Graph(tuple(roots), tuple(inputs))
    whole = varying.settled(graph, backend.target, lambda g: groups_of(g, backend))
    return Compilation(backend, {MAIN: whole}, limit=current_limit())


def fused_parts(roots: Sequence[UOp], inputs: Sequence[UOp], backend: Backend) -> list[Fused]:
    """The fused groups of a graph, and of the functions in it, and the reasons."""
    unit = run_until(_begun(roots, inputs, backend), "strategy")
    return [part for part in unit.parts.values() if isinstance(part, Fused)]


def groups_of(graph: Graph, backend: Backend) -> list[Group]:
    """The groups into which a graph, and its functions, would be fused."""
    unit = run_until(Compilation(backend, {MAIN: graph}), "strategy")
    return [w.group for part in unit.parts.values() for w in part.work if w.group is not None]


def run_until(unit: Compilation, name: str) -> Compilation:
    """The compilation before the pass of that name, neither counted nor shown: to look ahead."""
    for row in PASSES[: _names().index(name)]:
        unit = row.run(unit)
    return unit


def run_pass(unit: Compilation, name: str) -> Compilation:
    """The compilation after that pass alone, to look ahead."""
    return PASSES[_names().index(name)].run(unit)


def _names() -> list[str]:
    return [row.name for row in PASSES]
