"""Results are computed as early as possible: work that only they need runs right behind its
operands.

Before: all of a backward pass, then the gradient by each weight, for which every picture and every
cotangent is kept until then.
After: the gradient by a weight as soon as its cotangent is computed.

Units only move forward, so the operands of a unit are still computed before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adjoint.ir.uop import UOp
from adjoint.schedule.units import Unit

Units = dict[Unit, None]
_SMALL = 1024  # numbers


def results_early(order: Sequence[Unit], makers: Mapping[Unit, set[Unit]]) -> list[Unit]:
    """The same units; `makers` are those that must come before each."""
    order = _small_early(order, makers)
    place = {unit: i for i, unit in enumerate(order)}
    users: dict[Unit, set[Unit]] = {unit: set() for unit in order}
    readers: dict[UOp, list[Unit]] = {}
    for unit in order:
        for maker in makers[unit]:
            users[maker].add(unit)
        for node in unit.reads:
            readers.setdefault(node, []).append(unit)
    rank: dict[Unit, tuple[float, int]] = {unit: (i, i) for unit, i in place.items()}
    for last in order:
        if users[last]:
            continue
        alone = _alone(last, makers, users)
        before = {m for unit in alone for m in makers[unit]}.difference(alone)
        before.update(_readers_of_old(last, readers))
        behind = max((place[unit] for unit in before if unit not in alone), default=-1)
        if 0 <= behind < min(place[unit] for unit in alone):
            rank.update({unit: (behind + 0.5, place[unit]) for unit in alone})
    return sorted(order, key=rank.__getitem__)


def _small_early(order: Sequence[Unit], makers: Mapping[Unit, set[Unit]]) -> list[Unit]:
    """Moves units with very small results right behind their operands."""
    rank: dict[Unit, tuple[float, int]] = {}
    for i, unit in enumerate(order):
        known = [rank[maker][0] for maker in makers[unit] if maker in rank]
        waits = len(known) < len(makers[unit])  # for a unit that comes later all the same
        small = unit.kind == "kernel" and sum(node.size for node in unit.outputs) <= _SMALL
        behind = int(max(known, default=-1)) + 0.5
        rank[unit] = (min(behind, i), i) if small and not waits else (i, i)
    return sorted(order, key=rank.__getitem__)


def _alone(last: Unit, makers: Mapping[Unit, set[Unit]], users: Mapping[Unit, set[Unit]]) -> Units:
    """A unit that no other uses, and those that only it needs."""
    found, stack = {last: None}, [last]
    while stack:
        for maker in makers[stack.pop()]:
            if maker not in found and users[maker] <= found.keys():
                found[maker] = None
                stack.append(maker)
    return found


def _readers_of_old(last: Unit, readers: Mapping[UOp, list[Unit]]) -> list[Unit]:
    """The units that read a value over which this one may write its new value."""
    kinds = {(node.shape, node.dtype) for node in last.outputs}
    return [
        unit
        for node in last.reads
        if (node.shape, node.dtype) in kinds
        for unit in readers[node]
        if unit is not last
    ]
