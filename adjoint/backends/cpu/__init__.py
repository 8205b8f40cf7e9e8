"""The processor of this machine: code by LLVM, and a table of steps that one native call runs.

In: loop programs and steps. Out: `BACKEND`. May not: be named by the engine.
"""

from __future__ import annotations

from adjoint.backends.cpu.backend import CpuBackend

BACKEND = CpuBackend()

__all__ = ["BACKEND"]
