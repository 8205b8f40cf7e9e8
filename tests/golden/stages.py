"""What programs become at every stage, as text that does not depend on the machine.

Kernels are rendered for one level of x86-64, whatever runs the tests; the lines of the user are
left out, so that a line more in `programs.py` changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from unittest.mock import patch

from adjoint import Tensor, lower
from adjoint.backends.cpu import BACKEND
from adjoint.codegen.c.render import LANGUAGES, render_all
from adjoint.codegen.llvm.render import render
from adjoint.codegen.show import show
from adjoint.engine.explain import strategies_text
from adjoint.module import differentiate
from adjoint.stages import LoopProgram
from adjoint.target import PROCESSORS, TARGETS, tile_of
from adjoint.transforms.capture import capture
from adjoint.transforms.lower import Lowered
from tests.golden.programs import PROGRAMS, Program

FOLDER = Path(__file__).parent
_PROCESSOR = PROCESSORS["x86_64"]["x86-64-v3"]
_TARGET = replace(TARGETS["CPU"], tile=tile_of(_PROCESSOR))


def module(program: Program) -> str:
    """The function as a Core module."""
    return str(capture(program.fn, *program.args))


def gradient(program: Program) -> str:
    """The gradient of the sum of all results, as a Core module."""

    def total(*args: Tensor) -> Tensor:
        results = program.fn(*args)
        sums = [r.sum() for r in (results if isinstance(results, tuple) else (results,))]
        return reduce(add, sums)

    return str(differentiate(capture(total, *program.args)).gradient_module)


def _schedule(lowered: Lowered) -> str:
    return f"{lowered.schedule()}\n\n{strategies_text(lowered.plan)}"


def _kernels(lowered: Lowered) -> list[LoopProgram]:
    return [replace(program, lines=()) for program in lowered.plan.programs()]


def _loops(lowered: Lowered) -> str:
    return "\n".join(map(show, _kernels(lowered)))


def _llvm(lowered: Lowered) -> str:
    return "\n\n".join(render(kernel, _PROCESSOR).text for kernel in _kernels(lowered))


def _in(language: str) -> Callable[[Lowered], str]:
    def text(lowered: Lowered) -> str:
        (whole,) = dict.fromkeys(s.text for s in render_all(_kernels(lowered), LANGUAGES[language]))
        return whole

    return text


STAGES: dict[str, Callable[[Lowered], str]] = {
    "schedule.txt": _schedule,
    "loops.txt": _loops,
    "kernels.ll": _llvm,
    "kernels.c": _in("c"),
    "kernels.cu": _in("cuda"),
}


def texts(name: str) -> dict[str, str]:
    """The texts of a program, by the names of the files that keep them."""
    program = PROGRAMS[name]
    with patch.object(BACKEND, "target", _TARGET):
        lowered = lower(program.fn)(*program.args)
        lowered.plan  # noqa: B018 (made when it is asked for)
    found = {"module.core": module(program)}
    if program.has_gradient:
        found["gradient.core"] = gradient(program)
    found |= {file: stage(lowered) for file, stage in STAGES.items()}
    return {f"{name}/{file}": f"{text.strip()}\n" for file, text in found.items()}
