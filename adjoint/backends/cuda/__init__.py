"""NVIDIA GPUs: LLVM's PTX, the driver's assembler, launches on one stream of each.

In: loop programs and steps. Out: `BACKEND`, of the first GPU, and `numbered` ones of the others.
May not: be named by the engine.
"""

from __future__ import annotations

from functools import cache

from adjoint.backends.cuda.backend import CudaBackend
from adjoint.runtime.memory import register_memory

BACKEND = CudaBackend()
register_memory("GPU", BACKEND.memory)


@cache
def numbered(number: int) -> CudaBackend:
    """The backend of `GPU:number`, each with a memory and kernels of its own."""
    found = CudaBackend(number)
    register_memory(found.device, found.memory)
    return found


__all__ = ["BACKEND", "numbered"]
