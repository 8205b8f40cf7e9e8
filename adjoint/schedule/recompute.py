"""Recomputation: a schedule that needs less memory, because steps run again.

Before: step 3 computes s7, steps 4 and 90 read it, and it occupies the arena all the while.
After: step 3 runs once more before step 90 and writes s120, which step 90 reads.

A copy is the same kernel on the same operands, so no bit changes. `variants` gives one schedule
after another, each with a lower peak than the one before. At the step with the most live memory, it
frees the value that is cheapest to recompute per byte until its next use, and recomputes the
value's operands too if they are gone by then.

What may live here: which steps run twice. What may not: places in memory (`memory.py`), or how much
of it there is (`engine/memory_limits.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from adjoint.schedule.memory import lifetimes, live_bytes
from adjoint.schedule.sooner import in_better_order, is_for_the_device_alone
from adjoint.stages import (
    Again,
    KernelStep,
    LibraryStep,
    Schedule,
    Slot,
    Step,
)

_PATIENCE = 24  # values that are let go of in a row without a lower peak
_MOST = 64  # steps that one value may need, with what it is made of
_SMALL = 8  # times smaller than what it helps to make: such a value is kept instead


def variants(schedule: Schedule, align: int, cost: Callable[[Step], float]) -> Iterator[Schedule]:
    """Schedules that do the same, each with a lower peak than those before."""
    before = _Variant(_Whole(schedule, cost), {}, align).peak
    whole = _Whole(in_better_order(schedule), cost)
    cuts: dict[int, set[int]] = {}
    best, waited = before, 0
    while waited < _PATIENCE:
        variant = _Variant(whole, cuts, align)
        waited += 1
        if variant.peak < best:
            best, waited = variant.peak, 0
            yield variant.schedule
        chosen = variant.cheapest()
        if chosen is None:
            return
        for slot, step in chosen.cuts:
            cuts.setdefault(step, set()).add(slot)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Unit:
    """Steps that compute some slots together: they are repeated together, or not at all."""

    steps: tuple[int, ...]
    writes: tuple[int, ...]
    operands: tuple[int, ...]
    cost: float
    repeatable: bool


class _Whole:
    """What never changes: the steps, which of them make which slots, and from what."""

    def __init__(self, schedule: Schedule, cost: Callable[[Step], float]):
        self.schedule = schedule
        self.flags = {slot for slot, _ in schedule.flags()}
        constants = (i for i, _ in schedule.constants)
        self.outside = {*schedule.inputs, *schedule.outputs, *constants, *self.flags}
        makers = _together([s.writes for s in schedule.steps])
        made = [self._unit(steps, cost) for steps in makers]
        self.unit_of = {slot: unit for unit in made for slot in unit.writes}
        self.of_step = {step: unit for unit in made for step in unit.steps}
        self.own = [set(self.of_step[i].writes) for i in range(len(schedule.steps))]

    def _unit(self, numbers: Sequence[int], cost: Callable[[Step], float]) -> _Unit:
        steps = [self.schedule.steps[i] for i in numbers]
        writes = dict.fromkeys(s for step in steps for s in step.writes if s not in self.flags)
        reads = dict.fromkeys(s for step in steps for s in step.reads)
        operands = tuple(s for s in reads if s not in writes and s not in self.flags)
        in_a_row = numbers[-1] - numbers[0] + 1 == len(numbers)
        repeatable = in_a_row and all(map(is_for_the_device_alone, steps))
        return _Unit(tuple(numbers), tuple(writes), operands, sum(map(cost, steps)), repeatable)


def _together(writes: Sequence[Sequence[int]]) -> list[list[int]]:
    """Steps in order, those that write one slot together."""
    groups: dict[int, list[int]] = {}  # by every slot that one of them writes
    found: dict[int, list[int]] = {}
    for step, slots in enumerate(writes):
        joined = {id(g): g for slot in slots if (g := groups.get(slot)) is not None}
        group = sorted([step, *(number for g in joined.values() for number in g)])
        for number in group:
            found[number] = group
            groups.update(dict.fromkeys(writes[number], group))
    return list({id(group): group for group in found.values()}.values())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Choice:
    """Slots to free, each behind a step; the cost of that, and the bytes freed."""

    cuts: tuple[tuple[int, int], ...]
    cost: float
    saved: int
    above: bool  # whether a peak elsewhere would be as high as this one
    held: int  # bytes times steps for which more is alive elsewhere

    @property
    def rank(self) -> tuple[bool, float, int, int, tuple[tuple[int, int], ...]]:
        return self.above, self.cost / self.saved, self.held, -self.saved, self.cuts


@dataclass(slots=True, eq=False, repr=False)
class _Closure:
    """What must be there, or be made again, so that a value can be."""

    units: dict[int, _Unit] = field(default_factory=dict)  # by their first step
    cuts: list[tuple[int, int]] = field(default_factory=list)
    kept: int = 0  # bytes that stay alive over the peak for it
    held: int = 0
    more: int = 0  # bytes that are alive earlier than they were


class _Variant:
    """The schedule in which slots are freed behind certain steps, and recomputed when they are read
    after that; and which of its values are live when.
    """

    def __init__(self, whole: _Whole, cuts: Mapping[int, set[int]], align: int):
        self.whole, self.cuts = whole, cuts
        self.slots: list[Slot] = list(whole.schedule.slots)
        self.origin = list(range(len(self.slots)))  # of every slot, the one that it is again
        self.steps: list[Step] = []
        self.at: list[int] = []  # of every step, the one for which it comes
        self.current: dict[int, int] = {}
        self.made: list[tuple[int, int, tuple[int, ...]]] = []  # which steps come again, for what
        self._build()
        outline = replace(whole.schedule, steps=tuple(self.steps), slots=tuple(self.slots))
        values, _ = lifetimes(outline)
        self.live = live_bytes(values.values(), align, len(self.steps))
        self.peak = max(self.live)
        self.uses = _uses(self.steps)
        self.schedule = replace(outline, again=self._reasons())

    # ---- the steps

    def _build(self) -> None:
        for number, step in enumerate(self.whole.schedule.steps):
            own = self.whole.own[number]
            for slot in step.reads:
                if slot not in own:
                    self._demand(slot, number)
            self.current.update({slot: slot for slot in step.writes})
            self._append(_renamed(step, self.current), number)
            for slot in sorted(self.cuts.get(number, ())):
                self.current.pop(slot, None)

    def _append(self, step: Step, number: int) -> None:
        self.steps.append(step)
        self.at.append(number)

    def _demand(self, wanted: int, number: int) -> None:
        """Make the value of a slot available: as it is, or recomputed with its operands."""
        stack = [wanted]
        while stack:
            unit = self._missing(stack[-1])
            missing = [] if unit is None else [s for s in unit.operands if self._missing(s)]
            if missing:
                stack += missing
                continue
            if unit is not None:
                self._repeat(unit, number)
            stack.pop()

    def _missing(self, slot: int) -> _Unit | None:
        """The unit that computes a slot that has been freed."""
        if slot in self.whole.outside or slot in self.current:
            return None
        return self.whole.unit_of.get(slot)

    def _repeat(self, unit: _Unit, number: int) -> None:
        """The steps once more, into slots of their own."""
        new = {slot: self._new(slot) for slot in unit.writes}
        wanted = [s for s in unit.writes if s not in self.current and s not in self.whole.outside]
        made = tuple(new[s] for s in wanted)
        self.made.append((len(self.steps), len(unit.steps), made))
        for step in unit.steps:
            self._append(_renamed(self.whole.schedule.steps[step], {**self.current, **new}), number)
        self.current.update({slot: new[slot] for slot in wanted})

    def _new(self, slot: int) -> int:
        self.slots.append(replace(self.slots[slot], offset=None))
        self.origin.append(slot)
        return len(self.slots) - 1

    def _reasons(self) -> tuple[Again, ...]:
        """Why steps are repeated: the values that are not kept, and until when they were live."""
        last: dict[int, int] = {}
        found = []
        position = 0
        for number, count, slots in self.made:
            while position < number:
                position = self._seen(position, last)
            gaps = tuple((self.origin[s], s, last[self.origin[s]]) for s in slots if s in self.uses)
            found.append(Again(number, count, gaps))
        return tuple(found)

    def _seen(self, position: int, last: dict[int, int]) -> int:
        step = self.steps[position]
        last.update({self.origin[s]: position for s in (*step.reads, *step.writes)})
        return position + 1

    # ---- what to let go of next

    def cheapest(self) -> _Choice | None:
        """What costs least for the bytes that it frees at the peak."""
        place = self.live.index(self.peak)
        if place >= len(self.steps):
            return None
        versions: dict[int, list[int]] = {}
        for slot in self.uses:
            versions.setdefault(self.origin[slot], []).append(slot)
        search = _Search(self, place, versions)
        found = [c for slot in sorted(self.uses) if (c := search.choice(slot)) is not None]
        return min(found, key=lambda c: c.rank, default=None)


class _Search:
    """Candidates at one peak."""

    def __init__(self, variant: _Variant, place: int, versions: Mapping[int, list[int]]):
        self.variant, self.place, self.versions = variant, place, versions
        self.whole, self.uses = variant.whole, variant.uses

    def choice(self, slot: int) -> _Choice | None:
        """What letting go of a slot would mean, if that can be done and helps."""
        gap = self._gap(slot)
        if gap is None:
            return None
        unit = self.whole.unit_of[self.variant.origin[slot]]
        beside = [(s, g) for s in self._beside(slot, unit) if (g := self._gap(s)) is not None]
        together = [(slot, gap), *beside]
        first, size = min(g[1] for _, g in together), sum(self._bytes(s) for s, _ in together)
        closure = self._closure(unit, first, size)
        if closure is None or size <= closure.kept:
            return None
        sooner = sum(self._bytes(s) * (until - first) for s, (_, until) in together)
        cuts = [(self.variant.origin[s], self.variant.at[since]) for s, (since, _) in together]
        return self._made(closure, (*cuts, *closure.cuts), size - closure.kept, first, sooner)

    def _made(
        self,
        closure: _Closure,
        cuts: tuple[tuple[int, int], ...],
        saved: int,
        first: int,
        held: int,
    ) -> _Choice:
        live = self.variant.live
        above = max(live[first:]) + closure.more >= self.variant.peak
        cost = sum(unit.cost for unit in closure.units.values())
        return _Choice(tuple(dict.fromkeys(cuts)), cost, saved, above, held + closure.held)

    def _gap(self, slot: int) -> tuple[int, int] | None:
        """The steps before and after the peak that use a slot, if it can be freed between them."""
        uses, origin = self.uses[slot], self.variant.origin[slot]
        if origin in self.whole.outside or origin not in self.whole.unit_of:
            return None
        after = bisect_right(uses, self.place)
        if after in (0, len(uses)) or uses[after - 1] == self.place:
            return None
        since, until = uses[after - 1], uses[after]
        unit, at = self.whole.unit_of[origin], self.variant.at
        apart = unit.steps[-1] <= at[since] < at[until]
        return (since, until) if unit.repeatable and apart else None

    def _beside(self, slot: int, unit: _Unit) -> list[int]:
        """Other results of the same steps."""
        found = (s for origin in unit.writes for s in self.versions.get(origin, ()))
        return [s for s in found if s != slot]

    def _closure(self, unit: _Unit, until: int, size: int) -> _Closure | None:
        """The units to run so that the unit can be repeated before a step; None if too many."""
        found = _Closure({unit.steps[0]: unit})
        stack = [unit]
        while stack:
            for operand in stack.pop().operands:
                maker = self._prepared(operand, until, size, found)
                if maker is not None and maker.steps[0] not in found.units:
                    found.units[maker.steps[0]] = maker
                    stack.append(maker)
            if len(found.units) > _MOST:
                return None
        return found

    def _prepared(self, operand: int, until: int, size: int, found: _Closure) -> _Unit | None:
        """Make an operand available; the unit that computes it, if it must be recomputed."""
        maker = self.whole.unit_of.get(operand)
        if operand in self.whole.outside or maker is None or operand not in self.versions:
            return None
        known = [(self.uses[s][0], self.uses[s][-1]) for s in self.versions[operand]]
        if any(first < until <= last for first, last in known):
            return None
        nbytes = self.variant.slots[operand].nbytes
        later = [first for first, _ in known if first >= until]
        if later:  # it is made again all the same, only sooner
            found.held += nbytes * (min(later) - until)
            found.more += nbytes
            return None
        last = max(last for _, last in known)
        at = self.variant.at
        if not maker.repeatable or at[last] >= at[until] or nbytes * _SMALL <= size:
            found.kept += nbytes if last < self.place else 0
            found.held += nbytes * (until - last)
            return None
        found.cuts.append((operand, max(at[last], maker.steps[-1])))
        return maker

    def _bytes(self, slot: int) -> int:
        return self.variant.slots[slot].nbytes


def _uses(steps: Sequence[Step]) -> dict[int, list[int]]:
    """The steps that use each slot, in order."""
    found: dict[int, list[int]] = {}
    for number, step in enumerate(steps):
        for slot in dict.fromkeys((*step.writes, *step.reads)):
            found.setdefault(slot, []).append(number)
    return found


def _renamed(step: Step, names: Mapping[int, int]) -> Step:
    """The step on other slots."""
    if isinstance(step, (KernelStep, LibraryStep)):
        slots = tuple([names.get(s, s) for s in step.slots])
        return step if slots == step.slots else replace(step, slots=slots)
    results = tuple([names.get(s, s) for s in step.results])
    operands = tuple([names.get(s, s) for s in step.operands])
    if (results, operands) == (step.results, step.operands):
        return step
    return replace(step, results=results, operands=operands)
