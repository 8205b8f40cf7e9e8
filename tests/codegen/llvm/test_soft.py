"""Instructions that a processor lacks: the same bits as those of one that has them, no symbols."""

import ctypes
import itertools
from functools import cache

import llvmlite.binding as llvm
import numpy as np
import pytest

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.cast import convert
from adjoint.codegen.llvm.ops import apply
from adjoint.codegen.llvm.writer import Writer
from adjoint.ir.dtype import dtypes
from adjoint.runtime import interpret
from adjoint.runtime.elf_loader import Image
from adjoint.runtime.processor import machine_kind
from adjoint.runtime.symbols import undefined
from adjoint.target import PROCESSORS

pytestmark = [
    pytest.mark.skipif(machine_kind() != "x86_64", reason="compiles for x86-64"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # NumPy's, about overflow and NaN
]
LEVELS = ("x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4")
F16, BF16, F32, F64 = dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64


@cache
def machine(name, effort):
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    return target.create_target_machine(cpu=name, opt=effort, reloc="pic", codemodel="default")


def compiled(level, inputs, result, lanes, body, effort=2):
    """The object of a loop that applies `body` to arrays, `lanes` elements at a time."""
    made = PROCESSORS["x86_64"][level]
    w = Writer(made)
    w.lanes = lanes
    names = [_loaded(w, i + 1, ty.memory_type(d, lanes)) for i, d in enumerate(inputs)]
    value = body(w, names, lanes)
    kind = ty.memory_type(result, lanes)
    place = f"getelementptr {ty.memory_type(result)}, ptr %p0, i64 %i"
    w.effect(f"store {kind} {value}, ptr {w.emit(place)}, align {result.itemsize}")
    pointers = "".join(
        f"  %c{i} = getelementptr i64, ptr %args, i64 {i}\n  %p{i} = load ptr, ptr %c{i}\n"
        for i in range(len(inputs) + 1)
    )
    text = f"""define void @f(ptr %args, i64 %begin, i64 %end) {{
start:
{pointers}  br label %next
next:
  %i = phi i64 [ %begin, %start ], [ %j, %next ]
{chr(10).join(w.lines)}
  %j = add i64 %i, {lanes}
  %more = icmp slt i64 %j, %end
  br i1 %more, label %next, label %done
done:
  ret void
}}
""" + "\n".join(w.declared.values())
    return machine(made.name, effort).emit_object(llvm.parse_assembly(text))


def _loaded(w, number, kind):
    scalar = kind if kind[0] != "<" else kind[kind.index("x") + 2 : -1]
    place = w.emit(f"getelementptr {scalar}, ptr %p{number}, i64 %i")
    return w.emit(f"load {kind}, ptr {place}, align 1")


def run(data, arrays, result):
    out = np.zeros(len(arrays[0]), result.np)
    image = Image(data, {})
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    cells = np.array([a.ctypes.data for a in (out, *arrays)], np.int64)
    kind(image["f"])(cells.ctypes.data, 0, len(out))
    return out


def same_bits(got, wanted):
    nan = np.isnan(wanted.astype(np.float64))
    assert np.array_equal(np.isnan(got.astype(np.float64)), nan)
    kind = np.dtype(f"u{wanted.dtype.itemsize}")
    differ = (got.view(kind) != wanted.view(kind)) & ~nan
    where = np.flatnonzero(differ)[:4]
    assert not differ.any(), f"{differ.sum()} differ, at {where}: {got[where]}, {wanted[where]}"


def runs_here(level):
    needs = PROCESSORS["x86_64"][level].needs
    with open("/proc/cpuinfo") as file:
        return set(needs) <= set(file.read(8192).split())


def special(dtype):
    info = np.finfo(dtype)
    one = [0.0, 1.0, 1.5, 0.5, 2.5, 3.0, np.inf, np.nan, info.max, info.tiny, info.eps]
    one += [info.smallest_subnormal, 1 + info.eps, 1 - info.eps / 2, 2.0**52 + 1, 2.0**23 + 1]
    return np.array([*one, *(-x for x in one)], dtype)


def triples(dtype, seed):
    """Operands of a multiply-add whose parts nearly cancel, over and underflow, and tie."""
    rng = np.random.default_rng(seed)
    corner = special(dtype)
    grid = np.array(list(itertools.product(corner, corner, corner)), dtype)
    n, most = 60_000, 1100 if dtype == np.float64 else 140
    a, b = (
        np.ldexp(rng.uniform(-2, 2, n), rng.integers(-most, most, n) // s).astype(dtype)
        for s in (1, 2)
    )
    short = rng.integers(0, 3, n) == 0  # few bits: ties are likely
    a[short] = np.round(a[short] * 4) / 4
    near = -(a * b) * (1 + np.ldexp(1.0, -rng.integers(20, 70, n)) * rng.integers(-1, 2, n))
    far = np.ldexp(rng.uniform(-2, 2, n), rng.integers(-most, most, n))
    c = np.where(rng.integers(0, 2, n) == 0, near, far).astype(dtype)
    rows = np.concatenate([grid, np.stack([a, b, c], 1)])
    rows = rows[: len(rows) // 32 * 32]
    return [np.ascontiguousarray(rows[:, i]) for i in range(3)]


@pytest.mark.parametrize("lanes", [1, 2, 4, 16])
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_a_fused_multiply_add_rounds_once_without_the_instruction(dtype, lanes):
    abc = triples(dtype.np, lanes)
    data = compiled(
        "x86-64-v1", [dtype] * 3, dtype, lanes, lambda w, x, n: apply(w, "fma", dtype, x, n)
    )
    assert undefined(data) == []
    same_bits(run(data, abc, dtype), interpret._fma(*abc).astype(dtype.np))


@pytest.mark.parametrize("level", ["x86-64-v1", "x86-64-v2"])
@pytest.mark.parametrize("op", ["floor", "ceil", "trunc", "round"])
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_rounding_to_whole_numbers_needs_no_instruction(dtype, op, level):
    rng = np.random.default_rng(3)
    parts = [special(dtype.np), rng.uniform(-9, 9, 999), np.arange(-40, 40) / 4]
    parts += [np.ldexp(rng.uniform(-2, 2, 999), rng.integers(-30, 70, 999))]
    x = np.concatenate(parts).astype(dtype.np)
    x = x[: len(x) // 8 * 8]
    wanted = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.round}[op](x)
    for lanes in (1, 8):
        data = compiled(level, [dtype], dtype, lanes, lambda w, x, n: apply(w, op, dtype, x, n))
        assert undefined(data) == []
        same_bits(run(data, [x], dtype), wanted)


@pytest.mark.parametrize("effort", [0, 2])
@pytest.mark.parametrize("level", LEVELS)
def test_every_conversion_of_narrow_floats_is_exact_on_every_level(level, effort):
    if not runs_here(level):
        pytest.skip(f"this processor does not run {level}")
    every = np.arange(1 << 16, dtype=np.uint16)
    for dtype in (F16, BF16):
        for lanes in (1, 8, 16):
            widen = lambda w, x, n, d=dtype: convert(w, x[0], d, F32, n)  # noqa: E731
            data = compiled(level, [dtype], F32, lanes, widen, effort)
            assert undefined(data) == []
            same_bits(run(data, [every], F32), every.view(dtype.np).astype(np.float32))
            narrow = lambda w, x, n, d=dtype: convert(w, x[0], F32, d, n)  # noqa: E731
            data = compiled(level, [F32], dtype, lanes, narrow, effort)
            assert undefined(data) == []
            x = _around(dtype)
            same_bits(run(data, [x], dtype), x.astype(dtype.np))


def _around(dtype):
    """Every narrow value, the ties between neighbours, and the floats next to those."""
    every = np.arange(0x7F80, dtype=np.uint16).view(dtype.np).astype(np.float32)
    every = np.sort(every[np.isfinite(every)])
    ties = (every[:-1] + every[1:]) / 2
    found = np.concatenate([every, ties, *(np.nextafter(ties, np.float32(s)) for s in (0, 1e38))])
    found = np.concatenate([found, -found, special(np.float32)])
    return found[: len(found) // 16 * 16]


def test_llvm_does_not_join_two_roundings_into_one():
    """The sign of a float64 that becomes a float32, then a float16: two roundings, no symbol."""

    def body(w, x, lanes):
        narrow, kind = convert(w, x[0], F64, F32, lanes), ty.type_of(F32, lanes)
        name = f"llvm.copysign.{ty.suffix('float', lanes)}"
        return convert(
            w, w.emit(w.call(kind, name, f"{kind} {narrow}", f"{kind} {narrow}")), F32, F16, lanes
        )

    x = np.array([1 + 2.0**-11 + 2.0**-40] * 16)
    for effort, level in itertools.product((0, 2), LEVELS):
        data = compiled(level, [F64], F16, 16, body, effort)
        assert undefined(data) == []
        if runs_here(level):
            same_bits(run(data, [x], F16), x.astype(np.float32).astype(np.float16))


def test_products_and_sums_are_not_contracted():
    """a b + c of separate nodes rounds twice on every level, whatever the processor can fuse."""
    a, b, c = np.float32(1 + 2.0**-12), np.float32(1 - 2.0**-12), np.float32(-1.0)
    wanted = a * b + c

    def body(w, x, lanes):
        return apply(w, "add", F32, [apply(w, "mul", F32, x[:2], lanes), x[2]], lanes)

    for level in filter(runs_here, LEVELS):
        data = compiled(level, [F32] * 3, F32, 8, body)
        same_bits(run(data, [np.full(8, v) for v in (a, b, c)], F32), np.full(8, wanted))
