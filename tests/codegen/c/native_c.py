"""Rendered C as functions of this process: many kernels per call of the system's compiler."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjoint.codegen.c.render import LANGUAGES, CLanguage, render_all
from adjoint.handbuilt.uops import UOpGraph, settled
from adjoint.stages import LoopProgram, Source
from tests.codegen.c.corpus import Array, Kernel, Run, Sample

# gcc 12 takes 0.0 - (double)b of a bool for -(double)b, which is -0.0 where b is false; with
# -frounding-math it does not.
FLAGS = ("-std=c11", "-ffp-contract=off", "-frounding-math")
FLAGS += ("-fPIC", "-shared", "-w")
COMPILERS = ("gcc", "cc", "clang")
NO_COMPILER = "no C compiler: none of gcc, cc and clang is installed, and CC names none"


def compiler() -> str:
    """The C compiler; the test is skipped where there is none."""
    names = [os.environ["CC"]] if os.environ.get("CC") else COMPILERS
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(NO_COMPILER)
    return found


def compiled(
    programs: Sequence[LoopProgram], folder: Path, effort: str = "-O1", flags: Sequence[str] = ()
) -> list[Any]:
    """A function `(cells, begin, end)` for every program."""
    named = [replace(p, name=f"k{i}") for i, p in enumerate(programs)]
    loaded = built(render_all(named, LANGUAGES["c"]), folder, effort, flags)
    return [Kernel((p.name, loaded)) for p in named]


def library(
    graphs: Sequence[UOpGraph], folder: Path, effort: str, flags: Sequence[str] = ()
) -> list[Any]:
    """A function of one address per parameter for every hand-built graph."""
    language = CLanguage()
    programs = [settled(language, g.program(f"k{i}")) for i, g in enumerate(graphs)]
    loaded = built(render_all(programs, language), folder, effort, flags)
    return [getattr(loaded, p.name) for p in programs]


def built(
    sources: Sequence[Source], folder: Path, effort: str = "-O1", flags: Sequence[str] = ()
) -> ctypes.CDLL:
    """The library of one file of C."""
    source, target = folder / "kernels.c", folder / "kernels.so"
    source.write_text(sources[0].text if sources else "")
    done = subprocess.run(
        [compiler(), effort, *FLAGS, *flags, "-o", str(target), str(source), "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{source}:\n{done.stderr[:4000]}"
    return ctypes.CDLL(str(target))


def call(function: Any, arrays: Sequence[Array], cells: Sequence[int], part: Sequence[int]) -> None:
    """The kernel on these arrays."""
    given = np.array([*(a.ctypes.data for a in arrays), *cells], np.int64)
    function(given.ctypes.data, *part)


def result(function: Any, run: Run) -> list[Array]:
    """What a recorded call makes of its memory when this function does it."""
    memory = [a.copy() for a in run.before]
    call(function, [memory[i] for i in run.pieces], run.cells, (run.begin, run.end))
    return memory


def check(sample: Sample, run: Run, found: Sequence[Array], number: int) -> None:
    """The memory is what LLVM's code left, bit for bit; but a NaN may be any NaN."""
    for buffer, piece in zip(run.buffers, run.pieces, strict=True):
        kind, size = buffer.arg.dtype.np, buffer.arg.size
        got, wanted = (memory[piece].view(np.uint8) for memory in (found, run.after))
        if not buffer.arg.mutable or np.array_equal(got, wanted):
            continue
        got, wanted = (m[: size * kind.itemsize].view(kind) for m in (got, wanted))
        same = same_bits(got, wanted)
        if not same.all():
            at = int(np.argmin(same))
            place = (
                f"{sample.where}, kernel {number} {sample.program.name}, {buffer.arg.name}[{at}]"
            )
            raise AssertionError(f"{place}: {got[at]!r}, LLVM's {wanted[at]!r}")


def same_bits(a: Array, b: Array) -> Array:
    """Where two arrays of a dtype are equal bit for bit, or both NaN."""
    bits = f"u{a.itemsize}"
    same = a.view(bits) == b.view(bits)
    whole = a.dtype.kind in "biu"
    return same if whole else same | (np.isnan(a) & np.isnan(b))
