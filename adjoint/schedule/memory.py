"""The memory plan: the place of each value in one arena, from its computation to its last use.

Before: a schedule whose slots have no place.
After: slots that are neither arguments nor results have offsets in one arena. Values whose
lifetimes do not overlap share memory, and a result may take the place of an operand whose lifetime
ends with it.

The order of steps is already fixed, so the plan is the same every time. This module also decides
which outputs may take the memory of donated inputs.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import accumulate

from adjoint.stages import KernelStep, LibraryStep, Schedule, Step, in_one_launch


def plan_memory(schedule: Schedule, align: int, tight: bool = False) -> Schedule:
    """The schedule with its arena, in which every value begins at a multiple of `align`; `tight` if
    it is worth a second plan, of which the smaller one is taken."""
    values, home = lifetimes(schedule)
    inside = list(values)
    offsets, arena = place(list(values.values()), align)
    if tight and arena > peak_of(values.values(), align):
        others, smaller = place_largest_first(list(values.values()), align)
        offsets, arena = (others, smaller) if smaller < arena else (offsets, arena)
    at = dict(zip(inside, offsets, strict=True))
    at |= {slot: at[other] for slot, other in home.items()}
    slots = [replace(s, offset=at[i]) if i in at else s for i, s in enumerate(schedule.slots)]
    return replace(schedule, slots=tuple(slots), arena=arena)


def lifetimes(schedule: Schedule) -> tuple[dict[int, Lifetime], dict[int, int]]:
    """The slots in the arena, each with its lifetime; and the slots that share the place of one of
    them, whose lifetime includes theirs.
    """
    use = _Uses(schedule)
    home = _homes(schedule, use)
    inside = [s for s in use.first if s not in use.outside and home.get(s, s) == s]
    ends = {s: use.last[s] for s in inside}
    for slot, other in home.items():
        ends[other] = max(ends[other], use.last[slot])
    for flag, _ in schedule.flags():  # cleared before the first step and read after the last
        use.first[flag], ends[flag] = 0, len(schedule.steps)
    return {s: Lifetime(schedule.slots[s].nbytes, use.first[s], ends[s]) for s in inside}, home


class _Uses:
    """The first and the last step that uses each slot, and the slots that live outside a run. Steps
    that may run at one time all count as users of what one of them uses.
    """

    def __init__(self, schedule: Schedule):
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.users: dict[int, dict[int, None]] = {}  # the steps
        self.group: dict[int, list[int]] = {}  # of every step those that run at one time with it
        for group in in_one_launch(schedule.steps):
            self.group |= dict.fromkeys(group, group)
            for number in group:
                for slot in slots_of(schedule.steps[number]):
                    self.first.setdefault(slot, group[0])
                    self.last[slot] = group[-1]
                    self.users.setdefault(slot, {})[number] = None
        for step in schedule.steps:
            if isinstance(step, KernelStep) and step.flag is not None:
                self.first[step.flag[0]], self.last[step.flag[0]] = 0, len(schedule.steps)
        constants = (i for i, _ in schedule.constants)
        self.outside = {*schedule.inputs, *constants, *schedule.outputs}

    def is_alone(self, slot: int, number: int) -> bool:
        """Whether no step uses a slot at the time at which this one does."""
        return all(n == number or n not in self.users[slot] for n in self.group[number])


def slots_of(step: Step) -> tuple[int, ...]:
    """All slots of a step."""
    if isinstance(step, (KernelStep, LibraryStep)):
        return step.slots
    return (*step.results, *step.operands)


def _homes(schedule: Schedule, use: _Uses) -> dict[int, int]:
    """Slots that take the place of another one, which no later step reads."""
    home: dict[int, int] = {}
    taken: set[int] = set()
    for number, step in enumerate(schedule.steps):
        if not isinstance(step, KernelStep):
            continue
        for result, operand in step.program.in_place:
            new, old = step.slots[result], step.slots[operand]
            group = use.group[number]
            dies = use.last[old] == group[-1] and use.first[new] == group[0] and old not in taken
            alone = use.is_alone(old, number) and use.is_alone(new, number)
            if dies and alone and new not in home and not {new, old} & use.outside:
                home[new] = home.get(old, old)
                taken.add(old)
    return home


# ---- donated inputs


def donations(schedule: Schedule, donated: Sequence[int]) -> list[tuple[int, int]]:
    """(output, donated input) pairs of equal size, each used once: the output takes its memory.

    That needs an input that no step reads once the output is first written, or that only the kernel
    that writes the output reads, each element before its place is written.
    """
    free = [i for i in donated if schedule.inputs[i] not in schedule.outputs]
    pairs, order = [], _Order(schedule)
    for place, number in enumerate(schedule.outputs):
        slot = schedule.slots[number]
        if slot.offset is not None or schedule.outputs.index(number) != place:
            continue
        for i in free:
            source = schedule.inputs[i]
            if schedule.slots[source].nbytes == slot.nbytes and order.is_free(source, number):
                pairs.append((place, i))
                free.remove(i)
                break
    return pairs


class _Order:
    """Which steps read a slot, and which is the first that writes it."""

    def __init__(self, schedule: Schedule):
        self.steps = schedule.steps
        self.end = {n: group[-1] for group in in_one_launch(self.steps) for n in group}
        self.readers: dict[int, list[int]] = {}
        self.writer: dict[int, int] = {}
        for number, step in enumerate(self.steps):
            for slot in dict.fromkeys(step.reads):
                self.readers.setdefault(slot, []).append(number)
            for slot in step.writes:
                self.writer.setdefault(slot, number)

    def is_free(self, source: int, result: int) -> bool:
        """Whether no step reads the source any more when the result is written, or only the kernel
        that writes it, over elements that it has read.
        """
        readers, writer = self.readers.get(source, []), self.writer.get(result)
        if writer is None:
            return False
        end = self.end[writer]
        together = [n for n in readers if self.end[n] == end]
        if not together:
            return max(readers, default=-1) < writer
        step = self.steps[writer]
        if together != [writer] or readers[-1] > end or not isinstance(step, KernelStep):
            return False
        return any(
            (step.slots[out], step.slots[read]) == (result, source)
            for out, read in step.program.in_place
        )


def carries_in_place(schedule: Schedule, carries: int) -> tuple[int, ...]:
    """The carries of a loop whose new value an iteration may write over the old one. Rows that are
    old values have been copied before.
    """
    found, outputs, order = [], schedule.outputs, _Order(schedule)
    given = {*schedule.inputs, *(i for i, _ in schedule.constants)}
    for place in range(carries):
        old, new = schedule.inputs[place], outputs[place]
        alone = new not in given and outputs.count(new) == 1 and old not in outputs[:carries]
        if alone and schedule.slots[new].offset is None and order.is_free(old, new):
            found.append(place)
    return tuple(found)


# ---- the arena


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Lifetime:
    """A value of some bytes that is alive from one step to another, both included."""

    nbytes: int
    first: int
    last: int


def place(values: Sequence[Lifetime], align: int) -> tuple[list[int], int]:
    """An offset for every value, a multiple of `align`, and how large the arena is.

    Steps are gone through in order: what has died is free, and a value takes the smallest free
    piece that holds it, or the end of the arena.
    """
    offsets = [0] * len(values)
    arena = _Arena()
    ends: list[tuple[int, int]] = []  # (last step, number), the earliest first
    for number in sorted(range(len(values)), key=lambda i: (values[i].first, -values[i].nbytes, i)):
        while ends and ends[0][0] < values[number].first:
            dead = heappop(ends)[1]
            arena.release(offsets[dead], _aligned(values[dead].nbytes, align))
        offsets[number] = arena.take(_aligned(values[number].nbytes, align))
        heappush(ends, (values[number].last, number))
    return offsets, arena.size


def place_largest_first(values: Sequence[Lifetime], align: int) -> tuple[list[int], int]:
    """The same, one value after another, the largest first, each at the lowest free place during
    its lifetime: slower to compute, often smaller.
    """
    offsets, size = [0] * len(values), 0
    taken: list[tuple[int, int, int, int]] = []  # (start, stop, first, last), by start
    for number in sorted(range(len(values)), key=lambda i: (-values[i].nbytes, i)):
        value, at = values[number], 0
        nbytes = _aligned(value.nbytes, align)
        for start, stop, first, last in taken:
            if first <= value.last and value.first <= last:
                if start - at >= nbytes:
                    break
                at = max(at, stop)
        offsets[number], size = at, max(size, at + nbytes)
        insort(taken, (at, at + nbytes, value.first, value.last))
    return offsets, size


def live_bytes(values: Iterable[Lifetime], align: int, steps: int) -> list[int]:
    """The bytes of the values that are alive at every step, and behind the last."""
    change = [0] * (steps + 2)
    for value in values:
        nbytes = _aligned(value.nbytes, align)
        change[value.first] += nbytes
        change[value.last + 1] -= nbytes
    return list(accumulate(change[:-1]))


def peak_of(values: Iterable[Lifetime], align: int) -> int:
    """The most bytes that are alive at once: no arena is smaller."""
    known = list(values)
    return max(live_bytes(known, align, max((v.last for v in known), default=0)), default=0)


def _aligned(nbytes: int, align: int) -> int:
    """Whole lines; a value of no bytes has a place, too."""
    return -(-max(nbytes, 1) // align) * align


class _Arena:
    """Memory that grows at the end; free pieces by where they start, neighbours joined."""

    def __init__(self) -> None:
        self.size = 0
        self._free: dict[int, int] = {}  # start → stop
        self._stops: dict[int, int] = {}  # stop → start

    def take(self, nbytes: int) -> int:
        fits = [
            (stop - start, start) for start, stop in self._free.items() if stop - start >= nbytes
        ]
        if fits:
            start = min(fits)[1]
            stop = self._remove(start)
            if start + nbytes < stop:
                self._add(start + nbytes, stop)
            return start
        start = self._remove_end()
        self.size = start + nbytes
        return start

    def _remove_end(self) -> int:
        """Where the arena ends, not counting a free piece there."""
        start = self._stops.get(self.size)
        if start is None:
            return self.size
        self._remove(start)
        return start

    def release(self, start: int, nbytes: int) -> None:
        stop = start + nbytes
        if stop in self._free:
            stop = self._remove(stop)
        if start in self._stops:
            start = self._stops[start]
            self._remove(start)
        self._add(start, stop)

    def _add(self, start: int, stop: int) -> None:
        self._free[start] = stop
        self._stops[stop] = start

    def _remove(self, start: int) -> int:
        stop = self._free.pop(start)
        del self._stops[stop]
        return stop
