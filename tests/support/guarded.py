"""Memory behind which there is a page that nobody may touch; to be imported before programs run.

A kernel that reads or writes beyond what it was given ends the process, instead of finding what
happens to be there. Blocks keep their alignment: up to 63 bytes behind one are its own.
"""

import ctypes

import adjoint.runtime.buffer as buffers
from adjoint.runtime.allocator import HostBlock
from adjoint.runtime.memory import HostMemory

PAGE = 4096
_NONE, _READ_WRITE, _PRIVATE_ANONYMOUS = 0, 3, 0x22
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class GuardedBlock(HostBlock):
    """A block at the end of its pages. They stay mapped: tests of small programs need few."""

    __slots__ = ("_size",)

    def __init__(self, size):
        self._size = max(-(-size // 64) * 64, 64)
        pages = -(-self._size // PAGE) * PAGE
        base = _libc.mmap(None, pages + PAGE, _READ_WRITE, _PRIVATE_ANONYMOUS, -1, 0)
        assert base is not None
        assert _libc.mprotect(base + pages, PAGE, _NONE) == 0
        self.address = base + pages - self._size

    @property
    def size(self):
        return self._size

    @property
    def __array_interface__(self):
        place = (self.address, False)
        return {"shape": (self._size,), "typestr": "|u1", "data": place, "version": 3}


def guard():
    """From now on all memory of the CPU is such memory."""
    buffers._LARGE = 0  # what comes from NumPy, too
    HostMemory.allocate = staticmethod(GuardedBlock)
