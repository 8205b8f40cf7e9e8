"""`explain`: how a function was compiled, and where its time goes.

Other modules know the facts (steps and strategies, fusion decisions, times, traces of `jit`); this
one combines them, with advice. What may live here: choosing and wording. What may not: measuring
(`engine/measured_steps.py`) or deciding anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.debug.advice import advice
from adjoint.display import Displayed
from adjoint.engine.live_values import size
from adjoint.engine.memory_limits import again_work
from adjoint.engine.pipeline import fused_parts
from adjoint.engine.step_costs import StepCost, cost_text, number_text
from adjoint.engine.step_facts import lines_of, titles
from adjoint.errors import ArgumentError
from adjoint.ir.text import short_type
from adjoint.ir.uop import UOp
from adjoint.schedule.fuse import BESIDE, OWN, STEP
from adjoint.stages import ControlStep, HostStep, KernelStep, LibraryStep
from adjoint.transforms.jit.jitted import Jitted
from adjoint.transforms.jit.report import JitReport
from adjoint.transforms.lower import Lowered, lower, wanted_of

SLOWEST = 3
_DECISIONS = 12  # that are written out
_KINDS = (
    (KernelStep, "kernel"),
    (LibraryStep, "library call"),
    (HostStep, "host step"),
    (ControlStep, "control step"),
)


@dataclass(frozen=True, slots=True)
class Decision:
    """What fusing decided about an op: where it comes from, what became of it, and why."""

    op: str
    type: str
    line: str
    became: str
    why: str


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Displayed):
    """How a function was compiled for some arguments; its text for people, its fields as data.

    `steps` in the order they run, `slowest` of them with the seconds that each takes (none if
    nothing was measured), `written`: ops whose values go to memory and why, `inside`: how many are
    computed inside of other kernels, `copies`: steps that only move values, `report`: the traces of
    a jitted function, None of a plain one.
    """

    name: str
    lowered: Lowered
    steps: tuple[StepCost, ...]
    written: tuple[Decision, ...]
    inside: int
    copies: tuple[StepCost, ...]
    report: JitReport | None
    measured: bool

    @property
    def slowest(self) -> tuple[StepCost, ...]:
        """The steps that take longest."""
        timed = [row for row in self.steps if row.seconds is not None]
        return tuple(sorted(timed, key=lambda row: -(row.seconds or 0.0))[:SLOWEST])

    @property
    def seconds(self) -> float | None:
        """Of all steps together."""
        return sum(row.seconds or 0.0 for row in self.steps) if self.measured else None

    def __str__(self) -> str:
        parts = [_head(self), _slow_text(self), _fusion_text(self), _copies_text(self)]
        parts += [_spoken_text(self), _memory_text(self), _traces_text(self)]
        return "\n\n".join(part for part in parts if part)

    __repr__ = __str__


def explain(fn: Any, *args: Any, measure: bool = True, **kwargs: Any) -> Explanation:
    """How a function was compiled for these arguments: its kernels, what was fused and what was not
    and why, copies, traces and why there are more than one, and the slowest steps with their lines
    and advice. It runs the steps a few times to time them, without changing anything; not with
    `measure=False`. A jitted function is explained with the traces that it has.
    """
    if not callable(fn):
        problem = f"cannot explain {type(fn).__name__}: it is no function"
        raise ArgumentError("E2001", problem, op="explain", help="explain(f, x, ...) for f(x, ...)")
    lowered = lower(fn)(*args, **kwargs)
    seconds = lowered.seconds() if measure else None
    rows = tuple(lowered.costs(seconds))
    written, inside = _decisions(lowered)
    copies = tuple(row for row in rows if _only_moves(row))
    report = fn.report() if isinstance(fn, Jitted) else None
    return Explanation(
        lowered.name, lowered, rows, written, inside, copies, report, seconds is not None
    )


def _decisions(lowered: Lowered) -> tuple[tuple[Decision, ...], int]:
    """What fusing decided, in the order of the graph."""
    found = [
        (node, *reason)
        for part in fused_parts(
            wanted_of(lowered.function), lowered.function.inputs, lowered.backend
        )
        for node, reason in part.reasons.items()
    ]
    written = [_decision(*row) for row in reversed(found) if row[1] in (OWN, BESIDE, STEP)]
    return tuple(written), len(found) - len(written)


def _decision(node: UOp, became: str, why: str) -> Decision:
    origin = node.origin
    line = f"{origin.file}:{origin.line}" if origin else ""
    return Decision(node.op.name, short_type(node.shape, node.dtype), line, became, why)


def _only_moves(row: StepCost) -> bool:
    return isinstance(row.step, KernelStep) and row.flops == 0 and row.bytes > 0


# ---- words


def _head(found: Explanation) -> str:
    counts = [
        counted_text(n, what)
        for kind, what in _KINDS
        if (n := sum(isinstance(row.step, kind) for row in found.steps))
    ]
    counted = found.lowered.counts
    lines = [
        f"{found.name}: {', '.join(counts) or 'no steps'}; "
        f"{number_text(sum(r.flops for r in found.steps))}FLOP, "
        f"{number_text(sum(r.bytes for r in found.steps))}B moved, "
        f"{number_text(counted['peak'])}B of memory at most"
    ]
    if found.seconds:
        least = sum(row.least or 0.0 for row in found.steps)
        share = f"{100 * least / found.seconds:.0f} % of the roofline"
        lines.append(f"{number_text(found.seconds)}s a call in its steps, {share}")
    return "\n".join(lines)


def counted_text(count: int, what: str) -> str:
    """`1 kernel`, `3 kernels`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _slow_text(found: Explanation) -> str:
    if not found.steps:
        return ""
    if not found.measured:
        return "times: none (measure=False, or a call runs other steps than these)"
    lines = ["the slowest:"]
    for place, row in enumerate(found.slowest, 1):
        part = 100 * (row.seconds or 0.0) / (found.seconds or 1.0)
        name, kind = titles(row.step)
        lines.append(f"  {place}. {part:.0f} %  {kind} {name}  {_places(row)}".rstrip())
        lines.append(f"     {cost_text(row)}")
        if row.step.strategy is not None:
            lines.append(f"     {row.step.strategy}")
        lines.append(f"     help: {advice(row)}")
    return "\n".join(lines)


