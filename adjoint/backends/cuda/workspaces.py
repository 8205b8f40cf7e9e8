"""Memory that one call of a library after another uses: a block for all, as large as any needs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from adjoint.backends.cuda.memory import CudaBlock, CudaMemory

if TYPE_CHECKING:
    from adjoint.backends.cuda.library_calls import Site

_largest: WeakKeyDictionary[CudaMemory, CudaBlock] = WeakKeyDictionary()


def workspace(site: Site, nbytes: int) -> CudaBlock | None:
    """A block of so many bytes at least, for the caller to keep; None for no bytes.

    Calls of one stream use it one after another. A larger one takes the place of the last, which
    lives on as long as calls that were given it.
    """
    found = _largest.get(site.memory)
    if nbytes and (found is None or found.size < nbytes):
        found = _largest[site.memory] = site.memory.allocate(1 << (nbytes - 1).bit_length())
    return found if nbytes else None
