"""Groups become steps over slots: loop programs, library calls, host steps, control flow.

Before: [library: contract], [kernel: exp over loops (m, n)].
After: `library gemm (s2, s0, s1)`, `kernel exp(s3, s2)`; slots s0 … s3 without places in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from adjoint.errors import InternalError
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.function import Function
from adjoint.ir.origin import places_of, readable
from adjoint.ir.uop import UOp
from adjoint.ir.values import known_value
from adjoint.kernel.algorithms.loops import AlgorithmKernel, AlgorithmSteps
from adjoint.kernel.algorithms.scatter import read_by
from adjoint.kernel.algorithms.sort import sort_program
from adjoint.kernel.algorithms.table import build, build_steps
from adjoint.kernel.algorithms.team_sort import build_team_sort
from adjoint.kernel.loop_program import lower
from adjoint.kernel.panels import lower_panels
from adjoint.kernel.several_products import lower_tiles
from adjoint.schedule.classify import CONTROL, HOST, LIBRARY, ROUTINE, SORT, SPECIAL, WHOLE
from adjoint.schedule.groups import Fused, Work, group_key, nodes_of
from adjoint.schedule.layout import gemm_of, sorts
from adjoint.schedule.routines import routine_of
from adjoint.schedule.strategy import LOOPS, PANELS, TILES, for_tiles
from adjoint.schedule.whole import call_of
from adjoint.stages import (
    ControlStep,
    Group,
    HostStep,
    KernelStep,
    LibraryStep,
    LoopProgram,
    Schedule,
    Slot,
    Step,
    functions_of,
)
from adjoint.target import Target


def build_schedule(fused: Fused, made: Mapping[Function, Schedule], target: Target) -> Schedule:
    """The steps of a fused graph; `made` are the schedules of the functions inside it."""
    return _Builder(fused, made, target).schedule()


class _Builder:
    """Slots and steps of one schedule."""

    def __init__(self, fused: Fused, made: Mapping[Function, Schedule], target: Target):
        self.fused, self.made, self.target = fused, made, target
        self.slots: list[Slot] = []
        self.slot_of: dict[UOp, int] = {}
        self.lowered: dict[Any, tuple[LoopProgram, int | None]] = {}  # and which node it checks
        self.makes: dict[LoopProgram, list[UOp]] = {}  # all that is computed by each

    def schedule(self) -> Schedule:
        graph = self.fused.graph
        inputs = tuple(self._slot(node) for node in graph.inputs)
        constants = tuple((self._slot(n), known_value(v)) for n, v in graph.constants)
        steps = self._with_lines([s for work in self.fused.work for s in self._steps(work)])
        outputs = tuple(self._slot(node) for node in graph.roots)
        types = tuple((node.dtype, tuple(map(int, node.shape))) for node in graph.roots)
        return Schedule(steps, tuple(self.slots), inputs, outputs, 0, constants, types)

    def _new(self, dtype: DType, shape: tuple[int, ...]) -> int:
        self.slots.append(Slot(dtype, tuple(map(int, shape))))
        return len(self.slots) - 1

    def _slot(self, node: UOp) -> int:
        node = self.fused.storage(node)
        if node not in self.slot_of:
            self.slot_of[node] = self._new(node.dtype, node.shape)
        return self.slot_of[node]

    def _steps(self, work: Work) -> list[Step]:
        if work.strategy is None:
            raise InternalError(f"no strategy was chosen for {work}")
        made = _BUILDERS[work.strategy.use](self, work)
        steps = made if isinstance(made, list) else [made]
        return [replace(step, strategy=work.strategy) for step in steps]

    def _control(self, work: Work) -> ControlStep:
        node = work.nodes[0]
        parts = tuple(self.made[function] for function in functions_of(node))
        return ControlStep(node, *self._results_and_operands(node), parts)

    def _host(self, work: Work) -> HostStep:
        return HostStep(work.nodes[0], *self._results_and_operands(work.nodes[0]))

    def _results_and_operands(self, node: UOp) -> tuple[tuple[int, ...], tuple[int, ...]]:
        operands = tuple(self._slot(s) for s in node.src)
        return tuple(self._slot(part) for part in parts_of(node)), operands

    def _kernel(self, work: Work) -> KernelStep:
        assert work.group is not None
        program, checked = self._lowered(work, work.group)
        nodes = [*work.nodes, *work.group.inputs]
        slots = [self._slot(n) for n in nodes]
        places = places_of(work.nodes, work.group.inputs)
        return self._flagged(program, slots, work.nodes[0], checked, places)

    def _lowered(self, work: Work, group: Group) -> tuple[LoopProgram, UOp | None]:
        """The loops of a group, shared by all equal groups; the node whose index this one checks.

        A source names the lines of all of them.
        """
        nodes = nodes_of(group)
        assert work.strategy is not None
        use, target = work.strategy.use, self.target
        if use == TILES:
            target = for_tiles(group.reduced[0][0], target)
        key = (use, target.tile, group_key(group, nodes))
        if key not in self.lowered:
            program, checked = LOWERINGS[use](group, _name(work), target)
            self.lowered[key] = program, None if checked is None else nodes.index(checked)
        program, place = self.lowered[key]
        self.makes.setdefault(program, []).extend(work.nodes)
        return program, None if place is None else nodes[place]

    def _with_lines(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        new = {
            program: replace(program, lines=tuple(readable(n.raw_origin for n in nodes)))
            for program, nodes in self.makes.items()
        }
        return tuple(
            replace(step, program=new[step.program])
            if isinstance(step, KernelStep) and step.program in new
            else step
            for step in steps
        )

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

    def _sort(self, work: Work) -> KernelStep | list[Step]:
        order = sorts(work.nodes[0])
        assert order is not None
        several = build_team_sort(order, self.target, True, len(work.nodes) > 1)
        if several is not None:
            return self._several(several, work.nodes, order)
        special = sort_program(order, self.target, values=True, indices=len(work.nodes) > 1)
        return self._prepared(special, work.nodes, order)

    def _special(self, work: Work) -> KernelStep | list[Step]:
        node = work.nodes[0]
        several = build_steps(node, self.target)
        if several is not None:
            return self._several(several, parts_of(node), node)
        return self._prepared(build(node, self.target), parts_of(node), node)

    def _several(self, made: AlgorithmSteps, results: tuple[UOp, ...], node: UOp) -> list[Step]:
        """Consecutive kernels; of those with the cell for bad indices, the last reports them."""
        slots = [*map(self._slot, results), *map(self._slot, read_by(node, self.target))]
        slots += [self._new(dtype, (count,)) for dtype, count in made.scratch]
        flag = self._new(dtypes.int64, (1,)) if made.flag else None
        slots += [] if flag is None else [flag]
        steps: list[Step] = []
        for program, places in made.parts:
            own = tuple(slots[place] for place in places)  # -1: the flag
            told = None if flag is None or flag not in own else (flag, node)
            steps.append(KernelStep(program, own, node, told))
        return steps

    def _prepared(
        self, special: AlgorithmKernel, results: tuple[UOp, ...], node: UOp
    ) -> KernelStep:
        slots = [*map(self._slot, results), *map(self._slot, read_by(node, self.target))]
        slots += [self._new(dtype, (count,)) for dtype, count in special.scratch]
        return self._flagged(special.program, slots, node, node if special.flag else None)

    def _library(self, work: Work) -> LibraryStep:
        node = work.nodes[0]
        gemm, operands = gemm_of(node, self.target)
        results = parts_of(node)
        slots = tuple(map(self._slot, (*results, *operands)))
        return LibraryStep(gemm, slots, node, made=len(results))

    def _whole(self, work: Work) -> LibraryStep:
        node = work.nodes[0]
        call, operands = call_of(node)
        results = parts_of(node)
        slots = tuple(map(self._slot, (*results, *operands)))
        return LibraryStep(call, slots, node, made=len(results))

    def _routine(self, work: Work) -> LibraryStep:
        node = work.nodes[0]
        results, operands = self._results_and_operands(node)
        return LibraryStep(routine_of(node), (*results, *operands), node, made=len(results))


LOWERINGS = {LOOPS: lower, TILES: lower_tiles, PANELS: lower_panels}  # by what a row uses
_BUILDERS: dict[str, Callable[[_Builder, Work], Step | list[Step]]] = {
    LOOPS: _Builder._kernel,
    TILES: _Builder._kernel,
    PANELS: _Builder._kernel,
    LIBRARY: _Builder._library,
    WHOLE: _Builder._whole,
    ROUTINE: _Builder._routine,
    SPECIAL: _Builder._special,
    SORT: _Builder._sort,
    CONTROL: _Builder._control,
    HOST: _Builder._host,
}


def parts_of(node: UOp) -> tuple[UOp, ...]:
    """The results of a node, each as a node."""
    if not isinstance(node.dtype, tuple):
        return (node,)
    return tuple(node.part(i) for i in range(len(node.dtype)))


def _name(work: Work) -> str:
    """The ops of the results, the last one in front."""
    return "_".join(dict.fromkeys(node.op.name for node in work.nodes[:3]))
