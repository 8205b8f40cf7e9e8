"""The canonical form, rule by rule."""

import pytest

from adjoint import Tensor
from adjoint.errors import AdjointError
from adjoint.module import Module, canonicalise, parse
from adjoint.transforms.capture import capture
from tests.module.captured import OTHERS, SCALARS
from tests.module.mutations import HAND_WRITTEN

X = '%0 = Input() {name: "x"} : Tensor<f32, [2, 3]>\n'
SCALAR = "Tensor<f32, []>"


def canon(text):
    once = canonicalise(parse(text))
    assert canonicalise(once).text() == once.text()
    assert parse(once.text()).text() == once.text()
    return once.text()


def test_c0_a_module_with_an_error_has_no_canonical_form():
    with pytest.raises(AdjointError, match="E4003"):
        canonicalise(Module(parse(X + "outputs: %0").instructions, (7,)))


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("Sum(%0, [-1, 0], true)", "Sum(%0, [0, 1], true)", "[1, 1]"),
        ("Mean(%0, [-1], false)", "Mean(%0, [1], false)", "[2]"),
        ("Reshape(%0, [3, -1])", "Reshape(%0, [3, 2])", "[3, 2]"),
        ("ExpandDims(%0, [-1, 0])", "ExpandDims(%0, [0, 3])", "[1, 2, 3, 1]"),
        ("Slice(%0, [0:2, 0:3:2])", "Slice(%0, [0:2:1, 0:3:2])", "[2, 2]"),
        (
            "ScatterSlice(%0, [4, 3], [1:3, 0:3])",
            "ScatterSlice(%0, [4, 3], [1:3:1, 0:3:1])",
            "[4, 3]",
        ),
    ],
)
def test_c1_attributes_have_one_form(before, after, kind):
    text = f"{X}%1 = {before} : Tensor<f32, {kind}>\noutputs: %1\n"
    assert canon(text) == text.replace(before, after)


def test_c1_squeeze():
    text = '%0 = Input() {name: "x"} : Tensor<f32, [1, 2, 1]>\n'
    text += "%1 = Squeeze(%0, [-1, 0]) : Tensor<f32, [2]>\noutputs: %1\n"
    assert canon(text) == text.replace("[-1, 0]", "[0, 2]")


def test_c2_inputs_come_first_in_their_order():
    text = (
        f'%0 = Input() {{name: "b"}} : {SCALAR}\n%1 = Neg(%0) : {SCALAR}\n'
        f'%2 = Input() {{name: "a"}} : {SCALAR}\n%3 = BinOp(Sub, %1, %2) : {SCALAR}\noutputs: %3\n'
    )
    assert canon(text) == (
        f'%0 = Input() {{name: "b"}} : {SCALAR}\n%1 = Input() {{name: "a"}} : {SCALAR}\n'
        f"%2 = Neg(%0) : {SCALAR}\n%3 = BinOp(Sub, %2, %1) : {SCALAR}\noutputs: %3\n"
    )


def _folded(op, dtype, *values):
    const = {"f32": "ConstF32", "f64": "ConstF64", "i64": "ConstI64"}[dtype]
    kind = f"Tensor<{dtype}, []>"
    lines = [f"%{i} = {const}({v}) : {kind}" for i, v in enumerate(values)]
    ids = ", ".join(f"%{i}" for i in range(len(values)))
    call = f"Neg({ids})" if op == "Neg" else f"BinOp({op}, {ids})"
    last = len(values)
    return canon("\n".join([*lines, f"%{last} = {call} : {kind}", f"outputs: %{last}"]))


@pytest.mark.parametrize(
    ("op", "dtype", "values", "result"),
    [
        ("Add", "f32", ("1.0", "2.0"), "ConstF32(3.0)"),
        ("Mul", "f32", ("0.1", "0.1"), "ConstF32(0.010000001)"),
        ("Mul", "f64", ("0.1", "0.1"), "ConstF64(0.010000000000000002)"),
        ("Div", "f32", ("1.0", "3.0"), "ConstF32(0.33333334)"),
        ("Sub", "i64", ("3", "5"), "ConstI64(-2)"),
        ("Div", "i64", ("-7", "2"), "ConstI64(-3)"),
        ("Neg", "f32", ("0.0",), "ConstF32(-0.0)"),
        ("Neg", "i64", ("5",), "ConstI64(-5)"),
    ],
)
def test_c3_scalar_constants_are_folded_with_the_arithmetic_of_the_runtime(
    op, dtype, values, result
):
    assert _folded(op, dtype, *values) == f"%0 = {result} : Tensor<{dtype}, []>\noutputs: %0\n"


