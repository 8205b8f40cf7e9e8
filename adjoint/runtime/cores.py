"""How many cores this process may use, and how many threads compute."""

from __future__ import annotations

import os

from adjoint import config


def thread_count() -> int:
    """Threads that compute, the caller's among them."""
    asked = config.THREADS.value()
    return asked if asked is not None else available_cores()


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
