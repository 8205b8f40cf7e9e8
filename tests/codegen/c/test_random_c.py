"""A thousand random kernels built by hand: rendered as C and run, against plain interpreters."""

import ctypes

import pytest

import adjoint  # noqa: F401  # connects the passes that finish a graph
from adjoint.handbuilt.uops import BinaryOps, TernaryOps, UnaryOps, UOps
from tests.codegen.c import lockstep
from tests.codegen.c.native_c import library, same_bits
from tests.codegen.c.random_graph import KINDS, RandomGraph, WideGraph
from tests.handbuilt.building import for_threads_and_lanes

GRAPHS = 1000
CHUNK = 125
FUNCTIONS = {"EXP2", "LOG2", "EXP", "LOG", "SIN", "COS", "TANH"}  # see tests/handbuilt


def agree(seed, found, wanted, whose):
    for number, (got, want) in enumerate(zip(found, wanted, strict=True)):
        same = same_bits(got, want)
        assert same.all(), f"graph {seed}, data{number}: {got[~same]}, {whose} {want[~same]}"


FIRST = (0, GRAPHS // 4)  # of each effort of the compiler
CHUNKS = [
    pytest.param(n, marks=[] if n in FIRST else pytest.mark.slow) for n in range(0, GRAPHS, CHUNK)
]


@pytest.mark.parametrize("first", CHUNKS)
def test_random_graphs_in_c_give_what_the_interpreter_gives(first, tmp_path):
    graphs = {seed: RandomGraph(seed) for seed in range(first, first + CHUNK)}
    effort = "-O1" if first < GRAPHS // 4 else "-O0"  # a compiler that works takes its time
    functions = library([random.g for random in graphs.values()], tmp_path, effort)
    for (seed, random), function in zip(graphs.items(), functions, strict=True):
        wanted, found = random.memory(seed), random.memory(seed)
        lockstep.run(random.g, wanted)
        function(*(ctypes.c_void_p(a.ctypes.data) for a in found))
        agree(seed, found, wanted, "the interpreter's")


@pytest.mark.parametrize("device", ["CPU", "REF"])
def test_random_graphs_give_the_same_when_they_are_compiled(device):
    for seed in range(0, GRAPHS, 25):
        random = RandomGraph(seed)
        wanted, found = random.memory(seed), random.memory(seed)
        lockstep.run(random.g, wanted)
        random.g.compile(device)(*found)
        agree(seed, found, wanted, "the interpreter's")


def test_neighbours_side_by_side_give_what_the_interpreter_gives():
    for seed in range(60):
        random = WideGraph(seed)
        wanted, found = random.memory(seed), random.memory(seed)
        lockstep.run(random.g, wanted)
        kernel = random.g.compile("CPU")
        kernel(*found)
        agree(seed, found, wanted, "the interpreter's")
        program = for_threads_and_lanes(kernel.handmade, tuple(a.size for a in found))
        assert any(n.op.name == "range" and n.arg.lanes > 1 for n in program.body)


def test_the_graphs_have_every_kind_of_node_every_op_and_every_dtype():
    nodes = [node for seed in range(GRAPHS // 2) for node in RandomGraph(seed).g.nodes]
    assert {node.kind for node in nodes} == set(UOps)
    assert sum(node.kind is UOps.BARRIER for node in nodes) > GRAPHS // 4
    used = {node.arg for node in nodes if node.kind is UOps.ALU}
    known = {op for ops in (UnaryOps, BinaryOps, TernaryOps) for op in ops}
    assert {op.name for op in known - used} == FUNCTIONS
    assert {node.dtype for node in nodes if node.kind is UOps.LOAD} == set(KINDS)
