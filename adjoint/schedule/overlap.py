"""Collectives overlap with kernels: begun when their operands are computed, waited for when needed.

Before: g1 = …, collective all_reduce(g1), w1 - r1, g2 = …, collective all_reduce(g2), w2 - r2
After: g1 = …, collective all_reduce(g1), begun, g2 = …, collective all_reduce(g2), begun,
       wait, w1 - r1, wait, w2 - r2

Steps keep their order, except that steps which need a collective in progress come behind those that
do not. All members run the same steps in the same order, so they begin the same collectives in the
same order. What may live here: the order of steps. What may not: threads, or who sends what.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import accumulate

from adjoint.ops.collective import COLLECTIVES, bytes_sent
from adjoint.stages import HostStep, Schedule, Step, WaitStep


def overlap_collectives(schedule: Schedule, least: int | None) -> Schedule:
    """The steps in an order in which collectives of so many bytes have time."""
    steps = schedule.steps
    if least is None or least < 0 or not any(_travels(step, least) for step in steps):
        return schedule
    return replace(schedule, steps=tuple(_Order(steps, least).steps()))


def _travels(step: Step, least: int) -> bool:
    return (
        isinstance(step, HostStep)
        and step.node.op in COLLECTIVES
        and bytes_sent(step.node) >= least
        and step.node.arg.size > 1
    )


class _Order:
    """Steps that are put in order one after another."""

    def __init__(self, steps: tuple[Step, ...], least: int):
        self.all = steps
        self.travels = [_travels(step, least) for step in steps]
        self.followers: list[list[int]] = [[] for _ in steps]
        self.missing: list[int] = []
        self.ready: list[tuple[bool, int]] = []  # collectives first, then by number
        self.flying: deque[int] = deque()
        self.made: list[tuple[int, bool]] = []  # (step, whether it is the wait for it)
        for number, needs in enumerate(needs_of(steps)):
            self.missing.append(len(needs))
            for before in needs:
                self.followers[before].append(number)
            if not needs:
                self._offer(number)

    def _offer(self, number: int) -> None:
        heappush(self.ready, (not self.travels[number], number))

    def steps(self) -> list[Step]:
        """All steps, with waits."""
        while self.ready or self.flying:
            if self.ready:
                _, number = heappop(self.ready)
                self.made.append((number, False))
                if self.travels[number]:
                    self.flying.append(number)
                    continue
            else:
                number = self.flying.popleft()
                self.made.append((number, True))
            self._done(number)
        return self._written()

    def _done(self, number: int) -> None:
        for follower in self.followers[number]:
            self.missing[follower] -= 1
            if not self.missing[follower]:
                self._offer(follower)

    def _written(self) -> list[Step]:
        """The steps; a collective with no work behind its beginning is one step."""
        kernels = list(accumulate(not self.travels[number] for number, _ in self.made))
        end = {number: place for place, (number, waits) in enumerate(self.made) if waits}
        found: list[Step] = []
        ahead: set[int] = set()
        for place, (number, waits) in enumerate(self.made):
            step = self.all[number]
            if isinstance(step, HostStep) and self.travels[number]:
                if waits:
                    done = WaitStep(step.node, step.results, step.operands)
                    found += [done] if number in ahead else []
                    continue
                if kernels[end[number]] > kernels[place]:
                    ahead.add(number)
                    step = replace(step, ahead=True)
            found.append(step)
        return found


def needs_of(steps: Sequence[Step]) -> list[set[int]]:
    """For each step those before it that write what it uses, or use what it writes."""
    writer: dict[int, int] = {}
    users: dict[int, list[int]] = {}
    found = []
    for number, step in enumerate(steps):
        needs = {writer[slot] for slot in (*step.reads, *step.writes) if slot in writer}
        for slot in step.writes:
            needs.update(users.get(slot, ()))
        found.append(needs - {number})
        for slot in step.writes:
            writer[slot], users[slot] = number, []
        for slot in step.reads:
            users.setdefault(slot, []).append(number)
    return found
