"""Kernels built by hand: the graph, its vocabulary, and its source in any language.

    g = UOpGraph()
    out = g.add(UOps.DEFINE_GLOBAL, dtypes.int, arg=(0, "data0", True))
    i = g.add(UOps.SPECIAL, dtypes.int, arg=(0, "gidx0", 10))
    g.add(UOps.STORE, vin=(out, i, i))
    print(uops_to_cstyle(MetalLanguage(), "count", g))

See docs/kernels.md.
"""

from __future__ import annotations

from typing import Any

from adjoint.codegen.c.render import (
    CLanguage,
    CUDALanguage,
    Language,
    MetalLanguage,
    OpenCLLanguage,
    WGSLLanguage,
)
from adjoint.errors import ArgumentError
from adjoint.handbuilt.graph import UOpGraph
from adjoint.handbuilt.source import LANGUAGES, settled, source_of
from adjoint.handbuilt.vocabulary import BinaryOps, TernaryOps, UnaryOps, UOps


def uops_to_cstyle(language: Language, name: str, graph: UOpGraph) -> str:
    """The source of a graph."""
    _check(language, Language, "a language, such as CLanguage()")
    _check(graph, UOpGraph, "a UOpGraph")
    return source_of(language, graph.program(name))


def _check(value: Any, kind: type, words: str) -> None:
    if not isinstance(value, kind):
        problem, fix = f"takes {words}, not {value!r}", "uops_to_cstyle(language, name, graph)"
        raise ArgumentError("E2001", problem, op="uops_to_cstyle", help=fix)


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
    "settled",
    "source_of",
    "uops_to_cstyle",
]
