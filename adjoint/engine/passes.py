"""The passes of the pipeline, each a function from `Compilation` to `Compilation`.

What may live here: how a pass is put together from the package that implements it. What may not:
the order of passes (`pipeline.py`), or any algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from adjoint.engine import build_schedule as lowering
from adjoint.engine.compilation import MAIN, Around, Compilation, each
from adjoint.engine.joined_loops import join_loops
from adjoint.engine.lighter_loops import lighter_loops
from adjoint.engine.memory_limits import within
from adjoint.engine.shared_products import share_products
from adjoint.engine.summed_products import sum_products
from adjoint.ir.expand import expand
from adjoint.ir.function import Function
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, substitute, toposort
from adjoint.ir.values import is_known
from adjoint.kernel.optimise import optimised
from adjoint.runtime.spans import span
from adjoint.schedule import memory
from adjoint.schedule.buckets import collectives_in_buckets
from adjoint.schedule.classify import CONTROL, kind_of
from adjoint.schedule.groups import Fused, choose_strategies, fuse_groups
from adjoint.schedule.joint_launches import launch_together
from adjoint.schedule.legalise import prepare, whole_routines
from adjoint.schedule.overlap import overlap_collectives
from adjoint.schedule.simplify import simplified
from adjoint.schedule.split_complex import split_complex
from adjoint.schedule.whole import taken_whole
from adjoint.stages import ControlStep, Graph, KernelStep, Schedule, functions_of


def expand_graphs(unit: Compilation) -> Compilation:
    """Before: softmax(x) + k, k known; a loop's body is an attribute of its node.
    After: primitives over parameters alone; the bodies of loops and branches are parts too."""
    parts: dict[Any, Graph] = {}

    def add(name: Any, roots: Sequence[UOp], inputs: Sequence[UOp]) -> None:
        target = unit.backend.target
        expanded = expand(roots, partial(taken_whole, target=target))
        lighter = lighter_loops(join_loops(expanded), target)
        shared = share_products(sum_products(lighter, target), target)
        graph = _closed(shared, tuple(inputs))
        for function in _functions(graph):
            if function not in parts:
                add(function, function.outputs, function.inputs)
        parts[name] = graph

    add(MAIN, unit.main.roots, unit.main.inputs)
    return replace(unit, parts=parts)


def _functions(graph: Graph) -> Iterator[Function]:
    for node in toposort(graph.roots):
        if node.op.takes_functions and kind_of(node) == CONTROL:
            yield from functions_of(node)


def _closed(roots: Sequence[UOp], inputs: tuple[UOp, ...]) -> Graph:
    """The roots over parameters only: what has a value already is one too, with that value."""
    given = set(inputs)
    known = [n for n in toposort(roots, stop=is_known) if is_known(n) and n not in given]
    make = OPS["input"]
    names = [make(f"known{i}", n.shape, n.dtype, n.device) for i, n in enumerate(known)]
    closed = substitute(roots, dict(zip(known, names, strict=True)))
    return Graph(tuple(closed), inputs, tuple(zip(names, known, strict=True)))


@each
def simplify(graph: Graph, around: Around) -> Graph:
    """Before: abs(abs(-(-x))) * 1. After: abs(x)."""
    return replace(graph, roots=tuple(simplified(graph.roots)))


@each
def legalise(graph: Graph, around: Around) -> Graph:
    """Before: complex arithmetic, argmax(x), contract(a, b, "bqhd,bkhd->bhqk").
    After: real arithmetic; max, eq and min; a product of matrices between views."""
    roots = split_complex(whole_routines(graph.roots, around.target))
    if not around.limited:  # values that wait for one another lie in memory together
        roots = collectives_in_buckets(roots)
    return replace(graph, roots=tuple(prepare(roots, around.target)))


@each
def fuse(graph: Graph, around: Around) -> Fused:
    """Before: exp(x @ w). After: [library: contract], [kernel: exp over loops (m, n)]."""
    return fuse_groups(graph, around.target)


@each
def strategy(fused: Fused, around: Around) -> Fused:
    """Before: [library: contract]. After: the same by the row "matrix product", with the reason."""
    return choose_strategies(fused, around.target)


@each
def lower(fused: Fused, around: Around) -> Schedule:
    """Before: [kernel: exp over loops (m, n)].
    After: `kernel exp(s3, s2)` with its loop program."""
    return lowering.build_schedule(fused, around.made, around.target)


@each
def optimise(schedule: Schedule, around: Around) -> Schedule:
    """Before: abs(neg(x)), minimum(i, 16) of a counter below 16. After: abs(x), i."""
    new = {program: optimised(program) for program in schedule.programs()}
    steps = tuple(
        replace(step, program=new[step.program]) if isinstance(step, KernelStep) else step
        for step in schedule.steps
    )
    return replace(schedule, steps=steps)


def plan(unit: Compilation) -> Compilation:
    """Before: s2 : f32[32, 10]. After: s2 : f32[32, 10] at 1280, in one arena. Small kernels share
    launches if launches are expensive; collectives begin as early as possible, and the program
    waits for them where they are needed; under a memory limit, which exists on single devices only,
    repeated steps recompute values that are not kept.
    """
    if unit.limit is None:
        return _loosely_planned(unit)
    return within(_tightly_planned(unit), unit.limit, _tightly_planned)


def _plan(schedule: Schedule, around: Around, tight: bool) -> Schedule:
    steps = tuple(
        _planned(step, around) if isinstance(step, ControlStep) else step for step in schedule.steps
    )
    schedule = replace(schedule, steps=steps)
    if not tight:
        schedule = launch_together(schedule, around.target.limits.joint_bytes)
        schedule = overlap_collectives(schedule, around.target.ahead_bytes)
    return memory.plan_memory(schedule, around.target.cache_line, tight)


_loosely_planned = each(partial(_plan, tight=False))
_tightly_planned = each(partial(_plan, tight=True))


def _planned(step: ControlStep, around: Around) -> ControlStep:
    parts = tuple(around.made[f] for f in step.functions)
    if step.node.op is not OPS["loop"]:
        return replace(step, parts=parts)
    return replace(step, parts=parts, kept=memory.carries_in_place(parts[0], step.node.arg.carries))


def render(unit: Compilation) -> Compilation:
    """Before: loop programs. After: each in the language of the backend."""
    sources = {}
    for program in unit.main.programs():
        with span(f"render {program.name}", "compile"):
            sources[program] = unit.backend.render(program)
    return replace(unit, sources=sources)
