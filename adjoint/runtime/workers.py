"""Compiles several sources at once, each in one of a few threads.

What may live here: handing sources to threads. What may not: how a source is compiled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.runtime.cores import thread_count

_MOST = 8  # threads: a program has few sources that take long


def side_by_side(count: int) -> int:
    """Threads that compile so many sources."""
    return max(1, min(count, thread_count(), _MOST))


class Workers:
    """Runs a function on a list of things, in the calling thread and a few others; results in
    order.
    """

    def __init__(self, things: Sequence[Any], work: Callable[[Any], Any]):
        self.things, self.work = things, work
        self.results: list[Any] = [None] * len(things)
        self.error: BaseException | None = None
        self._places = iter(range(len(things)))
        self._lock = threading.Lock()

    def stop(self) -> None:
        """What has not begun is not begun any more."""
        self._places = iter(())

    def all_done(self) -> list[Any]:
        """The results; the first error there was."""
        others = [self._start() for _ in range(side_by_side(len(self.things)) - 1)]
        self._serve()
        for thread in others:
            thread.join()
        if self.error is not None:
            raise self.error
        return self.results

    def _start(self) -> threading.Thread:
        thread = threading.Thread(target=self._serve, name="adjoint-compile", daemon=True)
        thread.start()
        return thread

    def _serve(self) -> None:
        while (place := self._next()) is not None:
            try:
                self.results[place] = self.work(self.things[place])
            except BaseException as error:
                self.error = self.error or error
                self.stop()

    def _next(self) -> int | None:
        with self._lock:
            return next(self._places, None)
