"""Memory for buffers: size classes, free lists, cached pages.

A freed block goes to the list of its class and is reused from there, so a program in steady state
takes no page faults. Small blocks are cut from slabs; blocks of 2 MiB and more request huge pages.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from typing import Any
from weakref import ref

import numpy as np

from adjoint import config
from adjoint.errors import DeviceError
from adjoint.runtime import libc

Array = np.ndarray[Any, Any]
ALIGNMENT = 64
_MAX_SLAB_BLOCK = 32 * 1024  # up to here blocks are cut from slabs
_SLAB = 1 << 20
_HUGE = 2 << 20


@dataclass(frozen=True, slots=True)
class MemoryStatistics:
    """Bytes of buffers in use, of freed blocks that are kept, and the most that was in use."""

    in_use: int
    cached: int
    peak: int


class _Class:
    """Blocks of one size. Lists are changed by single operations, which threads cannot split."""

    __slots__ = ("free", "owner", "size")

    def __init__(self, size: int, owner: Allocator):
        self.size, self.owner = size, owner
        self.free: list[int] = []


class _Gone(ref["Block"]):
    """The remains of a small block: its address."""

    __slots__ = ("address", "home")
    address: int
    home: _Class


class Block:
    """Memory of one buffer; returns to its list when nothing holds it.

    A small block runs no Python code when it dies (see `ir/weak.py`): it holds a reference to
    itself, which then goes to the list `gone` of its allocator, and from there to the free list at
    the next allocation.
    """

    __slots__ = ("__weakref__", "_home", "_note", "address")

    def __init__(self, home: _Class, address: int):
        self._home, self.address = home, address
        note = self._note = _Gone(self, home.owner.gone.append)
        note.home, note.address = home, address

    @property
    def size(self) -> int:
        return self._home.size


class LargeBlock(Block):
    """A block whose memory may return to the system at once."""

    __slots__ = ()

    def __init__(self, home: _Class, address: int):
        self._home, self.address = home, address

    def __del__(self) -> None:
        home = self._home
        owner = home.owner
        home.free.append(self.address)
        owner._in_use -= home.size
        if sys is not None and not sys.is_finalizing():
            owner._kept_large(home.size)


class HostBlock(Block):
    """A block that the host reads in place."""

    __slots__ = ()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Lets NumPy make arrays that keep the block alive."""
        shape = (self._home.size,)
        return {"shape": shape, "typestr": "|u1", "data": (self.address, False), "version": 3}

    def read(self, nbytes: int) -> Array:
        """Its first bytes, in place; the array keeps the block alive."""
        return np.asarray(self)[:nbytes]


class _LargeHostBlock(LargeBlock, HostBlock):
    """A large one."""

    __slots__ = ()


