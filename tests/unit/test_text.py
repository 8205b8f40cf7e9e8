"""Graphs as text: golden lines, the round trip, and a reader that survives any input."""

import random

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.errors import AdjointError, InternalError, TextError
from adjoint.ir.dtype import ALL, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.parse import parse
from adjoint.ir.text import text, value_text
from adjoint.ops import loop_ops as k
from tests.ops.cases import RECORDS, adapted, call, dtypes_of, outputs


def lines(node, **options):
    return text(node, **options).splitlines()


def round_trip(*roots):
    printed = text(*roots)
    again = text(*parse(printed))
    assert again == printed
    return parse(printed)


x = OPS["input"]("x", (2, 3), "float32")

# ---- printing


def test_one_line_per_node_in_order():
    assert lines(x.exp() * 2 + x) == [
        '%0 = input() {name: "x"} : Tensor<f32, [2, 3]>',
        "%1 = exp(%0) : Tensor<f32, [2, 3]>",
        "%2 = const() {value: 2.0} : Tensor<f32, [2, 3]>",
        "%3 = mul(%1, %2) : Tensor<f32, [2, 3]>",
        "%4 = add(%3, %0) : Tensor<f32, [2, 3]>",
        "outputs: %4",
    ]


def test_attributes_are_those_of_the_record():
    assert lines(x.permute(1, 0))[1] == "%1 = permute(%0) {order: [1, 0]} : Tensor<f32, [3, 2]>"
    assert lines(x.cast("int8"))[1] == "%1 = cast(%0) {dtype: i8} : Tensor<i8, [2, 3]>"
    reduced = "%1 = reduce_sum(%0) {axis: [1], keepdim: true} : Tensor<f32, [2, 1]>"
    assert lines(x.reduce_sum(1, True))[1] == reduced


def test_composites_stay_whole():
    assert lines(x.softmax(0))[1].startswith("%1 = softmax(%0) {axis: 0")


def test_several_outputs():
    y = x.exp()
    assert text(y, x, y).splitlines()[-1] == "outputs: %1, %0, %1"


def test_buffers_are_inputs_and_their_contents_are_not_printed():
    node = (Tensor(np.full((2,), 123.5, np.float32), device="REF") * 2).uop
    assert lines(node)[0] == '%0 = input() {name: "b0", device: "REF"} : Tensor<f32, [2]>'
    assert "123.5" not in text(node)


def test_names_of_buffers_keep_clear_of_inputs():
    taken = OPS["input"]("b0", (2,), "float32", "REF")
    node = Tensor(np.zeros(2, np.float32), device="REF").uop + taken
    assert '{name: "b1", device: "REF"}' in text(node)
    round_trip(node)


def test_origins_are_comments():
    y = x.exp()
    printed = text(y, origins=True)
    assert printed.splitlines()[1].endswith(f" at test_text.py:{y.origin.line}")
    assert parse(printed) == [y]


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (True, "true"),
        (None, "null"),
        (-7, "-7"),
        (1.0, "1.0"),
        (1e22, "1e+22"),
        (-0.0, "-0.0"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (float("nan"), "nan"),
        (1 - 2j, "complex(1.0, -2.0)"),
        ('a"b\\\n', '"a\\"b\\\\\\n"'),
        ((1, (2.5, None)), "[1, [2.5, null]]"),
        (dtypes.bfloat16, "bf16"),
    ],
    ids=str,
)
def test_values(value, printed):
    assert value_text(value) == printed


def test_what_has_no_text_form_is_our_fault():
    with pytest.raises(InternalError, match="no text form"):
        value_text(object())


# ---- round trip


@pytest.mark.parametrize("value", [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 0.1, 5e-324])
def test_every_float_comes_back_bit_for_bit(value):
    node = OPS["const"](value, "float64", (2,))
    assert round_trip(node) == [node]


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_constants_of_every_dtype_come_back(dtype):
    value = {"b": True, "c": complex(1.5, -0.0), "f": -2.5}.get(dtype.kind, 7)
    node = OPS["const"](value, dtype, (2, 0), "REF")
    assert round_trip(node) == [node]


def test_two_kinds_of_nan_stay_two():
    nodes = [OPS["const"](v, "float64") for v in (np.nan, -np.nan)]
    assert round_trip(nodes[0] + nodes[1]) == [nodes[0] + nodes[1]]


