"""Threads that process collectives while kernels run.

What may live here: one thread's jobs in their order, and waiting for them. What may not: any
collective. A courier belongs to one run of one program at a time; the next run reuses it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from adjoint.runtime.interrupt import PATIENCE, Job, Runner, leave_behind
from adjoint.runtime.libc import hold_over_fork

_idle: list[Runner] = []
_lock = hold_over_fork(threading.Lock())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # threads do not survive a fork


class Courier:
    """Collectives on their way, in the order in which they were begun."""

    def __init__(self) -> None:
        self._runner: Runner | None = None
        self._jobs: list[Job] = []

    @property
    def is_busy(self) -> bool:
        """Whether anything is on its way."""
        return bool(self._jobs)

    def begin(self, work: Callable[[], Any]) -> Job:
        """The work, done behind everything that was begun before it."""
        if self._runner is None:
            with _lock:
                self._runner = _idle.pop() if _idle else None
            self._runner = self._runner or Runner("adjoint-courier")
        job = Job(work)
        self._jobs.append(job)
        self._runner.jobs.put(job)
        return job

    def wait(self, job: Job) -> None:
        """Until the work is done; its error, if it has one."""
        job.done.acquire()
        self._jobs.remove(job)
        if job.error is not None:
            raise job.error
        if not self._jobs:
            self._rest()

    def _rest(self) -> None:
        if self._runner is not None:
            with _lock:
                _idle.append(self._runner)
            self._runner = None

    def give_up(self, error: BaseException) -> None:
        """After an error: what was not begun is not done, and what is under way is waited for. An
        interrupt waits a little; then the memory that is in use is left to it."""
        running = [job for job in self._jobs if not job.claim.acquire(blocking=False)]
        self._jobs.clear()
        patience = PATIENCE if isinstance(error, KeyboardInterrupt) else float("inf")
        until = time.monotonic() + patience
        for job in running:
            while not job.finished and time.monotonic() < until:
                time.sleep(0.001)
            if not job.finished:
                leave_behind(error, job)
                self._runner = None  # it is busy: the next run takes another
        self._rest()
