"""Kernels and buffers with names that some language has another use for."""

from __future__ import annotations

import math

from adjoint.codegen.c.names import RESERVED
from adjoint.handbuilt.uops import BinaryOps, TernaryOps, UnaryOps, UOpGraph, UOps
from adjoint.ir.dtype import dtypes
from adjoint.stages import LoopProgram

_MORE = """
data out in x y k n size tester val0 ridx0 gidx0 lidx0 acc0 alu0 kept0 iterations maximum_i32
absolute_i32 number_1 f32_to_f16 i32_as_f32 i64_of as_int uint3 float4 uchar4 half2 double2 vec3
mat4x4 get_group_id sqrtf fabsf fmal sinf cosl M_PI HUGE_VALF INT_MAX UINT_MAX FLT_MAX
CLK_LOCAL_MEM_FENCE cudaError_t dim3 E I F f i u8x native_sin mad24 clz isequal printf assert
"""
WORDS = sorted(RESERVED | set(_MORE.split()))


def program(word: str) -> LoopProgram:
    """A kernel of that name on a buffer of that name, which calls functions of most kinds."""
    g = UOpGraph()
    out = g.add(UOps.DEFINE_GLOBAL, dtypes.float, arg=(0, word, True))
    whole = g.add(UOps.DEFINE_GLOBAL, dtypes.int, arg=(1, "whole", False))
    i = g.add(UOps.SPECIAL, dtypes.int, arg=(0, "gidx0", 4))
    x, n = g.add(UOps.LOAD, vin=(out, i)), g.add(UOps.LOAD, vin=(whole, i))
    size = g.add(UOps.ALU, vin=(n,), arg=UnaryOps.ABS)
    bits = g.add(
        UOps.BITCAST, dtypes.float, vin=(g.add(UOps.ALU, vin=(n, size), arg=BinaryOps.MAX),)
    )
    least = g.add(UOps.CONST, dtypes.float, arg=-math.inf)
    root = g.add(
        UOps.ALU, vin=(g.add(UOps.ALU, vin=(x, least), arg=BinaryOps.MAX),), arg=UnaryOps.SQRT
    )
    total = g.add(UOps.ALU, vin=(root, bits, x), arg=TernaryOps.MULACC)
    g.add(UOps.STORE, vin=(out, i, total))
    return g.program(word)


def programs() -> list[LoopProgram]:
    """One for every word."""
    return [program(word) for word in WORDS]
