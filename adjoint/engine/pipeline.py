"""Graph → schedule: every primitive node is a step of the host. The plain version of the pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.engine.interpreter import expand, is_known, known_value
from adjoint.ir.function import Function
from adjoint.ir.uop import UOp, toposort
from adjoint.stages import ControlStep, HostStep, Schedule, Slot, Step


def compile_graph(roots: Sequence[UOp], inputs: Sequence[UOp]) -> Schedule:
    """The steps that compute the roots from the inputs."""
    return _Builder(inputs).schedule(roots)


class _Builder:
    def __init__(self, inputs: Sequence[UOp]):
        self.slots: list[Slot] = []
        self.steps: list[Step] = []
        self.constants: list[tuple[int, Any]] = []
        self.places: dict[UOp, tuple[int, ...]] = {n: self._new(n) for n in inputs}
        self.inputs = tuple(self.places[n][0] for n in inputs)

    def _new(self, node: UOp) -> tuple[int, ...]:
        several = isinstance(node.dtype, tuple)
        kinds = zip(node.dtype, node.shape, strict=True) if several else [(node.dtype, node.shape)]
        first = len(self.slots)
        self.slots += [Slot(kind, shape) for kind, shape in kinds]
        return tuple(range(first, len(self.slots)))

    def schedule(self, roots: Sequence[UOp]) -> Schedule:
        values = expand(roots)
        for node in toposort(values, stop=lambda n: n in self.places or is_known(n)):
            if node not in self.places:
                self.places[node] = self._placed(node)
        outputs = tuple(self.places[n][0] for n in values)
        slots, steps, constants = map(tuple, (self.slots, self.steps, self.constants))
        return Schedule(steps, slots, self.inputs, outputs, 0, constants)

    def _placed(self, node: UOp) -> tuple[int, ...]:
        if node.op.name == "part":
            return (self.places[node.src[0]][node.arg.index],)
        place = self._new(node)
        if is_known(node):
            self.constants.append((place[0], known_value(node)))
            return place
        operands = tuple(i for s in node.src for i in self.places[s])
        parts = tuple(
            compile_graph(f.outputs, f.inputs) for f in node.arg or () if isinstance(f, Function)
        )
        if parts:
            self.steps.append(ControlStep(node, place, operands, parts))
        else:
            self.steps.append(HostStep(node, place, operands))
        return place
