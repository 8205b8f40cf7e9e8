"""Rendered C shifts and adds in unsigned arithmetic: the compiler's own sanitizer is silent."""

import ctypes

import pytest

from adjoint.ir.opdef import OPS
from tests.codegen.c.choice import few
from tests.codegen.c.constants import KINDS, divisions, memory
from tests.codegen.c.corpus import corpus_of
from tests.codegen.c.native_c import check, compiled, compiler, library, result
from tests.ops.cases import dtypes_of

# At -O0 a compiler removes nothing that is undefined before the sanitizer sees it.
FLAGS = ("-fsanitize=undefined", "-fno-sanitize=alignment")


def clean(pairs, folder, capfd):
    """Every kernel run under the sanitizer, which writes a line for what is undefined."""
    compiler()
    samples = corpus_of(pairs)
    functions = compiled([s.program for s in samples], folder, "-O0", FLAGS)
    for number, (sample, function) in enumerate(zip(samples, functions, strict=True)):
        for run in sample.runs:
            check(sample, run, result(function, run), number)
    assert "runtime error" not in capfd.readouterr().err


@pytest.mark.parametrize("name", ["exp2", "lshift", "exp", "ldexp", "pow", "threefry", "sinh"])
def test_an_op_made_of_shifts_has_no_undefined_behaviour(name, tmp_path, capfd):
    record = OPS[name]
    clean([(record, dtype) for dtype in dtypes_of(record)], tmp_path, capfd)


@pytest.mark.parametrize("part", [1])
def test_kernels_in_c_have_no_undefined_behaviour(part, tmp_path, capfd):
    clean(few(part), tmp_path, capfd)


def test_a_hand_built_kernel_shifts_without_undefined_behaviour(tmp_path, capfd):
    integers = [k for k in KINDS if k.is_int]
    functions = library([divisions(kind) for kind in integers], tmp_path, "-O0", FLAGS)
    for kind, function in zip(integers, functions, strict=True):
        function(*(ctypes.c_void_p(a.ctypes.data) for a in memory(kind)))
    assert "runtime error" not in capfd.readouterr().err