@pytest.mark.parametrize(
    ("op", "dtype", "values"),
    [
        ("Div", "f32", ("1.0", "0.0")),
        ("Div", "i64", ("1", "0")),
        ("Mul", "f32", ("1e38", "10.0")),
        ("Add", "i64", (str(2**63 - 1), "1")),
        ("Neg", "i64", (str(-(2**63)),)),
        ("Div", "i64", (str(-(2**63)), "-1")),
    ],
)
def test_c3_divisions_by_zero_and_overflows_are_left_to_the_runtime(op, dtype, values):
    assert ("Neg(" if op == "Neg" else f"BinOp({op}") in _folded(op, dtype, *values)


def test_c3_only_scalars_are_folded():
    text = (
        f"%0 = ConstF32(2.0) : {SCALAR}\n%1 = ConstTensor([1.0, 2.0]) : Tensor<f32, [2]>\n"
        "%2 = BinOp(Mul, %0, %1) : Tensor<f32, [2]>\noutputs: %2\n"
    )
    assert canon(text) == text


def test_c3_constants_of_other_dtypes_are_folded_to_literals():
    text = (
        "%0 = ConstTensor(3) : Tensor<i32, []>\n%1 = BinOp(Mul, %0, %0) : Tensor<i32, []>\n"
        "outputs: %1\n"
    )
    assert canon(text) == "%0 = ConstTensor(9) : Tensor<i32, []>\noutputs: %0\n"


def test_c3_a_folded_constant_is_what_the_runtime_computes():
    text = f"%0 = ConstF32(0.1) : {SCALAR}\n%1 = BinOp(Div, %0, %0) : {SCALAR}\n"
    text += f"%2 = BinOp(Sub, %1, %0) : {SCALAR}\noutputs: %2"
    x = Tensor(0.1)
    assert canonicalise(parse(text)).run()[0].item() == (x / x - x).item()


def test_c4_what_no_output_needs_goes_but_inputs_stay():
    text = (
        f'{X}%1 = Input() {{name: "unused"}} : {SCALAR}\n%2 = Neg(%0) : Tensor<f32, [2, 3]>\n'
        f"%3 = Exp(%0) : Tensor<f32, [2, 3]>\n%4 = Neg(%2) : Tensor<f32, [2, 3]>\noutputs: %3\n"
    )
    assert canon(text) == (
        f'{X}%1 = Input() {{name: "unused"}} : {SCALAR}\n'
        "%2 = Exp(%0) : Tensor<f32, [2, 3]>\noutputs: %2\n"
    )


def test_c5_ids_are_dense_in_list_order():
    text = (
        f'%40 = Input() {{name: "x"}} : {SCALAR}\n%7 = Neg(%40) : {SCALAR}\n'
        f"%100 = Exp(%7) : {SCALAR}\noutputs: %100, %7\n"
    )
    assert canon(text) == (
        f'%0 = Input() {{name: "x"}} : {SCALAR}\n%1 = Neg(%0) : {SCALAR}\n'
        f"%2 = Exp(%1) : {SCALAR}\noutputs: %2, %1\n"
    )


@pytest.mark.parametrize(("op", "pair"), [("Add", "%0, %1"), ("Mul", "%0, %1"), ("Sub", "%1, %0")])
def test_c6_the_operands_of_add_and_mul_are_sorted_by_the_new_ids(op, pair):
    text = (
        f'%5 = Input() {{name: "x"}} : {SCALAR}\n%3 = Exp(%5) : {SCALAR}\n'
        f"%4 = BinOp({op}, %3, %5) : {SCALAR}\noutputs: %4\n"
    )
    assert f"BinOp({op}, {pair})" in canon(text)


def test_nothing_is_simplified_or_shared():
    text = (
        f"{X}%1 = Neg(%0) : Tensor<f32, [2, 3]>\n%2 = Neg(%1) : Tensor<f32, [2, 3]>\n"
        "%3 = Neg(%1) : Tensor<f32, [2, 3]>\n%4 = BinOp(Sub, %2, %3) : Tensor<f32, [2, 3]>\n"
        "outputs: %4\n"
    )
    assert canon(text) == text


def test_the_hand_written_module_has_a_canonical_form():
    canon(HAND_WRITTEN)


@pytest.mark.parametrize("name", [*SCALARS, *OTHERS])
def test_what_capture_gives_is_canonical(name):
    fn, args = (SCALARS | OTHERS)[name]
    module = capture(fn, *args)
    assert canonicalise(module).text() == module.text()
