"""The worker pool of this process: one native page of state, threads that start when first needed.

The page and the code are never freed: workers sleep there until the process ends.
"""

from __future__ import annotations

import ctypes
import os
import threading
from functools import lru_cache

from adjoint.runtime import libc, program_ir
from adjoint.runtime import pool_ir as text
from adjoint.runtime.compiler import Code, compile_source
from adjoint.runtime.cores import available_cores, thread_count
from adjoint.runtime.interrupt import Job, begin, settle
from adjoint.runtime.llvm import engine
from adjoint.stages import Source

_SPINS = 8000  # of some 17 ns: longer than Python needs between two calls, so that none is woken


class Pool:
    """The page of the pool. `address` is what programs point at."""

    def __init__(self, threads: int):
        self.threads = threads
        self._bytes = text.pool_bytes(threads)
        self.address = libc.map_pages(libc.whole_pages(self._bytes))
        self.reset()

    def reset(self) -> None:
        """As new: no thread runs. For a fresh page, and in the child of a fork."""
        ctypes.memset(self.address, 0, self._bytes)
        ctypes.memset(self.address + text.ALL_SIGNALS, 0xFF, 128)
        self._store(text.WANTED, self.threads - 1)
        self._store(text.SPINS, _SPINS if self.threads <= available_cores() else 0)

    @property
    def stays_awake(self) -> bool:
        """Whether there are workers that wait awake for a while: each has a core."""
        return 1 < self.threads <= available_cores()

    def _store(self, field: int, value: int) -> None:
        ctypes.c_int32.from_address(self.address + field).value = value


_lock = libc.hold_over_fork(threading.Lock())
_pools: list[Pool] = []


def the_pool() -> Pool:
    """The worker pool, made on first use."""
    if not _pools:
        with _lock:
            if not _pools:
                pool = Pool(thread_count())
                if hasattr(os, "register_at_fork"):
                    os.register_at_fork(after_in_child=pool.reset)
                _pools.append(pool)
    return _pools[0]


_begun: list[Job] = []  # the making of native code
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begun.clear)  # threads do not survive a fork


def begin_native_code() -> None:
    """LLVM is loaded and `native_code` made by another thread, while this one lowers a graph."""
    if not _begun:
        _begun.append(begin(_loaded_and_made))


def _loaded_and_made() -> None:
    engine()
    _made()


@lru_cache(maxsize=1)
def native_code() -> Code:
    """The code of the pool and of programs."""
    for job in _begun:
        settle(job)
    return _made()


def _made() -> Code:
    return compile_source(Source("llvm", "run", program_ir.TEXT))
