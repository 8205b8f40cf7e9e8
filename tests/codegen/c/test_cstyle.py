"""Kernels of the compiler as C, run in place of LLVM's code, and as text of other languages."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjoint import Tensor, cond, grad, linalg, scan
from adjoint.codegen.c.render import (
    LANGUAGES,
    CLanguage,
    CUDALanguage,
    MetalLanguage,
    OpenCLLanguage,
    WGSLLanguage,
    render,
    render_all,
)
from adjoint.engine.program_cache import PROGRAMS
from adjoint.errors import ArgumentError, DeviceError
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram
from adjoint.transforms.lower import lower
from tests.codegen.c.stand_in import compiling
from tests.codegen.llvm.kernels import Compiled, Kernel, const, data, same

Array = np.ndarray[Any, Any]
FLAGS = ("-std=c11", "-O1", "-ffp-contract=off", "-fno-strict-aliasing")
COMPILER = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler is installed")

# Programs over x, y (37, 53), image (2, 3, 9, 11), filters (4, 3, 3, 3), places (5, 53) in x's
# rows, small integers i, j (37, 53), truth values t, u (37, 53).
CASES = {
    "pointwise": "(x * y + 0.3).tanh().exp()",
    "functions": "x.sin() + y.abs().log() + x.erf() * y.sigmoid()",
    "rounding": "(x * 9).floor() + (y * 9).ceil() + (x * 7).round() + (y * 7).trunc()",
    "special values": "(x / 0 + (0.0 * y) / 0).isnan().where(x, -x) + (x / 0).maximum(y)",
    "softmax": "x.softmax(1)",
    "softmax of columns": "x.softmax(0)",
    "layernorm": "x.layernorm(1)",
    "gradient of layernorm": "grad(lambda a: (a.layernorm(1) * y).sum())(x)",
    "gradient of softmax": "grad(lambda a: (a.log_softmax(1) * y).sum())(x)",
    "rows": "(x * y).sum(1)",
    "columns": "(x * y).sum(0)",
    "everything": "(x.exp() * y).sum()",
    "extremes": "x.max(1) + y.min(1)",
    "positions of extremes": "x.argmax(1) + y.argmin(1)",
    "products": "x[:, :7].prod(1) + y[:, :7].prod(1)",
    "transpose": "x.T.contiguous() + 1",
    "large transpose": "x.repeat(4, 4).T.contiguous() * 2",
    "windows": "image.conv2d(filters, padding=1, stride=2)",
    "pooling": "image.max_pool2d((2, 2)) + image.avg_pool2d((2, 2))",
    "padding": "x.pad(((1, 2), (3, 4))) + 1",
    "gather": "x.gather(0, places)",
    "index": "x[places[0]]",
    "scatter": "x.scatter_add(0, places, y[:5])",
    "scan": "x.cumsum(1) + y.cumsum(0)",
    "scan of products": "x[:, :9].cumprod(1)",
    "sort": "x.sort(1)[0]",
    "argsort": "x.flatten().argsort(0)",
    "halves": "x.half() * y.half() + x.half().exp()",
    "sums of halves": "(x.half() * y.half()).sum(1)",
    "brain floats": "(x.bfloat16() * y.bfloat16() + x.bfloat16().exp())",
    "doubles": "(x.double() * y.double()).tanh().sum(0)",
    "integers": "(i * j - 7) % 5 + i // 3 + (i << 2) + (j >> 1) + (i & j) + (i ^ j) + ~i",
    "bytes": "i.cast('int8') * j.cast('int8') + i.cast('int8').abs()",
    "unsigned": "(i.cast('uint8') * j.cast('uint8')) + i.cast('uint8').bitwise_not()",
    "long integers": "(i.cast('int64') * 1000000007 * j).sum(1)",
    "extremes of integers": "i.max(1) + j.min(1) + i.maximum(j).sum(1)",
    "conversions": "(x * 100).cast('int32') + (x > 0).cast('int32') + i.float().cast('int16')",
    "truth values": "(t & u) | (x > y) ^ t",
    "all and any": "t.all(1) | u.any(1)",
    "choices": "t.where(x, y) + (x > 0).where(1.0, -1.0)",
    "running extremes": "x.cummax(1)[0]",
}


def _inputs() -> dict[str, Any]:
    random = np.random.default_rng(7)
    x, y = (random.standard_normal((37, 53)).astype(np.float32) for _ in range(2))
    x[3, 5], y[3, 5], x[0, 0] = np.nan, np.inf, -0.0
    return {
        "x": Tensor(x),
        "y": Tensor(y),
        "image": Tensor(random.standard_normal((2, 3, 9, 11)).astype(np.float32)),
        "filters": Tensor(random.standard_normal((4, 3, 3, 3)).astype(np.float32)),
        "places": Tensor(random.integers(0, 37, (5, 53)).astype(np.int32)),
        "i": Tensor(random.integers(-99, 99, (37, 53)).astype(np.int32)),
        "j": Tensor(random.integers(1, 99, (37, 53)).astype(np.int32)),
        "t": Tensor(random.random((37, 53)) < 0.5),
        "u": Tensor(random.random((37, 53)) < 0.9),
    }


def _value(text: str) -> Array:
    result = eval(text, {"grad": grad, **_inputs()})
    return np.array(result.numpy())


class _Library:
    """Compiled C; `address` is that of its only kernel."""

    def __init__(self, program: LoopProgram, folder: Path) -> None:
        source = render(program, CLanguage(cells=True))
        self.loaded = _compile(source.text, folder)
        function = getattr(self.loaded, source.name)
        self.address = ctypes.cast(function, ctypes.c_void_p).value


def _compile(text: str, folder: Path, *more: str) -> ctypes.CDLL:
    place = folder / f"k{len(list(folder.iterdir()))}.c"
    place.write_text(text)
    target = place.with_suffix(".so")
    command = [str(COMPILER), *FLAGS, *more, "-fPIC", "-shared", "-o", str(target), str(place)]
    done = subprocess.run([*command, "-lm"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), text
    return ctypes.CDLL(str(target))


@contextmanager
def _kernels_in_c(folder: Path) -> Iterator[list[LoopProgram]]:
    """Graphs that are realized here run C."""
    seen = list[LoopProgram]()

    def compiled(sources: Any) -> Any:
        seen.extend(sources)
        return {program: _Library(program, folder) for program in sources}

    with compiling(compiled):
        yield seen


def _same_bits(a: Array, b: Array) -> None:
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    kind = f"u{a.itemsize}"
    same = np.ascontiguousarray(a).view(kind) == np.ascontiguousarray(b).view(kind)
    if a.dtype.kind not in "biu":  # a NaN may be any NaN
        same |= (a != a) & (b != b)
    assert same.all(), (a[~same][:5], b[~same][:5])


@needs_compiler
@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_c_computes_the_bits_of_compiled_code(text: str, tmp_path: Path) -> None:
    PROGRAMS.clear()
    wanted = _value(text)
    with _kernels_in_c(tmp_path) as seen:
        found = _value(text)
    assert seen
    _same_bits(found, wanted)


# ---- kernels written by hand


def _listed(*body: UOp, name: str = "tester") -> LoopProgram:
    """Nodes in running order as a program."""
    buffers = {s for n in body for s in n.src if s.op.name == "define_global"}
    ordered = tuple(sorted(buffers, key=lambda b: b.arg.index))
    running = tuple(n for n in body if n.op.name not in ("const", "define_global"))
    return LoopProgram(name, ordered, (), running, None, 1)


def _sum_of_two(position: UOp) -> LoopProgram:
    """The kernel of seed 004: data0[i] = data1[i] + data2[i]."""
    out = OPS["define_global"](0, "data0", True, dtypes.int32)
    a, b = (OPS["define_global"](i, f"data{i}", False, dtypes.int32) for i in (1, 2))
    x, y = OPS["load"](a, position), OPS["load"](b, position)
    total = x + y
    return _listed(position, x, y, total, OPS["store"](out, position, total))


def _thread(name: str = "gidx0", size: int = 10) -> UOp:
    return OPS["special"](name, size, dtypes.int32)


METAL = """\
#include <metal_stdlib>
using namespace metal;
kernel void tester(device int* data0, const device int* data1, const device int* data2, \
uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]) {
  int gidx0 = gid.x; /* 10 */
  int val0 = *(data1+gidx0);
  int val1 = *(data2+gidx0);
  *(data0+gidx0) = (val0+val1);
}
"""
C = """\
void tester(int* data0, const int* data1, const int* data2) {
  for (int gidx0 = 0; gidx0 < 10; gidx0++) {
    int val0 = *(data1+gidx0);
    int val1 = *(data2+gidx0);
    *(data0+gidx0) = (val0+val1);
  }
}
"""
OPENCL = """\
#pragma OPENCL FP_CONTRACT OFF
__kernel void tester(__global int* data0, __global const int* data1, __global const int* data2) {
  int gidx0 = get_group_id(0); /* 10 */
  int val0 = *(data1+gidx0);
  int val1 = *(data2+gidx0);
  *(data0+gidx0) = (val0+val1);
}
"""
CUDA = """\
extern "C" __global__ void tester(int* data0, const int* data1, const int* data2) {
  int gidx0 = blockIdx.x; /* 10 */
  int val0 = *(data1+gidx0);
  int val1 = *(data2+gidx0);
  *(data0+gidx0) = (val0+val1);
}
"""
WGSL = """\
@group(0) @binding(0) var<storage, read_write> data0: array<i32>;
@group(0) @binding(1) var<storage, read> data1: array<i32>;
@group(0) @binding(2) var<storage, read> data2: array<i32>;

