"""Kernels for a GPU as the assembler of NVIDIA takes them; no GPU is needed.

`ptxas` comes with the CUDA toolkit, and with the package `nvidia-cuda-nvcc`.
"""

import re
from dataclasses import replace

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.codegen.nvptx.geometry import read_geometry
from adjoint.codegen.nvptx.render import render
from adjoint.runtime.ptx import architecture, ptx_of
from tests.backends.cuda.programs import ROWS, WHOLE
from tests.codegen.nvptx.assembler import assembled, needs_assembler
from tests.codegen.nvptx.compiled import programs


def floats(*shape):
    rng = np.random.default_rng(0)
    return Tensor(rng.standard_normal(shape).astype(np.float32), device="CPU")


def sources(*tensors):
    """The same as LLVM IR."""
    return [render(p) for p in programs(*tensors)]


def only(*tensors):
    (source,) = sources(*tensors)
    return source, ptx_of(source, 90)


PROGRAMS = {name: (fn, (33, 640)) for name, fn in ROWS.items()}
PROGRAMS |= {name: (fn, shapes[0]) for name, (fn, shapes) in WHOLE.items()}


def in_turns(own):
    """Every program, in one of two forms for `make test`; the other is for another compiler's
    tests, `make test-cuda-compile`."""
    marks = {turn: [] if turn == own else pytest.mark.targets for turn in (0, 1)}
    return [pytest.param(name, marks=marks[i % 2]) for i, name in enumerate(PROGRAMS)]


def programs_of(name):
    fn, shape = PROGRAMS[name]
    found = fn(floats(*shape))
    return programs(*(found if isinstance(found, (list, tuple)) else [found]))


@needs_assembler
@pytest.mark.parametrize("name", in_turns(0))
def test_the_assembler_takes_every_kernel(name, tmp_path):
    for program in programs_of(name):
        done = assembled(ptx_of(render(program), 90), tmp_path)
        assert done.returncode == 0, done.stderr


@needs_assembler
@pytest.mark.parametrize("name", in_turns(1))
def test_the_assembler_takes_kernels_that_are_launched_together(name, tmp_path):
    for program in programs_of(name):
        ptx = ptx_of(render(replace(program, joint=True)), 90)
        assert ptx.count(".param ") == 1  # a table, which is read in place
        assert ".local" not in ptx
        done = assembled(ptx, tmp_path)
        assert done.returncode == 0, done.stderr


@needs_assembler
@pytest.mark.parametrize("capability", [70, 75, 80, 86, 89, 90])
def test_kernels_are_for_the_gpu_that_runs_them(capability, tmp_path):
    (source,) = sources(floats(40, 4096).softmax(-1))
    ptx = ptx_of(source, capability)
    assert f".target sm_{capability}" in ptx
    if capability >= 75:  # newer assemblers have given up older GPUs
        assert assembled(ptx, tmp_path, f"sm_{capability}").returncode == 0


def test_a_gpu_that_is_newer_than_llvm_gets_code_for_the_newest_known():
    assert architecture(103) == 90
    assert architecture(87) == 86


def test_sixteen_bytes_are_accessed_at_once():
    _, ptx = only((floats(1 << 16) * 1.5 + 0.25).relu())
    assert len(re.findall(r"ld\.global\.v4\.b32", ptx)) == 1
    assert len(re.findall(r"st\.global\.v4\.b32", ptx)) == 1


def test_no_thread_goes_down_a_column_when_there_are_few():
    x = floats(512, 512)
    columns, rows = sources((x.softmax(-1) + x.sum(0)).tanh())
    assert read_geometry(columns).team > 1
    assert read_geometry(rows).team > 1


def test_two_bfloat16_are_rounded_by_one_instruction_and_eight_accessed_at_once():
    _, ptx = only((floats(1 << 16).cast("bfloat16").realize() * 1.5 + 0.25).relu())
    assert len(re.findall(r"ld\.global\.v4\.b32", ptx)) == 1
    assert len(re.findall(r"st\.global\.v4\.b32", ptx)) == 1
    assert len(re.findall(r"cvt\.rn\.bf16x2\.f32", ptx)) == 3 * 4
    assert "setp.nan" not in ptx


def test_what_a_result_may_be_written_over_is_not_read_as_if_it_never_changed():
    x = floats(64, 4096)
    assert "ld.global.nc" not in only(x + 1)[1]  # in place
    assert "ld.global.nc" in only(x.sum(-1))[1]


def test_nothing_is_contracted_or_flushed():
    _, ptx = only(floats(1 << 16) * 1.5 + 0.25)
    assert "fma" not in ptx
    assert "ftz" not in ptx
    assert "mul.rn.f32" in ptx


