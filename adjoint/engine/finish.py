"""The last two passes: sources become code, steps and code become a program.

They are apart from the other passes because a program from the disk cache starts here, and must not
load the compiler. What may live here: these two passes, and both in sequence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256

from adjoint.backends.protocol import Backend
from adjoint.engine import counters
from adjoint.engine.compilation import MAIN, Compilation
from adjoint.engine.program import Program
from adjoint.runtime.spans import span
from adjoint.stages import LoopProgram, Schedule, Source


def finished(
    schedule: Schedule, sources: Mapping[LoopProgram, Source], backend: Backend
) -> Program:
    """The program of steps whose sources exist."""
    unit = Compilation(backend, {MAIN: schedule}, sources)
    with span("compile", "compile"):
        unit = compile_sources(unit)
    with span("bind", "compile"):
        program: Program = bind(unit).program
    return program


def compile_sources(unit: Compilation) -> Compilation:
    """Before: sources. After: code, found by content or compiled; nothing else compiles a graph."""
    fresh = sum(_is_new(source) for source in unit.sources.values())
    if counters.active:
        counters.count(compiles=len(unit.sources), sources=fresh)
    return replace(unit, kernels=unit.backend.compile(unit.sources))


_seen: set[bytes] = set()  # digests of sources
_COMMENT = re.compile(r"^(;|//).*\n?", re.MULTILINE)


def _is_new(source: Source) -> bool:
    """Whether the process sees the source for the first time; comments do not count."""
    code = _COMMENT.sub("", source.text)
    digest = sha256("\n".join((source.language, source.name, code)).encode()).digest()
    if digest in _seen:
        return False
    _seen.add(digest)
    return True


def bind(unit: Compilation) -> Compilation:
    """Before: steps and code. After: a program, which launches steps in a row at once."""
    return replace(unit, program=Program(unit.main, unit.kernels, unit.backend))
