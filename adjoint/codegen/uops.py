"""Kernels built by hand: the graph, its vocabulary, and its source in any language.

    g = UOpGraph()
    out = g.add(UOps.DEFINE_GLOBAL, dtypes.int, arg=(0, "data0", True))
    i = g.add(UOps.SPECIAL, dtypes.int, arg=(0, "gidx0", 10))
    g.add(UOps.STORE, vin=(out, i, i))
    print(uops_to_cstyle(MetalLanguage(), "count", g))

What may live here: the names that users import. See docs/kernels.md.
"""

from __future__ import annotations

from adjoint.codegen.cstyle import (
    CLanguage,
    CUDALanguage,
    Language,
    MetalLanguage,
    OpenCLLanguage,
    WGSLLanguage,
    render,
)
from adjoint.codegen.uopgraph import UOpGraph, without_threads
from adjoint.codegen.uopgraph_ops import BinaryOps, TernaryOps, UnaryOps, UOps
from adjoint.stages import LoopProgram

LANGUAGES: dict[str, Language] = {
    "c": CLanguage(),
    "opencl": OpenCLLanguage(),
    "cuda": CUDALanguage(),
    "metal": MetalLanguage(),
    "wgsl": WGSLLanguage(),
}


def uops_to_cstyle(language: Language, name: str, graph: UOpGraph) -> str:
    """The source of a graph."""
    return source_of(language, graph.program(name))


def source_of(language: Language, program: LoopProgram) -> str:
    """The source of a program; C runs the threads of a group in turn, from barrier to barrier."""
    waits = any(node.op.name == "barrier" for node in program.body)
    if waits and language.name == "c":
        program = without_threads(program)
    return render(program, language).text


__all__ = [
    "LANGUAGES",
    "BinaryOps",
    "CLanguage",
    "CUDALanguage",
    "MetalLanguage",
    "OpenCLLanguage",
    "TernaryOps",
    "UOpGraph",
    "UOps",
    "UnaryOps",
    "WGSLLanguage",
    "source_of",
    "uops_to_cstyle",
]
