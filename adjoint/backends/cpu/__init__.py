"""The processor of this machine: LLVM's code, a table of steps that one native call works through.

In: loop programs and steps. Out: `BACKEND`. May not: be named by the engine.
"""

from __future__ import annotations

from adjoint.backends.cpu.backend import CpuBackend

BACKEND = CpuBackend()

__all__ = ["BACKEND"]
