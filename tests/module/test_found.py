"""Defects of modules that others found, each in its smallest form, and the class behind it."""

import sys
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from adjoint import Tensor, capture, grad
from adjoint.errors import AdjointError
from adjoint.module import GradientOptions, canonicalise, differentiate, parse, verify

X = '%0 = Input() {name: "x"} : Tensor<f32, []>\n'
SQUARE = parse(X + "%1 = BinOp(Mul, %0, %0) : Tensor<f32, []>\noutputs: %1")


NARROW = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


# ---- numbers


@pytest.mark.parametrize("short", ["f16", "bf16", "f32"])
def test_the_gradient_of_a_mean_over_more_than_the_dtype_counts_is_not_zero(short):
    text = f'%0 = Input() {{name: "x"}} : Tensor<{short}, [70000]>\n'
    made = parse(text + f"%1 = Mean(%0, [], false) : Tensor<{short}, []>\noutputs: %1")
    x = Tensor(np.ones(70000, NARROW[short]))
    found = differentiate(made).gradient_module.run([x])[1]
    assert found.tolist() == grad(lambda x: x.mean())(x).tolist()
    assert found[0].item() == pytest.approx(1 / 70000, rel=0.01)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" + "0" * 310 + ".0"])
@pytest.mark.parametrize(
    "line",
    [
        "ConstF64({}) : Tensor<f64, []>",
        "ConstF32({}) : Tensor<f32, []>",
        "ConstTensor([{}]) : Tensor<f64, [1]>",
        "Clamp(%0) {{low: {}}} : Tensor<f32, []>",
    ],
)
def test_a_decimal_that_no_float_holds_is_not_read_as_infinity(number, line):
    with pytest.raises(AdjointError) as caught:
        parse(f"{X}%1 = {line.format(number)}\noutputs: %1")
    assert caught.value.code == "E4005"


def _neighbours(dtype, rng):
    """A float of the dtype and the next one up."""
    low = dtype(abs(rng.standard_normal()) * 10.0 ** rng.integers(-4, 4))
    return low, np.nextafter(low, dtype(np.inf))


@pytest.mark.parametrize("short", NARROW)
@pytest.mark.parametrize("seed", range(20))
def test_a_decimal_is_rounded_once(short, seed):
    dtype, rng = NARROW[short], np.random.default_rng(seed)
    low, high = _neighbours(dtype, rng)
    middle = (Fraction(float(low)) + Fraction(float(high))) / 2
    for side, wanted in ((-1, low), (1, high)):
        near = middle + side * middle / 10**30  # float64 cannot tell it from the middle
        text = f"{near.numerator * 10**60 // near.denominator}e-60"
        made = parse(f"%0 = ConstTensor([{text}]) : Tensor<{short}, [1]>\noutputs: %0")
        assert made.run([])[0].item() == float(wanted)


def test_scalars_integers_and_complex_parts_are_rounded_once_too():
    up = np.float32(np.nextafter(np.float32(1), np.float32(2)))
    assert (
        "1.0000001"
        in parse("%0 = ConstF32(1.0000000596046448) : Tensor<f32, []>\noutputs: %0").text()
    )
    whole = 2**60 + 2**36 + 1  # just above the middle of two float32
    made = parse(f"%0 = ConstF32({whole}) : Tensor<f32, []>\noutputs: %0")
    assert made.run([])[0].item() == float(np.nextafter(np.float32(2**60), np.float32(2**61)))
    text = "%0 = ConstTensor([complex(1.0000000596046448, 0.0)]) : Tensor<c64, [1]>\noutputs: %0"
    assert parse(text).run([])[0].item() == complex(up)


SCALED = (
    '{%0 = Input() {name: "x"} : Tensor<f32, []>; %1 = ConstF32(ZERO) : Tensor<f32, []>; '
    "%2 = BinOp(Mul, %0, %1) : Tensor<f32, []>; outputs: %2}"
)
SAME = '{%0 = Input() {name: "x"} : Tensor<f32, []>; outputs: %0}'
BRANCH = (
    f'{X}%1 = Input() {{name: "c"}} : Tensor<bool, []>\n'
    f"%2 = Branch(%1, %0) {{true: {SCALED}, false: {SAME}}} : (Tensor<f32, []>)\n"
    "%3 = Part(%2) {index: 0} : Tensor<f32, []>\noutputs: %3"
)


def test_a_function_with_minus_zero_is_not_the_one_with_zero():
    for zero in ("0.0", "-0.0", "0.0"):
        made = parse(BRANCH.replace("ZERO", zero))
        assert parse(made.text()).text() == made.text()
        (found,) = made.run([1.0, True])
        assert np.signbit(found.numpy()) == zero.startswith("-")


