"""Fits a program into a memory limit: as planned, or with recomputed steps.

Before: a planned schedule that takes more memory than the user allows.
After: one that fits, with as little recomputation as the search found; or E6009, which names the
least possible memory and what holds it.

What may live here: the size of the limit, the costs of steps, and the error. What may not: which
steps are recomputed (`schedule/recompute.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from adjoint.engine.compilation import MAIN, Compilation
from adjoint.engine.live_values import size
from adjoint.engine.step_costs import costs_of, flops_of
from adjoint.engine.step_facts import lines_of
from adjoint.errors import DeviceError
from adjoint.ir.memory_limit import MemoryLimit
from adjoint.ir.text import short_type
from adjoint.schedule.classify import LIBRARY
from adjoint.schedule.footprint import Footprint, footprint
from adjoint.schedule.memory import lifetimes, live_bytes
from adjoint.schedule.recompute import variants
from adjoint.schedule.strategy import TILES
from adjoint.stages import Again, ControlStep, Schedule, Step
from adjoint.target import Target

Planned = Callable[[Compilation], Compilation]
_NAMED = 5  # values that the error names
# Operations in the time of a byte, and bytes in the time that a launch takes, roughly: what it
# costs to make a value again is compared with the same of others alone.
_OPERATIONS, _GPU_PRODUCTS = 8, 128
_LAUNCH, _GPU_LAUNCH = 1 << 14, 1 << 22


def within(unit: Compilation, limit: MemoryLimit, planned: Planned) -> Compilation:
    """A planned compilation that fits into the limit; `planned` plans one again."""
    best = unit
    if _footprint(best, limit).total <= limit.bytes:
        return best
    for name in sorted(unit.parts, key=lambda n: -unit.parts[n].arena):
        for found in _lighter(best, name, limit, planned):
            best = found
            if _footprint(best, limit).total <= limit.bytes:
                return best
    raise _error(best, limit)


def _lighter(
    unit: Compilation, name: Any, limit: MemoryLimit, planned: Planned
) -> Iterator[Compilation]:
    """The same with less memory in one of its parts: every time it could be within the limit, and
    the last, which has the lowest peak."""
    part: Schedule = unit.parts[name]
    align, last = unit.backend.target.cache_line, None
    for schedule in variants(part, align, _costs(part, unit.backend.target)):
        last = replace(unit, parts={**unit.parts, name: schedule})
        if name is not MAIN or _least(schedule, align, unit, limit) <= limit.bytes:
            yield planned(last)
    if last is not None:
        yield planned(last)


def _least(schedule: Schedule, align: int, unit: Compilation, limit: MemoryLimit) -> int:
    """The memory of a schedule if its values are placed without a gap."""
    values, _ = lifetimes(schedule)
    packed = max(live_bytes(values.values(), align, len(schedule.steps)))
    taken = unit.backend.memory.block_bytes
    return footprint(replace(schedule, arena=packed), limit, taken).total


def _footprint(unit: Compilation, limit: MemoryLimit) -> Footprint:
    return footprint(unit.main, limit, unit.backend.memory.block_bytes)


def _costs(schedule: Schedule, target: Target) -> Callable[[Step], float]:
    """The costs of the steps of a schedule, as bytes that could be moved in that time."""
    rows = {id(row.step): row for row in costs_of(schedule)}
    launch = _GPU_LAUNCH if target.gpu else _LAUNCH

    def cost(step: Step) -> float:
        row = rows[id(step)]
        is_product = step.strategy is not None and step.strategy.use in (TILES, LIBRARY)
        speed = _GPU_PRODUCTS if target.gpu and is_product else _OPERATIONS
        return launch + row.bytes + row.flops / speed

    return cost


# ---- for people


def _error(unit: Compilation, limit: MemoryLimit) -> DeviceError:
    found = _footprint(unit, limit)
    replaced = f", values that they replace {size(found.replaced)}" if found.replaced else ""
    problem = (
        f"memory_limit={limit.bytes} ({size(limit.bytes)}) is too small: the least that is "
        f"possible is {found.total} ({size(found.total)}), of which arguments take "
        f"{size(found.given)}, results {size(found.results)}{replaced}, and values on the way "
        f"{size(found.arena + found.inside)}"
    )
    donate = "" if limit.donated else "donate arguments whose memory results may have, "
    fix = f"allow {found.total} bytes, {donate}or use a smaller batch"
    return DeviceError("E6009", problem, op=limit.name, operands=_held(unit), help=fix)


def _held(unit: Compilation) -> list[tuple[str, Any]]:
    """The largest values that are alive where most is, of the part that takes most."""
    part: Schedule = max(unit.parts.values(), key=lambda p: p.arena)
    values, _ = lifetimes(part)
    live = live_bytes(values.values(), unit.backend.target.cache_line, len(part.steps))
    place = live.index(max(live))
    alive = [s for s, v in values.items() if v.first <= place <= v.last and v.nbytes]
    chosen = sorted(alive, key=lambda s: (-values[s].nbytes, s))[:_NAMED]
    return [(size(values[s].nbytes), _Held(part, s)) for s in chosen]


class _Held:
    """A value of a schedule, as an error shows it."""

    def __init__(self, schedule: Schedule, number: int):
        slot = schedule.slots[number]
        step = next(s for s in schedule.steps if number in s.writes)
        lines = ", ".join(lines_of(step)[:2])
        self._text = f"{short_type(slot.shape, slot.dtype)}  {lines}".rstrip()

    def __repr__(self) -> str:
        return self._text


def again_work(schedule: Schedule) -> tuple[int, int]:
    """The number of recomputed steps, and their operations, over all iterations of loops."""
    steps = [schedule.steps[again.step + i] for again in schedule.again for i in range(again.count)]
    count, flops = len(steps), sum(map(flops_of, steps))
    for step, part in _parts(schedule):
        inner, more = again_work(part)
        count, flops = count + inner, flops + more * int(getattr(step.node.arg, "length", 1))
    return count, flops


def again_text(schedule: Schedule) -> list[str]:
    """What is recomputed, and why: a line for each such step."""
    found = [line for again in schedule.again for line in _again_lines(schedule, again)]
    for step, part in _parts(schedule):
        found += [f"in {step.node.op.name}, {line}" for line in again_text(part)]
    return found


def _parts(schedule: Schedule) -> list[tuple[ControlStep, Schedule]]:
    """Loops and branches, with the schedules of their functions."""
    steps = (step for step in schedule.steps if isinstance(step, ControlStep))
    return [(step, part) for step in steps for part in step.parts]


def _again_lines(schedule: Schedule, again: Again) -> Iterator[str]:
    step = schedule.steps[again.step]
    lines = ", ".join(lines_of(step)[:2])
    for old, new, last in again.values:
        slot = schedule.slots[new]
        kind = short_type(slot.shape, slot.dtype)
        yield (
            f"step {again.step}, {step}: {kind} ({lines}) once more, not kept from step {last} on "
            f"(as s{old}): {size(slot.nbytes)} less until here"
        )
