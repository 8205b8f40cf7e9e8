"""Native programs: tables of steps, the worker pool, and what interrupts it."""

import os
import sys
import threading

import numpy as np
import pytest

from adjoint.runtime.cores import available_cores, thread_count
from adjoint.runtime.launch import Cells, NativeProgram, chunk_of
from adjoint.runtime.pool import Pool
from adjoint.runtime.pool_ir import BRANCH, COPY, LOOP, PATCH, WHILE
from tests.runtime.kernels import Adder, Less, address, alone, integers
from tests.support.threads import in_threads


@pytest.mark.parametrize("extent", [0, 1, 2, 7, 1000, 100_003])
@pytest.mark.parametrize("chunk", [1, 3, 1024])
def test_every_piece_of_a_grid_is_done_once(extent, chunk):
    x = np.zeros(extent + 5, np.int64)
    adder = Adder(x, integers(1))
    program = NativeProgram([adder.step(extent, chunk)], 1, 10, adder)
    for _ in range(3):
        assert program.run() == 0
    assert (x[:extent] == 3).all()
    assert (x[extent:] == 0).all()


def test_thousands_of_small_parallel_jobs_in_a_row():
    x = np.zeros(64, np.int64)
    adder = Adder(x, integers(1))
    program = NativeProgram([adder.step(64, 4)] * 50, 50, 10, adder)
    for _ in range(400):
        program.run()
    assert (x == 50 * 400).all()


def test_steps_run_in_order():
    x, one = integers(1), integers(1)
    double, add = Adder(x, x), Adder(x, one)
    steps = [double.step(1), add.step(1), double.step(1)]
    NativeProgram(steps, 3, 10, (double, add)).run()
    assert x[0] == 6


def test_a_loop_moves_its_cells_and_puts_them_back():
    x, values = np.zeros(4, np.int64), integers(10, 20, 30, 40)
    adder = Adder(x, values)
    bumps = Cells([adder.cells.cell(0), 8, adder.cells.cell(1), 8])
    table = [(LOOP, 4, 1, 1, bumps.address, 2), adder.step(1)]
    program = NativeProgram(table, 1, 10, (adder, bumps))
    before = list(adder.cells.values)
    program.run()
    program.run()
    assert x.tolist() == [20, 40, 60, 80]
    assert list(adder.cells.values) == before


def test_a_loop_of_no_iterations_does_nothing():
    x = np.zeros(1, np.int64)
    adder = Adder(x, integers(1))
    NativeProgram([(LOOP, 0, 1, 1, 0, 0), adder.step(1)], 1, 10, adder).run()
    assert x[0] == 0


def test_loops_nest():
    x, values = np.zeros(3, np.int64), np.arange(6, dtype=np.int64).reshape(3, 2)
    adder = Adder(x, values)
    outer = Cells([adder.cells.cell(0), 8, adder.cells.cell(1), 16])
    inner = Cells([adder.cells.cell(1), 8])
    table = [
        (LOOP, 3, 1, 1, outer.address, 2),
        (LOOP, 2, 2, 1, inner.address, 1),
        adder.step(1),
    ]
    NativeProgram(table, 1, 10, (adder, outer, inner)).run()
    assert x.tolist() == values.sum(1).tolist()


def test_a_while_loop_runs_until_its_test_is_false():
    x, step, limit = integers(0), integers(3), integers(20)
    holds = np.zeros(1, np.int8)
    adder, less = Adder(x, step), Less(holds, x, limit)
    cell = Cells([address(holds)])
    table = [(WHILE, 1, 1, cell.address, 2, 1), less.step(), adder.step(1)]
    program = NativeProgram(table, 1, None, (adder, less, cell))
    program.run()
    assert x[0] == 21
    program.run()
    assert x[0] == 21


@pytest.mark.parametrize("taken", [True, False])
def test_a_branch_takes_one_side(taken):
    x, holds = np.zeros(2, np.int64), np.array([taken], np.int8)
    yes, no = Adder(x[:1], integers(1)), Adder(x[1:], integers(1))
    cell = Cells([address(holds)])
    table = [(BRANCH, cell.address, 1, 1, 2, 2), yes.step(1), no.step(1), no.step(1)]
    NativeProgram(table, 1, 10, (yes, no, cell)).run()
    assert x.tolist() == ([1, 0] if taken else [0, 2])


