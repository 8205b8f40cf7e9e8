"""From a loop program to source for people and for other compilers: C, OpenCL, CUDA, Metal, WGSL.

One walk over the blocks of a program (`walk.py`), the same for all languages and for kernels of
the compiler and those built by hand; a language is a table from op to text.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.codegen.c.language import Language, Needs
from adjoint.codegen.c.languages import CLanguage, CUDALanguage, MetalLanguage, OpenCLLanguage
from adjoint.codegen.c.names import free
from adjoint.codegen.c.walk import KernelWriter
from adjoint.codegen.c.wgsl import WGSLLanguage
from adjoint.stages import LoopProgram, Source

__all__ = [
    "LANGUAGES",
    "CLanguage",
    "CUDALanguage",
    "Language",
    "MetalLanguage",
    "OpenCLLanguage",
    "WGSLLanguage",
    "render",
    "render_all",
]

# The languages of kernels that the compiler makes. In C a launch gives cells and the part of the
# grid to do; elsewhere the last parameter of a kernel with a grid is the number of its iterations.
LANGUAGES: dict[str, Language] = {
    "c": CLanguage(cells=True),
    "opencl": OpenCLLanguage(),
    "cuda": CUDALanguage(),
    "metal": MetalLanguage(),
    "wgsl": WGSLLanguage(),
}


def render(program: LoopProgram, language: Language) -> Source:
    """The program in a language."""
    return render_all([program], language)[0]


def render_all(programs: Sequence[LoopProgram], language: Language) -> list[Source]:
    """The programs in a language. Where it may, the text of each is that of all of them, as one
    file with a name for each; else every one stands alone."""
    if not language.one_file and len(programs) > 1:
        return [render(program, language) for program in programs]
    needs: Needs = {}
    names: dict[str, None] = {}
    texts = []
    for program in programs:
        name = free(program.name, names)
        texts.append(KernelWriter(program, language, name, needs).text())
    text = _file(language, texts, needs)
    return [Source(language.name, name, text) for name in names]


def _file(language: Language, texts: Sequence[str], needs: Needs) -> str:
    """What the kernels need, and the kernels."""
    body = "\n\n".join(texts)
    first = "".join(f"{line}\n" for line in language.preamble(body, needs))
    if not needs:
        return f"{first}{body}\n"
    gap = [first] if first else []
    return "\n".join([*gap, *needs.values(), "", body, ""])