@pytest.mark.parametrize(("rows", "team"), [(1, 64), (64, 64), (65, 32)])
def test_few_rows_have_more_threads_each(rows, team):
    source, _ = only(floats(rows, 1024).softmax(-1))
    assert read_geometry(source).team == team


def test_a_row_is_read_once_and_its_exponentials_are_computed_once():
    source, ptx = only(floats(40, 4096).softmax(-1))
    geometry = read_geometry(source)
    assert geometry.team == 128
    assert len(re.findall(r"ld\.global\.nc\.v2\.b32", ptx)) == 16
    assert len(re.findall(r"st\.global\.v2\.b32", ptx)) == 16
    assert len(re.findall(r"0f3AB688BE", ptx)) == 32  # one of the polynomial's numbers


def test_a_transpose_goes_through_shared_memory_without_conflicts():
    source, ptx = only(floats(512, 768).T + 1)
    assert read_geometry(source).shared == 64 * 65 * 4
    assert "ld.global.nc.v4" in ptx
    assert "st.global.v4" in ptx


def test_no_thread_keeps_a_row_in_memory_of_its_own():
    for fn in (lambda x: x.softmax(-1), lambda x: x.layernorm(-1), lambda x: x.sort(1)[0]):
        for source in sources(fn(floats(16, 1000))):
            assert ".local" not in ptx_of(source, 90)


def texts(*tensors):
    """PTX of every kernel, by name."""
    return {source.name: ptx_of(source, 90) for source in sources(*tensors)}


def test_a_long_sort_ranks_by_ballots_and_counts_by_atomics():
    found = texts(floats(1 << 14).sort(0)[0])
    assert "vote" in found["argsort_move1"]
    assert re.search(r"(atom|red)\S*\.shared\S*\.add", found["argsort_count1"])
    assert "vote" not in found["argsort_count1"]


def test_a_team_scans_a_row_by_wide_accesses():
    (ptx,) = texts(floats(8, 1024).cumsum(1)).values()
    assert len(re.findall(r"ld\.global\S*\.v4", ptx)) == 4  # sixteen numbers a thread, once
    assert len(re.findall(r"st\.global\S*\.v4", ptx)) == 4


def test_gathers_load_four_indices_before_they_wait():
    x = floats(16384, 64)
    places = Tensor(np.zeros(1 << 20, np.int32), device="CPU")
    (ptx,) = texts(x[places]).values()
    accesses = re.findall(r"(ld|st)\.global(?:\.nc)?\.(v4|b32)", ptx)
    assert accesses == [("ld", "b32")] * 4 + [("ld", "v4")] * 4 + [("st", "v4")] * 4


def test_a_power_of_two_is_divided_by_way_of_the_reciprocal():
    (ptx,) = texts(floats(1 << 16).tanh()).values()
    assert ptx.count("rcp.approx.ftz.f32") == 4


def test_gates_are_asked_only_where_a_row_may_end():
    (whole,), (short,) = (texts(floats(64, n).max(1)).values() for n in (1024, 1000))
    gates = [len(re.findall("selp", ptx)) for ptx in (whole, short)]
    assert gates[1] - gates[0] <= 20  # of sixteen steps of a lane, two may be beyond the end


def test_columns_are_on_their_way_together():
    (ptx,) = texts(floats(4096, 64).sum(0)).values()
    assert ".maxnreg 64" in ptx
    loads = re.search(r"(?:ld\.global\S*\.v4(?:(?!add\.rn).)*){16}", ptx, re.DOTALL)
    assert loads is not None


def sums_over_repeated_lines():
    """Sums of columns of three operands, of which one has a line for 49 of the others'."""
    x, y = (floats(12544, 2048).cast("bfloat16").realize() for _ in range(2))
    few = floats(256, 1, 2048).cast("bfloat16").realize()
    spread = few.expand(256, 49, 2048).reshape(12544, 2048)
    chosen = (x > 0).where(spread, 0).cast("float32")
    return sources(chosen.sum(0), (chosen * y).sum(0))[0]


def test_sums_over_repeated_lines_unroll_one_group_of_lines():
    ptx = ptx_of(sums_over_repeated_lines(), 90)
    assert ptx.count("ld.global") == 3 * 16


@needs_assembler
def test_sums_over_repeated_lines_keep_their_loads_in_registers(tmp_path):
    done = assembled(ptx_of(sums_over_repeated_lines(), 90), tmp_path)
    assert done.returncode == 0, done.stderr
    (spilled,) = re.findall(r"(\d+) bytes spill stores", done.stderr)
    assert int(spilled) <= 32  # 1,024 where several groups are unrolled


def test_the_largest_of_a_row_is_found_by_warps_before_scratch_is_asked():
    _, ptx = only(floats(600, 4096).max(-1))
    assert ptx.count("ld.shared") == 1
    assert ptx.count("shfl.sync") == 5 + 1  # within a warp, and between two