def test_complex_zeros_stay_apart():
    nodes = [OPS["const"](v, "complex64") for v in (complex(0.0, 0.0), complex(0.0, -0.0))]
    assert nodes[0] is not nodes[1]
    assert round_trip(*nodes) == nodes


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.name)
def test_every_op_comes_back(record):
    dtype = next(d for d in (dtypes.float32, *dtypes_of(record)) if d in dtypes_of(record))
    for sample in record.samples():
        results = outputs(call(record, adapted(sample, dtype)))
        round_trip(*(r.uop for r in results if isinstance(r, Tensor)))


def test_a_gradient_comes_back():
    a = Tensor(np.ones((2, 3), np.float32), requires_grad=True)
    ((a @ a.T).softmax(1).log() * 2).sum().backward()
    round_trip(a.grad.uop)


def test_a_kernel_comes_back():
    out, src = k.define_global(0, "out", True, "float32", 4), k.define_global(1, "in", False, "f32")
    i, r, acc = k.range_(0, 4), k.range_(1, 4), k.define_acc(OPS["const"](0.0, "f32"), 0)
    total = k.phi(acc, acc + k.load(src, i * 4 + r), r)
    shared = k.define_local("tmp", "int8", 8)
    other = k.store(shared, k.special("lidx0", 8), k.variable("n", 0, 9, "int8"))
    sink = k.sink(k.end_range(i, k.store(out, i, total)), k.barrier(other), name="row_sum")
    assert round_trip(sink) == [sink]
    assert (
        "%0 = range() {id: 0, size: 4, start: 0, lanes: 1, grid: false} : Tensor<i32, []>"
        in text(i)
    )
    assert ": Ptr<f32, mutable>" in text(out)
    assert ": Ptr<i8, local, mutable>" in text(shared)
    assert lines(sink)[-2].endswith('{name: "row_sum"} : Void')


def test_deep_graphs_come_back():
    node = x
    for _ in range(5000):
        node = -node
    assert round_trip(node) == [node]


# ---- reading


def test_the_reader_is_free_about_layout():
    source = """
    # a comment
    %a = input() {name: "x",} : Tensor<f32, [2, 3,]>  /* and
    another */ %b=exp(%a,):Tensor<f32,[2,3]>
    outputs: %b, %a
    """
    assert parse(source) == [x.exp(), x]
    assert parse(source.encode()) == [x.exp(), x]


HEAD = '%0 = input() {name: "x"} : Tensor<f32, [2, 3]>\n'
WIDE = '%1 = input() {name: "y"} : Tensor<f64, [2, 3]>\n'


