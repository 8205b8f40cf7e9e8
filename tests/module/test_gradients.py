"""Gradients of modules: each rule against finite differences and against the Tensor API; the order
of what is emitted; profiles; errors; gradients of gradients."""

import numpy as np
import pytest

import adjoint
from adjoint import Tensor
from adjoint.errors import AdjointError, AutodiffError
from adjoint.module import GradientOptions, Module, canonicalise, differentiate, parse, verify
from adjoint.transforms.capture import capture
from tests.module.mutations import EXAMPLE
from tests.module.rules import RULES, module, real

STRICT = GradientOptions(profile="core-v1")
NOT_STRICT = ("Div", "Conv2d", "Relu", "Slice", "Gather", "Broadcast", "Scatter", "entropy")


def _slopes(made, values, at, step=1e-5):
    """Central differences with respect to one input: (places, slopes); a few places if it is
    large."""
    base = values[at]
    places = (
        np.arange(base.size) if base.size <= 12 else np.linspace(0, base.size - 1, 5).astype(int)
    )
    slopes = []
    for place in places:
        ends = []
        for sign in (1, -1):
            moved = base.copy()
            moved.flat[place] += sign * step
            ends.append(made.run([*values[:at], moved, *values[at + 1 :]])[0].item())
        slopes.append((ends[0] - ends[1]) / (2 * step))
    return places, np.array(slopes)


def _floats(made):
    return [i for i, ins in enumerate(made.inputs) if ins.type.dtype.is_float]


@pytest.mark.parametrize("name", RULES)
def test_the_rule_agrees_with_finite_differences_and_with_the_tensor_api(name):
    made, values = RULES[name]
    result = differentiate(made)
    _check_result(result, "core+g")
    found = [t.numpy() for t in result.gradient_module.run(values)][1:]
    floats = _floats(made)
    tensors = [Tensor(v) for v in values]
    expected = adjoint.grad(lambda *xs: made(*xs), argnums=tuple(floats))(*tensors)
    for at, got, wanted in zip(floats, found, expected, strict=True):
        np.testing.assert_allclose(got, wanted.numpy(), rtol=1e-12, atol=1e-12)
        places, slopes = _slopes(made, values, at)
        np.testing.assert_allclose(got.flat[places], slopes, rtol=1e-6, atol=1e-8)


def _strict_rules():
    """The rules that core-v1 has, of modules that are written in it."""
    extension = {"ReluGrad", "ScatterAdd"}
    for name, (made, _) in RULES.items():
        if not name.startswith(NOT_STRICT) and not extension & {
            i.opcode for i in made.instructions
        }:
            yield name


@pytest.mark.parametrize("name", list(_strict_rules()))
def test_the_rule_has_the_same_values_in_the_strict_dialect(name):
    made, values = RULES[name]
    strict = differentiate(made, options=STRICT)
    _check_result(strict, "core-v1")
    wide = differentiate(made)
    for a, b in zip(
        strict.gradient_module.run(values), wide.gradient_module.run(values), strict=True
    ):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("name", RULES)
def test_the_gradient_can_be_differentiated_again(name):
    """∂/∂x of Σ w·∂f/∂x, against finite differences of the gradient."""
    made, values = RULES[name]
    once = differentiate(made).gradient_module
    last = once.outputs[-1]
    kind = once[last].type
    text = "\n".join(once.text().splitlines()[:-1])
    count = len(once.instructions)
    if kind.shape:
        text += f"\n%{count} = BinOp(Mul, %{last}, %{last}) : Tensor<f64, {list(kind.shape)}>"
        text += f"\n%{count + 1} = Sum(%{count}, [], false) : Tensor<f64, []>"
        last = count + 1
    second = parse(f"{text}\noutputs: %{last}")
    result = differentiate(second)
    _check_result(result, "core+g")
    found = [t.numpy() for t in result.gradient_module.run(values)][1:]
    for at, got in zip(_floats(made), found, strict=True):
        places, slopes = _slopes(second, values, at)
        np.testing.assert_allclose(got.flat[places], slopes, rtol=2e-5, atol=1e-6)


def _check_result(result, profile):
    made = result.gradient_module
    verify(made, profile)
    assert canonicalise(made).text() == made.text()
    assert parse(made.text(), profile).text() == made.text()


