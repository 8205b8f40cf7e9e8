"""Programs that another thread compiles while the user's thread goes on.

Requests are processed in order, one after another. A thread that needs a result takes the request
over, or waits for it if it has begun. What may live here: which thread does the work, and when.
What may not: the work.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Hashable
from typing import Any

from adjoint.runtime.interrupt import Job, begin, settle

_MOST = 64  # waiting; what comes then is asked for again


class Later:
    """Jobs by name, those that are not done. A job that fails is done."""

    def __init__(self) -> None:
        self._jobs: dict[Hashable, Job] = {}
        self._server: Job | None = None

    def has_room_for(self, name: Hashable) -> bool:
        """Whether work of that name may be requested."""
        return name not in self._jobs and len(self._jobs) < _MOST

    def ask(self, name: Hashable, work: Callable[[], Any]) -> None:
        """Let another thread do the work."""
        self._jobs[name] = Job(work)
        if self._server is None or self._server.finished:
            self._server = begin(self._serve)

    def settle(self, name: Hashable) -> None:
        """Wait until that work is done, or do it here."""
        job = self._jobs.get(name)
        if job is not None:
            job.run()
            settle(job)
            self._jobs.pop(name, None)

    def finish(self) -> None:
        """Wait until there is nothing left to do."""
        for name in [*self._jobs]:
            self.settle(name)

    def forget(self) -> None:
        """What has not begun is not begun any more: the process ends, or is the child of a fork."""
        self._jobs.clear()
        self._server = None

    def _serve(self) -> None:
        while self._jobs:
            name, job = next(iter(self._jobs.items()))
            job.run()
            settle(job)
            self._jobs.pop(name, None)


LATER = Later()
atexit.register(LATER.forget)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=LATER.forget)
