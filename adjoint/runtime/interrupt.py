"""Long native work that Ctrl-C gets through to.

Python runs signal handlers in the main thread only, and only between its own instructions, never
inside a native call. So long work is done by another thread, and the main thread waits for it where
a signal can wake it. What may live here: that thread and the waiting.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from time import monotonic
from typing import Any

from adjoint.runtime.native import hold_over_fork

PATIENCE = 1.0  # seconds that an interrupt waits for work to notice that it was cancelled


class Abandoned(KeyboardInterrupt):
    """Ctrl-C, and the work goes on behind our back: what it uses belongs into `keep`."""

    def __init__(self, keep: list[Any]):
        super().__init__()
        self.keep = keep


class _Job:
    __slots__ = ("done", "error", "keep", "started", "value", "work")

    def __init__(self, work: Callable[[], Any]):
        self.work, self.value, self.started = work, None, False
        self.keep: list[Any] = []
        self.error: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()

    def run(self) -> None:
        if self.started:  # queued again by an interrupt that could not know whether it was
            return
        self.started = True
        try:
            self.value = self.work()
        except BaseException as error:
            self.error = error
        finally:
            self.done.release()


class _Runner:
    """One thread that does jobs in order; None ends it."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        threading.Thread(target=self._serve, name="adjoint-runner", daemon=True).start()

    def _serve(self) -> None:
        while (job := self.jobs.get()) is not None:
            job.run()


_runners: list[_Runner] = []
_compiles: list[_Job] = []  # that nobody waits for any more
_lock = hold_over_fork(threading.Lock())
if hasattr(os, "register_at_fork"):
    for _list in (_runners, _compiles):
        os.register_at_fork(after_in_child=_list.clear)  # threads do not survive a fork


def _runner() -> _Runner:
    with _lock:
        if not _runners:
            _runners.append(_Runner())
        return _runners[0]


def on_main_thread() -> bool:
    """Whether this is the thread that signals interrupt."""
    return threading.current_thread() is threading.main_thread()


def interruptible(work: Callable[[], Any], cancel: Callable[[], None] | None = None) -> Any:
    """The result of `work`, done by another thread while the main thread waits for it or Ctrl-C.

    An interrupt calls `cancel` and waits a little for the work to end. If it does not, the error is
    `Abandoned`, and the caller must leave the memory that the work uses to it. Work without a
    `cancel` needs nothing of the caller and ends by itself.
    """
    if not on_main_thread():
        return work()
    runner, job = _runner(), _Job(work)
    try:
        runner.jobs.put(job)
        job.done.acquire()
    except BaseException:
        if cancel is None:
            _compiles.append(job)
        elif _stopped(runner, job, cancel):
            raise
        _abandon(runner, job)
        if cancel is None:
            raise
        raise Abandoned(job.keep) from None
    if job.error is not None:
        raise job.error
    return job.value


def _abandon(runner: _Runner, job: _Job) -> None:
    """Leave the runner to its work; who comes next gets another."""
    with _lock:
        if runner in _runners:
            _runners.remove(runner)
    runner.jobs.put(job)
    runner.jobs.put(None)


@atexit.register
def _end_compiles() -> None:
    """LLVM may not be taken down while it compiles."""
    for job in _compiles:
        job.done.acquire()


def _stopped(runner: _Runner, job: _Job, cancel: Callable[[], None]) -> bool:
    """Whether the job ends soon, however often Ctrl-C is pressed."""
    until = monotonic() + PATIENCE
    while True:
        try:
            cancel()
            runner.jobs.put(job)
            return job.done.acquire(timeout=max(0.0, until - monotonic()))
        except KeyboardInterrupt:
            continue
