"""The C library as seen from Python: addresses of symbols, and raw pages of memory."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from functools import cache

PAGE = mmap.PAGESIZE
READ, WRITE, EXECUTE = mmap.PROT_READ, mmap.PROT_WRITE, mmap.PROT_EXEC
_FAILED = ctypes.c_void_p(-1).value
_HUGE_PAGES = getattr(mmap, "MADV_HUGEPAGE", None)

_libc = ctypes.CDLL(None, use_errno=True)
_mmap = _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64]
_munmap = _libc.munmap
_munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_mprotect = _libc.mprotect
_mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_madvise = _libc.madvise
_madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def whole_pages(size: int) -> int:
    """The size rounded up to pages, at least one."""
    return max(PAGE, -(-size // PAGE) * PAGE)


def map_pages(size: int) -> int:
    """The address of fresh zeroed pages. `MemoryError` when the system has none."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = _mmap(None, size, READ | WRITE, flags, -1, 0)
    if address == _FAILED or address is None:
        raise MemoryError(f"no memory for {size} bytes")
    return int(address)


def unmap_pages(address: int, size: int) -> None:
    """Give pages back, which no code and no data uses any more."""
    _munmap(address, size)


def protect_pages(address: int, size: int, protection: int) -> None:
    """Change what may be done with pages."""
    if _mprotect(address, size, protection):
        number = ctypes.get_errno()
        raise OSError(number, "the system does not allow this protection of memory")


def prefer_huge_pages(address: int, size: int) -> None:
    """Ask for huge pages; systems without them ignore it."""
    if _HUGE_PAGES is not None:
        _madvise(address, size, _HUGE_PAGES)


_held: list[threading.Lock] = []  # locks that no fork leaves in the hands of another thread
_listing = threading.Lock()  # of that list
_forking = threading.Lock()  # of one fork at a time
_taken: list[threading.Lock] = []  # by the fork under way


def hold_over_fork(lock: threading.Lock) -> threading.Lock:
    """The lock, such that no fork happens while another thread has it: the child could not get it.

    Locks that are held this way are never taken one inside another.
    """
    with _listing:
        _held.append(lock)
    return lock


def _take_held() -> None:
    """Take every lock of the list, with those that are listed meanwhile: while this waits for the
    lock of LLVM, the thread that loads LLVM lists more of them, and then compiles."""
    _forking.acquire()
    while len(_taken) < len(_held):
        lock = _held[len(_taken)]
        lock.acquire()
        _taken.append(lock)
        if len(_taken) == len(_held):
            _listing.acquire()
            if len(_taken) < len(_held):
                _listing.release()


def _give_held() -> None:
    for lock in (*_taken, _listing, _forking):
        if lock.locked():  # not if an interrupt ended the taking
            lock.release()
    _taken.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_held, after_in_parent=_give_held, after_in_child=_give_held)


# What compiled code may call of the C library: threads and copies. Nothing that computes.
OUTSIDE = (
    "memmove",
    *(f"pthread_{name}" for name in ("create", "detach", "sigmask")),
    *(f"pthread_attr_{name}" for name in ("init", "setstacksize")),
    *(f"pthread_cond_{name}" for name in ("init", "signal", "wait")),
    *(f"pthread_mutex_{name}" for name in ("init", "lock", "unlock")),
)


@cache
def outside() -> dict[str, int]:
    """The addresses of the symbols that compiled code may use."""
    found = {name: getattr(_libc, name, None) for name in OUTSIDE}
    addresses = {n: ctypes.cast(f, ctypes.c_void_p).value for n, f in found.items() if f}
    return {name: address for name, address in addresses.items() if address}
