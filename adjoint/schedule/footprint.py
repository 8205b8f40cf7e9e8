"""The memory of one run in all: arguments, results, its arena, the bodies of its loops.

What may live here: counting, before anything runs. What may not: places (`memory.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from adjoint.ir.memory_limit import MemoryLimit
from adjoint.ir.opdef import OPS
from adjoint.schedule.memory import donations
from adjoint.stages import ControlStep, Schedule

Taken = Callable[[int], int]  # what a block of so many bytes takes of a device's memory
_ACCESS_BYTES = 16  # rows that begin inside of so many are copied where a GPU runs a loop


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes by purpose: `inside` are arenas and results of the bodies of loops, `replaced` values
    that results replace.
    """

    given: int
    results: int
    arena: int
    inside: int
    replaced: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.given + self.results + self.arena + self.inside + self.replaced


def footprint(schedule: Schedule, limit: MemoryLimit, taken: Taken) -> Footprint:
    """The memory of a run of a planned schedule; results may use the memory of donated inputs."""
    given = dict.fromkeys([*schedule.inputs, *(i for i, _ in schedule.constants)])
    lent = {schedule.outputs[place] for place, _ in donations(schedule, limit.donated)}
    made = [s for s in dict.fromkeys(schedule.outputs) if s not in given and s not in lent]
    return Footprint(
        sum(taken(schedule.slots[s].nbytes) for s in given),
        sum(taken(schedule.slots[s].nbytes) for s in made if schedule.slots[s].offset is None),
        taken(schedule.arena) if schedule.arena else 0,
        _inside(schedule, taken),
        sum(map(taken, limit.replaced)),
    )


def _inside(schedule: Schedule, taken: Taken) -> int:
    """The memory of the bodies of loops and branches, which they hold during the whole run."""
    steps = (step for step in schedule.steps if isinstance(step, ControlStep))
    return sum(map(taken, (size for step in steps for size in _blocks(step))))


def _blocks(step: ControlStep) -> Iterator[int]:
    """The sizes of all blocks of memory inside one step."""
    carries = getattr(step.node.arg, "carries", 0)
    for part in step.parts:
        if part.arena:
            yield part.arena
        yield from _own_results(step, part, carries)
        for inner in part.steps:
            if isinstance(inner, ControlStep):
                yield from _blocks(inner)


def _own_results(step: ControlStep, part: Schedule, carries: int) -> Iterator[int]:
    """Results of a body that are not written in place of the step's results, and rows that are
    copied.
    """
    sizes = [slot.nbytes for slot in part.slots]
    is_loop = step.node.op is OPS["loop"]
    for place, number in enumerate(part.outputs):
        row = is_loop and place >= carries and sizes[number] % _ACCESS_BYTES == 0
        placed = row or place in step.kept or step.node.op is OPS["branch"]
        if not placed or part.outputs.count(number) > 1:
            yield sizes[number]
    if is_loop:
        sequences = part.inputs[carries : carries + step.node.arg.sequences]
        yield from (sizes[i] for i in sequences if sizes[i] % _ACCESS_BYTES)