def _places(row: StepCost) -> str:
    return ", ".join(lines_of(row.step)[:4])


def _fusion_text(found: Explanation) -> str:
    count = len(found.written)
    inside = counted_text(found.inside, "op")
    head = f"fusion: {inside} without memory of their own, {count} written to it"
    shown = [d for d in found.written if d.why != "it is a result"]
    lines = [
        f"  {d.op} {d.type}{f' ({d.line})' if d.line else ''}: {d.became}: {d.why}"
        for d in shown[:_DECISIONS]
    ]
    rest = len(shown) - _DECISIONS
    return "\n".join([head, *lines, *([f"  and {rest} more"] if rest > 0 else [])])


def _copies_text(found: Explanation) -> str:
    if not found.copies:
        return "copies: none"
    moved = sum(row.bytes for row in found.copies)
    steps = counted_text(len(found.copies), "step")
    lines = [f"copies: {steps} only to move values, {number_text(moved)}B"]
    lines += [f"  {row.step}  {_places(row)}".rstrip() for row in found.copies[:_DECISIONS]]
    return "\n".join(lines)


def _spoken_text(found: Explanation) -> str:
    """What members of a mesh send one another."""
    lines = found.lowered.collectives()
    rest = len(lines) - _DECISIONS
    more = [f"  and {rest} more"] if rest > 0 else []
    head = f"collectives: {len(lines)}"
    return "\n".join([head, *(f"  {line}" for line in lines[:_DECISIONS]), *more]) if lines else ""


def _memory_text(found: Explanation) -> str:
    """The effects of a memory limit; empty without one."""
    lowered = found.lowered
    if lowered.limit is None:
        return ""
    again, flops = again_work(lowered.plan)
    head = f"memory: {size(lowered.footprint.total)} of the {size(lowered.limit.bytes)} allowed"
    if not again:
        return f"{head}, with nothing computed again"
    part = 100 * flops / (sum(row.flops for row in found.steps) or 1)
    lines = lowered.recomputed()
    rest = len(lines) - _DECISIONS
    shown = [f"  {line}" for line in (*lines[:_DECISIONS], *([f"and {rest} more"] * (rest > 0)))]
    steps = "1 step comes" if again == 1 else f"{again} steps come"
    head += f"; {steps} again instead of keeping values, {part:.0f} % of the operations"
    return "\n".join([head, *shown])


def _traces_text(found: Explanation) -> str:
    if found.report is None:
        return "traces: none kept (the function is not jitted)"
    return str(found.report)


def rows_of(found: Explanation) -> Sequence[tuple[str, ...]]:
    """The steps as cells of a table: name, lines, time, share of the roofline, strategy."""
    return [
        (
            " ".join(titles(row.step)[::-1]),
            _places(row),
            "" if row.seconds is None else f"{number_text(row.seconds)}s",
            "" if row.share is None else f"{100 * row.share:.0f} %",
            "" if row.step.strategy is None else row.step.strategy.name,
        )
        for row in found.steps
    ]
