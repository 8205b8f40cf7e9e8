"""Small kernels that are launched together on a GPU: which, in what order, and in whose memory."""

from collections import Counter

import numpy as np
import pytest

from adjoint import Tensor, jit, lower, nn
from adjoint.runtime.device import has_tools
from adjoint.schedule.memory import donations
from adjoint.stages import in_one_launch
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.support.devices import on
from tests.support.fake_gpu import fake_gpu

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")


@pytest.fixture(scope="module")
def shared():
    with compiled_anew(), fake_gpu() as found:
        yield found


@pytest.fixture
def gpu(shared):
    del shared.calls[:]
    return shared


def some(*shape, seed=0):
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32)).realize()


def launches(schedule):
    """How many steps each launch has."""
    return sorted(Counter(map(len, in_one_launch(schedule.steps))).items())


def updates(device, size=40, count=5):
    """A step that gives tensors of one size new values, each from its own."""
    with on(device):
        held = [some(size, seed=i) for i in range(count)]

        @jit
        def step(x):
            for t in held:
                t.assign(t * 0.5 + (x - t).tanh())
            return x.exp()

        values = [step(some(size, seed=9)).numpy() for _ in range(4)]
        return lower(step)(some(size, seed=9)), [*values, *(t.numpy() for t in held)]


def test_updates_of_many_small_tensors_are_one_launch(gpu):
    lowered, found = updates("GPU")
    assert launches(lowered.plan) == [(1, 1), (5, 1)]
    assert all(map(np.array_equal, found, updates("CPU")[1]))


def test_large_ones_do_not_wait_for_one_another(gpu):
    lowered, _ = updates("GPU", size=1 << 19, count=2)
    assert [count for count, _ in launches(lowered.plan)] == [1]


def test_a_cpu_launches_nothing_together():
    lowered, _ = updates("CPU")
    assert [count for count, _ in launches(lowered.plan)] == [1]


def test_kernels_of_one_kind_that_need_one_another_are_apart(gpu):
    def chain(device):
        with on(device):
            x = some(30)
            fn = jit(lambda x: [x := x.cumsum(0).sin() for _ in range(4)])
            return lower(fn)(x), [y.numpy() for y in fn(x)]

    lowered, found = chain("GPU")
    assert [count for count, _ in launches(lowered.plan)] == [1]
    assert all(map(np.array_equal, found, chain("CPU")[1]))


def swapped(device):
    """Each of two tensors gets a new value made of the other's old one, in one launch."""
    with on(device):
        a, b = some(50, seed=1), some(50, seed=2)

        @jit
        def step():
            old = a + 0
            a.assign(b * 2 + 1)
            b.assign(old * 2 + 1)

        for _ in range(5):
            step()
        return [a.numpy(), b.numpy()]


def test_a_result_is_not_written_over_what_another_kernel_of_its_launch_reads(gpu):
    assert all(map(np.array_equal, swapped("GPU"), swapped("CPU")))


def test_values_of_one_launch_lie_apart(gpu):
    """Whatever a kernel writes, no other kernel of its launch has any of it."""
    with on("GPU"):
        model = nn.Sequential(*(m for _ in range(6) for m in (nn.Linear(20, 20), nn.Tanh())))
        adam = nn.optim.Adam(model.parameters(), lr=1e-2)

        @jit
        def step(x):
            adam.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            adam.step()
            return loss

        schedule = lower(step)(some(16, 20)).plan
    joint = [group for group in in_one_launch(schedule.steps) if len(group) > 1]
    assert joint
    taken = dict(donations(schedule, range(len(schedule.inputs))))
    for group in joint:
        for number in group:
            step = schedule.steps[number]
            others = [s for n in group if n != number for s in schedule.steps[n].slots]
            for slot in step.writes:
                assert not any(overlap(schedule, slot, other) for other in others)
            lent = [
                schedule.inputs[taken[place]]
                for place, slot in enumerate(schedule.outputs)
                if slot in step.writes and place in taken
            ]
            assert not set(lent) & set(others)


def overlap(schedule, slot, other):
    """Whether two slots have memory in common."""
    first, second = schedule.slots[slot], schedule.slots[other]
    if slot == other or None in (first.offset, second.offset):
        return slot == other
    ends = first.offset + first.nbytes, second.offset + second.nbytes
    return first.offset < ends[1] and second.offset < ends[0]


def test_more_kernels_than_a_table_has_rows_are_several_launches(gpu):
    lowered, found = updates("GPU", size=7, count=90)
    assert (90, 1) in launches(lowered.plan)
    assert all(map(np.array_equal, found, updates("CPU", size=7, count=90)[1]))
    names = [c for c in gpu.calls if c.startswith("launch")]
    assert len(names) < 90


def test_sizes_differ_inside_of_one_launch(gpu):
    def of(device):
        with on(device):
            held = [some(n, seed=n) for n in (1, 31, 32, 33, 128, 1000, 4096, 7)]

            @jit
            def step():
                for t in held:
                    t.assign((t * 1.5).sin() + 1)

            for _ in range(4):
                step()
            return [t.numpy() for t in held]

    assert all(map(np.array_equal, of("GPU"), of("CPU")))


def test_a_bad_index_is_told_whichever_kernel_of_a_launch_meets_it(gpu):
    with on("GPU"):
        tables = [some(9, 4, seed=i) for i in range(4)]
        fn = jit(lambda i, j: [t[i] * 2 for t in tables[:3]] + [tables[3][j] * 2])
        good, bad = Tensor([1, 8]), Tensor([0, 9])
        assert fn(good, good)[3].shape == (2, 4)
        with pytest.raises(IndexError, match="E6001"):
            fn(good, bad)[0].numpy()


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_of_small_kernels_have_the_bits_of_the_cpu(gpu, seed):
    assert all(map(np.array_equal, random_program(seed, "GPU"), random_program(seed, "CPU")))


def random_program(seed, device):
    """Tensors that are changed again and again, by small kernels that need one another or not."""
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, 6, (24, 3)).tolist()
    with on(device):
        held = [some(5, 13, seed=seed + i) for i in range(6)]

        @jit
        def step(x):
            for a, b, kind in picks:
                other = held[b].cumsum(1) if kind == 0 else held[b].sum(0) if kind == 1 else held[b]
                new = (held[a] * 0.5 + other * 0.25).tanh() + x
                held[a].assign(new.sort(1)[0] if kind == 2 else new)
            return held[picks[0][0]] * 2

        found = [step(some(13, seed=i)).numpy() for i in range(3)]
        return found + [t.numpy() for t in held]
