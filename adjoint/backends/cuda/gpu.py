"""The GPU of this process, found when it is first needed."""

from __future__ import annotations

import threading

from adjoint.runtime.cuda import Driver
from adjoint.runtime.interrupt import undisturbed
from adjoint.runtime.libc import hold_over_fork

_found: list[Driver] = []
_lock = hold_over_fork(threading.Lock())


def the_gpu() -> Driver:
    """The driver, one for all threads; E6002 where there is no GPU."""
    if not _found:
        with _lock:
            if not _found:
                _found.append(undisturbed(Driver))
    return _found[0]
