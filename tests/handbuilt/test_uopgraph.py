"""Graphs built by hand: every listing of the guide's source, and every way to build one wrong."""

import math

import pytest

from adjoint import AdjointError, dtypes
from adjoint.handbuilt.uops import (
    BinaryOps,
    CLanguage,
    CUDALanguage,
    MetalLanguage,
    OpenCLLanguage,
    TernaryOps,
    UnaryOps,
    UOpGraph,
    UOps,
    WGSLLanguage,
    uops_to_cstyle,
)
from adjoint.ir.spec import verify_order

LANGUAGES = [CLanguage, OpenCLLanguage, CUDALanguage, MetalLanguage, WGSLLanguage]
THREADS = "uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]"


def metal(graph):
    """The kernel, without what stands above it in the file."""
    text = uops_to_cstyle(MetalLanguage(), "tester", graph)
    return text[text.index("kernel void") :].strip()


def const(g, value, dtype=dtypes.int):
    return g.add(UOps.CONST, dtype, arg=value)


def memory(g, slot, mutable=False, dtype=dtypes.int, *size):
    return g.add(UOps.DEFINE_GLOBAL, dtype, arg=(slot, f"data{slot}", mutable, *size))


def loop(g, start, stop):
    return g.add(UOps.LOOP, dtypes.int, vin=(const(g, start), const(g, stop)))


def checked(graph):
    """The program, in which every node stands behind what it uses."""
    program = graph.program("tester")
    sources = [s for node in program.body for s in node.src]
    leaves = [n for n in dict.fromkeys(sources) if n.op.name in ("const", "define_global")]
    verify_order([*leaves, *program.body])
    return program


# ---- the listings


def test_a_constant():
    g = UOpGraph()
    c0 = g.add(UOps.CONST, dtypes.int, arg=0)
    assert (c0.kind, c0.dtype, c0.arg) == (UOps.CONST, dtypes.int32, 0)
    assert g.add(UOps.CONST, dtypes.int, arg=10) is not c0
    assert g.add(UOps.CONST, dtypes.int, arg=0) is c0


def test_a_parameter():
    g = UOpGraph()
    c1 = g.add(UOps.DEFINE_GLOBAL, dtype=dtypes.int, vin=(), arg=(1, "data0", True))
    assert c1.dtype.base is dtypes.int32
    assert c1.dtype.mutable


def test_a_loop():
    g = UOpGraph()
    c0 = g.add(UOps.CONST, dtypes.int, arg=0)
    c1 = g.add(UOps.CONST, dtypes.int, arg=10)
    loop = g.add(UOps.LOOP, dtype=dtypes.int, vin=(c0, c1))
    g.add(UOps.ENDLOOP, vin=(loop,))
    listing = """\
  for (int ridx0 = 0; ridx0 < 10; ridx0++) {
  }"""
    for language in (CLanguage, OpenCLLanguage, CUDALanguage, MetalLanguage):
        assert listing in uops_to_cstyle(language(), "tester", g)


def test_a_store():
    g = UOpGraph()
    c1 = g.add(UOps.DEFINE_GLOBAL, dtype=dtypes.int, vin=(), arg=(0, "data0", True))
    c2 = g.add(UOps.CONST, dtype=dtypes.int, arg=0)
    c3 = g.add(UOps.CONST, dtype=dtypes.int, arg=10)
    g.add(UOps.STORE, vin=(c1, c2, c3))
    assert metal(g) == (
        f"kernel void tester(device int* data0, {THREADS}) {{\n"  # a buffer is a pointer
        "  *(data0+0) = 10;\n"
        "}"
    )


def test_a_load():
    g = UOpGraph()
    input_value = g.add(UOps.DEFINE_GLOBAL, dtype=dtypes.int, vin=(), arg=(2, "data2", False))
    position = g.add(UOps.CONST, dtype=dtypes.int, arg=0)
    loaded = g.add(UOps.LOAD, dtype=dtypes.int, vin=(input_value, position))
    assert loaded.dtype is dtypes.int32
    assert str(g).splitlines()[-1] == "2  LOAD (0, 1) : i32"


