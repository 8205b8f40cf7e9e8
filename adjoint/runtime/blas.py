"""One thread for NumPy's BLAS and LAPACK while Adjoint calls them.

OpenBLAS cuts its work by the number of its threads, so the last bits of a result depend on it. It
has one number for the whole process: calls set it to 1, and the last one to end restores the
user's. What may live here: that number. What may not: linear algebra. Another BLAS (Accelerate,
MKL), or one that is not found, keeps its threads; so does an OpenBLAS built with OpenMP, where each
thread has a number of its own.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

_NAMES = (  # as builds of OpenBLAS spell it
    *("scipy_openblas_{}64_", "openblas_{}64_", "openblas_{}_64"),
    *("scipy_openblas_{}", "openblas_{}"),
)
_OPENMP = 2  # what such a build says of itself
_Library = tuple[Callable[[], int], Callable[[int], None]]  # get the number of threads, and set it


class _Calls:
    """The calls under way; `usual` is the user's number of threads, or 0 if it needs no restoring.

    A signal handler or a finaliser may make a call between any two lines here, and an interrupt
    may end them: the lock admits its thread again, and the order of the lines keeps `usual` true.
    """

    __slots__ = "lock", "tokens", "usual"

    def __init__(self) -> None:
        self.lock, self.tokens, self.usual = threading.RLock(), set[object](), 0

    def enter(self, library: _Library, token: object) -> None:
        get, change = library
        with self.lock:
            self.tokens.add(token)
            count = get()
            if count != 1:
                self.usual = count
                change(1)

    def leave(self, library: _Library, token: object) -> None:
        get, change = library
        with self.lock:
            self.tokens.discard(token)
            if not self.tokens and self.usual:
                if get() == 1:  # else the user has set it meanwhile
                    change(self.usual)
                self.usual = 0

    def forget(self) -> None:
        """In the child of a fork no other thread's call goes on, and none ends."""
        usual = self.usual
        self.lock, self.tokens, self.usual = threading.RLock(), set(), 0
        library = openblas() if usual else None
        if library is not None:
            library[1](usual)


_calls = _Calls()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_calls.forget)


def on_one_thread(
    work: Callable[..., Any], operands: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """The result of the work, during which NumPy's OpenBLAS has one thread."""
    library = openblas()
    if library is None:
        return work(*operands, **named)
    token = object()
    try:
        _calls.enter(library, token)
        return work(*operands, **named)
    finally:
        try:
            _calls.leave(library, token)
        except BaseException:  # Ctrl-C came between
            _calls.leave(library, token)
            raise


@cache
def openblas() -> _Library | None:
    """The OpenBLAS that NumPy has loaded; None if it has another BLAS."""
    path = getattr(sys.modules.get("numpy.linalg._umath_linalg"), "__file__", None)
    if path is None:
        return None
    try:
        # The symbols of a module are its own and those of the libraries it needs. A PyDLL keeps
        # the GIL, which costs less than to release it.
        found = ctypes.PyDLL(path)
    except OSError:
        return None
    for name in _NAMES:
        get = getattr(found, name.format("get_num_threads"), None)
        change = getattr(found, name.format("set_num_threads"), None)
        kind = getattr(found, name.format("get_parallel"), None)
        if get is not None and change is not None and kind is not None and kind() != _OPENMP:
            change.restype = None
            return get, change
    return None
