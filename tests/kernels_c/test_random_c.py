"""A thousand random kernels built by hand: rendered as C and run, against the plain interpreter."""

import pytest

import adjoint  # noqa: F401  # connects the passes that finish a graph
from adjoint.runtime.interpret import interpret
from tests.kernels_c.native_c import call, compiled, same_bits
from tests.kernels_c.random_graph import RandomGraph, memory

GRAPHS = 1000
CHUNK = 125


@pytest.mark.parametrize("first", range(0, GRAPHS, CHUNK))
def test_random_graphs_in_c_give_what_the_interpreter_gives(first, tmp_path):
    seeds = range(first, first + CHUNK)
    programs = [RandomGraph(seed).g.program("kernel") for seed in seeds]
    functions = compiled(programs, tmp_path)
    for seed, program, function in zip(seeds, programs, functions, strict=True):
        arrays = [memory(b, seed + i) for i, b in enumerate(program.buffers)]
        found = [a.copy() for a in arrays]
        interpret(program, arrays)
        call(function, found, (), (0, 0))
        for got, wanted in zip(found, arrays, strict=True):
            same = same_bits(got, wanted)
            assert same.all(), f"graph {seed}: {got[~same]}, the interpreter's {wanted[~same]}"