def test_copies_and_patches_go_through_cells():
    source, target = integers(1, 2, 3, 4), np.zeros(4, np.int64)
    cells, slots = Cells([0, 0]), Cells([address(source), address(target)])
    fixups = Cells([cells.cell(0), 1, 8, cells.cell(1), 0, 16])
    table = [
        (PATCH, fixups.address, 2, slots.address),
        (COPY, cells.cell(0), cells.cell(1), 16),
    ]
    NativeProgram(table, 2, 10, (cells, slots, fixups)).run()
    assert target.tolist() == [0, 3, 4, 0]


def test_a_step_with_too_many_cells_is_refused():
    with pytest.raises(RuntimeError, match="9 cells"):
        NativeProgram([range(9)], 1, 10, None)


@pytest.mark.parametrize("cost", [1, 100, 10**6, 10**12])
@pytest.mark.parametrize("extent", [0, 1, 5, 10**6])
def test_chunks_are_at_least_one_and_at_most_all(cost, extent):
    assert 1 <= chunk_of(extent, cost) <= max(1, extent)
    assert chunk_of(3, 10) == 3


def test_a_program_that_was_cancelled_runs_again():
    x, step, limit = integers(0), integers(1), integers(2**62)
    holds = np.zeros(1, np.int8)
    adder, less = Adder(x, step), Less(holds, x, limit)
    cell = Cells([address(holds)])
    table = [(WHILE, 1, 1, cell.address, 2, 1), less.step(), adder.step(1)]
    program = NativeProgram(table, 1, None, (adder, less, cell))
    threading.Timer(0.1, program.cancel).start()
    assert program.run() == 1
    limit[0] = x[0] + 100
    assert program.run() == 0
    assert x[0] == limit[0]


def test_eight_threads_run_parallel_programs_at_once():
    wrong = []

    def work() -> None:
        x = np.zeros(5000, np.int64)
        adder = Adder(x, integers(1))
        program = NativeProgram([adder.step(5000, 100)], 1, 10, adder)
        for _ in range(300):
            program.run()
        wrong.append(int((x != 300).sum()))

    in_threads(8, lambda _: work())
    assert wrong == [0] * 8


def test_the_number_of_threads_is_a_setting(monkeypatch):
    monkeypatch.delenv("ADJOINT_THREADS", raising=False)
    assert thread_count() == available_cores()
    monkeypatch.setenv("ADJOINT_THREADS", "3")
    assert thread_count() == 3
    assert Pool(3).threads == 3


# ---- in a process of its own


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_workers_start_when_needed_and_the_process_ends(count):
    text = """
native_code()  # compiled with the help of other threads, if it is not in the cache,
Adder(np.zeros(8, np.int64), integers(1)).step(8, 8)  # and so is this
before = threads()
assert total() == 200000
print(threads() - before)
"""
    assert alone(text, ADJOINT_THREADS=str(count)) == str(count - 1)


