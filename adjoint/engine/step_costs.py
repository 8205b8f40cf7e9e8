"""The cost of each step of a program: arithmetic, bytes, seconds, and the share of the roofline.

Before: a schedule, and perhaps the seconds of its steps. After: a row for each step, as text too.
What may live here: counting and texts. What may not: running (`measured_steps.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from adjoint.engine.step_facts import work_of
from adjoint.ir.dtype import DType
from adjoint.ir.kernel_kind import ATOMIC, END_RANGE, LOAD, RANGE, STORE
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.schedule.classify import LIBRARY
from adjoint.schedule.strategy import TILES
from adjoint.stages import (
    ControlStep,
    HostStep,
    KernelStep,
    LibraryStep,
    LoopProgram,
    Schedule,
    Step,
    WaitStep,
)

if TYPE_CHECKING:
    from adjoint.engine.roofline import Roofline  # which compiles what it measures

_MANY = 10**7
_ONE = ("add", "sub", "mul", "true_div", "inverse", "sqrt", "maximum", "minimum", "neg")
_OPERATIONS = {OPS[name]: 1 for name in _ONE} | {OPS["fma"]: 2}


@dataclass(frozen=True, slots=True)
class StepCost:
    """A step, its work, its time (if it ran) and its least possible time."""

    step: Step
    flops: int
    bytes: int
    itemsize: int
    seconds: float | None = None
    least: float | None = None
    at_once: int = 1  # so many products are one where an instruction adds them up
    bound: str = ""  # what it is that cannot be faster: arithmetic or memory

    @property
    def share(self) -> float | None:
        """The share of the roofline."""
        return None if not self.seconds or self.least is None else self.least / self.seconds


def costs_of(
    schedule: Schedule, seconds: Sequence[float] | None = None, roof: Roofline | None = None
) -> list[StepCost]:
    """A row for each step."""
    rows = [_cost(step, schedule) for step in schedule.steps]
    if roof is not None:
        rows = [
            replace(r, least=roof.seconds(*_work(r)), bound=roof.bound(*_work(r))) for r in rows
        ]
    if seconds is not None:
        rows = [replace(row, seconds=s) for row, s in zip(rows, seconds, strict=True)]
    return rows


def products(rows: Sequence[StepCost]) -> list[tuple[int, float, int]]:
    """Flops, seconds and the bytes of a number of the products among them that are large enough for
    a clock: what shows how fast arithmetic is here."""
    return [
        (row.flops // row.at_once, row.seconds, row.itemsize)
        for row in rows
        if _use(row.step) in (TILES, LIBRARY) and row.flops >= _MANY and row.seconds
    ]


def _use(step: Step) -> str:
    return "" if step.strategy is None else step.strategy.use


def _work(row: StepCost) -> tuple[int, int, int]:
    return row.flops // row.at_once, row.bytes, row.itemsize


def _cost(step: Step, schedule: Schedule) -> StepCost:
    nbytes = work_of(replace(schedule, steps=(step,)))["bytes"]
    if isinstance(step, KernelStep):
        nbytes = min(nbytes, touched(step.program))
    kinds = [schedule.slots[i].dtype for i in (*step.writes, *step.reads)]
    floats = [kind.itemsize for kind in kinds if kind.is_float]
    itemsize = max(floats, default=4)
    return StepCost(step, flops_of(step), nbytes, itemsize, at_once=_at_once(step))


def _at_once(step: Step) -> int:
    body = step.program.body if isinstance(step, KernelStep) and _use(step) == TILES else ()
    word = next((node for node in body if node.op is OPS["dot_words"]), None)
    return 1 if word is None else int(word.src[0].dtype.itemsize // word.arg.dtype.itemsize)


def flops_of(step: Step) -> int:
    """Floating-point operations, and integer ones in products; a while-loop counts as one
    iteration.
    """
    match step:
        case KernelStep() if _use(step) == TILES and step.program.grid is not None:
            return step.program.cost * int(step.program.grid.arg.size)
        case KernelStep():
            return arithmetic(step.program)
        case LibraryStep():
            return step.call.flops
        case ControlStep():
            turns = getattr(step.node.arg, "length", 1)
            return sum(turns * flops_of(inner) for part in step.parts for inner in part.steps)
        case HostStep() | WaitStep():
            return 0


def arithmetic(program: LoopProgram) -> int:
    """Additions, multiplications and the like of floats in one run of a kernel."""
    return sum(
        times * _OPERATIONS.get(node.op, 0)
        for node, times in _with_turns(program)
        if isinstance(node.dtype, DType) and node.dtype.is_float
    )


def touched(program: LoopProgram) -> int:
    """Bytes of memory that a run reads or writes, each once: of an operand that is read in part, no
    more than is read."""
    times: Counter[UOp] = Counter()
    for node, turns in _with_turns(program):
        if node.op.kernel in (LOAD, STORE, ATOMIC):
            times[node.src[0]] += turns
    return sum(min(int(b.arg.size), times[b]) * b.arg.dtype.itemsize for b in program.buffers)


def _with_turns(program: LoopProgram) -> Iterator[tuple[UOp, int]]:
    """Every node of the loops, and how often it is computed."""
    times = [1]
    for node in program.body:
        if node.op.kernel is RANGE:
            times.append(times[-1] * int(node.arg.size))
        elif node.op.kernel is END_RANGE:
            times.pop()
        else:
            yield node, times[-1]


# ---- for people


def cost_text(row: StepCost) -> str:
    """One line: the work, its time, and its share of the roofline."""
    done = f"{number_text(row.flops)}FLOP, {number_text(row.bytes)}B"
    if row.least is None:
        return done
    if row.seconds is None or row.share is None:
        return f"{done}; at least {number_text(row.least)}s by {row.bound}"
    speed = (
        f"{number_text(row.flops / row.seconds)}FLOP/s, {number_text(row.bytes / row.seconds)}B/s"
    )
    share = f"{100 * row.share:.0f} % of the roofline ({row.bound})"
    return f"{done}; {number_text(row.seconds)}s: {speed}, {share}"


def total_text(rows: Sequence[StepCost]) -> str:
    """All steps together."""
    seconds = sum(row.seconds or 0.0 for row in rows)
    least = sum(row.least or 0.0 for row in rows)
    done = (
        f"{number_text(sum(r.flops for r in rows))}FLOP, {number_text(sum(r.bytes for r in rows))}B"
    )
    share = f", {100 * least / seconds:.0f} % of the roofline" if seconds else ""
    return f"{len(rows)} steps: {done}; {number_text(seconds)}s{share}"


_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SMALL = ((1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def number_text(value: float) -> str:
    """Three digits and a prefix: 12.3 M."""
    for unit, prefix in (*_PREFIXES, *_SMALL):
        if value >= unit * 0.9995:
            digits = value / unit
            shown = f"{digits:.0f}" if digits >= 99.95 else f"{digits:.3g}"
            return f"{shown} {prefix}"
    return "0 "