# ---- the verifier


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("Tap()", "E6003"),
        ("Inv(%0, %1)", "E2007"),
        ("Inv(%0)", "E3003"),
        ("Flip(%0)", "E2007"),
        ("ReduceSum(%0)", "E2007"),
        ("Contract(%0, %1)", "E2007"),
        ('Flip(%0) {axis: "a"}', "E2001"),
        ("Flip(%0) {axis: 1}", "E2001"),
        ("Cat(%0, %1) {axis: true}", "E2001"),
        ("Cast(%0) {dtype: 3}", "E2001"),
    ],
)
def test_an_instruction_that_no_device_could_run_does_not_verify(line, code):
    text = '%0 = Input() {name: "x"} : Tensor<f32, [3, 2]>\n'
    text += '%1 = Input() {name: "y"} : Tensor<f32, [3, 2]>\n'
    with pytest.raises(AdjointError) as caught:
        parse(f"{text}%2 = {line} : Tensor<f32, [3, 2]>\noutputs: %2")
    assert caught.value.code == code


def test_a_module_that_is_not_verified_still_obeys_its_profile():
    made = parse(X + "%1 = Tanh(%0) : Tensor<f32, []>\noutputs: %1")
    for checked in (True, False):
        with pytest.raises(AdjointError, match="Tanh is not in core-v1"):
            differentiate(made, options=GradientOptions(verify=checked, profile="core-v1"))


# ---- sizes and ids


def _chain(count):
    rows = [f"%{i + 1} = BinOp(Mul, %{i}, %0) : Tensor<f32, []>\n" for i in range(count)]
    return parse(X + "".join(rows) + f"outputs: %{count}")


def test_a_gradient_may_be_longer_than_the_longest_text(monkeypatch):
    monkeypatch.setattr(sys.modules["adjoint.module.parse"], "MAX_INSTRUCTIONS", 600)
    made = _chain(500)
    result = differentiate(made)
    assert len(result.gradient_module.instructions) > 600
    assert result.gradient_module.run([1.0])[1].item() == 501


def test_gradients_are_found_by_the_ids_and_names_of_the_module_that_was_given():
    made = parse(
        "%dead = ConstF32(3.0) : Tensor<f32, []>\n"
        "%7 = ConstF32(2.0) : Tensor<f32, []>\n"
        '%a = Input() {name: "x"} : Tensor<f32, []>\n'
        "%9 = BinOp(Mul, %7, %a) : Tensor<f32, []>\n"
        "%b = BinOp(Mul, %9, %9) : Tensor<f32, []>\noutputs: %b"
    )
    result = differentiate(made, wrt=["x", 9])
    module = result.gradient_module
    for value, wanted in (("x", 24.0), ("a", 24.0), (9, 12.0), ("%9", 12.0), ("b", 1.0)):
        place = module.with_outputs([result.gradient_of(value)])
        assert place.run([3.0])[0].item() == wanted
    assert module[result.places[9]].opcode == "BinOp"
    with pytest.raises(AdjointError, match="E2002"):
        result.gradient_of("dead")


def test_many_names_are_looked_up_once_each():
    count = 3000
    rows = [f'%{i} = Input() {{name: "x{i}"}} : Tensor<f32, []>\n' for i in range(count)]
    made = parse(
        "".join(rows) + f"%{count} = BinOp(Mul, %0, %1) : Tensor<f32, []>\noutputs: %{count}"
    )
    found = differentiate(made, wrt=[f"x{i}" for i in range(count)])
    assert len(found.gradient_module.outputs) == count + 1


# ---- wrong arguments


BAD = {
    "wrt is a float": lambda: differentiate(SQUARE, wrt=1.5),
    "wrt is a bool": lambda: differentiate(SQUARE, wrt=True),
    "wrt holds None": lambda: differentiate(SQUARE, wrt=[None]),
    "wrt is an object": lambda: differentiate(SQUARE, wrt=object()),
    "options are a dict": lambda: differentiate(SQUARE, options={}),
    "output is a word": lambda: differentiate(SQUARE, options=GradientOptions(output="a")),
    "no text": lambda: parse(None),
    "no module": lambda: differentiate(None),
    "text to verify": lambda: verify("x"),
    "text to canonicalise": lambda: canonicalise("x"),
    "inputs are a number": lambda: SQUARE.run(5),
    "inputs are None": lambda: SQUARE.run(None),
}


@pytest.mark.parametrize("call", BAD.values(), ids=BAD)
def test_a_wrong_argument_is_a_coded_error(call):
    with pytest.raises(AdjointError) as caught:
        call()
    assert caught.value.code == "E2001"


# ---- capture


def test_a_captured_gradient_gives_the_bits_of_the_call():
    rng = np.random.default_rng(0)
    x = Tensor(rng.uniform(0.1, 1, (17, 33)).astype(np.float32))
    w = Tensor(rng.uniform(0.1, 1, (17, 33)).astype(np.float32))

    def loss(x):
        y = (x.square().abs() + 0.1) ** (1 / 3)
        y = 0.3 / ((y * 0.5 + y.max()).abs() + 0.3)
        return ((y * 0.5 + y.var()) / 1.7 * w).sum()

    for f in (grad(loss), lambda x: grad(loss)(x) * 2 + loss(x)):
        assert np.array_equal(capture(f, x).run([x])[0].numpy(), f(x).numpy())