# ---- what is emitted, and in which order


def test_the_worked_example_in_the_strict_dialect():
    result = differentiate(parse(EXAMPLE), options=STRICT)
    assert result.gradient_module.text() == EXAMPLE.replace("outputs: %4\n", "") + (
        "%5 = ConstF32(1.0) : Tensor<f32, []>\n"
        "%6 = ConstTensor([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]) : Tensor<f32, [2, 3]>\n"
        "%7 = BinOp(Mul, %5, %6) : Tensor<f32, [2, 3]>\n"
        "%8 = BinOp(Mul, %1, %7) : Tensor<f32, [2, 3]>\n"
        "%9 = BinOp(Mul, %0, %7) : Tensor<f32, [2, 3]>\n"
        "%10 = BinOp(Add, %7, %8) : Tensor<f32, [2, 3]>\n"
        "outputs: %4, %10, %9\n"
    )
    assert result.gradients == {0: 10, 1: 9, 2: 7, 3: 7, 4: 5}


def test_the_worked_example_with_broadcast():
    result = differentiate(parse(EXAMPLE))
    assert result.gradient_module.text() == EXAMPLE.replace("outputs: %4\n", "") + (
        "%5 = ConstF32(1.0) : Tensor<f32, []>\n"
        "%6 = Broadcast(%5, [2, 3]) : Tensor<f32, [2, 3]>\n"
        "%7 = BinOp(Mul, %1, %6) : Tensor<f32, [2, 3]>\n"
        "%8 = BinOp(Mul, %0, %6) : Tensor<f32, [2, 3]>\n"
        "%9 = BinOp(Add, %6, %7) : Tensor<f32, [2, 3]>\n"
        "outputs: %4, %9, %8\n"
    )
    assert result.gradients == {0: 9, 1: 8, 2: 6, 3: 6, 4: 5}


def test_unbroadcasting_sums_the_repeated_axes_and_reshapes_if_that_is_not_enough():
    made, _ = RULES["Add [1, 3] [2, 1]"]
    text = differentiate(made).gradient_module.text()
    assert "[0], false) : Tensor<f64, [3]>" in text
    assert "Reshape(%9, [1, 3])" in text


def test_an_input_that_is_not_reached_has_an_explicit_zero():
    text = '%0 = Input() {name: "x"} : Tensor<f32, []>\n'
    text += (
        '%1 = Input() {name: "y"} : Tensor<f32, [2]>\n%2 = Neg(%0) : Tensor<f32, []>\noutputs: %2'
    )
    wide = differentiate(parse(text))
    np.testing.assert_array_equal(wide.gradient_module.run([1.0, [1.0, 2.0]])[2].numpy(), [0, 0])
    strict = differentiate(parse(text), options=STRICT).gradient_module.text()
    assert "ConstTensor([0.0, 0.0]) : Tensor<f32, [2]>" in strict
    assert wide.gradients.keys() == {0, 1}  # that of %2, the seed, is folded into that of %0


def test_an_output_that_is_an_input_has_the_gradient_one():
    text = '%0 = Input() {name: "x"} : Tensor<f64, []>\noutputs: %0'
    result = differentiate(parse(text))
    assert result.gradient_module.text().splitlines()[1:] == [
        "%1 = ConstF64(1.0) : Tensor<f64, []>",
        "outputs: %0, %1",
    ]


@pytest.mark.parametrize("wrt", [0, "x", [0], ["x"], "%0"])
def test_wrt_is_an_id_or_a_name(wrt):
    result = differentiate(parse(EXAMPLE), wrt)
    assert len(result.gradient_module.outputs) == 2
    assert 1 not in result.gradients


def test_wrt_may_be_a_value_between():
    result = differentiate(parse(EXAMPLE), [2, 0])
    assert result.gradient_module.outputs[1:] == (result.gradients[0], result.gradients[2])
    assert "BinOp(Mul, %0, %5)" not in result.gradient_module.text()


def test_wrt_counts_by_the_ids_of_the_module_that_is_given():
    text = EXAMPLE.replace("%1", "%17")
    result = differentiate(parse(text), 17)
    assert next(iter(result.gradients)) == 1


