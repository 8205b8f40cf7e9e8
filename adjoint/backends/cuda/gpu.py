"""The GPUs of this process, each found when it is first needed."""

from __future__ import annotations

import threading
from functools import partial

from adjoint.runtime.cuda import Driver
from adjoint.runtime.interrupt import undisturbed
from adjoint.runtime.libc import hold_over_fork

_found: dict[int, Driver] = {}
_lock = hold_over_fork(threading.Lock())


def the_gpu(number: int = 0) -> Driver:
    """The driver of a GPU, one for all threads; E6002 where there is no such GPU."""
    found = _found.get(number)
    if found is None:
        with _lock:
            found = _found.get(number)
            if found is None:
                found = _found[number] = undisturbed(partial(Driver, number))
    return found
