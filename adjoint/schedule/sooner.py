"""Steps move forward if that frees more memory than it takes: the same steps in another order.

Before: a product of two large values with no other reader, at the end, where its small result is
needed.
After: the product as soon as both are computed, which frees them.

What may live here: the order of steps, where memory is limited.
"""

from __future__ import annotations

from dataclasses import replace

from adjoint.stages import ControlStep, HostStep, Schedule, Step

_ROUNDS = 3  # a step that has moved may let others move


def in_better_order(schedule: Schedule) -> Schedule:
    """The schedule in such an order."""
    for _ in range(_ROUNDS):
        found = _Order(schedule).sorted()
        if found.steps == schedule.steps:
            break
        schedule = found
    return schedule


def is_for_the_device_alone(step: Step) -> bool:
    """Whether the step may run at another time, or again: a host step may print, or communicate
    with other members of a mesh.
    """
    if isinstance(step, ControlStep):
        return all(is_for_the_device_alone(inner) for part in step.parts for inner in part.steps)
    return not isinstance(step, HostStep)


class _Order:
    """One pass over the steps: each stays, or moves right behind the steps that it depends on."""

    def __init__(self, schedule: Schedule):
        self.schedule = schedule
        given = {*schedule.inputs, *(i for i, _ in schedule.constants)}
        self.outside = {*given, *schedule.outputs, *(i for i, _ in schedule.flags())}
        self.writers: dict[int, list[int]] = {}
        self.users: dict[int, list[int]] = {}
        for number, step in enumerate(schedule.steps):
            for slot in dict.fromkeys(step.writes):
                self.writers.setdefault(slot, []).append(number)
            for slot in dict.fromkeys((*step.reads, *step.writes)):
                self.users.setdefault(slot, []).append(number)
        self.ranks = [float(i) for i in range(len(schedule.steps))]

    def sorted(self) -> Schedule:
        """The steps by where they go; those that go to one place stay in their order."""
        for number in range(len(self.ranks)):
            self.ranks[number] = self._rank(number)
        order = sorted(range(len(self.ranks)), key=lambda i: (self.ranks[i], i))
        return replace(self.schedule, steps=tuple(self.schedule.steps[i] for i in order))

    def _rank(self, number: int) -> float:
        step = self.schedule.steps[number]
        made = dict.fromkeys(step.writes)
        if not is_for_the_device_alone(step) or any(len(self.writers[s]) > 1 for s in made):
            return number
        operands = [s for s in dict.fromkeys(step.reads) if s not in made]
        dying = [s for s in operands if s not in self.outside and self.users[s][-1] == number]
        if self._bytes(dying) <= self._bytes([s for s in made if s not in self.outside]):
            return number
        before = [i for s in operands for i in self.writers.get(s, ())]
        before += [i for s in dying for i in self.users[s][:-1]]
        behind = max((self.ranks[i] for i in before), default=-1.0)
        return min(behind + 0.5, number) if behind >= 0 else number

    def _bytes(self, slots: list[int]) -> int:
        return sum(self.schedule.slots[s].nbytes for s in slots)
