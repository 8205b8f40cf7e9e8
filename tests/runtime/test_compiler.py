"""Source to code: compiling, loading, keeping, giving back."""

import ctypes
import struct
import sys

import llvmlite.binding as llvm
import pytest

from adjoint.errors import InternalError
from adjoint.runtime import compiler, libc
from adjoint.runtime.compiler import compile_object, compile_source
from adjoint.runtime.elf_loader import Image
from adjoint.runtime.llvm import engine
from adjoint.runtime.symbols import undefined
from adjoint.stages import Source
from tests.runtime.adders import added, adder, call
from tests.support.processes import printed
from tests.support.threads import in_threads

TABLE = """
@table = private constant [4 x i64] [i64 5, i64 7, i64 11, i64 13]
declare double @llvm.pow.f64(double, double)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
define void @lookup(ptr %args, i64 %begin, i64 %end) {
  %out = load ptr, ptr %args
  %at = getelementptr i64, ptr @table, i64 %begin
  %value = load i64, ptr %at
  %x = sitofp i64 %value to double
  %y = call double @llvm.pow.f64(double %x, double 2.5)
  %z = fadd double %y, 0.125
  store double %z, ptr %out
  %behind = getelementptr i64, ptr %out, i64 1
  call void @llvm.memmove.p0.p0.i64(ptr %behind, ptr @table, i64 %end, i1 false)
  ret void
}
"""


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * libc.PAGE


def test_a_source_becomes_a_function():
    assert added(compile_source(adder(41)).address, 1) == 42


def test_constants_and_given_functions_are_reached():
    power = ctypes.cast(ctypes.CDLL(None).pow, ctypes.c_void_p).value
    code = compile_source(Source("llvm", "lookup", TABLE), {"pow": power})
    out = (ctypes.c_int64 * 5)()
    call(code.address, ctypes.addressof(out), begin=2, end=32)
    assert struct.pack("<q", out[0]) == struct.pack("<d", 11**2.5 + 0.125)
    assert list(out[1:]) == [5, 7, 11, 13]


def test_the_same_source_is_compiled_once(monkeypatch):
    monkeypatch.setenv("ADJOINT_CACHE", "0")
    first = compile_source(adder(1001))
    before = compiler.compiled
    assert compile_source(adder(1001)) is first
    assert compiler.compiled == before


def test_two_names_of_one_text_are_two_functions():
    text = adder(3, "one").text + adder(4, "two").text
    assert added(compile_source(Source("llvm", "one", text)).address) == 3
    assert added(compile_source(Source("llvm", "two", text)).address) == 4


def test_code_lives_while_it_is_held_and_only_a_bounded_number_is_kept(monkeypatch):
    monkeypatch.setattr(compiler, "MAX_FREE_KERNELS", 4)
    held = compile_source(adder(500))
    for number in range(501, 510):
        compile_source(adder(number))
    assert len(compiler._kept) == 4
    assert added(held.address) == 500
    assert added(compile_source(adder(500)).address) == 500


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_flat_over_ten_thousand_kernels():
    data = compile_object(adder(7))
    for _ in range(500):
        Image(data, {})
    before = resident()
    for _ in range(10_000):
        Image(data, {})
    assert resident() - before < 4 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_compiling_different_kernels_leaves_memory_flat(monkeypatch):
    monkeypatch.setenv("ADJOINT_CACHE", "0")
    monkeypatch.setattr(compiler, "MAX_FREE_KERNELS", 8)
    for number in range(100):
        compile_source(adder(10_000 + number))
    before = resident()
    for number in range(300):
        compile_source(adder(20_000 + number))
    assert resident() - before < 4 << 20


def test_llvms_own_linker_gives_the_same_function():
    source = adder(19, "orc")
    loaded = engine().load(compile_object(source), source, {})
    assert added(loaded["orc"], 4) == 23


def test_code_that_llvm_refuses_is_an_internal_error():
    with pytest.raises(InternalError, match="LLVM refuses"):
        compile_source(Source("llvm", "bad", "define void @bad( {"))


