"""The kernels whose text is kept: a few built by hand, a few of the compiler's.

`make golden` writes the texts anew; look at the difference.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from adjoint import Tensor
from adjoint.codegen.c.render import LANGUAGES, render
from adjoint.handbuilt.uops import BinaryOps, UOpGraph, UOps
from adjoint.ir.dtype import dtypes
from adjoint.stages import LoopProgram
from tests.codegen.c.corpus import Corpus

FOLDER = Path(__file__).with_name("golden")
KEPT = {"metal": "metal", "wgsl": "wgsl"}  # language → ending


def saxpy() -> UOpGraph:
    g = UOpGraph()
    out, x, y = (
        g.add(UOps.DEFINE_GLOBAL, dtypes.float32, (), (i, f"data{i}", i == 0)) for i in range(3)
    )
    i = g.add(UOps.SPECIAL, dtypes.int32, (), (0, "gidx0", 256))
    a = g.add(UOps.CONST, dtypes.float32, (), 2.5)
    product = g.add(
        UOps.ALU, dtypes.float32, (a, g.add(UOps.LOAD, dtypes.float32, (x, i))), BinaryOps.MUL
    )
    total = g.add(
        UOps.ALU, dtypes.float32, (product, g.add(UOps.LOAD, dtypes.float32, (y, i))), BinaryOps.ADD
    )
    g.add(UOps.STORE, None, (out, i, total))
    return g


def row_max() -> UOpGraph:
    g = UOpGraph()
    out = g.add(UOps.DEFINE_GLOBAL, dtypes.int32, (), (0, "data0", True))
    x = g.add(UOps.DEFINE_GLOBAL, dtypes.int32, (), (1, "data1", False))
    row = g.add(UOps.SPECIAL, dtypes.int32, (), (0, "gidx0", 4))
    zero, size = g.add(UOps.CONST, dtypes.int32, (), 0), g.add(UOps.CONST, dtypes.int32, (), 10)
    least = g.add(UOps.CONST, dtypes.int32, (), int(dtypes.int32.min))
    acc = g.add(UOps.DEFINE_ACC, dtypes.int32, (least,))
    loop = g.add(UOps.LOOP, dtypes.int32, (zero, size))
    first = g.add(UOps.ALU, dtypes.int32, (row, size), BinaryOps.MUL)
    place = g.add(UOps.ALU, dtypes.int32, (first, loop), BinaryOps.ADD)
    value = g.add(UOps.LOAD, dtypes.int32, (x, place))
    larger = g.add(UOps.ALU, dtypes.int32, (acc, value), BinaryOps.MAX)
    found = g.add(UOps.PHI, dtypes.int32, (acc, larger, loop))
    g.add(UOps.ENDLOOP, None, (loop,))
    g.add(UOps.STORE, None, (out, row, found))
    return g


def swapped() -> UOpGraph:
    """Each group of threads turns its eight elements round."""
    g = UOpGraph()
    out = g.add(UOps.DEFINE_GLOBAL, dtypes.float32, (), (0, "data0", True))
    x = g.add(UOps.DEFINE_GLOBAL, dtypes.float32, (), (1, "data1", False))
    group = g.add(UOps.SPECIAL, dtypes.int32, (), (0, "gidx0", 4))
    own = g.add(UOps.SPECIAL, dtypes.int32, (), (1, "lidx0", 8))
    size, last = g.add(UOps.CONST, dtypes.int32, (), 8), g.add(UOps.CONST, dtypes.int32, (), 7)
    memory = g.add(UOps.DEFINE_LOCAL, dtypes.float32, (), ("temp", 8))
    first = g.add(UOps.ALU, dtypes.int32, (group, size), BinaryOps.MUL)
    place = g.add(UOps.ALU, dtypes.int32, (first, own), BinaryOps.ADD)
    g.add(UOps.STORE, None, (memory, own, g.add(UOps.LOAD, dtypes.float32, (x, place))))
    g.add(UOps.BARRIER)
    other = g.add(UOps.ALU, dtypes.int32, (last, own), BinaryOps.SUB)
    g.add(UOps.STORE, None, (out, place, g.add(UOps.LOAD, dtypes.float32, (memory, other))))
    return g


_X = np.random.default_rng(0).standard_normal((6, 40)).astype(np.float32)
_WHOLE = np.random.default_rng(0).integers(0, 9, (6, 40)).astype(np.int32)
BUILT = {"saxpy": saxpy, "row_max": row_max, "swapped": swapped}
COMPILED = {
    "sigmoid": lambda: Tensor(_X).sigmoid(),
    "row_sum": lambda: (Tensor(_X) * 2).sum(1),
    "maximum": lambda: Tensor(_WHOLE).maximum(Tensor(_WHOLE).flip(1)),
    "any_negative": lambda: (Tensor(_X) < 0).any(0),
    "padded": lambda: Tensor(_X).pad(((1, 1), (2, 2))),
    "half": lambda: Tensor(_X.astype(np.float16)) * 3,
}
FILES = [f"{name}.{ending}" for name in (*BUILT, *COMPILED) for ending in KEPT.values()]


def _compiled(name: str) -> LoopProgram:
    corpus = Corpus()
    with corpus.recording():
        COMPILED[name]().realize()
    return replace(next(iter(corpus.found.values())).program, name=name, lines=())


def programs() -> dict[str, LoopProgram]:
    """The kernels by name."""
    built = {name: build().program(name) for name, build in BUILT.items()}
    return built | {name: _compiled(name) for name in COMPILED}


def texts() -> dict[str, str]:
    """The texts by file."""
    return {
        f"{name}.{ending}": render(program, LANGUAGES[language]).text
        for name, program in programs().items()
        for language, ending in KEPT.items()
    }
