"""Several kernels, and turns of loops, as one job of the worker pool: in order, once each."""

import threading

import numpy as np
import pytest

from adjoint import Tensor, jit, scan
from adjoint.backends.cpu import step_table
from adjoint.backends.cpu.step_table import in_jobs, kernel_row
from adjoint.runtime import pool_ir
from adjoint.runtime.launch import NativeProgram
from adjoint.runtime.pool_ir import COPY, KERNEL, MOST_KERNELS
from tests.runtime.kernels import SIZE, Adder, alone, chain, integers, last_of
from tests.support.threads import in_threads


@pytest.mark.parametrize("count", [2, 3, MOST_KERNELS])
@pytest.mark.parametrize("chunks", [[7], [1], [100, SIZE, SIZE, 3], [SIZE, 50]])
def test_kernels_of_a_job_run_in_order(count, chunks):
    program, x, y = chain(count, chunks)
    for _ in range(4):
        assert program.run() == 0
    a, b = last_of(count, 4)
    assert (x == a).all()
    assert (y == b).all()


def test_a_kernel_behind_a_job_is_run():
    x = np.zeros(SIZE, np.int64)
    adder = Adder(x, integers(1))
    rows = [(*adder.step(SIZE, 10), 2, 59), adder.step(SIZE, 10), adder.step(1)]
    NativeProgram(rows, 3, 10, adder).run()
    assert x[0] == 3
    assert (x[1:] == 2).all()


def test_several_callers_have_jobs_at_once():
    right = []

    def work(_: int) -> None:
        program, x, y = chain(6, [20])
        for _ in range(6):
            program.run()
        a, b = last_of(6, 6)
        right.append(bool((x == a).all() and (y == b).all()))

    in_threads(6, work)
    assert right == [True] * 6


def test_a_job_that_is_cancelled_ends_and_runs_again():
    x = np.zeros(1 << 22, np.int64)
    adder = Adder(x, integers(1))
    rows = [(*adder.step(len(x), 512), MOST_KERNELS, 8191), *[adder.step(len(x), 512)] * 15]
    program = NativeProgram(rows, MOST_KERNELS, None, adder)
    threading.Timer(0.005, program.cancel).start()
    program.run()
    x[:] = 0
    assert program.run() == 0
    assert (x == MOST_KERNELS).all()


@pytest.mark.parametrize("spins", [0, 50, 8000])
@pytest.mark.parametrize("threads", ["1", "2", "5", "16"])
def test_workers_that_are_late_or_tired_change_nothing(threads, spins):
    text = f"""
from adjoint.runtime import pool_ir
from adjoint.runtime.pool import the_pool
from tests.runtime.kernels import chain, last_of
the_pool()._store(pool_ir.SPINS, {spins})
for count in (2, 5, 16):
    program, x, y = chain(count, [9, 200, 600])
    for i in range(3):
        program.run()
        time.sleep(1e-4 * i)
    a, b = last_of(count, 3)
    assert (x == a).all() and (y == b).all()
child = os.fork()
if child == 0:
    program, x, y = chain(4, [9])
    program.run()
    os._exit(0 if int(x[0]) == last_of(4, 1)[0] else 1)
assert os.waitpid(child, 0)[1] == 0
print("fine")
"""
    assert alone(text, ADJOINT_THREADS=threads) == "fine"


# ---- which kernels are one job

LITTLE, MUCH = 1 << 10, 1 << 30


def rows_of(*kernels: tuple[int, int]) -> list[tuple[int, ...]]:
    """Kernels of so many chunks, and of so many scalar operations."""
    return [kernel_row(0, 0, chunks, 1, cost) for chunks, cost in kernels]


def jobs(rows: list[tuple[int, ...]]) -> list[int]:
    return [row[5] for row in in_jobs(rows) if row[0] == KERNEL]


@pytest.fixture(autouse=True)
def awake(request, monkeypatch):
    stays = type("Pool", (), {"stays_awake": "asleep" not in request.node.name})
    monkeypatch.setattr(step_table, "the_pool", stays)


def test_short_kernels_that_follow_one_another_are_a_job():
    assert jobs(rows_of((8, LITTLE), (4, LITTLE), (16, LITTLE))) == [3, 1, 1]
    assert in_jobs(rows_of((8, LITTLE), (4, LITTLE), (16, LITTLE)))[0][6] == 15


def test_a_job_begins_and_ends_with_a_kernel_that_threads_share():
    kernels = [(1, LITTLE), (8, LITTLE), (1, LITTLE), (8, LITTLE), (1, LITTLE)]
    assert jobs(rows_of(*kernels)) == [1, 3, 1, 1, 1]
    assert jobs(rows_of((1, LITTLE), (8, LITTLE), (1, LITTLE))) == [1, 1, 1]


def test_long_kernels_and_other_steps_end_a_job():
    assert jobs(rows_of((8, LITTLE), (8, MUCH), (8, LITTLE), (8, LITTLE))) == [1, 1, 2, 1]
    short = rows_of((8, LITTLE), (8, LITTLE))
    assert jobs([*short, (COPY, 0, 0, 8), *short]) == [2, 1, 2, 1]
    assert jobs(rows_of((8, LITTLE), (1, MUCH), (8, LITTLE))) == [1, 1, 1]
    many = pool_ir.MOST_CHUNKS + 1
    assert jobs(rows_of((8, LITTLE), (many, LITTLE), (8, LITTLE))) == [1, 1, 1]


def test_a_job_has_as_many_kernels_as_there_are_counters():
    found = jobs(rows_of(*[(8, LITTLE)] * (MOST_KERNELS + 3)))
    assert [n for n in found if n > 1] == [MOST_KERNELS, 3]


def test_workers_that_are_asleep_have_single_kernels():
    assert jobs(rows_of((8, LITTLE), (8, LITTLE))) == [1, 1]


@pytest.mark.parametrize("length", [1, 2, 7, 12, 34])
@pytest.mark.parametrize("reverse", [False, True])
def test_turns_of_a_loop_that_follow_one_another(length, reverse):
    values = np.random.default_rng(length).standard_normal((length, 64, 64)).astype(np.float32)
    w, start = Tensor(values[0]), Tensor(values[-1])

    def step(carry, now):
        h, c = carry
        c = (h @ w).tanh() * 0.5 + c
        h = (c @ now).tanh()
        return (h, c), h.sum(0)

    def one_by_one(xs):
        carry, rows = (start, start), []
        order = range(length)[::-1] if reverse else range(length)
        for i in order:
            carry, row = step(carry, Tensor(xs[i]))
            rows.append(row.numpy())
        return [t.numpy() for t in carry], np.stack(rows[::-1] if reverse else rows)

    run = jit(lambda xs: scan(step, (start, start), xs, reverse=reverse))
    for xs in (values, values[::-1].copy()):
        (h, c), rows = run(Tensor(xs))
        wanted, wanted_rows = one_by_one(xs)
        np.testing.assert_array_equal(h.numpy(), wanted[0])
        np.testing.assert_array_equal(c.numpy(), wanted[1])
        np.testing.assert_array_equal(rows.numpy(), wanted_rows)
