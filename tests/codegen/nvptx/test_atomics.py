"""Scatters by atomic operations, by the PTX of their kernels; no GPU is needed."""

from dataclasses import replace

import numpy as np
import pytest

from adjoint import DTypeError, Tensor, deterministic
from adjoint.codegen.nvptx.render import render
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.kernel.algorithms.loops import number
from adjoint.runtime.interpret import interpret
from adjoint.runtime.ptx import ptx_of
from tests.codegen.nvptx.assembler import assembled, needs_assembler
from tests.codegen.nvptx.compiled import programs
from tests.support.ptx_threads import run

PLACES, COUNT = 100, 1001
TYPES = {"float32": "f32", "float64": "f64", "float16": "f32", "int8": "u32", "uint64": "u64"}


def kernels(dtype, reduce="sum", count=COUNT, columns=()):
    index = Tensor(np.zeros(count, np.int32), "CPU")
    given = Tensor(np.zeros((count, *columns)), "CPU").cast(dtype).realize()
    zeros = Tensor.zeros(PLACES, *columns, dtype=dtype, device="CPU")
    with deterministic(False):
        if reduce == "sum":
            made = programs(zeros.index_add(0, index, given))
        else:
            made = programs(zeros.scatter_reduce(0, index, given, reduce))
    return {p.name.rpartition("_")[2]: p for p in made}


@pytest.mark.parametrize(
    ("dtype", "reduce"), [("float32", "sum"), ("int32", "sum"), ("int32", "amax")]
)
def test_every_thread_joins_its_updates_and_tells_of_bad_indices(dtype, reduce):
    rng, made = np.random.default_rng(0), kernels(dtype, reduce)["atomic"]
    index = rng.integers(-PLACES, PLACES, COUNT).astype(np.int32)
    index[[5, 1000]] = PLACES, -PLACES - 1
    arrays = [np.zeros(b.arg.size, b.arg.dtype.np) for b in made.buffers]
    arrays[1:3] = index, rng.integers(-9, 9, COUNT).astype(dtype)
    other = [a.copy() for a in arrays]
    source = render(made)
    for block in range(-(-COUNT // 128)):  # 32 threads of four updates each
        run(ptx_of(source, 90), block, arrays, COUNT)
    interpret(made, other, {}, None, None)
    assert np.array_equal(arrays[0], other[0])
    assert arrays[0].any()
    assert arrays[-1][0] in {flag_of(PLACES), flag_of(-1)}  # counted from the end


def flag_of(index):
    return (1 << 56) + (1 << 55) + index


@needs_assembler
@pytest.mark.parametrize(("capability", "joint"), [(80, False), (90, False), (90, True)])
@pytest.mark.parametrize("dtype", TYPES)
def test_a_thread_waits_for_no_result(dtype, capability, joint, tmp_path):
    made = kernels(dtype, count=1 << 14)["atomic"]
    ptx = ptx_of(render(replace(made, joint=joint)), capability)
    assert ptx.count(f"red.global.add.{TYPES[dtype]}") == 4
    assert "atom." not in ptx
    done = assembled(ptx, tmp_path, f"sm_{capability}")
    assert done.returncode == 0, done.stderr
    assert "0 bytes spill stores, 0 bytes spill loads" in done.stderr


@pytest.mark.parametrize(
    ("dtype", "name"), [("int8", "s32"), ("uint16", "u32"), ("int64", "s64"), ("uint64", "u64")]
)
def test_extremes_know_the_sign(dtype, name):
    assert f"red.global.min.{name}" in ptx_of(render(kernels(dtype, "amin")["atomic"]), 90)


def test_four_indices_and_updates_are_one_load_each():
    ptx = ptx_of(render(kernels("float32", count=1 << 14)["atomic"]), 90)
    assert ptx.count("ld.global.nc.v4.b32") == 2


@pytest.mark.parametrize(("dtype", "join"), [("float32", "maximum"), ("int8", "add")])
def test_what_memory_cannot_join_is_refused(dtype, join):
    memory = OPS["define_global"](0, "x", True, getattr(dtypes, dtype), 4)
    with pytest.raises(DTypeError, match=r"floats are added|32 or 64 bits"):
        OPS["atomic"](memory, 0, number(1, getattr(dtypes, dtype)), join)
