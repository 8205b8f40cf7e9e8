"""The order in which the steps of a schedule run."""

from __future__ import annotations

from collections.abc import Iterable

from adjoint.errors import InternalError
from adjoint.ir.uop import UOp
from adjoint.schedule.early import results_early
from adjoint.schedule.makers import Makers
from adjoint.schedule.units import Unit


def ordered(units: Iterable[Unit], nodes: Iterable[UOp], makers: Makers) -> list[Unit]:
    """Producers before users; among ready units, in the order of the graph's nodes.

    The dependencies of a unit come first as well, unless one needs a unit that is waiting.
    """
    place = {node: i for i, node in enumerate(nodes)}
    rank = {u: min(place[n] for n in u.outputs) for u in units}
    opened: set[Unit] = set()
    done: dict[Unit, None] = {}
    stack = sorted(rank, key=rank.__getitem__, reverse=True)
    while stack:
        unit = stack[-1]
        if unit in opened:
            stack.pop()
            done.setdefault(unit)
            continue
        opened.add(unit)
        first = makers.of(unit.reads) - {unit}
        if any(m in opened and m not in done for m in first):
            raise InternalError("two kernels need one another")
        waits = makers.of(unit.waits) - opened - first
        first |= {m for m in waits if not _needs_any(m, opened - done.keys(), done, makers)}
        missing = [m for m in first if m not in done]
        stack.extend(sorted(missing, key=rank.__getitem__, reverse=True))
    before = {u: (makers.of(u.reads) | makers.of(u.waits)) - {u} for u in done}
    return results_early(list(done), before)


def _needs_any(unit: Unit, wanted: set[Unit], done: dict[Unit, None], makers: Makers) -> bool:
    """Whether the unit reads, through other pending units, a result of one of these."""
    seen, stack = {unit}, [unit]
    while stack:
        for maker in makers.of(stack.pop().reads):
            if maker in wanted:
                return True
            if maker not in seen and maker not in done:
                seen.add(maker)
                stack.append(maker)
    return False