@pytest.mark.parametrize(
    ("code", "place", "source"),
    [
        ("E1001", "byte 0", b"\xff\xfe"),
        ("E1002", "1:1", "$"),
        ("E1002", "1:2", "%-1 = "),
        ("E1003", "1:21", '%0 = input() {name: "x} : Tensor<f32, []>'),
        ("E1004", "1:21", r'%0 = input() {name: "\q"} : Tensor<f32, []>'),
        ("E1005", "1:22", "%0 = const() {value: " + "9" * 500 + "} : Tensor<i32, []>"),
        ("E1005", "1:22", "%0 = const() {value: complex(1)} : Tensor<c64, []>"),
        ("E1006", "2:1", HEAD + "/* not closed"),
        ("E2001", "2:10", HEAD + "%1 = exp(0) : Tensor<f32, [2, 3]>"),
        ("E2001", "2:16", HEAD + "%1 = exp(%0) : Tensor<f32, [3, 2]>\noutputs: %1"),
        ("E2001", "2:16", HEAD + "%1 = exp(%0) : Tensor<f64, [2, 3]>\noutputs: %1"),
        ("E2001", "2:6", HEAD + "%1 = cast(%0) {dtype: 7} : Tensor<i8, [2, 3]>"),
        ("E2001", "1:16", "%0 = input() : Scalar<f32>"),
        ("E2001", "2:13", HEAD + "outputs: %0 %0"),
        ("E2002", "2:6", HEAD + "%1 = expp(%0) : Tensor<f32, [2, 3]>"),
        ("E2002", "2:6", HEAD + "%1 = div(%0, %0) : Tensor<f32, [2, 3]>"),
        ("E2002", "1:33", '%0 = input() {name: "x", dtype: f31} : Tensor<f32, []>'),
        ("E2002", "1:23", "%0 = input() : Tensor<f31, []>"),
        ("E2004", "3:6", HEAD + WIDE + "%2 = add(%0, %1) : Tensor<f32, [2, 3]>"),
        ("E2006", "1:6", "%0 = const() {value: 300} : Tensor<u8, []>\noutputs: %0"),
        ("E2007", "2:6", HEAD + "%1 = exp(%0) {fast: true} : Tensor<f32, [2, 3]>"),
        ("E2007", "2:6", HEAD + "%1 = reshape(%0) {size: 6} : Tensor<f32, [6]>"),
        ("E2007", "2:6", HEAD + "%1 = add(%0) : Tensor<f32, [2, 3]>"),
        ("E3006", "1:29", "%0 = input() : Tensor<f32, [-2]>"),
        ("E3007", "2:6", HEAD + "%1 = reshape(%0) {shape: [5]} : Tensor<f32, [5]>"),
        ("E4001", "2:11", HEAD + "%1 = exp(%2) : Tensor<f32, [2, 3]>"),
        ("E4001", "2:11", HEAD + "%1 = exp(%1) : Tensor<f32, [2, 3]>"),
        ("E4002", "2:2", HEAD + HEAD),
        ("E4002", "1:26", '%0 = input() {name: "a", name: "b"} : Tensor<f32, []>'),
        ("E4003", "2:11", HEAD + "outputs: %1"),
        ("E4003", "2:1", HEAD + "output: %0"),
        ("E6002", "1:6", '%0 = input() {name: "a", device: "GPUU"} : Tensor<f32, []>'),
    ],
)
def test_errors_have_a_code_and_a_place(code, place, source):
    with pytest.raises(TextError) as caught:
        parse(source)
    assert caught.value.code == code, str(caught.value)
    assert place in str(caught.value), str(caught.value)


def test_an_unknown_op_is_met_with_a_suggestion():
    with pytest.raises(TextError, match="did you mean 'softmax'"):
        parse(HEAD + "%1 = softmaks(%0) : Tensor<f32, [2, 3]>")


SEEDS = (
    lambda: text((x.softmax(1) @ x.permute(1, 0)).reduce_sum(0) + 2.5),
    lambda: text(x.pad_constant((1, 0), (0, 1), None, -0.0).shrink(((0, 2), (1, 3))).cast("i8")),
    lambda: text(
        k.sink(k.store(k.define_global(0, "o", True, "i32"), k.range_(0, 4), k.range_(0, 4)))
    ),
    lambda: text(OPS["const"](1 + 2j, "complex64", (2,)).abs()),
)
PIECES = (
    "%",
    "0",
    "1",
    "-",
    ",",
    ":",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    '"',
    "\\",
    "<",
    ">",
    "#",
    "/*",
)
PIECES += ("null", "true", "nan", "inf", "f32", "1e999", "99999999999", "outputs", "é", "\n", "x")


@pytest.mark.parametrize("seed", range(len(SEEDS)))
def test_mutated_text_is_a_graph_or_an_error_of_ours(seed):
    generator, source = random.Random(seed), SEEDS[seed]()
    for _ in range(600):
        mutated = source
        for _ in range(generator.randint(1, 4)):
            at, span = generator.randrange(len(mutated)), generator.choice((0, 0, 1, 5))
            piece = generator.choice((*PIECES, ""))
            mutated = mutated[:at] + piece + mutated[at + span :]
        try:
            round_trip(*parse(mutated))
        except AdjointError:
            continue


@pytest.mark.parametrize(
    "source",
    [
        "%0 = const() {value: " + "[" * 100_000,
        "%0 = const() : " + "(" * 100_000,
        "",
        "outputs:",
        "%" * 1000,
    ],
    ids=range(5),
)
def test_hostile_text_does_no_harm(source):
    with pytest.raises(TextError):
        parse(source)


def test_a_graph_of_any_size_can_be_read():
    source = '%0 = input() {name: "x"} : Tensor<f32, [9223372036854775807, 9]>\noutputs: %0,'
    assert parse(source)[0].shape == (2**63 - 1, 9)
