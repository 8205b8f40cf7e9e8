"""Work becomes a schedule: groups are lowered to loop programs, and memory is planned.

In: a graph of primitives over INPUT nodes. Out: `Schedule`. What may live here: how the packages
below are put together. What may not: any one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.function import Function
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import places_of
from adjoint.ir.uop import UOp, substitute, toposort
from adjoint.ir.values import is_known, known_value
from adjoint.kernel.algorithms.table import Special, build, sort_program
from adjoint.kernel.lower import lower
from adjoint.runtime.timeline import span
from adjoint.schedule.classify import CONTROL, LIBRARY, SORT, SPECIAL
from adjoint.schedule.divide import Division, Work, divide
from adjoint.schedule.layout import gemm_of, matrix_base, sorts
from adjoint.schedule.memory import Lifetime, place
from adjoint.stages import (
    ControlStep,
    HostStep,
    KernelStep,
    LibraryStep,
    LoopProgram,
    Schedule,
    Slot,
    Step,
)


def scheduled(roots: Sequence[UOp], inputs: Sequence[UOp], compile_function: Any) -> Schedule:
    """The schedule that computes expanded roots from inputs."""
    closed, known = _closed(roots, set(inputs))
    with span("schedule", "compile"):
        division = divide(closed)
    with span("lower", "compile"):
        schedule = _Builder(division, [*inputs, *known], compile_function).schedule()
    first, rest = schedule.inputs[: len(inputs)], schedule.inputs[len(inputs) :]
    values = tuple(zip(rest, map(known_value, known.values()), strict=True))
    return replace(schedule, inputs=first, constants=values)


def _closed(roots: Sequence[UOp], inputs: set[UOp]) -> tuple[list[UOp], dict[UOp, UOp]]:
    """The roots over parameters only: what has a value already is one too, with that value."""
    known = [n for n in toposort(roots, stop=is_known) if is_known(n) and n not in inputs]
    make = OPS["input"]
    names = [make(f"known{i}", n.shape, n.dtype, n.device) for i, n in enumerate(known)]
    return substitute(roots, dict(zip(known, names, strict=True))), dict(
        zip(names, known, strict=True)
    )


class _Builder:
    """Slots and steps of one schedule."""

    def __init__(self, division: Division, inputs: Sequence[UOp], compile_function: Any):
        self.division, self.compile_function = division, compile_function
        self.slots: list[Slot] = []
        self.slot_of: dict[Any, int] = {}
        self.steps: list[Step] = []
        self.inputs = tuple(self._slot(node) for node in inputs)

    def _new(self, dtype: DType, shape: tuple[int, ...]) -> int:
        self.slots.append(Slot(dtype, shape))
        return len(self.slots) - 1

    def _slot(self, node: UOp) -> int:
        node = self.division.storage(node)
        if node not in self.slot_of:
            self.slot_of[node] = self._new(node.dtype, node.shape)
        return self.slot_of[node]

    def schedule(self) -> Schedule:
        for work in self.division.work:
            self.steps.append(self._step(work))
        outputs = tuple(self._slot(node) for node in self.division.values)
        slots, arena = self._planned(outputs)
        types = tuple((node.dtype, node.shape) for node in self.division.values)
        return Schedule(tuple(self.steps), slots, self.inputs, outputs, arena, (), types)

    def _step(self, work: Work) -> Step:
        if work.group is not None:
            return self._kernel(work)
        node = work.nodes[0]
        if work.kind == SORT:
            return self._sort(work)
        if work.kind == LIBRARY:
            return self._library(node)
        if work.kind == SPECIAL:
            return self._special(node)
        operands = tuple(self._slot(s) for s in node.src)
        results = self._results(node)
        if work.kind == CONTROL:
            parts = tuple(self.compile_function(f) for f in node.arg if isinstance(f, Function))
            return ControlStep(node, results, operands, parts)
        return HostStep(node, results, operands)

    def _results(self, node: UOp) -> tuple[int, ...]:
        if not isinstance(node.dtype, tuple):
            return (self._slot(node),)
        return tuple(self._part(node, i) for i in range(len(node.dtype)))

    def _part(self, node: UOp, index: int) -> int:
        part = node.part(index)
        return self._slot(part)

    def _kernel(self, work: Work) -> KernelStep:
        assert work.group is not None
        program, checked = lower(work.group, _name(work))
        nodes = [*work.nodes, *work.group.inputs]
        slots = [self._slot(n) for n in nodes]
        places = places_of(work.nodes, work.group.inputs)
        return self._flagged(program, slots, work.nodes[0], checked, places)

    def _flagged(
        self,
        program: LoopProgram,
        slots: list[int],
        node: UOp,
        checked: UOp | None,
        places: tuple[Any, ...] = (),
    ) -> KernelStep:
        if checked is None:
            return KernelStep(program, tuple(slots), node, None, places)
        flag = self._new(dtypes.int64, (1,))
        return KernelStep(program, (*slots, flag), node, (flag, checked), places)

    def _sort(self, work: Work) -> KernelStep:
        order = sorts(work.nodes[0])
        assert order is not None
        special = sort_program(order, values=True, indices=len(work.nodes) > 1)
        return self._prepared(special, work.nodes, order)

    def _special(self, node: UOp) -> KernelStep:
        return self._prepared(build(node), parts_of(node), node)

    def _prepared(self, special: Special, results: tuple[UOp, ...], node: UOp) -> KernelStep:
        slots = [*map(self._slot, results), *map(self._slot, node.src)]
        slots += [self._new(dtype, (count,)) for dtype, count in special.scratch]
        return self._flagged(special.program, slots, node, node if special.flag else None)

    def _library(self, node: UOp) -> LibraryStep:
        operands = [matrix_base(s) for s in node.src]
        return LibraryStep(gemm_of(node), tuple(map(self._slot, (node, *operands))), node)

    # ---- memory

    def _planned(self, outputs: tuple[int, ...]) -> tuple[tuple[Slot, ...], int]:
        """Slots with their places in the arena; a result may take the place of a dying operand."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for number, step in enumerate(self.steps):
            for slot in _slots_of(step):
                first.setdefault(slot, number)
                last[slot] = number
            if isinstance(step, KernelStep) and step.flag is not None:  # read when all is done
                first[step.flag[0]], last[step.flag[0]] = 0, len(self.steps)
        outside = {*self.inputs, *outputs}
        home = self._homes(first, last, outside)
        inside = [s for s in first if s not in outside and home.get(s, s) == s]
        ends = {s: last[s] for s in inside}
        for slot, other in home.items():
            ends[other] = max(ends[other], last[slot])
        for step in self.steps:  # flags are cleared before the first step and read after the last
            if isinstance(step, KernelStep) and step.flag is not None:
                first[step.flag[0]], ends[step.flag[0]] = 0, len(self.steps)
        values = [Lifetime(self.slots[s].nbytes, first[s], ends[s]) for s in inside]
        offsets, arena = place(values)
        at = dict(zip(inside, offsets, strict=True))
        at |= {slot: at[other] for slot, other in home.items()}
        slots = [replace(s, offset=at[i]) if i in at else s for i, s in enumerate(self.slots)]
        return tuple(slots), arena

    def _homes(
        self, first: dict[int, int], last: dict[int, int], outside: set[int]
    ) -> dict[int, int]:
        """Slots that lie where another one lay, which nobody reads any more."""
        home: dict[int, int] = {}
        taken: set[int] = set()
        for number, step in enumerate(self.steps):
            if not isinstance(step, KernelStep):
                continue
            for result, operand in step.program.in_place:
                new, old = step.slots[result], step.slots[operand]
                dies = last[old] == number and first[new] == number and old not in taken
                if dies and new not in home and not {new, old} & outside:
                    home[new] = home.get(old, old)
                    taken.add(old)
        return home


def parts_of(node: UOp) -> tuple[UOp, ...]:
    """The results of a node, each as a node."""
    if not isinstance(node.dtype, tuple):
        return (node,)
    return tuple(node.part(i) for i in range(len(node.dtype)))


def _slots_of(step: Step) -> tuple[int, ...]:
    if isinstance(step, (KernelStep, LibraryStep)):
        return step.slots
    return (*step.results, *step.operands)


def _name(work: Work) -> str:
    """The ops of the results, the last one in front."""
    return "_".join(dict.fromkeys(node.op.name for node in work.nodes[:3]))


__all__ = ["scheduled"]
