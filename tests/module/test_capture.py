"""Functions as modules: captured, printed, read, run, differentiated, and called on tensors."""

from functools import partial

import numpy as np
import pytest

import adjoint
from adjoint import Tensor
from adjoint.errors import AdjointError
from adjoint.ir.opdef import OPS
from adjoint.module import differentiate, parse
from adjoint.module.generic import generic_opcodes
from adjoint.tensor.tensor import lift
from adjoint.transforms.capture import capture
from tests.module.captured import OTHERS, SCALARS, real
from tests.module.mutations import EXAMPLE
from tests.ops.cases import RECORDS, _leaves, _mapped


def _tensors(args):
    return adjoint.tree_map(Tensor, args)


@pytest.mark.parametrize("name", [*SCALARS, *OTHERS])
def test_the_captured_text_runs_to_what_the_function_gives(name):
    fn, args = (SCALARS | OTHERS)[name]
    module = capture(fn, *args)
    again = parse(module.text())
    assert again.text() == module.text()
    tensors = _tensors(args)
    wanted = adjoint.tree_leaves(fn(*tensors))
    for got, value in zip(again.run(adjoint.tree_leaves(tensors)), wanted, strict=True):
        assert got.dtype is value.dtype
        np.testing.assert_array_equal(got.numpy(), value.numpy())


@pytest.mark.parametrize("name", SCALARS)
def test_the_gradient_module_gives_the_gradient_of_the_function(name):
    fn, args = SCALARS[name]
    tensors = _tensors(args)
    floats = tuple(i for i, t in enumerate(tensors) if t.dtype.is_float)
    text = differentiate(capture(fn, *args)).gradient_module.text()
    found = parse(text).run(list(tensors))[1:]
    for got, wanted in zip(found, adjoint.grad(fn, argnums=floats)(*tensors), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["mlp", "attention", "recurrent", "embedding with repeats"])
def test_a_module_stands_inside_a_transform(name):
    fn, args = SCALARS[name]
    module, tensors = capture(fn, *args), _tensors(args)
    floats = tuple(i for i, t in enumerate(tensors) if t.dtype.is_float)
    value, grads = adjoint.value_and_grad(module, argnums=floats)(*tensors)
    expected, wanted = adjoint.value_and_grad(fn, argnums=floats)(*tensors)
    np.testing.assert_array_equal(value.numpy(), expected.numpy())
    for got, other in zip(grads, wanted, strict=True):
        np.testing.assert_allclose(got.numpy(), other.numpy(), rtol=1e-6, atol=1e-8)


def test_a_module_is_batched_and_captured_again():
    module = parse(EXAMPLE)
    x, y = Tensor(real(4, 2, 3)), Tensor(real(4, 2, 3))
    many = adjoint.vmap(module)(x, y).numpy()
    np.testing.assert_allclose(many, (x * y + x).sum((1, 2)).numpy(), rtol=1e-6)
    assert capture(module, x[0], y[0]).text() == EXAMPLE


def test_a_call_keeps_whether_a_gradient_is_wanted():
    x, y = Tensor(real(2, 3), requires_grad=True), Tensor(real(2, 3))
    parse(EXAMPLE)(x, y).backward()
    np.testing.assert_array_equal(x.grad.numpy(), (y + 1).numpy())


def test_several_outputs_come_as_a_tuple():
    x = Tensor(real(2, 3))
    first, second = parse(EXAMPLE).with_outputs([2, 4])(x, x)
    assert (first.shape, second.shape) == ((2, 3), ())


def test_the_inputs_are_named_after_the_parameters():
    module = capture(lambda weights, *rest: weights["a"] + weights["b"] + rest[0], {
        "a": real(2), "b": real(2)}, real(2))  # fmt: skip
    assert [ins.attrs[0] for ins in module.inputs] == ["weights.0", "weights.1", "x1"]


def test_inputs_are_given_by_name_or_in_order_and_numbers_take_the_declared_dtype():
    module = parse(EXAMPLE)
    rows = [[1, 2, 3], [4, 5, 6]]
    by_name = module.run({"y": np.ones((2, 3), np.float32), "x": rows})[0]
    assert by_name.item() == module.run([rows, Tensor.ones(2, 3)])[0].item() == 42.0
    assert by_name.dtype.name == "float32"


@pytest.mark.parametrize(
    ("code", "inputs"),
    [
        ("E2002", {"x": np.zeros((2, 3), np.float32)}),
        ("E2002", {"x": 1.0, "y": 2.0, "z": 3.0}),
        ("E2007", [1.0]),
        ("E2001", [np.zeros((2, 3)), np.zeros((2, 3))]),
        ("E3003", [np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)]),
        ("E3003", [1.0, 1.0]),
        ("E3010", [[[1.0], [1.0, 2.0]], 1.0]),
    ],
)
def test_inputs_that_do_not_fit_are_errors(code, inputs):
    with pytest.raises(AdjointError, match=code):
        parse(EXAMPLE).run(inputs)


@pytest.mark.parametrize(
    "line",
    ["Index(%0, [2, 0]) : Tensor<f32, []>", "Gather(%0, %1) : Tensor<f32, [1, 3]>"],
)
def test_bounds_are_checked_when_a_module_is_run(line):
    text = '%0 = Input() {name: "x"} : Tensor<f32, [2, 3]>\n'
    text += f'%1 = Input() {{name: "i"}} : Tensor<i32, [1]>\n%2 = {line}\noutputs: %2'
    with pytest.raises(AdjointError, match="E6001"):
        parse(text).run([real(2, 3), np.array([5], np.int32)])


