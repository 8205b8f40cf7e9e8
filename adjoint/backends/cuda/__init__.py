"""An NVIDIA GPU: LLVM's PTX, the driver's assembler, launches on one stream.

In: loop programs and steps. Out: `BACKEND`. May not: be named by the engine.
"""

from __future__ import annotations

from adjoint.backends.cuda.backend import CudaBackend
from adjoint.runtime.memory import register_memory

BACKEND = CudaBackend()
register_memory("GPU", BACKEND.memory)

__all__ = ["BACKEND"]
