"""What the threads of a warp count and sum up, by the PTX of small kernels; no GPU is needed."""

from dataclasses import replace

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.codegen.nvptx.render import render
from adjoint.ir.dtype import dtypes
from adjoint.kernel.algorithms.loops import Loops, number
from adjoint.runtime.interpret import interpret
from adjoint.runtime.ptx import ptx_of
from tests.codegen.nvptx.assembler import assembled, needs_assembler
from tests.codegen.nvptx.compiled import programs
from tests.support.ptx_threads import run

THREADS, SHARE = 64, 24
NODE = Tensor([1.0]).uop


def distributions(count):
    """Which of the places of its warp each thread has, turn by turn."""
    rng, turns = np.random.default_rng(0), count // THREADS
    spread = [rng.integers(0, n, count) for n in (1, 2, 5, 9, SHARE)]
    return np.concatenate([*spread, np.arange(count) % SHARE, np.arange(count) // turns % SHARE])


def program(summed):
    """Turns in which two warps count, or sum up where a gate is open, and what they have then."""
    places = distributions(THREADS * 4).astype(np.int32)
    turns, size = len(places) // THREADS, 2 * SHARE
    kind = dtypes.float32 if summed else dtypes.int32
    loops = Loops(dtypes.int32)
    out = loops.buffer("out", kind, size, True)
    seen = loops.buffer("seen", dtypes.int32, len(places), True)
    at, given = (
        loops.buffer("at", dtypes.int32, len(places)),
        loops.buffer("x", dtypes.float32, len(places)),
    )
    cells = loops.local("cells", kind, size)
    lanes = loops.local("lanes", dtypes.int32, len(places))
    with loops.loop(THREADS, THREADS) as t:
        start = number(0.5 if summed else 3, kind)
        loops.store(cells, t.minimum(size - 1), start, t < size)
    with loops.loop(turns) as turn, loops.loop(THREADS, THREADS) as t:
        k = turn * THREADS + t
        cell = (t // 32) * SHARE + loops.load(at, k)
        if summed:
            value = loops.load(given, k)
            loops.sum_up(cells, cell, value, (value.cast(dtypes.int32) & 3).ne(0))
        else:
            loops.store(lanes, k, loops.count_up(cells, cell))
    with loops.loop(THREADS, THREADS) as t:
        loops.store(out, t.minimum(size - 1), loops.load(cells, t.minimum(size - 1)), t < size)
        if not summed:
            with loops.loop(turns) as turn:
                k = turn * THREADS + t
                loops.store(seen, k, loops.load(lanes, k))
    return replace(loops.program(NODE, "warps", 1), threads=THREADS), places


@pytest.mark.parametrize("summed", [True, False])
def test_warps_count_and_sum_up_in_the_order_of_their_threads(summed):
    made, places = program(summed)
    x = (np.random.default_rng(1).standard_normal(len(places)) * 1e4).astype(np.float32)
    arrays = [np.zeros(b.arg.size, b.arg.dtype.np) for b in made.buffers[:2]] + [places, x]
    other = [a.copy() for a in arrays]
    run(ptx_of(render(made), 90), 0, arrays, 1)
    interpret(made, other, {}, None, None)
    for found, wanted in zip(arrays, other, strict=True):
        assert np.array_equal(found.view(np.uint32), wanted.view(np.uint32))
    assert len(set(arrays[0].tolist())) > SHARE


@pytest.mark.parametrize("capability", [70, 90])
def test_what_two_ballots_say_is_joined_by_one_instruction(capability):
    made, _ = program(True)
    ptx = ptx_of(render(made), capability)
    assert ptx.count("vote.sync.ballot") == (SHARE - 1).bit_length() + 5
    assert ptx.count("lop3.b32") == 2


# ---- sums by buckets

PLACES, COUNT = 1 << 14, 17_000


def kernels(dtype="float32", places=PLACES):
    index = Tensor(np.zeros(20000, np.int32), "CPU")
    given = Tensor(np.zeros(20000, np.float32), "CPU").cast(dtype).realize()
    zeros = Tensor.zeros(places, dtype=dtype, device="CPU")
    return {p.name: p for p in programs(zeros.index_add(0, index, given))}


@pytest.mark.parametrize("places", [PLACES, 1 << 16])
def test_a_block_adds_up_its_bucket_piece_by_piece(places):
    """Three pieces: in the first a place has so many that warps add up, in others threads do. Some
    updates go nowhere."""
    rng, made = np.random.default_rng(0), kernels(places=places)["scatter_add_buckets"]
    own = [p for p in range(places) if (p >> 3 ^ p >> 11) & 255 == 9]  # of one bucket
    cells = rng.integers(0, len(own), 20000).astype(np.uint16)
    cells[2000:4000] = 7
    cells[5000:5100] = 0xFFFF
    values = rng.standard_normal(20000).astype(np.float32)
    before = np.zeros(made.buffers[-1].arg.size, np.int32)
    before[10 * len(before) // 256 :] = COUNT  # all of them are the bucket's
    out = np.full(places, np.nan, np.float32)
    run(ptx_of(render(made), 90), 9, [out, cells, values.view(np.int32), before], 256)
    sums = np.zeros(len(own), np.float32)
    real = cells[:COUNT] < len(own)
    np.add.at(sums, cells[:COUNT][real], values[:COUNT][real])
    assert sorted(out[own].view(np.int32).tolist()) == sorted(sums.view(np.int32).tolist())
    assert np.isnan(np.delete(out, own)).all()


@needs_assembler
@pytest.mark.parametrize(
    ("places", "dtype"),
    [(PLACES, "float16"), (70_001, "float32"), (1 << 20, "float32"), (1 << 20, "bfloat16")]
    + [(1 << n, "float32") for n in (16, 18, 21, 22)],
)
def test_kernels_of_buckets_have_their_numbers_in_registers(places, dtype, tmp_path):
    """There are seven truths in registers: with too many bits at a time the assembler gives up."""
    for made in kernels(dtype, places).values():
        done = assembled(ptx_of(render(made), 90), tmp_path)
        assert done.returncode == 0, done.stderr
        assert "0 bytes spill stores, 0 bytes spill loads" in done.stderr
