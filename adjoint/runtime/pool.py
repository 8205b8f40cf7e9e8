"""The worker pool of this process: one native page of state, threads that start when first needed.

The page and the code are never given back: workers sleep there until the process ends.
"""

from __future__ import annotations

import ctypes
import os
import threading
from functools import lru_cache

from adjoint import config
from adjoint.runtime import libc
from adjoint.runtime import pool_ir as text
from adjoint.runtime.compiler import Code, compile_source
from adjoint.stages import Source

_SPINS = 2000  # of some 17 ns: a worker stays awake about 35 µs after its last job


def thread_count() -> int:
    """Threads that compute, the caller's among them."""
    asked = config.THREADS.value()
    return asked if asked is not None else available_cores()


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Pool:
    """The page of the pool. `address` is what programs point at."""

    def __init__(self, threads: int):
        self.threads = threads
        self.address = libc.map_pages(libc.whole_pages(text.POOL_BYTES))
        self.reset()

    def reset(self) -> None:
        """As new: no thread runs. For a fresh page, and in the child of a fork."""
        ctypes.memset(self.address, 0, text.POOL_BYTES)
        ctypes.memset(self.address + text.ALL_SIGNALS, 0xFF, 128)
        self._store(text.WANTED, self.threads - 1)
        self._store(text.SPINS, _SPINS if self.threads <= available_cores() else 0)

    def _store(self, field: int, value: int) -> None:
        ctypes.c_int32.from_address(self.address + field).value = value


_lock = libc.hold_over_fork(threading.Lock())
_pools: list[Pool] = []


def the_pool() -> Pool:
    """The one pool, made when first asked for."""
    if not _pools:
        with _lock:
            if not _pools:
                pool = Pool(thread_count())
                if hasattr(os, "register_at_fork"):
                    os.register_at_fork(after_in_child=pool.reset)
                _pools.append(pool)
    return _pools[0]


@lru_cache(maxsize=1)
def native_code() -> Code:
    """The code of the pool and of programs."""
    return compile_source(Source("llvm", "run", text.TEXT))
