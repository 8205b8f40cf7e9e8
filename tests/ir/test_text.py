"""Graphs as text: golden lines, and different graphs have different texts."""

import numpy as np
import pytest

from adjoint import Tensor, cond, lower, scan
from adjoint.errors import InternalError
from adjoint.ir.dtype import ALL, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.text import text, value_text
from adjoint.ir.uop import toposort
from adjoint.ops import loop_ops as k
from tests.ops.cases import RECORDS, adapted, call, dtypes_of, outputs


def lines(node, **options):
    return text(node, **options).splitlines()


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


def test_functions_of_loops_follow_the_graph_by_name():
    x = Tensor(np.ones(3, np.float32), device="REF")
    step = lambda c, i: (cond(c.sum() > 9, lambda c: c, lambda c: c * 2, c), ())  # noqa: E731
    shown = lines(scan(step, x, length=4)[0].uop)
    assert [line.strip() for line in shown if "outputs" in line or "@f" in line] == [
        "%1 = loop(%0) {body: @f0, carries: 1, sequences: 0, length: 4, reverse: false} : "
        "(Tensor<f32, [3]>)",
        "outputs: %2",
        "@f0:",
        "%4 = branch(%3, %1) {true: @f1, false: @f2} : (Tensor<f32, [3]>)",
        "outputs: %5",
        "@f1:",
        "outputs: %0",
        "@f2:",
        "outputs: %2",
    ]
    assert shown[6] == '  %1 = input() {name: "a0", device: "REF"} : Tensor<f32, [3]>'


def test_a_function_that_is_called_twice_is_printed_once():
    step = lambda c, i: (c * 2, ())  # noqa: E731
    once = scan(step, scan(step, Tensor.ones(3), length=4)[0], length=5)[0]
    assert [line for line in lines(once.uop) if line.startswith("@")] == ["@f0:"]
    assert "loop(" in lower(lambda x: scan(step, x, length=4)[0])(Tensor.ones(3)).graph()


def test_origins_are_comments():
    y = x.exp()
    printed = text(y, origins=True)
    assert printed.splitlines()[1].endswith(f" at test_text.py:{y.origin.line}")


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


# ---- different graphs, different texts


def test_floats_are_printed_bit_for_bit():
    values = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 0.1, 5e-324, 1e22]
    assert len({text(OPS["const"](v, "float64", (2,))) for v in values}) == len(values)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_constants_of_every_dtype_are_printed_with_it(dtype):
    value = {"b": True, "c": complex(1.5, -0.0), "f": -2.5}.get(dtype.kind, 7)
    printed = text(OPS["const"](value, dtype, (2, 0), "REF"))
    assert f": Tensor<{dtype.short}, [2, 0]>" in printed


def test_complex_zeros_stay_apart():
    nodes = [OPS["const"](v, "complex64") for v in (complex(0.0, 0.0), complex(0.0, -0.0))]
    assert nodes[0] is not nodes[1]
    assert text(nodes[0]) != text(nodes[1])


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.name)
def test_every_op_has_a_text(record):
    dtype = next(d for d in (dtypes.float32, *dtypes_of(record)) if d in dtypes_of(record))
    for sample in record.samples():
        results = outputs(call(record, adapted(sample, dtype)))
        roots = [r.uop for r in results if isinstance(r, Tensor)]
        assert len(text(*roots).splitlines()) == len(toposort(roots)) + 1


def test_a_kernel_has_a_text():
    out, src = k.define_global(0, "out", True, "float32", 4), k.define_global(1, "in", False, "f32")
    i, r, acc = k.range_(0, 4), k.range_(1, 4), k.define_acc(OPS["const"](0.0, "f32"), 0)
    total = k.phi(acc, acc + k.load(src, i * 4 + r), r)
    shared = k.define_local("tmp", "int8", 8)
    other = k.store(shared, k.special("lidx0", 8), k.variable("n", 0, 9, "int8"))
    sink = k.sink(k.end_range(i, k.store(out, i, total)), k.barrier(other), name="row_sum")
    assert (
        "%0 = range() {id: 0, size: 4, start: 0, lanes: 1, grid: false} : Tensor<i32, []>"
        in text(i)
    )
    assert ": Ptr<f32, mutable>" in text(out)
    assert ": Ptr<i8, local, mutable>" in text(shared)
    assert lines(sink)[-2].endswith('{name: "row_sum"} : Void')


def test_deep_graphs_have_a_text():
    node = x
    for _ in range(5000):
        node = -node
    assert len(lines(node)) == 5002