def test_a_symbol_that_nobody_has_is_an_internal_error():
    text = "declare void @no_such()\ndefine void @f() { call void @no_such()\n ret void }"
    with pytest.raises(InternalError, match="no_such"):
        compile_source(Source("llvm", "f", text))


HELPERS = {  # what LLVM calls for instructions that plain x86-64 lacks, and what this code may not
    "pow": ("double", "call double @llvm.pow.f64(double %x, double 2.5)"),
    "sin": ("double", "call double @llvm.sin.f64(double %x)"),
    "fmod": ("double", "frem double %x, 2.5"),
    "__udivti3": ("i128", "udiv i128 %x, 77"),
    "__extendhfsf2": ("half", "fadd half %x, %x"),
}


SYSTEMS = [
    *("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-apple-macosx"),
    *("arm64-apple-macosx", "x86_64-pc-windows-msvc", "aarch64-pc-windows-msvc"),
]


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_an_object_asks_for_is_known_on_every_system(system):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(system)
    machine = target.create_target_machine(reloc="pic", codemodel="default")
    text = f"""target triple = "{system}"
declare i32 @a_function_with_a_long_name(i32)
declare i32 @short(i32)
define internal i32 @own(i32 %x) {{ ret i32 %x }}
define i32 @f(i32 %x) {{
  %a = call i32 @a_function_with_a_long_name(i32 %x)
  %b = call i32 @short(i32 %a)
  %c = call i32 @own(i32 %b)
  ret i32 %c
}}"""
    data = machine.emit_object(llvm.parse_assembly(text))
    assert sorted(undefined(data)) == ["a_function_with_a_long_name", "short"]
    with pytest.raises(InternalError, match=r"damaged|not an object"):
        undefined(data[:60] if "windows" not in system else b"MZ" + data)


@pytest.mark.parametrize("loader", ["elf", "llvm"])
@pytest.mark.parametrize("helper", HELPERS)
def test_helpers_of_the_process_are_refused_when_code_is_compiled(helper, loader, tmp_path):
    kind, line = HELPERS[helper]
    text = f"""
declare double @llvm.pow.f64(double, double)
declare double @llvm.sin.f64(double)
define void @f(ptr %args, i64 %begin, i64 %end) {{
  %x = load {kind}, ptr %args
  %y = {line}
  store {kind} %y, ptr %args
  ret void
}}"""
    program = f"""
from adjoint.errors import InternalError
from adjoint.runtime.compiler import compile_source
from adjoint.stages import Source
for _ in range(2):  # what was refused is not kept on disk either
    try:
        compile_source(Source("llvm", "f", {text!r}))
    except InternalError as error:
        assert {helper!r} in str(error), error
    else:
        raise SystemExit("it was taken")
"""
    more = {"ADJOINT_CPU": "x86-64-v1", "ADJOINT_LOADER": loader}
    printed("-c", program, **more, ADJOINT_CACHE_DIR=str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_another_language_is_refused():
    with pytest.raises(InternalError, match="cuda"):
        compile_source(Source("cuda", "f", ""))


def test_bytes_that_are_no_object_are_refused():
    with pytest.raises(InternalError, match="not an object"):
        Image(b"rubbish" * 100, {})


def test_eight_threads_compile_at_once(monkeypatch):
    monkeypatch.setenv("ADJOINT_CACHE", "0")
    results: dict[int, int] = {}

    def work(thread: int) -> None:
        for i in range(6):
            number = 3000 + i % 3 + 10 * (thread % 4)
            results[thread * 10 + i] = added(compile_source(adder(number)).address) - number

    in_threads(8, work)
    assert len(results) == 48
    assert set(results.values()) == {0}


def test_importing_the_runtime_does_not_load_llvm():
    program = """
import sys
import adjoint, adjoint.runtime.launch
assert not [m for m in sys.modules if m.startswith("llvmlite")]
"""
    printed("-c", program)
