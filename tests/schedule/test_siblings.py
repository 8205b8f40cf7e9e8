"""Kernels of elements that become one on a GPU, because they read one value."""

import numpy as np
import pytest

from adjoint import Tensor, jit, lower
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.support.devices import on
from tests.support.fake_gpu import fake_gpu

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
ROOM, WIDE, SMALL = 8192, 64, 64  # places of a cache above and below what joint launches take


@pytest.fixture(scope="module", autouse=True)
def _gpu():
    with compiled_anew(), fake_gpu():
        yield


def some(*shape, seed=0):
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32)).realize()


def caches(device, room, count=2):
    """A step that writes rows of one product into tensors, and what these are then."""
    with on(device):
        held = [some(room, WIDE, seed=i) for i in range(count)]
        weight = some(count * WIDE, 24, seed=7)

        @jit
        def step(x, place):
            made = x.linear(weight.T)
            for i, t in enumerate(held):
                filled = +t
                filled[place] = made[..., i * WIDE : (i + 1) * WIDE]
                t.assign(filled)

        given = some(1, 24, seed=8), Tensor([5])
        lowered = lower(step)(*given)
        for _ in range(3):
            step(*given)
        return lowered, [t.numpy() for t in held]


def writes(lowered):
    """The kernels that have a cache as a result, each with how many of them."""
    plan = lowered.plan
    found = [sum(plan.slots[slot].shape == (ROOM, WIDE) for slot in s.writes) for s in plan.steps]
    return [count for count in found if count]


def test_writes_of_two_parts_of_a_product_into_caches_are_one_kernel():
    lowered, found = caches("GPU", ROOM)
    assert writes(lowered) == [2]
    assert all(map(np.array_equal, found, caches("CPU", ROOM)[1]))


def test_a_kernel_takes_two_results_and_the_next_ones_are_its_like():
    lowered, found = caches("GPU", ROOM, count=4)
    assert writes(lowered) == [2, 2]
    assert all(map(np.array_equal, found, caches("CPU", ROOM, count=4)[1]))


def test_a_cpu_writes_one_cache_after_another():
    assert writes(caches("CPU", ROOM)[0]) == [1, 1]


def test_results_of_which_one_needs_the_other_are_two_kernels():
    def chain(device):
        with on(device):
            x, table = some(ROOM, WIDE), some(WIDE, seed=1)

            @jit
            def step(x, table):
                row = table.cumsum(0)
                first = (x * row).sin()
                return first, ((first[::-1] + row).cos())

            return lower(step)(x, table), [y.numpy() for y in step(x, table)]

    lowered, found = chain("GPU")
    assert writes(lowered) == [1, 1]
    assert all(map(np.array_equal, found, chain("CPU")[1]))


def test_small_kernels_are_left_to_joint_launches():
    lowered, found = caches("GPU", SMALL)
    plan = lowered.plan
    wide = [sum(plan.slots[n].shape == (SMALL, WIDE) for n in s.writes) for s in plan.steps]
    assert [count for count in wide if count] == [1, 1]
    assert all(map(np.array_equal, found, caches("CPU", SMALL)[1]))


def test_tensors_that_take_one_another_s_values_in_one_kernel_do_not_overwrite_them():
    def swapped(device):
        with on(device):
            a, b, table = some(ROOM, WIDE), some(ROOM, WIDE, seed=1), some(WIDE, seed=2)

            @jit
            def step():
                row, old = table.cumsum(0), a + 0
                a.assign(b * row)
                b.assign(old[::-1] - row)

            lowered = lower(step)()
            for _ in range(4):
                step()
            return lowered, [a.numpy(), b.numpy()]

    lowered, found = swapped("GPU")
    assert writes(lowered) == [2]
    assert all(map(np.array_equal, found, swapped("CPU")[1]))