def sum_of_two(position, target=None):
    g = UOpGraph()
    c1 = g.add(UOps.DEFINE_GLOBAL, dtype=dtypes.int, vin=(), arg=(0, "data0", True))
    x1 = g.add(UOps.DEFINE_GLOBAL, dtype=dtypes.int, vin=(), arg=(1, "data1", False))
    x2 = g.add(UOps.DEFINE_GLOBAL, dtype=dtypes.int, vin=(), arg=(2, "data2", False))
    pos_input = position(g)
    x1_loaded = g.add(UOps.LOAD, dtype=dtypes.int, vin=(x1, pos_input))
    x2_loaded = g.add(UOps.LOAD, dtype=dtypes.int, vin=(x2, pos_input))
    c4 = g.add(UOps.ALU, dtype=dtypes.int, vin=(x1_loaded, x2_loaded), arg=BinaryOps.ADD)
    pos = g.add(UOps.CONST, dtype=dtypes.int, arg=0) if target is None else pos_input
    g.add(UOps.STORE, vin=(c1, pos, c4))
    return g


POINTERS = "device int* data0, const device int* data1, const device int* data2"


def test_arithmetic():
    g = sum_of_two(lambda g: g.add(UOps.CONST, dtype=dtypes.int, arg=0))
    assert metal(g) == (
        f"kernel void tester({POINTERS}, {THREADS}) {{\n"
        "  int val0 = *(data1+0);\n"
        "  int val1 = *(data2+0);\n"
        "  *(data0+0) = (val0+val1);\n"
        "}"
    )


