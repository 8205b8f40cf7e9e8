"""Threads of hand-built kernels on the CPU: loops from barrier to barrier."""

import numpy as np
import pytest

from adjoint.handbuilt.kernel import Handmade
from adjoint.handbuilt.uops import BinaryOps, UOps
from adjoint.ir.spec import verify_order
from tests.handbuilt.building import (
    INT,
    Build,
    floats,
    for_threads_and_lanes,
    matmul,
    ran,
    saxpy,
    total,
)


def test_a_group_turns_its_part_around():
    b = Build()
    out, x = b.out(INT), b.buffer(INT)
    tile = b.local("tile", 4, INT)
    group, thread = b.index("gidx0", 3), b.index("lidx0", 4)
    here = b.add(b.mul(group, b.n(4)), thread)
    value = b.load(x, here)
    b.store(tile, thread, value)
    b.barrier()
    other = b.load(tile, b.alu(BinaryOps.SUB, b.n(3), thread))
    b.store(out, here, b.add(b.mul(other, b.n(100)), value))  # the load crosses the barrier
    x_ = np.arange(12, dtype=np.int32)
    found, _ = ran(b, np.zeros(12, np.int32), x_)
    turned = x_.reshape(3, 4)[:, ::-1].reshape(-1)
    np.testing.assert_array_equal(found, turned * 100 + x_)


def test_a_tree_of_sums_with_a_barrier_in_the_loop():
    """Each turn of the loop every thread adds its neighbour's value to its own register."""
    b = Build()
    out, x = b.out(INT), b.buffer(INT)
    ring = b.local("ring", 8, INT)
    thread = b.index("lidx0", 8)
    acc = b.g.add(UOps.DEFINE_ACC, vin=(b.load(x, thread),))
    turn = b.loop(3)
    b.store(ring, thread, acc)
    b.barrier()
    right = b.alu(BinaryOps.MOD, b.add(thread, b.n(1)), b.n(8))
    new = b.phi(acc, b.add(acc, b.load(ring, right)), turn)
    b.barrier()
    b.end(turn)
    b.store(out, thread, new)
    values = np.arange(8, dtype=np.int32) ** 2
    found, _ = ran(b, np.zeros(8, np.int32), values)
    for _ in range(3):
        values = values + np.roll(values, -1)
    np.testing.assert_array_equal(found, values)


def test_a_barrier_without_threads_does_nothing():
    b = Build()
    out = b.out(INT)
    b.store(out, b.n(0), b.n(1))
    b.barrier()
    b.store(out, b.n(1), b.load(out, b.n(0)))
    (found,) = ran(b, np.zeros(2, np.int32))
    assert found.tolist() == [1, 1]


def test_threads_that_write_one_place_do_so_in_order():
    b = Build()
    out = b.out(INT)
    b.store(out, b.n(0), b.index("gidx0", 1000))
    (found,) = ran(b, np.zeros(1, np.int32))
    assert found[0] == 999


def test_groups_that_do_not_meet_are_shared_out_among_threads_of_the_machine():
    n = 100_000
    kernel = Handmade(saxpy(n).g.program())
    program = for_threads_and_lanes(kernel, (n, n, n, 1))
    assert program.grid is not None
    x = floats(n)
    out = np.zeros(n, np.float32)
    saxpy(n).g.compile("CPU")(out, x, x, np.float32([2]))
    np.testing.assert_array_equal(out, x + x + x)


def test_groups_that_may_meet_are_not():
    b = Build()
    out = b.out(INT)
    i = b.index("gidx0", 8)
    b.store(out, i, b.n(1))
    b.store(out, b.add(i, b.n(1)), b.n(2))
    assert for_threads_and_lanes(Handmade(b.g.program()), (9,)).grid is None


@pytest.mark.parametrize("build", [lambda: matmul(8, 4), lambda: saxpy(8), lambda: total(8)])
def test_what_runs_is_a_list_in_order(build):
    kernel = Handmade(build().g.program())
    sizes = tuple([64] * len(kernel.program.buffers))
    body = for_threads_and_lanes(kernel, sizes, "zeros").body
    leaves = dict.fromkeys(
        s for n in body for s in n.src if s.op.name in ("const", "define_global")
    )
    verify_order([*leaves, *body])