@pytest.mark.parametrize("spins", [0, 50, 8000])
@pytest.mark.parametrize("count", [2, 4, 16])
def test_jobs_for_few_workers_and_for_many_in_turn(count, spins):
    text = f"""
import random
from adjoint.runtime import pool_ir
from adjoint.runtime.pool import the_pool
the_pool()._store(pool_ir.SPINS, {spins})
draw = random.Random({spins})
def jobs():
    x, wanted = np.zeros(1000, np.int64), np.zeros(1000, np.int64)
    adder, steps = Adder(x, integers(1)), []
    for _ in range(draw.randrange(1, 40)):
        extent = draw.choice([1, 2, 3, 5, 16, 17, 64, 1000])
        steps.append(adder.step(extent, draw.choice([1, 2, 3, 7, 100])))
        wanted[:extent] += 1
    program = NativeProgram(steps, len(steps), 10, adder)
    for _ in range(3):
        program.run()
        time.sleep(draw.choice([0, 0, 0, 1e-4]))
    assert (x == 3 * wanted).all()
for _ in range(50):
    jobs()
others = [threading.Thread(target=jobs) for _ in range(4)]
for thread in others:
    thread.start()
for thread in others:
    thread.join()
print("fine")
"""
    assert alone(text, ADJOINT_THREADS=str(count)) == "fine"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_a_pool_of_its_own():
    text = """
assert total() == 200000
long = NativeProgram([], 0, None, None)
long.run()
for _ in range(5):
    child = os.fork()
    if child == 0:
        assert total() == 200000
        long.run()
        grandchild = os.fork()
        if grandchild == 0:
            os._exit(0 if total() == 200000 else 1)
        os._exit(os.waitpid(grandchild, 0)[1])
    assert total() == 200000
    assert os.waitpid(child, 0)[1] == 0
print("fine")
"""
    assert alone(text, ADJOINT_THREADS="4") == "fine"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_another_thread_computes():
    text = """
stop = False
def busy():
    while not stop:
        assert total() == 200000
thread = threading.Thread(target=busy)
thread.start()
for _ in range(10):
    child = os.fork()
    if child == 0:
        os._exit(0 if total() == 200000 else 1)
    assert os.waitpid(child, 0)[1] == 0
stop = True
thread.join()
print("fine")
"""
    assert alone(text, ADJOINT_THREADS="4") == "fine"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_another_thread_compiles_and_allocates():
    text = """
from adjoint.runtime.allocator import CPU
from adjoint.runtime.compiler import compile_source
from tests.runtime.adders import added, adder
stop, number = False, 0
def busy():
    global number
    while not stop:
        number += 1
        compile_source(adder(number))
        [CPU.allocate(64 * number) for _ in range(100)]
thread = threading.Thread(target=busy)
thread.start()
for i in range(15):
    time.sleep(0.01)
    child = os.fork()
    if child == 0:
        CPU.allocate(100000)
        os._exit(0 if added(compile_source(adder(-1 - i)).address) == -1 - i else 1)
    assert os.waitpid(child, 0)[1] == 0
stop = True
thread.join()
print("fine")
"""
    assert alone(text, ADJOINT_CACHE="0") == "fine"


ENDLESS = """
x, limit, holds = np.zeros(1000, np.int64), integers(2**62), np.zeros(1, np.int8)
adder, less = Adder(x, integers(1)), Less(holds, x, limit)
cell = Cells([address(holds)])
table = [(WHILE, 1, 1, cell.address, 2, 1), less.step(), adder.step(1000, 100)]
loop = [(LOOP, 2**60, 1, 1, 0, 0), adder.step(1000, 100)]
grid = [adder.step(2**40, 1000)]
adder_of_one = Adder(x, integers(1))

def interrupted(program, after=0.3):
    threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.perf_counter()
    try:
        program.run()
    except KeyboardInterrupt:
        return time.perf_counter() - start
"""


@pytest.mark.parametrize("kind", ["table", "loop"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ctrl_c_stops_a_long_run_and_everything_works_afterwards(kind, count):
    text = f"""
program = NativeProgram({kind}, 1, None if {kind!r} == "table" else 10**15, (adder, less, cell))
for _ in range(3):
    taken = interrupted(program)
    assert taken is not None and taken < 120, taken  # it would never end
    assert total() == 200000
after = x.copy()
time.sleep(0.1)
assert (x == after).all()  # nothing runs on behind our back
limit[0] = x[0] + 3
if {kind!r} == "table":
    assert program.run() == 0 and x[0] == limit[0]
print("fine")
"""
    assert alone(ENDLESS + text, ADJOINT_THREADS=str(count)) == "fine"


def test_ctrl_c_during_a_compile_returns_at_once():
    text = """
from adjoint.runtime import compiler, interrupt
from adjoint.stages import Source
lines = "".join(f"  %v{i + 1} = fdiv double %v{i}, {i}.5\\n" for i in range(20000))
body = f"define void @big(ptr %a, i64 %b, i64 %e) {{\\n  %v0 = load double, ptr %a\\n{lines}"
source = Source("llvm", "big", body + "  store double %v20000, ptr %a\\n  ret void\\n}")
real = compiler.compile_object
def compile_object(*args, **more):
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    return real(*args, **more)
compiler.compile_object = compile_object
try:
    compiler.compile_source(source)
    raise SystemExit("it was too fast to interrupt")
except KeyboardInterrupt:
    assert not all(job.finished for job in interrupt._compiles)  # it goes on without us
compiler.compile_object = real
assert total() == 200000
print("fine")
"""
    assert alone(text, ADJOINT_CACHE="0") == "fine"