class Allocator:
    """Blocks of memory of this process. Safe from threads."""

    blocks: tuple[type[Any], type[Any]] = (HostBlock, _LargeHostBlock)  # small ones, large ones

    def __init__(self, limit: int | None = None):
        self._in_use = self.peak = 0  # bytes; what is `gone` counts until it is taken back
        self.gone: list[_Gone] = []
        self._cached_large = 0
        self._limit = limit
        self._lock: Any = threading.Lock()
        self._classes: dict[int, _Class] = {}
        self._small = [self._class(_small_size(n)) for n in range(_MAX_SLAB_BLOCK // ALIGNMENT + 1)]

    @property
    def in_use(self) -> int:
        """Bytes of blocks that something holds."""
        self._take_back()
        return self._in_use

    def allocate(self, size: int) -> Any:
        """A block of at least `size` bytes at a multiple of 64; its contents are anything."""
        if self.gone:
            self._take_back()
        if size <= _MAX_SLAB_BLOCK:
            home = self._small[(size + 63) >> 6]
            try:
                address = home.free.pop()
            except IndexError:
                address = self._cut(home)
        else:
            home = self._class(self._rounded(size))
            try:
                address = home.free.pop()
                self._cached_large -= home.size
            except IndexError:
                address = self._map(home.size, size)
        self._in_use += home.size
        if self._in_use > self.peak:
            self.peak = self._in_use
        return self.blocks[size > _MAX_SLAB_BLOCK](home, address)

    def _take_back(self) -> None:
        """Small blocks that are gone are free again."""
        while self.gone:
            try:
                note = self.gone.pop()
            except IndexError:  # another thread has taken it
                return
            note.home.free.append(note.address)
            self._in_use -= note.home.size

    def statistics(self) -> MemoryStatistics:
        """The bytes in use and in the cache, now."""
        in_use = self.in_use
        cached = sum(c.size * len(c.free) for c in list(self._classes.values()))
        return MemoryStatistics(in_use, cached, self.peak)

    def counted(self) -> dict[str, int]:
        """The bytes in use and those that are kept, as rows of a chart."""
        return {"in use": self.in_use, "kept": self._cached_large}

    def trim(self, keep: int = 0) -> None:
        """Give kept large blocks back to the system, the largest first, until `keep` bytes stay."""
        for _, home in sorted(self._classes.items(), reverse=True):
            while home.size > _MAX_SLAB_BLOCK and self._cached_large > keep:
                try:
                    address = home.free.pop()
                except IndexError:
                    break
                self._cached_large -= home.size
                self._unmap(address, home.size)

    def _class(self, size: int) -> _Class:
        home = self._classes.get(size)
        return self._classes.setdefault(size, _Class(size, self)) if home is None else home

    def _kept_large(self, size: int) -> None:
        self._cached_large += size
        if self._limit is None:
            self._limit = config.MEMORY_CACHE.value()
        if self._cached_large > self._limit:
            self.trim(self._limit // 2)

    def _cut(self, home: _Class) -> int:
        """A fresh slab: one block for the caller, the rest for the list."""
        with self._lock:
            try:
                return home.free.pop()  # another thread has cut one meanwhile
            except IndexError:
                pass
            start = self._map(_SLAB, home.size)
            last = start + _SLAB // home.size * home.size
            home.free.extend(range(last - home.size, start, -home.size))
            return start

    def _map(self, size: int, asked: int) -> int:
        """Pages of the system; if it has none, again after releasing the cache."""
        try:
            address = libc.map_pages(size)
        except MemoryError:
            self.trim()
            try:
                address = libc.map_pages(size)
            except MemoryError:
                raise self._exhausted(asked) from None
        if size >= _HUGE:
            libc.prefer_huge_pages(address, size)
        return address

    def _unmap(self, address: int, size: int) -> None:
        """Pages go back to the system."""
        libc.unmap_pages(address, size)

    @classmethod
    def block_bytes(cls, size: int) -> int:
        """The bytes of a block for this many bytes."""
        small = size <= _MAX_SLAB_BLOCK
        return _small_size((size + ALIGNMENT - 1) // ALIGNMENT) if small else cls._rounded(size)

    @staticmethod
    def _rounded(size: int) -> int:
        """The size of a large block."""
        return libc.whole_pages(step_size(size))

    def _exhausted(self, asked: int) -> DeviceError:
        problem = f"no memory for {asked} bytes ({self.in_use} bytes are in use)"
        fix = "use a smaller shape or dtype, or drop tensors that are not needed"
        return DeviceError("E6004", problem, help=fix)


def _small_size(units: int) -> int:
    """Multiples of 64 bytes up to 1 KiB, then four sizes per doubling."""
    size = max(1, units) * ALIGNMENT
    return size if size <= 1024 else step_size(size)


def step_size(size: int) -> int:
    """The next of four sizes per doubling: at most a quarter more than requested."""
    unit = 1 << ((size - 1).bit_length() - 3)
    return -(-size // unit) * unit


CPU = Allocator()
libc.hold_over_fork(CPU._lock)