def test_one_of_several_outputs_is_chosen():
    made = Module(parse(EXAMPLE).instructions, (3, 4))
    result = differentiate(made, options=GradientOptions(output=1))
    assert result.gradient_module.outputs[:2] == (3, 4)
    assert result.gradients[0] == differentiate(parse(EXAMPLE)).gradients[0]


def test_a_gradient_that_is_a_constant_is_folded():
    text = '%0 = Input() {name: "x"} : Tensor<f32, []>\n%1 = ConstF32(3.0) : Tensor<f32, []>\n'
    text += "%2 = BinOp(Mul, %0, %1) : Tensor<f32, []>\noutputs: %2"
    result = differentiate(parse(text))
    assert "%3 = ConstF32(3.0)" in result.gradient_module.text()
    assert result.gradients == {0: 3}


def test_a_module_without_inputs_has_no_gradients():
    result = differentiate(parse("%0 = ConstF32(2.0) : Tensor<f32, []>\noutputs: %0"))
    assert result.gradients == {}
    assert len(result.gradient_module.outputs) == 1


# ---- errors


def _error(made, wrt=None, options=STRICT):
    with pytest.raises(AdjointError) as caught:
        differentiate(made, wrt, options)
    return caught.value


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("Div [2, 3] [2, 3]", "BinOp(Div)"),
        ("Relu", "Relu"),
        ("Slice(%0, [0:2, 1:3, 0:4:3])", "Slice"),
        ("Gather [2]", "Gather"),
        ("Conv2d(%0, %1, [1, 1], Same)", "Conv2d"),
    ],
)
def test_what_the_strict_dialect_cannot_express_is_e5001(name, op):
    error = _error(RULES[name][0])
    assert (error.code, error.category, error.op) == ("E5001", "UnsupportedOp", op)
    assert error.span is not None
    differentiate(RULES[name][0])


def test_the_second_derivative_of_log_is_not_strict():
    once = differentiate(RULES["Log of a scalar"][0], options=STRICT).gradient_module
    error = _error(once.with_outputs(once.outputs[1:]))
    assert (error.code, error.op) == ("E5001", "BinOp(Div)")


def test_an_unsupported_op_off_the_path_is_legal():
    text = EXAMPLE.replace("BinOp(Mul, %0, %1)", "BinOp(Div, %1, %1)")
    differentiate(parse(text), "x", STRICT)
    assert _error(parse(text), "y").code == "E5001"


def test_an_op_without_a_derivative_names_itself():
    text = '%0 = Input() {name: "x"} : Tensor<f32, [2, 2]>\n'
    text += "%1 = Eig(%0) : (Tensor<c64, [2]>, Tensor<c64, [2, 2]>)\n"
    text += "%2 = Part(%1) {index: 0} : Tensor<c64, [2]>\n%3 = Real(%2) : Tensor<f32, [2]>\n"
    text += "%4 = Sum(%3, [], false) : Tensor<f32, []>\noutputs: %4"
    error = _error(parse(text), options=GradientOptions())
    assert (error.code, error.op, error.span) == ("E5001", "Eig", (2, 1))


def test_a_non_scalar_output_is_e5004():
    error = _error(parse(EXAMPLE).with_outputs([3]))
    assert (error.code, error.category) == ("E5004", "UnsupportedShape")


def test_several_outputs_need_a_choice():
    assert _error(parse(EXAMPLE).with_outputs([4, 2])).code == "E5004"
    assert _error(parse(EXAMPLE), options=GradientOptions(output=3)).code == "E5004"


def test_integers_have_no_gradient():
    made, _ = RULES["Gather [2]"]
    assert (_error(made, "x1").code, _error(made, 1).category) == ("E5005", "NotDifferentiable")
    text = '%0 = Input() {name: "n"} : Tensor<i64, []>\noutputs: %0'
    assert _error(parse(text)).code == "E5005"


def test_constants_have_no_gradient():
    made, _ = RULES["Neg"]
    assert _error(made, 2).code == "E5005"


def test_wrt_that_is_not_there_is_an_error():
    assert _error(parse(EXAMPLE), 77).code == "E2002"
    assert _error(parse(EXAMPLE), "z").code == "E2002"
    assert _error(parse(EXAMPLE).with_outputs([4]), 77).code == "E2002"


