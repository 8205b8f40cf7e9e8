"""Memory that other libraries of the process use too, each on streams of its own.

A consumer of Adjoint's memory waits for everything that Adjoint launched; Adjoint uses memory of
others behind what they have launched. Memory is released when no work can touch it any more, and a
separate thread waits for that, never the user's. What may live here: the order of streams, and
memory of others as blocks. What may not: tensors, or the exchange protocols.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from adjoint.runtime.cuda import Driver, DriverError
from adjoint.target import TARGETS

Array = np.ndarray[Any, Any]
Action = Callable[[], Any]
LEGACY = 1  # the stream that libraries use unless they are told otherwise
_ACCESS = TARGETS["GPU"].thread_bytes  # every value begins at a multiple of it
_READ = 64  # bytes from its beginning on that a load behind a shut gate may read


class ForeignBlock:
    """Memory of another library, which is notified when it is no longer needed."""

    __slots__ = ("__weakref__", "_release", "_sharing", "address")

    def __init__(self, sharing: Sharing, address: int, release: Action):
        self._sharing, self.address, self._release = sharing, address, release

    def read(self, nbytes: int) -> Array:
        """A copy of its first bytes."""
        return self._sharing.read(self.address, nbytes)

    def __del__(self) -> None:
        if not self._sharing.gpu().is_lost:  # what was forked leaves it to its parent
            self._sharing.give_back(self._release)


class Sharing:
    """The order between the streams of a GPU's libraries and the one that programs run on."""

    def __init__(self, gpu: Callable[[], Driver], read: Callable[[int, int], Array]):
        self.gpu, self.read = gpu, read

    @property
    def stream(self) -> int:
        """The stream of programs: a producer of memory makes it wait until the memory is
        written.
        """
        with self.gpu().lock:  # a thread that records a graph has another for that time
            return int(self.gpu().stream.value or 0)

    def fits(self, address: int, nbytes: int) -> bool:
        """Whether kernels can read a value in place."""
        if address % _ACCESS:
            return False
        start, size = self.gpu().extent(address)
        return address + max(nbytes, _READ) <= start + size

    def number_of(self, address: int) -> int:
        """The number of the GPU that has memory at an address."""
        return self.gpu().number_of(address)

    def adopted(self, address: int, release: Action) -> ForeignBlock:
        """Memory that another library wrote, on the stream it was given."""
        return ForeignBlock(self, address, release)

    def waits_for(self, stream: int) -> None:
        """Programs wait for what another stream has to do."""
        self.gpu().behind(stream)

    def lent(self, stream: int | None) -> None:
        """A consumer's stream waits for all launches so far; -1: it takes care of that itself."""
        if stream != -1:
            self.gpu().ahead(LEGACY if stream is None else stream)

    def given_back(self, stream: int | None, drop: Action) -> None:
        """A consumer drops lent memory. Its stream may no longer exist, and only the default
        stream, which always exists, can be queried; otherwise another thread waits for all work.
        """
        if stream in (None, LEGACY):
            self.gpu().behind(LEGACY)
            drop()
        else:
            _later(self.gpu().wait_for_all, drop)

    def give_back(self, release: Action) -> None:
        """Release memory of others when all that was launched is done."""
        gpu = self.gpu()
        now = gpu.event()
        if gpu.is_done(now):
            release()
        else:
            _later(partial(gpu.wait_for, now), release)


# ---- the thread that waits


@lru_cache(maxsize=1)
def _waiting() -> queue.SimpleQueue[tuple[Action, Action]]:
    """Events to wait for, and the functions to call then; one thread, started with the first."""
    found: queue.SimpleQueue[tuple[Action, Action]] = queue.SimpleQueue()
    threading.Thread(target=partial(_wait, found), name="adjoint-memory", daemon=True).start()
    return found


def _wait(given: queue.SimpleQueue[tuple[Action, Action]]) -> None:
    while True:
        wait, action = given.get()
        _tried(wait)
        action()
        del wait, action


def _tried(wait: Action) -> None:
    """A graph that another library is capturing refuses; then it is asked again."""
    for _ in range(_TRIES):
        try:
            wait()
        except DriverError:
            threading.Event().wait(_PAUSE)
        else:
            return


_TRIES, _PAUSE = 1000, 0.01  # seconds


def _later(wait: Action, action: Action) -> None:
    """Do something when something else has happened; not when Python ends, which frees all."""
    if not sys.is_finalizing():
        _waiting().put((wait, action))