@pytest.mark.parametrize(("target", "place"), [(None, "0"), ("gidx0", "gidx0")])
def test_the_index_of_a_thread(target, place):
    g = sum_of_two(lambda g: g.add(UOps.SPECIAL, dtype=dtypes.int, arg=(0, "gidx0", 10)), target)
    assert metal(g) == (
        f"kernel void tester({POINTERS}, {THREADS}) {{\n"
        "  int gidx0 = gid.x; /* 10 */\n"
        "  int val0 = *(data1+gidx0);\n"
        "  int val1 = *(data2+gidx0);\n"
        f"  *(data0+{place}) = (val0+val1);\n"
        "}"
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_unused_load_stays(language):
    g = UOpGraph()
    x = memory(g, 0)
    g.add(UOps.LOAD, vin=(x, const(g, 3)))
    assert "val0" in uops_to_cstyle(language(), "tester", g)


def test_the_graph_prints_one_line_per_node():
    g = UOpGraph()
    out = memory(g, 0, True, dtypes.float)
    i = loop(g, 0, 4)
    half = const(g, 0.5, dtypes.float)
    test = g.add(UOps.ALU, vin=(i, const(g, 2)), arg=BinaryOps.CMPLT)
    branch = g.add(UOps.IF, vin=(test,))
    g.add(UOps.STORE, vin=(out, i, half))
    g.add(UOps.ENDIF, vin=(branch,))
    g.add(UOps.ENDLOOP, vin=(i,))
    assert str(g) == (
        " 0  DEFINE_GLOBAL (0, 'data0', True) : Ptr<f32, mutable>\n"
        " 1  CONST 0 : i32\n"
        " 2  CONST 4 : i32\n"
        " 3  LOOP (1, 2) : i32\n"
        " 4    CONST 0.5 : f32\n"
        " 5    CONST 2 : i32\n"
        " 6    ALU CMPLT (3, 5) : bool\n"
        " 7    IF (6)\n"
        " 8      STORE (0, 3, 4)\n"
        " 9    ENDIF (7)\n"
        "10  ENDLOOP (3)"
    )


# ---- one node or two


def test_equal_arithmetic_is_one_node_and_loads_are_two():
    g = UOpGraph()
    x = memory(g, 0, True)
    place = const(g, 0)
    first = g.add(UOps.LOAD, vin=(x, place))
    one = g.add(UOps.ALU, vin=(first, first), arg=BinaryOps.ADD)
    assert g.add(UOps.ALU, vin=(first, first), arg=BinaryOps.ADD) is one
    g.add(UOps.STORE, vin=(x, place, one))
    second = g.add(UOps.LOAD, vin=(x, place))
    assert second.value is not first.value
    names = [node.op.name for node in checked(g).body]
    assert names == ["load", "add", "store", "load"]


def test_arithmetic_of_two_loops_moves_out_of_both():
    g = UOpGraph()
    out, x = memory(g, 0, True), memory(g, 1)
    value = g.add(UOps.LOAD, vin=(x, const(g, 0)))
    for stop in (3, 5):
        i = loop(g, 0, stop)
        double = g.add(UOps.ALU, vin=(value, value), arg=BinaryOps.ADD)
        g.add(UOps.STORE, vin=(out, i, double))
        g.add(UOps.ENDLOOP, vin=(i,))
    names = [node.op.name for node in checked(g).body]
    assert names == ["load", "add", *(["range", "store", "end_range"] * 2)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_functions_are_made_of_basic_ops(language):
    g = UOpGraph()
    out, x = memory(g, 0, True, dtypes.float), memory(g, 1, False, dtypes.float)
    value = g.add(UOps.LOAD, vin=(x, const(g, 0)))
    g.add(UOps.STORE, vin=(out, const(g, 0), g.add(UOps.ALU, vin=(value,), arg=UnaryOps.EXP2)))
    checked(g)
    assert "exp2" not in uops_to_cstyle(language(), "tester", g)


def test_rendering_twice_gives_the_same_text_and_a_graph_can_grow_after_it():
    g = sum_of_two(lambda g: const(g, 0))
    first = metal(g)
    assert metal(g) == first
    g.add(UOps.STORE, vin=(g.nodes[0], const(g, 1), const(g, 7)))
    assert "*(data0+1) = 7;" in metal(g)


# ---- errors: each names the node, its kind and the line


def small():
    g = UOpGraph()
    out, x = memory(g, 0, True), memory(g, 1)
    return g, out, x


def values(g, x):
    integer = g.add(UOps.LOAD, vin=(x, const(g, 0)))
    return integer, const(g, 1.5, dtypes.float), const(g, True, dtypes.bool)


def _used_after(kind):
    def wrong(g, out, x):
        zero = const(g, 0)
        condition = g.add(UOps.ALU, vin=(zero, zero), arg=BinaryOps.CMPLT)
        head = loop(g, 0, 4) if kind is UOps.LOOP else g.add(kind, vin=(condition,))
        inside = g.add(UOps.LOAD, vin=(x, zero))
        g.add(UOps.ENDLOOP if kind is UOps.LOOP else UOps.ENDIF, vin=(head,))
        g.add(UOps.STORE, vin=(out, zero, inside))

    return wrong


def _wrong_end(g, out, x):
    outer = loop(g, 0, 4)
    loop(g, 0, 4)
    g.add(UOps.ENDLOOP, vin=(outer,))


def _ended_twice(g, out, x):
    i = loop(g, 0, 4)
    for _ in range(2):
        g.add(UOps.ENDLOOP, vin=(i,))


def _second_phi(g, out, x):
    acc = g.add(UOps.DEFINE_ACC, dtypes.int, arg=0)
    i = loop(g, 0, 4)
    for _ in range(2):
        g.add(UOps.PHI, vin=(acc, g.add(UOps.ALU, vin=(acc, i), arg=BinaryOps.ADD)))


def _phi_without_a_loop(g, out, x):
    acc = g.add(UOps.DEFINE_ACC, dtypes.int, arg=0)
    g.add(UOps.PHI, vin=(acc, const(g, 1)))


def _phi_of_a_foreign_loop(g, out, x):
    i = loop(g, 0, 4)
    acc = g.add(UOps.DEFINE_ACC, dtypes.int, arg=0)
    loop(g, 0, 4)
    g.add(UOps.PHI, vin=(acc, const(g, 1), i))


def _barrier_in_an_if(g, out, x):
    g.add(UOps.IF, vin=(const(g, True, dtypes.bool),))
    g.add(UOps.BARRIER)


def _local_in_a_loop(g, out, x):
    loop(g, 0, 4)
    g.add(UOps.DEFINE_LOCAL, dtypes.int, arg=("tile", 4))


def _other_graph(g, out, x):
    g.add(UOps.STORE, vin=(out, const(UOpGraph(), 0), const(g, 0)))


def _alu(*pick, op=BinaryOps.ADD, **rest):
    def wrong(g, out, x):
        found = values(g, x)
        g.add(UOps.ALU, vin=tuple(found[i] for i in pick), arg=op, **rest)

    return wrong


WRONG = [
    ("E2002", "no member of UOps", lambda g, out, x: g.add("LOOP")),
    ("E2007", "takes 0 operands", lambda g, out, x: g.add(UOps.CONST, dtypes.int, (out,), 1)),
    ("E2003", "needs a dtype", lambda g, out, x: g.add(UOps.CONST, arg=1)),
    ("E2001", "not a dtype", lambda g, out, x: g.add(UOps.CONST, "int33", arg=1)),
    ("E2001", "arg is a number", lambda g, out, x: g.add(UOps.CONST, dtypes.int, arg="1")),
    ("E2006", "no value of int32", lambda g, out, x: const(g, 1.5)),
    ("E2006", "no value of int32", lambda g, out, x: const(g, math.inf)),
    ("E2006", "not a value of uint8", lambda g, out, x: const(g, 256, dtypes.uint8)),
    ("E2006", "no value of bool", lambda g, out, x: const(g, 2, dtypes.bool)),
    ("E2005", "real numbers", lambda g, out, x: const(g, 1, dtypes.complex64)),
    ("E4002", "slot 1 is taken by node 1", lambda g, out, x: memory(g, 1)),
    (
        "E4002",
        "'data1' is taken by node 1",
        lambda g, out, x: g.add(UOps.DEFINE_GLOBAL, dtypes.int, arg=(2, "data1", False)),
    ),
    ("E4004", "slot 4 comes after slot 5", lambda g, out, x: (memory(g, 5), memory(g, 4))),
    ("E4004", "slot -1", lambda g, out, x: memory(g, -1)),
    ("E4004", "there is no parameter 2", lambda g, out, x: (memory(g, 5), g.program())),
    (
        "E2007",
        "arg is (slot, name, mutable",
        lambda g, out, x: g.add(UOps.DEFINE_GLOBAL, dtypes.int, arg=("data2", 2)),
    ),
    (
        "E1002",
        "no name of a parameter",
        lambda g, out, x: g.add(UOps.DEFINE_GLOBAL, dtypes.int, arg=(2, "2x", False)),
    ),
    ("E1002", "no name of a kernel", lambda g, out, x: g.program("two words")),
    ("E1002", "5 is no name of a kernel", lambda g, out, x: g.program(5)),
    (
        "E3006",
        "no memory",
        lambda g, out, x: g.add(UOps.DEFINE_LOCAL, dtypes.int, arg=("tile", 0)),
    ),
    ("E4001", "before the first LOOP", _local_in_a_loop),
    (
        "E2002",
        "no index of a thread",
        lambda g, out, x: g.add(UOps.SPECIAL, dtypes.int, arg=(0, "tidx", 4)),
    ),
    (
        "E3006",
        "no threads",
        lambda g, out, x: g.add(UOps.SPECIAL, dtypes.int, arg=(0, "gidx0", 0)),
    ),
    (
        "E4002",
        "gidx0 has another size",
        lambda g, out, x: [g.add(UOps.SPECIAL, arg=(0, "gidx0", n)) for n in (4, 5)],
    ),
    (
        "E2001",
        "from a CONST to a CONST",
        lambda g, out, x: g.add(UOps.LOOP, vin=(const(g, 0), values(g, x)[0])),
    ),
    ("E2007", "takes 2 operands, got 1", lambda g, out, x: g.add(UOps.LOOP, vin=(const(g, 0),))),
    ("E2005", "no integer", lambda g, out, x: g.add(UOps.LOOP, vin=values(g, x)[1:2] * 2)),
    ("E3006", "never runs", lambda g, out, x: loop(g, 3, 3)),
    ("E4001", "an ENDLOOP is missing", lambda g, out, x: (loop(g, 0, 3), g.program())),
    (
        "E4001",
        "an ENDIF is missing",
        lambda g, out, x: (g.add(UOps.IF, vin=values(g, x)[2:]), g.program()),
    ),
    ("E4001", "has not ended", _wrong_end),
    ("E2007", "takes 1 operands, got 0", lambda g, out, x: g.add(UOps.ENDLOOP)),
    ("E4001", "used outside the LOOP", _ended_twice),
    (
        "E2001",
        "first operand is CONST, not DEFINE_GLOBAL",
        lambda g, out, x: g.add(UOps.STORE, vin=(const(g, 0), const(g, 0), const(g, 1))),
    ),
    ("E2001", "operand 1 is None", lambda g, out, x: g.add(UOps.LOAD, vin=(x, None))),
    ("E2006", "not a value of uint32", lambda g, out, x: const(g, -1, dtypes.uint)),
    ("E2001", "ends a LOOP, not a CONST", lambda g, out, x: g.add(UOps.ENDLOOP, vin=const(g, 0))),
    ("E4001", "outside the LOOP", _used_after(UOps.LOOP)),
    ("E4001", "outside the IF", _used_after(UOps.IF)),
    ("E4001", "another graph", _other_graph),
    ("E2001", "no node of a graph", lambda g, out, x: g.add(UOps.LOAD, vin=(x, 0))),
    ("E2005", "scalar bool", lambda g, out, x: g.add(UOps.IF, vin=(const(g, 1),))),
    ("E4001", "waited for forever", _barrier_in_an_if),
    ("E2007", "takes 2 or 4 operands", lambda g, out, x: g.add(UOps.LOAD, vin=(x,))),
    (
        "E2001",
        "first operand is CONST",
        lambda g, out, x: g.add(UOps.LOAD, vin=values(g, x)[1:] * 1),
    ),
    (
        "E4011",
        "index is an integer",
        lambda g, out, x: g.add(UOps.LOAD, vin=(x, values(g, x)[1])),
    ),
    (
        "E2001",
        "gives int32, not float32",
        lambda g, out, x: g.add(UOps.LOAD, dtypes.float, vin=(x, const(g, 0))),
    ),
    (
        "E2001",
        "read-only",
        lambda g, out, x: g.add(UOps.STORE, vin=(x, const(g, 0), const(g, 1))),
    ),
    (
        "E2004",
        "another dtype",
        lambda g, out, x: g.add(UOps.STORE, vin=(out, const(g, 0), values(g, x)[1])),
    ),
    (
        "E2001",
        "has no value, so no dtype",
        lambda g, out, x: g.add(UOps.STORE, dtypes.float, (out, const(g, 0), const(g, 1))),
    ),
    (
        "E6001",
        "index 4 is outside memory of 4",
        lambda g, out, x: g.add(UOps.LOAD, vin=(memory(g, 2, False, dtypes.int, 4), const(g, 4))),
    ),
    ("E2007", "takes 2 operands, got 1", _alu(0)),
    ("E2002", "member of UnaryOps", _alu(0, 0, op="ADD")),
    ("E2004", "the dtypes differ: int32, float32", _alu(0, 1)),
    ("E2005", "takes integers, not float32", _alu(1, 1, op=BinaryOps.SHL)),
    ("E2005", "takes floats, not int32", _alu(0, op=UnaryOps.SQRT)),
    ("E2005", "chooses by int32", _alu(0, 0, 0, op=TernaryOps.WHERE)),
    ("E2001", "gives bool, not int32", _alu(0, 0, op=BinaryOps.CMPLT, dtype=dtypes.int)),
    (
        "E2001",
        "operand 0, DEFINE_GLOBAL, has no value",
        lambda g, out, x: g.add(UOps.ALU, vin=(x,), arg=UnaryOps.NEG),
    ),
    (
        "E2005",
        "the bits of float32",
        lambda g, out, x: g.add(UOps.BITCAST, dtypes.int64, vin=values(g, x)[1:2]),
    ),
    ("E2003", "needs a dtype", lambda g, out, x: g.add(UOps.CAST, vin=values(g, x)[:1])),
    ("E2007", "starts from", lambda g, out, x: g.add(UOps.DEFINE_ACC, dtypes.int)),
    ("E4002", "the accumulator is updated by node", _second_phi),
    ("E4001", "no loop is open", _phi_without_a_loop),
    ("E4001", "loops around it", _phi_of_a_foreign_loop),
    ("E2001", "updates a DEFINE_ACC", lambda g, out, x: g.add(UOps.PHI, vin=(const(g, 0),) * 2)),
]


@pytest.mark.parametrize(("code", "words", "build"), WRONG, ids=[w[1] for w in WRONG])
def test_a_wrong_graph_is_an_error(code, words, build):
    g, out, x = small()
    with pytest.raises(AdjointError) as caught:
        build(g, out, x)
    assert caught.value.code == code
    assert words in str(caught.value)
    named = "node " in str(caught.value) and "test_uopgraph.py:" in str(caught.value)
    assert named or "kernel" in words


def test_an_error_shows_the_operands_and_their_lines():
    g, _, x = small()
    with pytest.raises(AdjointError, match=r"ALU ADD: node 2 at test_uopgraph.py:\d+") as caught:
        g.add(UOps.ALU, vin=(x,), arg=BinaryOps.ADD)
    assert "node 1 DEFINE_GLOBAL  Ptr<i32>" in str(caught.value)


def test_what_fails_leaves_the_graph_as_it_was():
    g, _, x = small()
    before = str(g)
    with pytest.raises(AdjointError):
        g.add(UOps.LOAD, vin=(x,))
    assert str(g) == before


@pytest.mark.parametrize(
    ("language", "graph"),
    [("metal", UOpGraph()), (MetalLanguage, UOpGraph()), (MetalLanguage(), None)],
    ids=["a string", "a class", "no graph"],
)
def test_wrong_arguments_of_uops_to_cstyle(language, graph):
    with pytest.raises(AdjointError, match=r"E2001.*uops_to_cstyle: takes"):
        uops_to_cstyle(language, "tester", graph)


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_empty_graph_is_an_empty_kernel(language):
    assert "tester(" in uops_to_cstyle(language(), "tester", UOpGraph())