def test_a_module_runs_on_the_device_that_is_named():
    (value,) = parse(EXAMPLE).run([real(2, 3), real(2, 3)], device="REF")
    assert value.device == "REF"
    with pytest.raises(AdjointError, match="E6002"):
        parse(EXAMPLE).run([real(2, 3), real(2, 3)], device="NOWHERE")


def test_attributes_that_no_device_can_use_are_a_coded_error():
    text = '%0 = Input() {name: "x"} : Tensor<f32, [2, 2]>\n'
    text += '%1 = Pinv(%0) {rcond: "much"} : Tensor<f32, [2, 2]>\noutputs: %1'
    with pytest.raises(AdjointError, match="E2001"):
        parse(text).run([np.eye(2, dtype=np.float32)])


def test_a_large_tensor_from_outside_is_an_error():
    big = Tensor(np.zeros(2**20 + 1, np.float32))
    with pytest.raises(AdjointError, match="E2006"):
        capture(lambda x: x + big, real(1))


def test_where_something_is_computed_leaves_no_trace():
    module = capture(lambda x: adjoint.checkpoint(lambda y: y.to("REF").exp())(x), real(2))
    assert [ins.opcode for ins in module.instructions] == ["Input", "Exp"]


def test_every_record_that_a_node_can_have_is_an_opcode_or_a_word_of_core():
    words = {"add", "sub", "mul", "true_div", "neg", "exp", "log", "reshape", "permute", "expand"}
    words |= {"shrink", "const", "input", "buffer", "spent"}
    words |= {"checkpoint", "unique_identity", "copy", "shard", "wait"}
    words |= {"axis_gather", "axis_permute"}  # of a named axis, which is open only inside vmap
    words |= COMPILED | {"gradient_of"}  # of attention on a GPU: a capture has no device
    named = {op.record.name for op in generic_opcodes().values()}
    nodes = {r.name for r in OPS.values() if r.kind != "derived" and r.level != "kernel"}
    assert nodes - named == words
    assert not named & words


COLLECTIVES = {"all_gather", "all_reduce", "all_to_all", "axis_index", "collective_permute"}
COLLECTIVES |= {"reduce_scatter", "send_rows", "to_stage"}
COMPILED = {  # made when a program is compiled, of the nodes that a user's graph has
    *("contract_words", "join_words", "finished_product", "convolve", "transform", "factor"),
    *("fused_attention", "fused_attention_queries", "fused_attention_keys"),
}


# Nodes that no op of the vocabulary makes: how a function comes to have one.
MADE = {
    "branch": lambda x: adjoint.cond(x.sum() > 0, lambda y: y * 2, lambda y: y, x),
    "loop": lambda x: adjoint.scan(lambda h, v: (h + v, h * v), x[0], x),
    "while": lambda x: adjoint.while_loop(lambda v: v.sum() < 3, lambda v: v + 1, x),
    "choose": lambda x: adjoint.vmap(lambda v: adjoint.cond(v > 0, lambda a: a, lambda a: -a, v))(
        x
    ),
    "bundle": adjoint.vmap(lambda v: adjoint.scan(lambda c, x: (c + x, c), v, v.reshape(1))[0]),
    "part": lambda x: x.sort(0),
    "checkpoint": adjoint.checkpoint(lambda x: (x.sin(), x.cos())),
    "wait": adjoint.grad(lambda x: adjoint.checkpoint(lambda y: y.sin().exp())(x).sum()),
    "custom_vjp": adjoint.vmap(SCALARS["reverse rule"][0], in_axes=(0, None)),
    "custom_jvp": adjoint.grad(lambda x: SCALARS["tangent rule"][0](x) ** 2),
    "copy": lambda x: x.to("REF") + 1,
    "const": lambda x: x * 0 + 1,
    "buffer": lambda x: x + Tensor(np.ones(3, np.float32)),
    "input": lambda x: x,
}


@pytest.mark.parametrize("name", MADE)
def test_nodes_of_transforms_are_captured(name):
    args = [real(3)] * (2 if name == "custom_vjp" else 1)
    module = capture(MADE[name], *args)
    tensors = _tensors(args)
    wanted = adjoint.tree_leaves(MADE[name](*tensors))
    for got, value in zip(parse(module.text()).run(tensors), wanted, strict=True):
        np.testing.assert_array_equal(got.numpy(), value.numpy())
    assert parse(module.text()).text() == module.text()


def test_no_record_is_left_out():
    names = {r.name for r in OPS.values() if r.kind != "derived" and r.level != "kernel"}
    assert names - {r.name for r in RECORDS} == MADE.keys() | {
        "spent",
        "custom_kernel",  # a kernel's loops have no text of their own
        "tap",  # a module computes, and does nothing else
        *COMPILED,
        "gradient_of",
        *("axis_gather", "axis_permute"),  # of one example: gone when vmap is done
        *COLLECTIVES,  # of members of a mesh: tests/sharding/test_collectives.py
    }


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.name)
def test_every_sample_of_every_op_is_captured(record):
    for sample in record.samples():
        arrays = [a for a in _leaves((sample.args, sample.kwargs)) if isinstance(a, np.ndarray)]
        text = capture(partial(applied, record, sample), *arrays).text()
        assert parse(text).text() == text


def applied(record, sample, *tensors):
    """The op on the sample, with tensors in place of its arrays."""
    rest = iter(tensors)
    put = lambda a: next(rest) if isinstance(a, np.ndarray) else a  # noqa: E731
    return lift(record, _mapped(sample.args, put), _mapped(sample.kwargs, put))


def test_a_value_of_a_function_that_has_ended_is_refused():
    kept = []
    adjoint.grad(lambda x: kept.append(x * 2) or x.sum())(Tensor(real(3)))
    with pytest.raises(AdjointError, match="E6003: capture: a value is used that was traced"):
        capture(lambda x: x + kept[0], real(3))
