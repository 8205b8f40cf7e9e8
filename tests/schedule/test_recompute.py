"""Steps that come again, or sooner, compute the same values in less memory.

Random schedules of library calls, which nobody runs: values are symbols, memory is what was written
last at a place.
"""

import random
from dataclasses import replace

import pytest

from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.schedule.memory import (
    Lifetime,
    lifetimes,
    live_bytes,
    peak_of,
    place,
    place_largest_first,
    plan_memory,
)
from adjoint.schedule.recompute import variants
from adjoint.schedule.sooner import in_better_order
from adjoint.stages import HostStep, LibraryStep, Schedule, Slot

ALIGN = 64
NODE = OPS["input"]("x", (), dtypes.float32)


class Call:
    """A call of some library: what it makes depends on its number and its operands."""

    flops = 0

    def __init__(self, number):
        self.number, self.title = number, f"call {number}"


def step(number, results, operands, host=False):
    if host:
        return HostStep(NODE, tuple(results), tuple(operands))
    return LibraryStep(Call(number), (*results, *operands), NODE, made=len(results))


def chain(layers, size=1024):
    """A forward pass whose values a backward pass reads in turn, the last first."""
    slots = [Slot(dtypes.uint8, (size,)) for _ in range(2 * layers + 1)]
    steps = [step(i, [i + 1], [i]) for i in range(layers)]
    for i in range(layers):
        back = layers + i
        steps.append(step(back, [back + 1], [back, layers - 1 - i]))
    return Schedule(tuple(steps), tuple(slots), (0,), (2 * layers,), 0)


def drawn(seed):
    """A random one: sizes from next to nothing to large, some steps of the host, some results of
    one step, some outputs that other steps read."""
    rng = random.Random(seed)
    slots, steps, inputs = [], [], range(rng.randint(1, 3))
    for _ in inputs:
        slots.append(Slot(dtypes.uint8, (rng.choice((1, 100, 4096)),)))
    for number in range(rng.randint(3, 40)):
        recent = rng.randint(1, 12)
        pool = list(range(len(slots)))[-recent:] if rng.random() < 0.7 else range(len(slots))
        operands = rng.sample(list(pool), min(len(pool), rng.randint(1, 3)))
        made = [len(slots) + i for i in range(rng.choice((1, 1, 1, 2)))]
        slots += [Slot(dtypes.uint8, (rng.choice((8, 1000, 4096, 9000)),)) for _ in made]
        steps.append(step(number, made, operands, host=rng.random() < 0.1))
    made = range(len(inputs), len(slots))
    outputs = sorted({*rng.sample(list(made), min(len(made), 3)), len(slots) - 1})
    return Schedule(tuple(steps), tuple(slots), tuple(inputs), tuple(outputs), 0)


def names(schedule):
    """What each step is, whatever slots it has."""
    return [s.call.number if isinstance(s, LibraryStep) else "host" for s in schedule.steps]


def symbols(schedule):
    """The values of the outputs; inputs are their numbers. In the arena, what is written over is
    gone."""
    memory: dict[int, tuple] = {}  # of slots outside, by number
    arena: dict[int, tuple] = {}  # (slot, value) by where a line begins

    def lines(slot):
        return range(slot.offset, slot.offset + slot.nbytes, ALIGN)

    def read(number):
        slot = schedule.slots[number]
        if slot.offset is None:
            return memory[number]
        held = {arena.get(i) for i in lines(slot)}
        assert len(held) == 1, "parts of a value were written over"
        ((owner, value),) = held
        assert owner == number, "another value lies there"
        return value

    def write(number, value):
        slot = schedule.slots[number]
        if slot.offset is None:
            memory[number] = value
        else:
            arena.update(dict.fromkeys(lines(slot), (number, value)))

    for number in schedule.inputs:
        write(number, ("input", number))
    for one in schedule.steps:
        about = one.call.number if isinstance(one, LibraryStep) else "host"
        value = hash((about, *[read(s) for s in one.reads]))
        for place_, number in enumerate(one.writes):
            write(number, (value, place_))
    return [read(number) for number in schedule.outputs]


def peak(schedule):
    values, _ = lifetimes(schedule)
    return max(live_bytes(values.values(), ALIGN, len(schedule.steps)))