@compute @workgroup_size(1) fn tester(@builtin(workgroup_id) gid: vec3<u32>, \
@builtin(local_invocation_id) lid: vec3<u32>) {
  let gidx0: i32 = i32(gid.x); /* 10 */
  let val0: i32 = data1[gidx0];
  let val1: i32 = data2[gidx0];
  data0[gidx0] = (val0+val1);
}
"""


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (MetalLanguage(), METAL),
        (CLanguage(), C),
        (OpenCLLanguage(), OPENCL),
        (CUDALanguage(), CUDA),
        (WGSLLanguage(), WGSL),
    ],
    ids=["metal", "c", "opencl", "cuda", "wgsl"],
)
def test_a_kernel_by_hand_reads_as_in_the_seed(language: Any, text: str) -> None:
    assert render(_sum_of_two(_thread()), language).text == text


def test_a_loop_reads_as_in_the_seed() -> None:
    loop = OPS["range"](0, 10, 0, dtypes.int32)
    text = render(_listed(loop, OPS["end_range"](loop)), CLanguage()).text
    assert "  for (int ridx0 = 0; ridx0 < 10; ridx0++) {\n  }\n" in text


def test_a_barrier_is_refused_in_c_and_written_elsewhere() -> None:
    lid = _thread("lidx0", 4)
    program = _listed(lid, OPS["barrier"]())
    with pytest.raises(DeviceError, match="threads"):
        render(program, CLanguage())
    assert "__syncthreads();" in render(program, CUDALanguage()).text
    assert "@workgroup_size(4)" in render(program, WGSLLanguage()).text


def _fibonacci() -> LoopProgram:
    """Two accumulators; the sum is read after the first of them is updated."""
    k = Kernel("fibonacci")
    out = k.out(dtypes.int64)
    a, b = k.acc(0, dtypes.int64), k.acc(1, dtypes.int64)
    loop = k.range(30)
    total = k.do(a + (b + loop) - loop)
    first = k.update(a, b, loop)
    k.update(b, total, loop)
    k.end(loop)
    k.store(out, 0, first)
    return k.program()


def _sum_from(start: int, lanes: int) -> LoopProgram:
    k = Kernel("exp")  # a word that C has already
    out, x = k.out(dtypes.float32), k.buffer(dtypes.float32)
    total = k.acc(0.0, dtypes.float32)
    loop = k.range(45, lanes, start=start)
    found = k.update(total, total + k.load(x, loop - start), loop)
    k.end(loop)
    k.store(out, 0, found)
    return k.program(("a line that ends with a backslash \\",))


def _run_in_c(
    program: LoopProgram, folder: Path, *arrays: Array, flags: Sequence[str] = ()
) -> None:
    source = render(program, CLanguage())
    function = getattr(_compile(source.text, folder, *flags), source.name)
    function(*(ctypes.c_void_p(a.ctypes.data) for a in arrays))


@needs_compiler
def test_an_accumulator_is_read_before_its_update(tmp_path: Path) -> None:
    found = np.zeros(1, np.int64)
    _run_in_c(_fibonacci(), tmp_path, found)
    assert found[0] == 832040


@needs_compiler
@pytest.mark.parametrize("start", [0, 3, -5])
@pytest.mark.parametrize("lanes", [1, 8])
def test_lanes_are_joined_as_in_compiled_code(start: int, lanes: int, tmp_path: Path) -> None:
    program, x = _sum_from(start, lanes), data(dtypes.float32, 45)
    found, wanted = np.zeros(1, np.float32), np.zeros(1, np.float32)
    _run_in_c(program, tmp_path, found, x)
    Compiled(program)(wanted, x)
    same(found, wanted)


@needs_compiler
@pytest.mark.parametrize("kind", [dtypes.float16, dtypes.bfloat16])
def test_16_bit_floats_are_converted_as_numpy_does(kind: Any, tmp_path: Path) -> None:
    k = Kernel()
    wide, short = k.out(dtypes.float32), k.out(kind)
    given, x = k.buffer(kind), k.buffer(dtypes.float32)
    loop = k.range(65536)
    k.store(wide, loop, k.load(given, loop).cast(dtypes.float32))
    k.store(short, loop, k.load(x, loop).cast(kind))
    k.end(loop)
    every = np.arange(65536, dtype=np.uint16).view(kind.np)
    bits = np.random.default_rng(1).integers(0, 2**32, 65536, np.uint32)
    bits[:4096] = (np.arange(4096) << 13) + 0x33000000  # around the smallest halves
    floats = bits.view(np.float32)
    found = np.zeros(65536, np.float32), np.zeros(65536, kind.np)
    _run_in_c(k.program(), tmp_path, *found, every, floats)
    same(found[0], every.astype(np.float32))
    with np.errstate(all="ignore"):
        same(found[1], floats.astype(kind.np))


@needs_compiler
def test_numbers_keep_their_bits(tmp_path: Path) -> None:
    values = [-0.0, 0.1, np.inf, -np.inf, np.nan, 1e-45, 3.4028235e38, 16777217.0]
    k = Kernel()
    out, wide, whole = k.out(dtypes.float32), k.out(dtypes.float64), k.out(dtypes.int64)
    numbers = [0, -1, 2**31, -(2**31), 2**63 - 1, -(2**63), 5, -7]
    for i, (value, number) in enumerate(zip(values, numbers, strict=True)):
        k.store(out, i, const(value, dtypes.float32))
        k.store(wide, i, const(value, dtypes.float64))
        k.store(whole, i, const(number, dtypes.int64))
    found = np.zeros(8, np.float32), np.zeros(8), np.zeros(8, np.int64)
    _run_in_c(k.program(), tmp_path, *found)
    same(found[0], np.array(values, np.float32))
    same(found[1], np.array(values))
    assert list(found[2]) == numbers


@needs_compiler
@pytest.mark.parametrize("kind", [dtypes.int32, dtypes.int64, dtypes.uint16, dtypes.int8])
def test_integers_wrap_around_whatever_the_compiler_assumes(kind: Any, tmp_path: Path) -> None:
    """In C a signed sum that is no int is undefined, so that `x+1 > x` may be true always."""
    k = Kernel()
    truth, whole, x = k.out(dtypes.bool_), k.out(kind), k.buffer(kind)
    one, loop = const(1, kind), k.range(3)
    value = k.load(x, loop)
    k.store(truth, loop * 3, k.do((value + one).gt(value)))
    k.store(truth, loop * 3 + 1, k.do((value * value).lt(const(0, kind))))
    k.store(truth, loop * 3 + 2, k.do((value - one).lt(value)))
    k.store(whole, loop, k.do((value * value + value) * value))
    k.end(loop)
    given = np.array([int(kind.max), int(kind.min), 46341 % int(kind.max)], kind.np)
    found = np.zeros(9, np.bool_), np.zeros(3, kind.np)
    _run_in_c(k.program(), tmp_path, *found, given, flags=("-O3",))
    with np.errstate(all="ignore"):
        tests = given + kind.np.type(1) > given, given * given < 0, given - kind.np.type(1) < given
        assert found[0].tolist() == np.stack(tests, 1).reshape(-1).tolist()
        assert found[1].tolist() == ((given * given + given) * given).tolist()


# ---- files


@needs_compiler
def test_kernels_of_one_name_stand_in_one_file(tmp_path: Path) -> None:
    sources = render_all([_sum_from(0, 8), _sum_from(0, 1), _fibonacci()], CLanguage(cells=True))
    assert [s.name for s in sources] == ["exp_", "exp__1", "fibonacci"]
    assert len({s.text for s in sources}) == 1
    library = _compile(sources[0].text, tmp_path)
    assert all(hasattr(library, s.name) for s in sources)


def _rows(x: Any) -> Any:
    return x.softmax(1)


STARTS = {
    "c": "void {}(int64_t* args, int64_t begin, int64_t end) {{",
    "opencl": "__kernel void {}(__global float*",
    "cuda": 'extern "C" __global__ void {}(float*',
    "metal": "kernel void {}(device float*",
    "wgsl": "@compute @workgroup_size(1) fn {}(@builtin(global_invocation_id) tid",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_lower_shows_kernels_in_every_language(language: str) -> None:
    x = Tensor(np.ones((4, 9), np.float32))
    text = lower(_rows)(x).source(language)
    assert STARTS[language].format("true_div") in text
    assert text == lower(_rows)(x).source(language)


def test_lower_refuses_other_languages() -> None:
    with pytest.raises(ArgumentError, match="llvm, c, opencl, cuda, metal, wgsl"):
        lower(_rows)(Tensor(np.ones((4, 9), np.float32))).source("pascal")


@pytest.mark.parametrize("language", ["metal", "wgsl"])
def test_a_language_without_a_dtype_says_so(language: str) -> None:
    x = Tensor(np.ones(9))
    with pytest.raises(DeviceError, match=f"{language} has no float64"):
        lower(lambda a: a * 2)(x).source(language)


# ---- steps that are no kernels

STEPS = {
    "on the host": ("svd(x)", r"//   host svd_reduced\(s0\)"),
    "a loop": ("scan(lambda c, y: (c + y, c * 2), x[0] * 0, x)", r"//   loop\(.*\n//     kernel "),
    "a choice": ("cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, x)", r"//   branch\("),
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("text", "line"), STEPS.values(), ids=STEPS)
def test_a_comment_tells_of_steps_that_are_no_kernels(text: str, line: str, language: str) -> None:
    names = {"svd": linalg.svd, "scan": scan, "cond": cond}
    x = Tensor(np.ones((4, 9), np.float32))
    assert re.search(line, lower(lambda x: eval(text, names | {"x": x}))(x).source(language))


def _double_and_single(x: Any) -> Any:
    return x * 2, x.double().exp()


@pytest.mark.parametrize("language", ["metal", "wgsl"])
def test_a_kernel_that_a_language_cannot_say_is_left_out(language: str) -> None:
    text = lower(_double_and_single)(Tensor(np.ones(9, np.float32))).source(language)
    assert f"is left out: {language} has no float64" in text
    assert text.count("in0") == 2  # the other one's
