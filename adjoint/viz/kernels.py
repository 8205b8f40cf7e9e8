"""The steps of a program with their code and their cost: the data of the page Kernels.

What may live here: facts about steps as plain data. What may not: measuring itself
(`engine/measured_steps.py`), or what costs are (`engine/step_costs.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from adjoint.codegen.show import show
from adjoint.engine import finish
from adjoint.engine.measured_steps import seconds_of_steps
from adjoint.engine.roofline import raised
from adjoint.engine.step_costs import StepCost, costs_of, products
from adjoint.engine.step_facts import titles
from adjoint.errors import AdjointError
from adjoint.ir.uop import UOp
from adjoint.ops.collective import COLLECTIVES, bytes_sent
from adjoint.runtime.buffer import Buffer
from adjoint.stages import ControlStep, KernelStep, Schedule, Step
from adjoint.transforms.loops import while_op
from adjoint.viz.passes import Compiled
from adjoint.viz.source_lines import SourceLines
from adjoint.viz.subject import Subject

SECONDS = 0.2  # that a program is run for, to be measured
MOST_TEXT = 4_000_000  # characters of code in a page
LONGEST = 3000  # lines of one text


def kernels_of(
    subject: Subject, made: Compiled, lines: SourceLines, call: Callable[[], Any] | None
) -> dict[str, Any]:
    """The steps in order, those of loops behind their loop; measured, if there is a call that runs
    them."""
    plan: Schedule = made.unit.main
    seconds = None if call is None else _seconds(call, plan)
    costs = costs_of(plan, seconds)
    roof = None
    if seconds is not None:
        roof = raised(made.backend, products(costs))
        costs = costs_of(plan, seconds, roof)
    texts = _Texts(made)
    rows = list(_rows(plan, costs, texts, lines, 0))
    return {
        "target": made.backend.target.name,
        "steps": rows,
        "texts": texts.rows,
        "roof": None if roof is None else asdict(roof),
        "measured": _how(subject, seconds),
    }


def _how(subject: Subject, seconds: Sequence[float] | None) -> str:
    if seconds is None:
        return "not measured"
    given = "zeros" if subject.buffers is None else "the values that a call would read"
    return f"the least of some runs on {given}"


# ---- time


def call_of(subject: Subject, made: Compiled) -> Callable[[], Any] | None:
    """Runs the program, on the values that a call would read, or on zeros; state that a call would
    change stays unchanged. None if that might not terminate.
    """
    if subject.function is None or subject.member_of is not None or subject.elsewhere:
        return None  # members wait for one another
    if subject.buffers is None and _may_not_end(made.unit.main):
        return None
    try:
        program = finish.bind(finish.compile_sources(made.unit)).program
        if subject.buffers is not None:
            given = subject.buffers()
        else:
            given = [_zeros(node, made.backend.device) for node in subject.function.inputs]
    except (AdjointError, MemoryError):  # no such device here, or not enough of it
        return None
    return lambda: program.run(given)


def _seconds(call: Callable[[], Any], plan: Schedule) -> list[float] | None:
    try:
        return seconds_of_steps(call, plan, SECONDS)
    except (AdjointError, MemoryError):
        return None


def _zeros(node: UOp, device: str) -> Buffer:
    return Buffer(np.zeros([int(n) for n in node.shape], node.dtype.np), device)


def _may_not_end(plan: Schedule) -> bool:
    """Whether something loops until its values say otherwise, which zeros may never do."""
    loops = [step for step in plan.steps if isinstance(step, ControlStep)]
    inside = (part for step in loops for part in step.parts)
    return any(s.node.op is while_op for s in loops) or any(map(_may_not_end, inside))


# ---- steps


def _rows(
    plan: Schedule,
    costs: Sequence[StepCost],
    texts: _Texts,
    lines: SourceLines,
    depth: int,
) -> Iterator[dict[str, Any]]:
    for cost in costs:
        step = cost.step
        name, kind = titles(step)
        yield {
            "name": name,
            "kind": kind,
            "depth": depth,
            "places": [lines.place(site) for site in _sites(step) if site is not None],
            "strategy": None if step.strategy is None else _strategy(step),
            "reads": [_slot(plan, i) for i in dict.fromkeys(step.reads) if i not in step.writes],
            "writes": [_slot(plan, i) for i in dict.fromkeys(step.writes)],
            "flops": cost.flops,
            "bytes": cost.bytes,
            "sends": bytes_sent(step.node) if step.node.op in COLLECTIVES else None,
            "itemsize": cost.itemsize,
            "seconds": cost.seconds,
            "least": cost.least,
            "bound": cost.bound,
            "texts": texts.of(step),
        }
        if isinstance(step, ControlStep):
            for part in step.parts:
                yield from _rows(part, costs_of(part), texts, lines, depth + 1)


def _sites(step: Step) -> Sequence[Any]:
    return step.places if isinstance(step, KernelStep) and step.places else [step.node.raw_origin]


def _strategy(step: Step) -> list[Any]:
    assert step.strategy is not None
    return [step.strategy.name, step.strategy.why, list(step.strategy.others)]


def _slot(plan: Schedule, number: int) -> str:
    slot = plan.slots[number]
    return f"s{number}: {slot.dtype.short}{list(slot.shape)}"


class _Texts:
    """Loops and code of kernels, each text once: `rows` are `[language, lines]`."""

    def __init__(self, made: Compiled):
        self.rows: list[list[Any]] = []
        self._made = made
        self._known: dict[Any, list[int]] = {}
        self._room = MOST_TEXT

    def of(self, step: Step) -> list[int]:
        """The numbers of a kernel's texts."""
        if not isinstance(step, KernelStep):
            return []
        program = step.program
        if program not in self._known:
            source, backend = self._made.unit.sources[program], self._made.backend
            lowest = backend.lowest(source)
            found = [("loops", show(program)), (source.language, source.text)]
            found += [(lowest.language, lowest.text)] if lowest.text != source.text else []
            self._known[program] = [self._add(*row) for row in found]
        return self._known[program]

    def _add(self, language: str, text: str) -> int:
        lines = text.rstrip("\n").split("\n")
        rest = len(lines) - LONGEST
        kept = lines if rest <= 0 else [*lines[:LONGEST], f"… and {rest} lines more"]
        size = sum(map(len, kept))
        self._room -= size
        left_out = ["(left out: the texts of this page are long already)"]
        self.rows.append([language, kept if self._room > 0 else left_out])
        return len(self.rows) - 1
