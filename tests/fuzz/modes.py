"""The ways a whole program is run, each against another; a mode says in words what differs.

lazy against REF, jitted against lazy bit for bit (three calls, on two sets of numbers, with the
state that calls leave behind), programs from the disk and graphs computed op by op against lazy bit
for bit, lazy against the model in NumPy, C against LLVM bit for bit, vmap against a loop.
Elsewhere: derivatives.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from adjoint import Tensor, jit, vmap
from adjoint.engine.program_cache import PROGRAMS
from adjoint.errors import DeviceError
from tests.anew import compiled_anew
from tests.codegen.c.corpus import Corpus
from tests.codegen.c.native_c import COMPILERS, check, compiled, result
from tests.fuzz import gpu, little_memory, mesh
from tests.fuzz.compare import Arrays, bits, near
from tests.fuzz.derivatives import forward, gradients, jitted_gradients, second
from tests.fuzz.model import modelled
from tests.fuzz.runs import (
    SHIFTS,
    UNKNOWN,
    FoundError,
    RefusedError,
    Runs,
    first_line,
    guarded,
    session,
    values,
)
from tests.fuzz.source import SEED, Whole, function, made, narrowed, narrowest, widened
from tests.fuzz.writer import on
from tests.support.at_once import at_once

PARTS = re.compile(r"\breal\(|\bimag\(|\bbitcast\(")  # views of parts of elements


def against_ref(runs: Runs) -> str:
    """Lazy on the CPU gives what REF gives, refusals included."""
    (lazy, no), (ref, why) = runs.lazy(), runs.ref()
    if lazy is None or ref is None:
        same = no.split(": ")[1:2] == why.split(": ")[1:2]
        if same:
            raise RefusedError(no)
        return f"CPU {no or 'gives values'}; REF {why or 'gives values'}"
    return near(ref, lazy, narrowest(runs.program), runs.wider)


def jitted(runs: Runs) -> str:
    """Jitted, call after call, gives the bits of lazy calls."""
    lazy, _ = runs.lazy()
    if lazy is None:
        return ""
    found, why = runs.get("jitted", lambda: session(runs.program, "CPU", jit))
    if found is None:
        return "" if UNKNOWN in why else f"lazy gives values; {why}"
    return bits(lazy, found, "lazy")


def from_disk(runs: Runs) -> str:
    """A session that another one has compiled for gives its bits."""
    lazy, _ = runs.lazy()
    if lazy is None:
        return ""
    for name in ("kept", "read"):
        PROGRAMS.clear()
        found, why = runs.get(name, lambda: session(runs.program, "CPU"))
        if found is None:
            return f"lazy gives values; {name}: {why}"
        words = bits(lazy, found, name)
        if words:
            return words
    return ""


def computed_at_once(runs: Runs) -> str:
    """Op by op, without programs, gives the bits and the refusals of lazy calls that compile."""
    lazy, no = runs.lazy()
    with at_once():
        found, why = runs.get("at once", lambda: session(runs.program, "CPU"))
    if lazy is None or found is None:
        same = no.split(": ")[1:2] == why.split(": ")[1:2]
        return "" if same else f"at once: {why or 'values'}; compiled: {no or 'values'}"
    return bits(lazy, found, "compiled")


def numpy_model(runs: Runs) -> str:
    """Lazy gives what the model in NumPy gives."""
    lazy, _ = runs.lazy()
    if lazy is None or runs.program.draws or PARTS.search(runs.program.body):
        return ""
    model = modelled(runs.program)
    own = {name: lazy[name] for name in model if name in lazy}
    return near({n: model[n] for n in own}, own, narrowest(runs.program), runs.wider)


def in_c(runs: Runs) -> str:
    """The kernels in C give the bits of LLVM's."""
    if not any(map(shutil.which, COMPILERS)):
        return ""
    corpus = Corpus()
    with corpus.recording():
        try:
            session(runs.program, "CPU", shifts=SHIFTS[:1])
        except Exception:  # other modes tell of it
            return ""
    with tempfile.TemporaryDirectory() as folder:
        taken = list(corpus.found.values())
        try:
            functions = compiled([s.program for s in taken], Path(folder))
            for number, (kernel, fn) in enumerate(zip(taken, functions, strict=True)):
                for run in kernel.runs:
                    check(kernel, run, result(fn, run), number)
        except AssertionError as error:
            return first_line(error)
        except DeviceError:
            return ""  # C lacks a dtype of it
    return ""


def batched(runs: Runs) -> str:
    """vmap gives what a loop gives; what a function captured can be read afterwards."""
    if runs.program.aliased:
        return ""  # rows of a batch are nobody's memory
    with on("CPU"):
        return guarded(lambda: _batched(runs.program), "vmap")


def _batched(program: Whole) -> str:
    rows = [made(program, program.arguments, shift) for shift in (0, 300, 600)]
    if not program.arguments:
        return ""
    stacked = [Tensor(np.stack([row[n].numpy() for row in rows])) for n in program.arguments]
    Tensor.manual_seed(SEED)
    captured = made(program, program.captured)
    try:
        outs = vmap(function(program, captured))(*stacked)
        got = values({f"out[{i}]": t for i, t in enumerate(outs)})
    finally:
        for name, tensor in captured.items():
            _readable(name, tensor)
    if program.draws or (program.captured and program.writes):
        return ""
    fn = function(program, captured)
    single = [values({f"out[{i}]": t for i, t in enumerate(fn(*row.values()))}) for row in rows]
    wanted = {name: np.stack([s[name] for s in single]) for name in single[0]}
    return near(wanted, got, narrowest(program), lambda: _looped(program))


def _looped(program: Whole) -> Arrays:
    other = (narrowed if narrowest(program) == "float64" else widened)(program)
    fn = function(other, made(other, other.captured))
    rows = [made(other, other.arguments, shift) for shift in (0, 300, 600)]
    single = [values({f"out[{i}]": t for i, t in enumerate(fn(*row.values()))}) for row in rows]
    return {name: np.stack([s[name] for s in single]) for name in single[0]}


def _readable(name: str, tensor: Any) -> None:
    if isinstance(tensor, Tensor):
        try:
            tensor.numpy()
        except Exception as error:
            raise FoundError(f"{name} cannot be read after vmap: {first_line(error)}") from error


MODES: dict[str, Callable[[Runs], str]] = (
    {
        "REF": against_ref,
        "jit": jitted,
        "disk": from_disk,
        "at once": computed_at_once,
        "model": numpy_model,
        "C": in_c,
        "vmap": batched,
        "grad": gradients,
        "jit of grad": jitted_gradients,
        "jvp": forward,
        "hessian": second,
    }
    | gpu.MODES
    | mesh.MODES
    | little_memory.MODES
)


def checked(program: Whole, mode: str, runs: Runs | None = None) -> tuple[str, str]:
    """What is wrong in that mode and, where there was no answer, the refusal."""
    PROGRAMS.clear()
    try:
        with nullcontext() if mode == "disk" else compiled_anew():
            return MODES[mode](runs or Runs(program)), ""
    except FoundError as found:
        return str(found), ""
    except RefusedError as refused:
        return "", str(refused)
