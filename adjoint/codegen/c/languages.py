"""C, OpenCL, CUDA and Metal: what each writes differently from the others.

Sums and products of floats are never contracted. Where a language leaves that to its compiler, the
options are: C `-ffp-contract=off` (gcc also `-frounding-math`: it folds `0.0-(double)b` to
`-(double)b`), nvcc `-fmad=false`, OpenCL `-cl-fp32-correctly-rounded-divide-sqrt`, Metal
`-fno-fast-math -ffp-contract=off`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from adjoint.codegen.c.language import F32, BufferParameter, Head, Language, Needs, ScalarParameter
from adjoint.ir.dtype import DType, dtypes

# Types that OpenCL and Metal call the same.
_SHORT = {
    "bool": "bool",
    "int8": "char",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "uint8": "uchar",
    "uint16": "ushort",
    "uint32": "uint",
    "uint64": "ulong",
    "float32": "float",
}


class CLanguage(Language):
    """C11. With `cells` the kernel is launched as compiled ones are: an array of 64-bit cells with
    addresses and numbers, and the part of the grid to do."""

    name = "c"
    types: ClassVar[Mapping[str, str]] = {
        **{n: f"{n}_t" for n in ("int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64")},
        "bool": "bool",
        "int32": "int",
        "float16": "uint16_t",
        "bfloat16": "uint16_t",
        "float32": "float",
        "float64": "double",
    }
    single = "f"
    long = "LL"
    start = "void"
    nothing = "void"
    threads = False

    def __init__(self, cells: bool = False) -> None:
        self.cells = cells

    def reinterpret(self, x: str, before: DType, after: DType, needs: Needs) -> str:
        name = f"{before.short}_as_{after.short}"
        a, b = self.type(before), self.type(after)
        body = f"{b} y; memcpy(&y, &x, sizeof y); return y;"
        needs[name] = f"{self.inline}{b} {name}({a} x) {{ {body} }}"
        return f"{name}({x})"

    def opening(self, head: Head, needs: Needs) -> list[str]:
        if not self.cells:
            return super().opening(head, needs)
        buffers = [self.cell_buffer(i, b) for i, b in enumerate(head.buffers)]
        first = len(buffers)
        scalars = [self.cell_scalar(first + i, s, needs) for i, s in enumerate(head.scalars)]
        start = f"void {head.name}(int64_t* args, int64_t begin, int64_t end) {{"
        return [start, *buffers, *scalars]

    def cell_buffer(self, cell: int, buffer: BufferParameter) -> str:
        kind = f"{'' if buffer.mutable else 'const '}{self.type(buffer.dtype)}*"
        return f"{kind} {buffer.name} = ({kind})args[{cell}];"

    def cell_scalar(self, cell: int, scalar: ScalarParameter, needs: Needs) -> str:
        """The low bits of a cell."""
        name, dtype = scalar
        text = f"args[{cell}]"
        if dtype is F32:
            text = self.reinterpret(f"(uint32_t){text}", dtypes.uint32, dtype, needs)
        elif dtype is dtypes.float64:
            text = self.reinterpret(text, dtypes.int64, dtype, needs)
        elif dtype.is_bool:
            text = f"({text}&1)"
        elif dtype.bits < 64:
            text = self.converted(text, dtype)
        return self.constant(dtype, name, text)

    def preamble(self, text: str, needs: Needs) -> list[str]:
        whole = "\n".join([*needs.values(), text])
        sized = tuple(t for t in self.types.values() if t.endswith("_t"))
        wanted = {"math.h": _MATH, "stdbool.h": _TRUTH, "stdint.h": sized, "string.h": ("memcpy",)}
        return [f"#include <{f}>" for f, words in wanted.items() if any(w in whole for w in words)]


_MATH = ("INFINITY", "NAN", "fma", "fabs", "sqrt", "floor", "ceil", "trunc", "rint", "copysign")
_TRUTH = ("bool ", "bool*", "(bool)", "true", "false")


class OpenCLLanguage(Language):
    """OpenCL C 1.2."""

    name = "opencl"
    types: ClassVar[Mapping[str, str]] = {
        **_SHORT,
        "float16": "ushort",
        "bfloat16": "ushort",
        "float64": "double",
    }
    start = "__kernel void"
    group = "get_group_id({number})"
    in_group = "get_local_id({number})"
    iteration = "get_global_id(0)"
    barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"

    def memory(self, dtype: DType) -> str:
        return "uchar" if dtype.is_bool else self.type(dtype)

    def loaded(self, dtype: DType, element: str) -> str:
        return f"({element}!=0)" if dtype.is_bool else element

    def reinterpret(self, x: str, before: DType, after: DType, needs: Needs) -> str:
        return f"as_{self.type(after)}({x})"

    def shared(self, dtype: DType, name: str, size: int, needs: Needs) -> str:
        return f"__local {self.array(dtype, name, size)}"

    def buffer(self, buffer: BufferParameter) -> str:
        return f"__global {super().buffer(buffer)}"

    def preamble(self, text: str, needs: Needs) -> list[str]:
        double = "double" in "\n".join([*needs.values(), text])
        wide = ["#pragma OPENCL EXTENSION cl_khr_fp64 : enable"] if double else []
        return ["#pragma OPENCL FP_CONTRACT OFF", *wide]


class CUDALanguage(Language):
    """CUDA C++, with nothing included: nvcc and NVRTC take it as it is."""

    name = "cuda"
    types: ClassVar[Mapping[str, str]] = {
        "bool": "bool",
        "int8": "signed char",
        "int16": "short",
        "int32": "int",
        "int64": "long long",
        "uint8": "unsigned char",
        "uint16": "unsigned short",
        "uint32": "unsigned int",
        "uint64": "unsigned long long",
        "float16": "unsigned short",
        "bfloat16": "unsigned short",
        "float32": "float",
        "float64": "double",
    }
    single = "f"
    long = "LL"
    inline = "__device__ static inline "
    start = 'extern "C" __global__ void'
    group = "blockIdx.{axis}"
    in_group = "threadIdx.{axis}"
    iteration = "((long long)blockIdx.x*blockDim.x+threadIdx.x)"
    barrier = "__syncthreads();"

    def not_finite(self, word: str, dtype: DType, needs: Needs) -> str:
        short, long = {"NAN": ("7fc", "7ff8"), "INFINITY": ("7f8", "7ff0")}[word]
        if dtype is F32:
            return f"__int_as_float(0x{short}00000)"
        return f"__longlong_as_double(0x{long}000000000000LL)"

    def reinterpret(self, x: str, before: DType, after: DType, needs: Needs) -> str:
        words = {"int32": "int", "uint32": "uint", "float32": "float", "float64": "double"}
        words |= {"int64": "longlong", "uint64": "longlong"}
        text = f"__{words[before.name]}_as_{words[after.name]}({x})"
        return f"({self.type(after)}){text}" if after is dtypes.uint64 else text

    def shared(self, dtype: DType, name: str, size: int, needs: Needs) -> str:
        return f"__shared__ {self.array(dtype, name, size)}"


class MetalLanguage(Language):
    """The Metal shading language."""

    name = "metal"
    types: ClassVar[Mapping[str, str]] = {**_SHORT, "float16": "half", "bfloat16": "bfloat"}
    has_halves = True
    start = "kernel void"
    iteration = "tid.x"
    barrier = "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);"

    def reinterpret(self, x: str, before: DType, after: DType, needs: Needs) -> str:
        return f"as_type<{self.type(after)}>({x})"

    def shared(self, dtype: DType, name: str, size: int, needs: Needs) -> str:
        return f"threadgroup {self.array(dtype, name, size)}"

    def buffer(self, buffer: BufferParameter) -> str:
        const = "" if buffer.mutable else "const "
        return f"{const}device {self.type(buffer.dtype)}* {buffer.name}"

    def scalar(self, scalar: ScalarParameter) -> str:
        return f"constant {self.type(scalar.dtype)}& {scalar.name}"

    def positions(self, head: Head) -> list[str]:
        if head.grid:
            return ["uint3 tid [[thread_position_in_grid]]"]
        group = "uint3 gid [[threadgroup_position_in_grid]]"
        return [group, "uint3 lid [[thread_position_in_threadgroup]]"]

    def preamble(self, text: str, needs: Needs) -> list[str]:
        return ["#include <metal_stdlib>", "using namespace metal;"]
