"""Runs kernels on stacks that are large enough, because their scratch is on the stack.

If a thread has a small stack (`threading.stack_size(1 << 18)`, `ulimit -s`), another thread runs
its kernels. What may live here: sizes of stacks.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

NEEDED = 2 << 20  # bytes: panels of products and of attention, at most one, and all else
WORKER = 8 << 20  # bytes of a stack of our own
ATTRIBUTES = 128  # bytes, more than a pthread_attr_t has anywhere
_libc = ctypes.CDLL(None)
_here = threading.local()
_lock = threading.Lock()


def with_room(call: Callable[[], Any]) -> Any:
    """The result of the call, made where the stack is large enough."""
    if getattr(_here, "roomy", False):
        return call()
    if stack_size() >= NEEDED:
        _here.roomy = True
        return call()
    return _elsewhere(call)


def stack_size() -> int:
    """Bytes of the stack of this thread; if the system does not report them, they suffice."""
    find = getattr(_libc, "pthread_getattr_np", None)
    if find is None:
        return NEEDED
    _libc.pthread_self.restype = ctypes.c_void_p
    memory = ctypes.create_string_buffer(ATTRIBUTES)
    base, size = ctypes.c_void_p(), ctypes.c_size_t()
    if find(ctypes.c_void_p(_libc.pthread_self()), memory):
        return NEEDED
    failed = _libc.pthread_attr_getstack(memory, ctypes.byref(base), ctypes.byref(size))
    _libc.pthread_attr_destroy(memory)
    return NEEDED if failed else size.value


def _elsewhere(call: Callable[[], Any]) -> Any:
    """The same in a thread of our own; its error is this one's."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append((call(), None))
        except BaseException as error:
            found.append((None, error))

    with _lock:  # the size of stacks is one setting for all threads
        before = threading.stack_size(WORKER)
        try:
            thread = threading.Thread(target=run, name="adjoint-stack", daemon=True)
            thread.start()
        finally:
            threading.stack_size(before)
    thread.join()
    value, error = found[0]
    if error is not None:
        raise error
    return value
