"""Interrupts at random times: every process ends, with the code of what ended it."""

import signal
import threading
import time

import pytest

from adjoint.runtime import interrupt
from tests.runtime.interrupted import ENDS, WORK, outcomes
from tests.support.processes import python

PATIENT = 300.0  # seconds; with both cores busy a process may wait long for its turn


def test_twenty_interrupted_processes_end_with_the_right_code():
    found = list(outcomes(20, seed=20, patience=PATIENT, longest=0.7))
    assert {(o.work, o.how) for o in found} == {(work, how) for work in WORK for how in ENDS}
    assert [o for o in found if not o.right] == []


EVALUATES = """
import os, signal, sys
from adjoint.runtime.interrupt import begin
begin(lambda: [eval("1") for _ in range(100_000)])  # as an import of named tuples does
"""
ENDINGS = {
    "nobody catches it": ("os.kill(os.getpid(), signal.SIGINT)\nwhile True: 1", -signal.SIGINT),
    "it is caught": ("try: raise KeyboardInterrupt\nexcept KeyboardInterrupt: 1", 0),
    "another error": ("raise ValueError", 1),
    "the line before, at a prompt": (
        "import types\n"
        "frame = types.SimpleNamespace(f_back=None)\n"
        "sys.ps1, sys.last_type = '>>> ', KeyboardInterrupt\n"
        "sys.last_traceback = types.SimpleNamespace(tb_frame=frame)",
        0,
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_code_of_a_process_that_ends_while_another_thread_evaluates_texts(ending):
    """Which makes Python forget that an interrupt ends it."""
    text, code = ENDINGS[ending]
    assert python("-c", EVALUATES + text).returncode == code


@pytest.fixture
def jobs(monkeypatch):
    """A list of compiles of the test's own."""
    found = []
    monkeypatch.setattr(interrupt, "_compiles", found)
    return found


def ends():
    """Whether `_end_compiles` comes back."""
    thread = threading.Thread(target=interrupt._end_compiles, daemon=True)
    thread.start()
    thread.join(600)
    return not thread.is_alive()


def test_a_finished_compile_whose_lock_an_interrupt_took_is_not_waited_for(jobs):
    job = interrupt.Job(lambda: 1)
    job.run()
    job.done.acquire()  # as the main thread does, just before the interrupt arrives
    jobs.append(job)
    assert ends()


def test_a_compile_that_never_began_is_not_waited_for_and_does_not_begin(jobs):
    ran = []
    job = interrupt.Job(lambda: ran.append(1))
    jobs.append(job)
    assert ends()
    job.run()
    assert ran == []


def test_a_compile_under_way_is_waited_for(jobs):
    go, began = threading.Event(), threading.Event()
    job = interrupt.Job(lambda: (began.set(), go.wait(600)))
    jobs.append(job)
    threading.Thread(target=job.run, daemon=True).start()
    began.wait(600)
    threading.Timer(0.1, go.set).start()
    assert ends()
    assert job.finished


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(7), TimeoutError("late")])
def test_an_interrupt_that_leaves_work_behind_keeps_its_class_and_code(error):
    began, go, memory = threading.Event(), threading.Event(), object()
    waiting = threading.get_ident()

    def interrupted(*_):
        raise error

    def send():
        began.wait(600)  # before that there would be nothing to leave
        time.sleep(0.1)
        signal.pthread_kill(waiting, signal.SIGUSR1)

    usual = signal.signal(signal.SIGUSR1, interrupted)
    threading.Thread(target=send).start()
    try:
        with pytest.raises(type(error)) as caught:
            interrupt.interruptible(lambda: (began.set(), go.wait(600)), lambda: None)
    finally:
        go.set()
        signal.signal(signal.SIGUSR1, usual)
    assert caught.value is error
    assert interrupt.left_behind(error, memory)
    assert not interrupt.left_behind(type(error)(), memory)