def test_a_chain_needs_less_and_less_memory_and_computes_the_same():
    whole = chain(30)
    wanted = symbols(plan_memory(whole, ALIGN))
    found = list(variants(whole, ALIGN, lambda _: 1.0))
    assert all(symbols(plan_memory(v, ALIGN)) == wanted for v in found)
    peaks = [peak(v) for v in found]
    assert peaks == sorted(peaks, reverse=True)
    assert peak(whole) > 3 * peaks[-1]


def test_half_the_memory_of_a_chain_costs_about_half_of_its_forward_pass():
    whole = chain(32)
    half = next(v for v in variants(whole, ALIGN, lambda _: 1.0) if peak(v) <= peak(whole) / 2)
    assert len(half.steps) - len(whole.steps) <= 18


def test_what_is_cheap_comes_again_before_what_is_not():
    whole = chain(12)
    dear = {4, 5, 6}
    cost = lambda s: 100.0 if s.call.number in dear else 1.0  # noqa: E731
    first = next(iter(variants(whole, ALIGN, cost)))
    again = {names(first)[a.step] for a in first.again}
    assert again
    assert not again & dear


@pytest.mark.parametrize("seed", range(150))
def test_random_schedules_compute_the_same_in_less_memory(seed):
    whole = drawn(seed)
    wanted, before = symbols(plan_memory(whole, ALIGN)), peak(whole)
    for variant in variants(whole, ALIGN, lambda s: 1.0 + len(s.reads)):
        now = peak(variant)
        assert now < before
        before = now
        planned = plan_memory(variant, ALIGN, tight=True)
        assert symbols(planned) == wanted
        assert names(variant).count("host") == names(whole).count("host")
        assert planned.arena <= plan_memory(variant, ALIGN).arena


@pytest.mark.parametrize("seed", range(100))
def test_another_order_computes_the_same(seed):
    whole = drawn(1000 + seed)
    found = in_better_order(whole)
    assert sorted(map(str, found.steps)) == sorted(map(str, whole.steps))
    assert symbols(plan_memory(found, ALIGN)) == symbols(plan_memory(whole, ALIGN))


def test_a_product_of_large_values_comes_as_soon_as_they_are_there():
    sizes = (8, 4096, 8, 8, 8, 16)
    slots = tuple(Slot(dtypes.uint8, (n,)) for n in sizes)
    steps = [step(0, [1], [0]), step(1, [2], [0]), step(2, [3], [2]), step(3, [4], [1])]
    steps.append(step(4, [5], [3, 4]))
    whole = Schedule(tuple(steps), slots, (0,), (5,), 0)
    assert names(in_better_order(whole)) == [0, 3, 1, 2, 4]


def test_what_the_host_does_is_done_once_and_where_it_was():
    whole = chain(20)
    steps = list(whole.steps)
    steps[5] = step(5, [6], [5], host=True)
    for variant in variants(replace(whole, steps=tuple(steps)), ALIGN, lambda _: 1.0):
        assert names(variant).count("host") == 1


def test_the_reasons_name_what_was_not_kept_and_since_when():
    first = next(iter(variants(chain(10), ALIGN, lambda _: 1.0)))
    (again,) = first.again
    ((old, new, last),) = again.values
    assert first.slots[old].shape == first.slots[new].shape
    assert old in (*first.steps[last].reads, *first.steps[last].writes)
    assert new in first.steps[again.step].writes
    assert last < again.step


def test_values_that_leave_no_gaps_are_placed_without_any():
    rng = random.Random(4)
    for _ in range(50):
        starts = [rng.randint(0, 20) for _ in range(30)]
        values = [Lifetime(rng.choice((1, 64, 640)), s, s + rng.randint(0, 8)) for s in starts]
        for put in (place, place_largest_first):
            offsets, arena = put(values, ALIGN)
            assert arena >= peak_of(values, ALIGN)
            for i, a in enumerate(values):
                for j, b in enumerate(values[:i]):
                    alive = a.first <= b.last and b.first <= a.last
                    apart = (
                        offsets[i] >= offsets[j] + b.nbytes or offsets[j] >= offsets[i] + a.nbytes
                    )
                    assert apart or not alive
