"""Products of words by a matrix unit: which kernels use its registers, and that LLVM takes them."""

from dataclasses import replace

import llvmlite.binding as llvm
import numpy as np
import pytest

from adjoint import Tensor, lower, native_bfloat16
from adjoint.backends.cpu import BACKEND
from adjoint.codegen.llvm.render import render
from adjoint.engine.program_cache import PROGRAMS
from adjoint.runtime.processor import machine_kind
from adjoint.target import PROCESSORS, TARGETS, tile_of, units_of

UNIT = PROCESSORS["x86_64"]["sapphirerapids"]  # a processor that has one
pytestmark = [
    pytest.mark.usefixtures("cpu"),
    pytest.mark.skipif(machine_kind() != "x86_64", reason="code for x86-64"),
]


@pytest.fixture(autouse=True)
def with_unit(monkeypatch):
    target = replace(TARGETS["CPU"], tile=tile_of(UNIT), matrix_units=units_of(UNIT))
    monkeypatch.setattr(BACKEND, "target", target)
    PROGRAMS.clear()
    yield
    PROGRAMS.clear()


def numbers(shape, dtype):
    if dtype == "bfloat16":
        return Tensor(np.ones(shape, np.float32)).cast(dtype).realize()
    return Tensor(np.ones(shape, dtype)).realize()


def texts(m, k, n, left, right):
    """The kernels of a product as LLVM IR."""
    args = numbers((m, k), left), numbers((k, n), right)
    sums = "float32" if left == "bfloat16" else "int32"
    with native_bfloat16():
        lowered = lower(lambda a, b: a.dot(b, dtype=sums).relu())(*args)
    return [render(program, UNIT).text for program in lowered.plan.programs()]


@pytest.mark.parametrize(
    ("left", "right", "name"),
    [
        ("uint8", "int8", "tdpbusd"),
        ("int8", "uint8", "tdpbsud"),
        ("int8", "int8", "tdpbsud"),
        ("bfloat16", "bfloat16", "tdpbf16ps"),
    ],
)
@pytest.mark.parametrize("shape", [(64, 256, 96), (80, 576, 33), (48, 4096, 64)])
def test_whole_tiles_are_multiplied_by_the_unit(shape, left, right, name):
    found = [text for text in texts(*shape, left, right) if "x86_amx" in text]
    assert [name in text for text in found] == [True]
    assert "vpdpbusd" not in found[0]
    assert "dpbf16ps.512" not in found[0]
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(
        cpu=UNIT.name, opt=2, reloc="pic"
    )
    with llvm.create_context() as context, llvm.parse_assembly(found[0], context) as module:
        module.verify()
        assert f"\t{name}\t" in machine.emit_assembly(module)


@pytest.mark.parametrize("shape", [(33, 512, 96), (64, 508, 96), (64, 512, 96)])
def test_others_are_multiplied_by_vectors(shape):
    """Rows, or words of k, that do not fill a register; a left operand that lies across."""
    m, k, n = shape
    across = m % 16 == 0 and k % 64 == 0
    args = numbers((k, m) if across else (m, k), "int8"), numbers((k, n), "int8")
    fn = lambda a, b: (a.T if across else a).dot(b, dtype="int32")  # noqa: E731
    found = [render(p, UNIT).text for p in lower(fn)(*args).plan.programs()]
    if across:  # it is turned first, and then fills registers
        assert sum("x86_amx" in text for text in found) == 1
    else:
        assert not any("x86_amx" in text for text in found)
