"""The source of a hand-built kernel in any language."""

from __future__ import annotations

from adjoint.codegen.c import render
from adjoint.codegen.c.render import CLanguage, Language
from adjoint.handbuilt.threads import as_loops
from adjoint.ir.kernel_kind import BARRIER
from adjoint.stages import LoopProgram

LANGUAGES = render.LANGUAGES | {"c": CLanguage()}  # in C, parameters instead of a launch's cells


def source_of(language: Language, program: LoopProgram) -> str:
    """The source of a program."""
    return render.render(settled(language, program), language).text


def settled(language: Language, program: LoopProgram) -> LoopProgram:
    """The program in a form that a language supports: without threads, those of a group run in turn
    from barrier to barrier.
    """
    waits = any(node.op.kernel is BARRIER for node in program.body)
    return as_loops(program) if waits and not language.threads else program
