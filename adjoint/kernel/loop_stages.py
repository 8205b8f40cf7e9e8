"""The loops of a kernel: rows outside, and inside one stage after another.

A stage is a nest of loops that computes reductions or stores results. A reduction that needs the
result of another is in a later stage; those of one level and one size share the loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod
from typing import TypeVar

from adjoint.ir.affine import ZERO, Affine, IndexVar, unflattened, var
from adjoint.ir.kernel_kind import is_reduction, reduce_of
from adjoint.ir.uop import UOp, toposort
from adjoint.kernel.index_maps import At
from adjoint.stages import Group, Index

Atoms = tuple[int, ...]


@dataclass(slots=True, eq=False, repr=False)
class Stage:
    """Loops and their tasks; `atoms` gives for each task the group's loops it follows."""

    level: int
    sizes: tuple[int, ...]
    reductions: list[tuple[UOp, Index, Index]] = field(default_factory=list)
    stores: list[tuple[UOp, Index]] = field(default_factory=list)
    follows: dict[UOp, Atoms] = field(default_factory=dict)

    @property
    def adds(self) -> bool:
        """Whether floats are added up or multiplied, in the order of the tree."""
        return any(adds(node) for node, _, _ in self.reductions)


def adds(node: UOp) -> bool:
    """Whether a reduction follows the tree: other orders do not matter, or are their own."""
    return reduce_of(node).tree and bool(node.dtype.is_float)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LoopStages:
    """All loops of a kernel."""

    group: Group
    outer: Atoms
    stages: tuple[Stage, ...]
    rows: tuple[tuple[UOp, Index], ...]  # results that are stored once per row


def flat(index: Index) -> Atoms:
    """The loops of an index in order."""
    return tuple(a for axis in index for a in axis)


def frame_of(group: Group) -> LoopStages:
    """The stages of a group."""
    levels = _levels(group)
    order = flat(group.outputs[0][1])
    outer = tuple(sorted(group.outer, key=lambda a: order.index(a) if a in order else a))
    stages: Stages = {}
    for node, index, loops in group.reduced:
        level = max(levels[s] for s in node.src)
        stage = _stage(stages, group, level, flat(loops), node, reduce_of(node).apart)
        stage.reductions.append((node, index, loops))
    rows = []
    for node, index in group.outputs:
        inner = tuple(a for a in flat(index) if a not in outer)
        if group.reduced and not inner:
            rows.append((node, index))
            continue
        ordered = tuple(sorted(inner, key=lambda a: order.index(a) if a in order else a))
        _stage(stages, group, levels[node], ordered, node).stores.append((node, index))
    in_order = sorted(stages.values(), key=lambda s: s.level)
    return LoopStages(group, outer, tuple(in_order), tuple(rows))


Stages = dict[tuple[int, tuple[int, ...], bool], Stage]


def _stage(
    stages: Stages, group: Group, level: int, atoms: Atoms, node: UOp, apart: bool = False
) -> Stage:
    """The stage for a node; `apart` from sums, whose loops have another order."""
    sizes = tuple(group.sizes[a] for a in atoms)
    stage = stages.setdefault((level, sizes, apart), Stage(level, sizes))
    stage.follows[node] = atoms
    return stage


def _levels(group: Group) -> dict[UOp, int]:
    """How many reductions, one after the other, a node waits for."""
    known = set(group.inputs)
    levels: dict[UOp, int] = {}
    for node in toposort([n for n, _ in group.outputs], stop=known.__contains__):
        below = 0 if node in known else max((levels[s] for s in node.src), default=0)
        inside = node in known or not is_reduction(node)
        levels[node] = below if inside else below + 1
    return levels


Runs = Sequence[int]  # how many neighbouring loops are one, from the outside in
T = TypeVar("T")


def in_runs(loops: Sequence[T], runs: Runs) -> list[Sequence[T]]:
    """The loops of each run."""
    return [loops[end - length : end] for length, end in zip(runs, accumulate(runs), strict=True)]


@dataclass(slots=True, eq=False, repr=False)
class LoopCounters:
    """Counters for some loops, neighbours joined into runs."""

    vars: list[IndexVar]
    places: list[Affine]  # of each loop
    runs: list[tuple[int, ...]]  # the sizes of the loops that each counter joins

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(v.size for v in self.vars)

    def go(self, position: Affine) -> None:
        """From here on the loops are at a position, counted in row-major order."""
        self.go_each(unflattened(position, self.sizes))

    def go_to(self, line: Affine, column: Affine) -> None:
        """From here on the last loop is at a column, those around it at a line."""
        self.go_each((*unflattened(line, self.sizes[:-1]), column))

    def go_each(self, each: Sequence[Affine]) -> None:
        """From here on the counters are at these positions."""
        pairs = zip(each, self.runs, strict=True)
        self.places = [x for at, run in pairs for x in unflattened(at, run)]

    @staticmethod
    def of(sizes: Sequence[int], runs: Runs | None = None) -> LoopCounters:
        if runs is None:
            runs = [1] * len(sizes)
        parts = [tuple(part) for part in in_runs(sizes, runs)]
        counters = [IndexVar(prod(part)) for part in parts]
        pairs = zip(counters, parts, strict=True)
        places = [x for counter, part in pairs for x in unflattened(var(counter), part)]
        return LoopCounters(counters, places, parts)


@dataclass(slots=True, eq=False, repr=False)
class Assignment:
    """Counters for every loop of a frame."""

    outer: LoopCounters
    stages: list[LoopCounters]
    frame: LoopStages

    @staticmethod
    def of(frame: LoopStages, outer: Runs | None = None, stages: Sequence[Runs] = ()) -> Assignment:
        sizes = [frame.group.sizes[a] for a in frame.outer]
        runs = stages or [None] * len(frame.stages)  # type: ignore[list-item]
        inner = [LoopCounters.of(s.sizes, r) for s, r in zip(frame.stages, runs, strict=True)]
        return Assignment(LoopCounters.of(sizes, outer), inner, frame)

    def _mapping(self, number: int | None, node: UOp) -> dict[int, Affine]:
        places = dict(zip(self.frame.outer, self.outer.places, strict=True))
        if number is not None:
            follows = self.frame.stages[number].follows[node]
            places |= dict(zip(follows, self.stages[number].places, strict=True))
        return places

    def at(self, index: Index, node: UOp, number: int | None) -> At:
        """The index of a node, in the counters of a stage."""
        places = self._mapping(number, node)
        return tuple(self._axis(axis, places) for axis in index)

    def _axis(self, axis: Iterable[int], places: dict[int, Affine]) -> Affine:
        total = ZERO
        for atom in axis:
            total = total * self.frame.group.sizes[atom] + places[atom]
        return total
