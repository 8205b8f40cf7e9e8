"""Copies between host and GPU through pinned memory, which the GPU reads and writes by itself.

An array that the host reads stays in pinned memory, if it is not very large: the host's array is
that memory. Data to write is copied to pieces of pinned memory, and the GPU fetches a piece while
the next is copied; the host waits only when all pieces are in use. What may live here: moving
bytes. What may not: when the host reads them.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from adjoint.runtime.allocator import CPU, Allocator
from adjoint.runtime.cuda import Driver, Event

Array = np.ndarray[Any, Any]
_SMALL = 64 << 10  # bytes that the driver itself copies before it returns
_LARGE = 64 << 20  # bytes up to which an array that is read is pinned memory,
_MOST = 2 << 30  # while arrays have no more of it: the system cannot move it
_PIECE, _PIECES = 4 << 20, 16  # bytes of a piece; pieces that copies use at a time
_LEAST = 2 << 20  # bytes of a piece that are worth a thread
_PART = 256 << 10  # bytes of a piece that is sent by one thread: the GPU fetches one meanwhile
_COPIERS = 6  # threads that copy to pieces: as many as an H200's bus is worth
_KEPT = 1 << 30  # bytes of pinned memory that are kept for later


class PinnedAllocator(Allocator):
    """Pinned memory of the host, in blocks."""

    def __init__(self, gpu: Callable[[], Driver]):
        super().__init__(_KEPT)
        self._gpu = gpu

    def _map(self, size: int, asked: int) -> int:
        return self._gpu().pinned(size)

    def _unmap(self, address: int, size: int) -> None:
        self._gpu().free_pinned(address)


class Copies:
    """Copies of one GPU."""

    def __init__(self, gpu: Callable[[], Driver], wait: Callable[[], None]):
        self._gpu, self._wait = gpu, wait
        self._pinned = PinnedAllocator(gpu)
        self._pieces: deque[tuple[Any, Event]] = deque()  # and until when a copy uses each

    @cached_property
    def _copiers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(_COPIERS, thread_name_prefix="adjoint-copy")

    def read(self, address: int, nbytes: int) -> Array:
        """A copy of bytes of the GPU, when all that was launched before is done."""
        if nbytes > _LARGE or self._pinned.in_use > _MOST:
            return self._read_large(address, nbytes)
        block = self._pinned.allocate(nbytes)
        try:
            self._gpu().read(block.address, address, nbytes)
            self._wait()
        except BaseException:  # Ctrl-C: the GPU may write to it later
            self._gpu().hold(block)
            raise
        found: Array = block.read(nbytes)
        return found

    def _read_large(self, address: int, nbytes: int) -> Array:
        """Piece by piece, by several threads."""
        found = CPU.allocate(nbytes).read(nbytes)
        target = found.ctypes.data

        def fetch(piece: tuple[int, int]) -> None:
            place, size = piece
            with self._piece() as block:
                self._gpu().read(block.address, address + place, size)
                self._gpu().wait_for(self._gpu().event())
                ctypes.memmove(target + place, block.address, size)

        self._share(fetch, nbytes)
        self._wait()
        return found

    def write(self, address: int, array: Array) -> None:
        """A copy to the GPU; the array may change when this returns."""
        source, nbytes = array.ctypes.data, array.nbytes
        if nbytes <= _SMALL:
            self._gpu().write(address, source, nbytes)
            return

        def send(piece: tuple[int, int]) -> None:
            place, size = piece
            part = _PART if size == nbytes else size
            with self._piece() as block:
                for at in range(0, size, part):
                    count = min(part, size - at)
                    ctypes.memmove(block.address + at, source + place + at, count)
                    self._gpu().write(address + place + at, block.address + at, count)

        self._share(send, nbytes)

    def _share(self, work: Callable[[tuple[int, int]], None], nbytes: int) -> None:
        """All pieces: by threads, since one alone copies slower than the GPU does."""
        step = min(max(-(-nbytes // _COPIERS), _LEAST), _PIECE)
        pieces = [(i, min(step, nbytes - i)) for i in range(0, nbytes, step)]
        if len(pieces) == 1:
            work(pieces[0])
            return
        jobs = [self._copiers.submit(work, piece) for piece in pieces]
        try:
            for job in jobs:
                job.result()
        finally:  # Ctrl-C: none goes on with memory that is its caller's
            wait([job for job in jobs if not job.cancel()])

    @contextmanager
    def _piece(self) -> Iterator[Any]:
        """A piece of pinned memory that no copy uses; then it is in use until the GPU has done what
        was launched by then."""
        block = self._unused()
        try:
            yield block
        finally:
            self._pieces.append((block, self._gpu().event()))

    def _unused(self) -> Any:
        try:
            block, event = self._pieces.popleft()  # the one that is in use for longest
        except IndexError:
            return self._pinned.allocate(_PIECE)
        if len(self._pieces) < _PIECES and not self._gpu().is_done(event):
            self._pieces.appendleft((block, event))
            return self._pinned.allocate(_PIECE)
        self._gpu().wait_for(event)
        return block
