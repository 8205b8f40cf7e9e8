"""Runs long native work so that Ctrl-C can interrupt it.

Python runs signal handlers in the main thread only, and only between its own instructions, never
inside a native call. So another thread does long work, and the main thread waits for it where a
signal can wake it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from time import monotonic
from typing import Any

from adjoint.runtime.libc import hold_over_fork

PATIENCE = 1.0  # seconds that an interrupt waits for work to notice that it was cancelled


_KEEP = "_adjoint_keep"  # an attribute of the interrupt, which stays the object that it is: Python
# ends with the code of a signal only for a KeyboardInterrupt of that very class


def left_behind(error: BaseException, *memory: Any) -> bool:
    """Whether an interrupt left work running; if so, the work keeps the memory it uses."""
    keep: list[Any] | None = getattr(error, _KEEP, None)
    if keep is not None:
        keep.extend(memory)
    return keep is not None


class Job:
    """Work for another thread. The thread that claims it runs it, or sees that it is not run."""

    __slots__ = ("claim", "done", "error", "finished", "keep", "value", "work")

    def __init__(self, work: Callable[[], Any]):
        self.work, self.value, self.finished = work, None, False
        self.keep: list[Any] = []
        self.error: BaseException | None = None
        self.claim, self.done = threading.Lock(), threading.Lock()
        self.done.acquire()

    def run(self) -> None:
        if not self.claim.acquire(blocking=False):  # queued again by an interrupt, or not wanted
            return
        try:
            self.value = self.work()
        except BaseException as error:
            self.error = error
        finally:
            self.finished = True  # before the lock: the waiter may have it already, or never
            self.done.release()


def leave_behind(error: BaseException, job: Job) -> None:
    """Let the work go on; it keeps the memory that callers leave to it when they see the error."""
    setattr(error, _KEEP, job.keep)


class Runner:
    """One thread that does jobs in order; None ends it."""

    def __init__(self, name: str = "adjoint-runner") -> None:
        self.jobs: SimpleQueue[Job | None] = SimpleQueue()
        threading.Thread(target=self._serve, name=name, daemon=True).start()

    def _serve(self) -> None:
        while (job := self.jobs.get()) is not None:
            job.run()


_runners: list[Runner] = []
_compiles: list[Job] = []  # that may be under way
_lock = hold_over_fork(threading.Lock())
if hasattr(os, "register_at_fork"):
    for _list in (_runners, _compiles):
        os.register_at_fork(after_in_child=_list.clear)  # threads do not survive a fork


def _runner() -> Runner:
    with _lock:
        if not _runners:
            _runners.append(Runner())
        return _runners[0]


def on_main_thread() -> bool:
    """Whether this is the thread that signals interrupt."""
    return threading.current_thread() is threading.main_thread()


def interruptible(work: Callable[[], Any], cancel: Callable[[], None] | None = None) -> Any:
    """The result of `work`, done by another thread while the main thread waits for it or Ctrl-C.

    An interrupt calls `cancel` and waits a little for the work to end. If it does not end, the
    caller must leave the memory that the work uses to it: `left_behind`. Work without a `cancel`
    needs nothing of the caller and terminates.
    """
    if not on_main_thread():
        return work()
    runner, job = _runner(), Job(work)
    if cancel is None:
        _compiles[:] = [*(other for other in _compiles if not other.finished), job]
    try:
        runner.jobs.put(job)
        job.done.acquire()
    except BaseException as error:
        if cancel is not None and _stopped(runner, job, cancel):
            raise
        _abandon(runner, job)
        if cancel is not None:
            setattr(error, _KEEP, job.keep)
        raise
    if job.error is not None:
        raise job.error
    return job.value


def begin(work: Callable[[], Any]) -> Job:
    """Start the work in a thread of its own; `settle` waits for it. A later call will request its
    result, and raises its error again then.
    """
    job = Job(work)
    _compiles[:] = [*(other for other in _compiles if not other.finished), job]
    try:
        threading.Thread(target=job.run, name="adjoint-ahead", daemon=True).start()
    except RuntimeError:  # no thread begins when Python ends
        job.run()
    return job


def settle(job: Job) -> None:
    """Wait until work that was begun is done, where Ctrl-C gets through."""
    with job.done:
        pass


_importing = hold_over_fork(threading.Lock())


def unforked(work: Callable[[], Any]) -> Any:
    """The result of `work` during which no process forks: a child cannot go on with half an import
    of another thread."""
    with _importing:
        return work()


def undisturbed(work: Callable[[], Any]) -> Any:
    """The result of `work` that no signal may interrupt, such as an import: an interrupt waits.

    During an import Python may turn an interrupt into another error, or lose it.
    """
    if not on_main_thread():
        return work()
    runner, job = _runner(), Job(work)
    try:
        runner.jobs.put(job)
        job.done.acquire()
    except BaseException:
        runner.jobs.put(job)
        _await(job)
        raise
    if job.error is not None:
        raise job.error
    return job.value


def _await(job: Job) -> None:
    """Wait until the job is finished. The interrupt that left it may have taken its lock, so the
    lock alone proves nothing: it only wakes this thread.
    """
    while not job.finished:
        with contextlib.suppress(BaseException):  # more signals: it ends by itself, and soon
            job.done.acquire(timeout=0.02)


def _abandon(runner: Runner, job: Job) -> None:
    """Leave the runner to its work; the next caller gets another."""
    with _lock:
        if runner in _runners:
            _runners.remove(runner)
    runner.jobs.put(job)
    runner.jobs.put(None)


@atexit.register
def _end_compiles() -> None:
    """LLVM must not be destroyed while it compiles; compiles that have not begun are cancelled."""
    with _deaf():
        for job in _compiles:
            if not job.claim.acquire(blocking=False):
                _await(job)
        if _interrupted():
            with contextlib.suppress(KeyboardInterrupt):
                exec("raise KeyboardInterrupt")


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Ignore another Ctrl-C inside: the awaited work terminates, and soon."""
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual) or not on_main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _interrupted() -> bool:
    """Whether this process ends by a KeyboardInterrupt that its main program did not catch.

    Python notes that, to end as the signal would end it, and forgets it whenever any thread
    evaluates a text, as an import does that makes named tuples or data classes. Such a thread may
    run on while the traceback is written; an evaluated text that raises makes the note again.
    """
    trace = getattr(sys, "last_traceback", None)
    if getattr(sys, "last_type", None) is not KeyboardInterrupt or trace is None:
        return False
    at_a_prompt = hasattr(sys, "ps1")  # where it ended one line, and the next was read
    return trace.tb_frame.f_back is None and not at_a_prompt


def _stopped(runner: Runner, job: Job, cancel: Callable[[], None]) -> bool:
    """Whether the job ends soon, however often Ctrl-C is pressed."""
    until = monotonic() + PATIENCE
    while True:
        try:
            cancel()
            runner.jobs.put(job)
            return job.done.acquire(timeout=max(0.0, until - monotonic()))
        except BaseException:  # the interrupt of a second signal; the first is on its way
            continue
