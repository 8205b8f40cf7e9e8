"""Debugging: NaNs, prints in compiled code, profiles, memory.

Public names only.
"""

from adjoint.debug.memory_report import memory
from adjoint.debug.nans import debug_nans
from adjoint.debug.printing import callback, print
from adjoint.debug.profiling import profile

__all__ = ["callback", "debug_nans", "memory", "print", "profile"]
