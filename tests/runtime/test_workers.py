"""Sources compiled by several threads, and what is begun before it is asked for."""

import sys
import threading

import pytest

from adjoint.errors import InternalError
from adjoint.runtime import interrupt, llvm, workers
from adjoint.runtime.compiler import compile_object, compile_sources
from adjoint.runtime.workers import Workers, side_by_side
from adjoint.stages import Source
from tests.runtime.adders import added, adder
from tests.support.processes import printed, python


@pytest.fixture
def four(monkeypatch):
    """Four threads compile, whatever the machine has."""
    monkeypatch.setattr(workers, "thread_count", lambda: 4)


def test_several_threads_make_the_objects_that_one_makes(four):
    sources = [adder(50_000 + i, f"add{i}") for i in range(24)]
    alone = [compile_object(source, quick) for quick in (False, True) for source in sources]
    engine = llvm.engine()
    engine.make_room(4)
    asked = [(source, quick) for quick in (False, True) for source in sources]
    assert Workers(asked, lambda each: compile_object(*each)).all_done() == alone


def test_codes_come_in_the_order_of_the_sources_and_equal_ones_are_one(four):
    numbers = [60_007, 60_001, 60_003, 60_001, 60_002]
    found = compile_sources([(adder(number), False) for number in numbers])
    assert [added(code.address) for code in found] == numbers
    assert found[1] is found[3]
    assert compile_sources([(adder(60_002), False)])[0] is found[4]


def test_a_source_that_llvm_refuses_is_named_and_the_others_can_be_asked_for(four):
    bad = Source("llvm", "broken", "define void @broken() { nonsense }")
    good = [(adder(61_000 + i), False) for i in range(6)]
    with pytest.raises(InternalError, match="kernel broken"):
        compile_sources([*good[:3], (bad, False), *good[3:]])
    assert [added(code.address) for code in compile_sources(good)] == [61_000 + i for i in range(6)]


def test_after_an_error_nothing_more_is_begun(four):
    begun = []

    def work(thing):
        begun.append(thing)
        raise ValueError(thing)

    with pytest.raises(ValueError, match=r"\d"):
        Workers(range(100), work).all_done()
    assert len(begun) <= 4


def test_what_is_stopped_ends_with_what_had_begun(monkeypatch):
    monkeypatch.setattr(workers, "thread_count", lambda: 1)
    begun, job = [], None

    def work(thing):
        begun.append(thing)
        job.stop()

    job = Workers(range(100), work)
    job.all_done()
    assert begun == [0]


@pytest.mark.parametrize(
    ("count", "cores", "threads"), [(0, 4, 1), (3, 4, 3), (9, 4, 4), (99, 64, 8)]
)
def test_there_are_as_many_threads_as_sources_and_cores_ask_for(monkeypatch, count, cores, threads):
    monkeypatch.setattr(workers, "thread_count", lambda: cores)
    assert side_by_side(count) == threads


def test_without_llvmlite_s_library_its_own_call_is_taken(monkeypatch):
    engine = llvm.engine()

    class Hidden:
        pass

    monkeypatch.setattr(engine, "emit", llvm._emitter(Hidden()))
    ordinary = llvm._emitter(engine.llvm)
    hidden = compile_object(adder(62_000))
    monkeypatch.setattr(engine, "emit", ordinary)
    assert compile_object(adder(62_000)) == hidden


def test_threads_that_ask_at_once_share_the_desks():
    engine, found = llvm.engine(), {}
    count = len(engine.desks)

    def ask(number):
        found[number] = compile_object(adder(63_000))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4 * count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 * count
    assert len(set(found.values())) == 1
    assert not any(desk.lock.locked() for desk in engine.desks)


# ---- ahead


def test_work_that_is_begun_is_done_when_it_is_settled():
    go, ran = threading.Event(), []
    job = interrupt.begin(lambda: (go.wait(60), ran.append(1)))
    assert not ran
    go.set()
    interrupt.settle(job)
    interrupt.settle(job)
    assert ran == [1]


def test_an_error_of_work_that_is_begun_waits_for_the_one_who_asks():
    def fail():
        raise OSError("gone")

    job = interrupt.begin(fail)
    interrupt.settle(job)
    assert isinstance(job.error, OSError)


ENDS = """
import numpy as np
from adjoint import Tensor, jit
from adjoint.runtime import pool
pool.begin_native_code()
"""


@pytest.mark.parametrize(
    "then",
    [
        "",  # the process ends while LLVM is being loaded
        "print(jit(lambda x: (x * 3).sum())(Tensor(np.ones(5))).item())",
        "import os\npid = os.fork()\n"
        "print((Tensor(np.ones(5)) * 3).sum().item()) if pid == 0 else os.waitpid(pid, 0)",
    ],
    ids=["ends", "asks", "forks"],
)
@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_a_process_ends_asks_or_forks_while_another_thread_makes_native_code(then, tmp_path):
    said = printed("-c", ENDS + then, ADJOINT_CACHE_DIR=str(tmp_path))
    assert said == ("15.0\n" if then else "")


def test_a_cold_process_compiles_native_code_once(tmp_path):
    text = (
        "import numpy as np\nfrom adjoint import Tensor\nfrom adjoint.runtime import compiler\n"
        "(Tensor(np.ones(5)) * 3).numpy()\nprint(compiler.compiled)"
    )
    assert printed("-c", text, ADJOINT_CACHE_DIR=str(tmp_path)) == "2\n"


LISTED_MEANWHILE = """
import os, threading, time
from adjoint.runtime.libc import hold_over_fork

first, second, over = hold_over_fork(threading.Lock()), None, []

def load():  # as LLVM is: under one lock another is made, which is taken behind it
    global second
    with first:
        started.set()
        time.sleep(0.2)
        second = hold_over_fork(threading.Lock())
        second.acquire()
    time.sleep(0.2)
    over.append(1)
    second.release()

started = threading.Event()
thread = threading.Thread(target=load)
thread.start()
started.wait()
pid = os.fork()
free = not first.locked() and not second.locked()
if pid == 0:
    os._exit(0 if over and free else 1)
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), over, free)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_a_fork_waits_for_locks_that_are_listed_while_it_waits():
    done = python("-c", LISTED_MEANWHILE, timeout=120)
    assert (done.stdout, done.stderr) == ("0 [1] True\n", "")
