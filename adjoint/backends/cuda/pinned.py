"""Copies between host and GPU by way of pinned memory, which the GPU reads and writes by itself.

What is read lies in pinned memory for good, if it is not very large: the array that the host gets
is that memory. What is written is copied to pieces of pinned memory, and the GPU fetches them from
there while the next is copied; the host waits only where all pieces are under way. What may live
here: moving bytes. What may not: when the host looks at them.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from adjoint.runtime.allocator import CPU, Allocator
from adjoint.runtime.cuda import Driver, Event

Array = np.ndarray[Any, Any]
_SMALL = 64 << 10  # bytes that the driver itself copies before it returns
_LARGE = 64 << 20  # bytes up to which an array that is read is pinned memory
_PIECE, _PIECES = 4 << 20, 8
_COPIERS = 4  # threads that copy to pieces
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
        self._lock = threading.Lock()  # of the pieces
        self._pieces: list[tuple[Any, Event | None]] = []
        self._left: list[Any] = []  # that the GPU may write to: Ctrl-C came between

    @cached_property
    def _copiers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(_COPIERS, thread_name_prefix="adjoint-copy")

    def read(self, address: int, nbytes: int) -> Array:
        """A copy of bytes of the GPU, when all that was launched before is done."""
        if nbytes > _LARGE:
            return self._read_large(address, nbytes)
        block = self._pinned.allocate(nbytes)
        self._left.append(block)
        self._gpu().read(block.address, address, nbytes)
        self._wait()
        self._left.clear()
        found: Array = block.read(nbytes)
        return found

    def _read_large(self, address: int, nbytes: int) -> Array:
        """Piece by piece: one is fetched while those before it are copied."""
        gpu, found = self._gpu(), CPU.allocate(nbytes).read(nbytes)
        target = found.ctypes.data
        with self._lock:
            under_way = list[tuple[int, int, Any, Event]]()
            for place, size in _cut(nbytes):
                block = self._piece()
                gpu.read(block.address, address + place, size)
                under_way.append((place, size, block, gpu.event()))
                if len(under_way) == _PIECES // 2:
                    self._fetch(target, under_way)
            while under_way:
                self._fetch(target, under_way)
        self._wait()
        return found

    def _fetch(self, target: int, under_way: list[tuple[int, int, Any, Event]]) -> None:
        place, size, block, event = under_way.pop(0)
        self._gpu().wait_for(event)
        self._move(target + place, block.address, size)
        self._pieces.append((block, None))

    def write(self, address: int, array: Array) -> None:
        """A copy to the GPU; the array may change when this returns."""
        source, nbytes = array.ctypes.data, array.nbytes
        if nbytes <= _SMALL:
            self._gpu().write(address, source, nbytes)
            return
        gpu = self._gpu()
        with self._lock:
            for place, size in _cut(nbytes):
                block = self._piece()
                try:
                    self._move(block.address, source + place, size)
                    gpu.write(address + place, block.address, size)
                finally:
                    self._pieces.append((block, gpu.event()))

    def _piece(self) -> Any:
        """A piece of pinned memory that no copy uses."""
        if len(self._pieces) < _PIECES:
            return self._pinned.allocate(_PIECE)
        block, event = self._pieces.pop(0)
        if event is not None:
            self._gpu().wait_for(event)
        return block

    def _move(self, target: int, source: int, size: int) -> None:
        """Bytes of the host, by several threads: one alone is slower than the GPU."""
        part = -(-size // _COPIERS)
        if part < _SMALL:
            ctypes.memmove(target, source, size)
            return
        parts = [(i, min(part, size - i)) for i in range(0, size, part)]
        jobs = [self._copiers.submit(ctypes.memmove, target + i, source + i, n) for i, n in parts]
        for job in jobs:
            job.result()


def _cut(nbytes: int) -> Iterator[tuple[int, int]]:
    for place in range(0, nbytes, _PIECE):
        yield place, min(_PIECE, nbytes - place)
