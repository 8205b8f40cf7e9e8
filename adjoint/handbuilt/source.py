"""The source of a hand-built kernel in any language.

What may live here: languages by name, and what a language needs before it is written.
"""

from __future__ import annotations

from adjoint.codegen.c.render import (
    CLanguage,
    CUDALanguage,
    Language,
    MetalLanguage,
    OpenCLLanguage,
    WGSLLanguage,
    render,
)
from adjoint.handbuilt.threads import as_loops
from adjoint.ir.kernel_kind import BARRIER
from adjoint.stages import LoopProgram

LANGUAGES: dict[str, Language] = {
    "c": CLanguage(),
    "opencl": OpenCLLanguage(),
    "cuda": CUDALanguage(),
    "metal": MetalLanguage(),
    "wgsl": WGSLLanguage(),
}


def source_of(language: Language, program: LoopProgram) -> str:
    """The source of a program."""
    return render(settled(language, program), language).text


def settled(language: Language, program: LoopProgram) -> LoopProgram:
    """The program as a language can say it: where there are no threads, those of a group take
    turns from barrier to barrier."""
    waits = any(node.op.kernel is BARRIER for node in program.body)
    return as_loops(program) if waits and not language.threads else program
