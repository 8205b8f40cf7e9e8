"""Kernels in C, compiled by the system's own compiler: the smallest whole backend.

It shows what a device needs, and no more: memory that the host does not address, kernels one after
another on one thread, no libraries. Loops and branches are run by the host.
In: loop programs and steps. Out: `BACKEND`. May not: be named by the engine.
"""

from __future__ import annotations

from adjoint.backends.c.backend import BACKEND

__all__ = ["BACKEND"]
