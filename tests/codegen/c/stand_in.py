"""Kernels of the CPU that something else than LLVM compiles, for as long as a test looks on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from adjoint.backends.cpu import BACKEND
from adjoint.engine.program_cache import PROGRAMS
from adjoint.stages import LoopProgram, Source
from tests.anew import compiled_anew


@contextmanager
def compiling(compile_all: Callable[[Mapping[LoopProgram, Source]], Any]) -> Iterator[None]:
    """Every program is made anew, with its loops, and given up afterwards."""
    PROGRAMS.clear()
    try:
        with compiled_anew(), patch.object(BACKEND, "compile", compile_all):
            yield
    finally:
        PROGRAMS.clear()