def _unverified(text):
    with pytest.raises(AutodiffError) as caught:
        differentiate(parse(text, verified=False), options=GradientOptions(verify=False))
    return caught.value


def test_without_verification_a_bad_axis_is_e5003():
    error = _unverified(EXAMPLE.replace("[], false", "[5], false"))
    assert (error.code, error.category) == ("E5003", "InvalidAxis")


def test_without_verification_a_bad_shape_is_e5004():
    text = EXAMPLE.replace("%3 = BinOp(Add, %0, %2)", "%3 = Reshape(%2, [7, -1])")
    assert _unverified(text).category == "UnsupportedShape"


def test_without_verification_a_malformed_module_is_e5002():
    error = _unverified(EXAMPLE.replace("%0, %1)", "%0, %9)"))
    assert (error.code, error.category) == ("E5002", "Verification")


def test_verification_is_on_by_default():
    assert _error(parse(EXAMPLE.replace("[], false", "[5], false"), verified=False)).code == "E3004"


def test_unverified_gradients_are_the_same_bytes():
    options = GradientOptions(verify=False)
    for made, _ in RULES.values():
        assert (
            differentiate(made, options=options).gradient_module.text()
            == differentiate(made).gradient_module.text()
        )


# ---- conv2d: three routes


def test_convolution_agrees_with_the_tensor_api():
    x, w = real(2, 5, 4, 2), real(3, 2, 2, 3)
    made = module(
        [((2, 5, 4, 2), "f64"), ((3, 2, 2, 3), "f64")],
        ("Conv2d(%0, %1, [2, 1], Custom([[1, 2], [1, 0]]))", (2, 3, 4, 3)),
        weighted=False,
    )

    def same(a, b):
        planes, kernel = a.permute(0, 3, 1, 2), b.permute(3, 2, 0, 1)
        return planes.conv2d(kernel, stride=(2, 1), padding=(1, 0, 1, 2)).sum()

    grads = adjoint.grad(same, argnums=(0, 1))(Tensor(x), Tensor(w))
    values = differentiate(made).gradient_module.run([x, w])
    for got, wanted in zip(values, [same(Tensor(x), Tensor(w)), *grads], strict=True):
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-12)


ROUTES = {
    "a network": lambda x, w: ((x @ w).relu().exp() * w.sum(0)).mean(),
    "a quotient": lambda x, w: (x * (x / (w.T[:1] + 3)) + w.sum() / (x + 5)).sum(),
    "a logarithm": lambda x, w: ((x * x + 1).log() * x).sum() + (w + 4).log().mean(),
    "a value broadcast twice": lambda x, w: (x * w.sum() + (x * w.sum()).sin() * w.sum()).sum(),
    "an operand of a comparison": lambda x, w: (
        ((x.tanh() < 0.5).where(w.sum(), 2.0) * x.expm1() * x.tanh()).sum() + x.sin().sum()
    ),
    "a composite that takes a value twice": lambda x, w: (
        (x.sin().scaled_dot_product_attention(x.exp(), x.sin()) * w.sum()).sum()
        + x.sin().exp().sum()
    ),
    "an operand of a value that is detached": lambda x, w: (
        (x.sin().detach() * x.expm1()).sum() + (x.tanh() * x.sin() * w.sum()).sum()
    ),
}


@pytest.mark.parametrize("fn", ROUTES.values(), ids=ROUTES)
def test_three_routes_give_the_same_bits(fn):
    x, w = (real(*s).astype(np.float32) for s in ((4, 3), (3, 5)))
    by_module = differentiate(capture(fn, x, w)).gradient_module.run([x, w])[1:]
    by_transform = adjoint.grad(fn, argnums=(0, 1))(Tensor(x), Tensor(w))
    by_trace = adjoint.backward_on_trace(adjoint.trace(fn, Tensor(x), Tensor(w)))
    a, b = Tensor(x, requires_grad=True), Tensor(w, requires_grad=True)
    fn(a, b).backward()
    for found in zip(by_module, by_transform, by_trace, (a.grad, b.grad), strict=True):
        assert len({g.numpy().tobytes() for g in found}) == 1
