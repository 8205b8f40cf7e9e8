"""Resources that library calls share: a block of memory for the largest call, and the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from adjoint.backends.cuda.memory import CudaBlock, CudaMemory
from adjoint.runtime.cuda import Driver

if TYPE_CHECKING:
    from adjoint.backends.cuda.library_calls import Site

_largest: WeakKeyDictionary[CudaMemory, CudaBlock] = WeakKeyDictionary()


@contextmanager
def ready(gpu: Driver) -> Iterator[None]:
    """Inside, a library may be asked for something: it is told by the thread which GPU is meant,
    and knows one thread at a time."""
    with gpu.lock:
        gpu.enter()
        yield


def workspace(site: Site, nbytes: int) -> CudaBlock | None:
    """A block of so many bytes at least, for the caller to keep; None for no bytes.

    Calls of one stream use it one after another. A larger one takes the place of the last, which
    lives on as long as calls that were given it.
    """
    found = _largest.get(site.memory)
    if nbytes and (found is None or found.size < nbytes):
        found = _largest[site.memory] = site.memory.allocate(1 << (nbytes - 1).bit_length())
    return found if nbytes else None
