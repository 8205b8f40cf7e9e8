"""One text per error code, with its place; the order of checks; limits; how errors are shown."""

import json
import pickle
import sys

import pytest

from adjoint.errors import AdjointError, AutodiffError, TextError
from adjoint.ir.dtype import dtypes
from adjoint.module import (
    GradientOptions,
    Instruction,
    Module,
    TensorType,
    differentiate,
    parse,
    verify,
)
from adjoint.module import instruction as limits

reader = sys.modules["adjoint.module.parse"]

X = '%0 = Input() {name: "x"} : Tensor<f32, [2, 3]>\n'
Y = '%1 = Input() {name: "y"} : Tensor<f32, [4, 5]>\n'
INDEX = '%1 = Input() {name: "i"} : Tensor<i64, [2]>\n'
OUT = "\noutputs: %0"


def line(body, kind="Tensor<f32, []>"):
    return f"{X}%1 = {body} : {kind}{OUT}"


# code, text, (line, column)
CASES = [
    ("E1001", b"%0 = Input()\n \xff", (2, 2)),
    ("E1001", "%0 = \ud800", (1, 6)),
    ("E1002", X + "%1 = Neg(%0) ? : Tensor<f32, [2, 3]>" + OUT, (2, 14)),
    ("E1002", X + "%1a = Neg(%0) : Tensor<f32, [2, 3]>" + OUT, (2, 1)),
    ("E1003", '%0 = Input() {name: "x', (1, 21)),
    ("E1004", r'%0 = Input() {name: "\q"} : Tensor<f32, []>' + OUT, (1, 21)),
    ("E1005", "%0 = ConstF32(1.2.3) : Tensor<f32, []>" + OUT, (1, 15)),
    ("E1005", "%0 = ConstF32(1e) : Tensor<f32, []>" + OUT, (1, 15)),
    ("E1005", f"%0 = ConstI64({'9' * 500}) : Tensor<i64, []>" + OUT, (1, 15)),
    ("E1006", X + "/* no end", (2, 1)),
    ("E2001", line("Neg(%0)"), (2, 1)),
    ("E2001", line("Sum(%0, 1, false)"), (2, 14)),
    ("E2001", line("Sum(%0, [1], maybe)"), (2, 19)),
    ("E2001", line("Neg %0"), (2, 10)),
    ("E2001", line("Softmax(%0) {axis: true}"), (2, 1)),
    ("E2001", f"{X}%1 = Neg(%0) : Tensor<f32, [2, 3]> %2 = Neg(%0)", (2, 36)),
    ("E2002", line("Negg(%0)"), (2, 6)),
    ("E2002", line("BinOp(Pow, %0, %0)"), (2, 1)),
    ("E2002", line("Neg(%0)", "Tensor<f33, []>"), (2, 16)),
    ("E2003", "%0 = ConstTensor(1) : (Tensor<f32, []>)" + OUT, (1, 1)),
    ("E2004", f'{X}%1 = Input() {{name: "y"}} : Tensor<f64, [2, 3]>\n'
     f"%2 = BinOp(Add, %0, %1) : Tensor<f32, [2, 3]>{OUT}", (3, 1)),
    ("E2005", f"{INDEX}%2 = Exp(%1) : Tensor<i64, [2]>\noutputs: %2", (2, 1)),
    ("E2006", "%0 = ConstTensor(" + "[" * 40, (1, 51)),
    ("E2007", line("Neg(%0, %0)"), (2, 14)),
    ("E2007", line("BinOp(Add, %0)"), (2, 19)),
    ("E2007", line("Softmax(%0) {axes: 1}"), (2, 19)),
    ("E3001", f"{X}{Y}%2 = BinOp(Add, %0, %1) : Tensor<f32, [2, 3]>{OUT}", (3, 1)),
    ("E3002", f"{X}%1 = Sum(%0, [0], false) : Tensor<f32, [3]>\n"
     f"%2 = MatMul(%0, %1) : Tensor<f32, []>{OUT}", (3, 1)),
    ("E3003", f"{X}{Y}%2 = MatMul(%0, %1) : Tensor<f32, [2, 5]>{OUT}", (3, 1)),
    ("E3004", line("Sum(%0, [2], false)"), (2, 1)),
    ("E3004", line("Flip(%0) {axis: [5]}", "Tensor<f32, [2, 3]>"), (2, 1)),
    ("E3005", line("Sum(%0, [0, -2], false)"), (2, 1)),
    ("E3006", '%0 = Input() {name: "x"} : Tensor<f32, [2, -3]>' + OUT, (1, 44)),
    ("E3006", line("Reshape(%0, [-2, -3])"), (2, 1)),
    ("E3007", line("Reshape(%0, [4, 2])", "Tensor<f32, [4, 2]>"), (2, 1)),
    ("E3008", line("Transpose(%0, [0, 0])"), (2, 1)),
    ("E3009", line("Squeeze(%0, [1])"), (2, 1)),
    ("E3010", "%0 = ConstTensor([[1.0], [2.0, 3.0]]) : Tensor<f32, [2, 2]>" + OUT, (1, 35)),
    ("E3010", "%0 = ConstTensor([[1.0], 2.0]) : Tensor<f32, [2]>" + OUT, (1, 26)),
    ("E3010", "%0 = ConstTensor([1.0, 2.0]) : Tensor<f32, [3]>" + OUT, (1, 1)),
    ("E4001", f"{X}%1 = Neg(%2) : Tensor<f32, [2, 3]>\n"
     f"%2 = Neg(%0) : Tensor<f32, [2, 3]>{OUT}", (2, 1)),
    ("E4002", X + X + "outputs: %0", (2, 1)),
    ("E4003", X + "outputs: %7", (2, 1)),
    ("E4003", X, (2, 1)),
    ("E4003", X + "outputs:", (2, 1)),
    ("E4004", "%0 = Input() : Tensor<f32, [2, 3]>" + OUT, (1, 1)),
    ("E4004", '%0 = Input() {name: "x"} : Tensor<q7, []>' + OUT, (1, 28)),
    ("E4004", X + '%1 = Input() {name: "x"} : Tensor<f32, []>' + OUT, (2, 1)),
    ("E4005", "%0 = ConstTensor([1.5]) : Tensor<i32, [1]>" + OUT, (1, 1)),
    ("E4005", "%0 = ConstF32(1e39) : Tensor<f32, []>" + OUT, (1, 1)),
    ("E4005", "%0 = ConstI64(1.0) : Tensor<i64, []>" + OUT, (1, 1)),
    ("E4006", line("Index(%0, [1])"), (2, 1)),
    ("E4007", line("Slice(%0, [0:1])"), (2, 1)),
    ("E4008", line("Slice(%0, [0:1:0, 0:1])"), (2, 1)),
    ("E4009", '%0 = Input() {name: "x"} : Tensor<f32, [1, 4, 4, 2]>\n'
     '%1 = Input() {name: "w"} : Tensor<f32, [3, 3, 1, 2]>\n'
     f"%2 = Conv2d(%0, %1, [1, 1], Same) : Tensor<f32, [1, 4, 4, 2]>{OUT}", (3, 1)),
    ("E4010", line("Conv2d(%0, %0, [0, 1], Same)"), (2, 1)),
    ("E4011", line("Gather(%0, %0)"), (2, 1)),
    ("E6001", line("Slice(%0, [0:3, 0:1])"), (2, 1)),
]  # fmt: skip


def _raised(text, profile="core+g"):
    with pytest.raises(AdjointError) as caught:
        parse(text, profile)
    return caught.value


@pytest.mark.parametrize(("code", "text", "place"), CASES, ids=range(len(CASES)))
def test_the_text_has_the_error_at_its_place(code, text, place):
    error = _raised(text)
    assert (error.code, error.span) == (code, place)
    assert str(error).startswith(f"{code}: ")
    again = _raised(text)
    assert str(again) == str(error)


def test_broadcasting_errors_name_the_dimension_and_the_shapes():
    text = X.replace("2, 3", "3, 4") + Y.replace("4, 5", "3, 5")
    error = _raised(text + "%2 = BinOp(Add, %0, %1) : Tensor<f32, [3, 4]>\noutputs: %2")
    message = "Broadcasting failed at dimension 1: shape [3, 4] incompatible with [3, 5]"
    assert str(error).startswith(f"E3001: {message}\n")
    assert error.render("net.core") == (
        f"error[E3001]: {message}\n  --> net.core:3:1\n"
        "  = note: in the definition of %2 (BinOp)\n"
        "  = help: 4 and 5 must be equal or one of them 1"
    )
    assert json.loads(json.dumps(error.as_json("net.core"))) == {
        "phase": "shape",
        "code": "E3001",
        "severity": "error",
        "message": message,
        "span": {"file": "net.core", "line": 3, "column": 1},
        "notes": ["in the definition of %2 (BinOp)"],
        "help": "4 and 5 must be equal or one of them 1",
    }


def test_an_error_keeps_its_place_when_it_is_pickled():
    error = pickle.loads(pickle.dumps(_raised(CASES[0][1])))
    assert error.span == (2, 2)


def test_names_of_a_text_are_used_in_its_errors():
    error = _raised('%x = Input() {name: "x"} : Tensor<f32, []>\n%y = Neg(%z) : Tensor<f32, []>')
    assert error.code == "E4003"
    error = _raised("%y = Neg(%z) : Tensor<f32, []>\noutputs: %y")
    assert "%z is used before its definition" in str(error)


# ---- the order of checks: every text has all the errors after its own


ORDER = [
    ("E4001", "%0 = Sum(%9, [7], false) : Tensor<f64, []>"),
    ("E4002", "%0 = BinOp(Mod, %0, %1) : Tensor<f64, []>"),
    ("E2002", "%2 = BinOp(Mod, %0, %1) : Tensor<f64, []>"),
    ("E2004", "%2 = BinOp(Add, %0, %1) : Tensor<f64, []>"),
    ("E3001", "%2 = BinOp(Add, %0, %0b) : Tensor<f64, []>"),
    ("E2001", "%2 = BinOp(Add, %0, %0) : Tensor<f64, []>"),
    ("E4003", "%2 = BinOp(Add, %0, %0) : Tensor<f32, [2, 3]>"),
]


@pytest.mark.parametrize(("code", "text"), ORDER, ids=[code for code, _ in ORDER])
def test_the_first_error_wins(code, text):
    head = X + '%1 = Input() {name: "y"} : Tensor<f64, [4, 5]>\n'
    head += '%5 = Input() {name: "z"} : Tensor<f32, [4, 5]>\n'
    assert _raised(head + text.replace("%0b", "%5") + "\noutputs: %9").code == code


# ---- profiles


STRICT = [
    ("E2002", line("Softmax(%0) {axis: 0}", "Tensor<f32, [2, 3]>")),
    ("E2002", line("Broadcast(%0, [4, 2, 3])", "Tensor<f32, [4, 2, 3]>")),
    ("E3006", '%0 = Input() {name: "x"} : Tensor<f32, [0]>' + OUT),
    ("E3006", line("Slice(%0, [1:1, 0:3])", "Tensor<f32, [0, 3]>")),
    ("E3006", line("Reshape(%0, [0, 3])", "Tensor<f32, [0, 3]>")),
    ("E4008", line("Slice(%0, [1:0:-1, 0:3])", "Tensor<f32, [1, 3]>")),
    ("E4004", '%0 = Input() {name: "x"} : Tensor<f16, [2]>' + OUT),
    ("E2005", "%0 = ConstTensor([1]) : Tensor<u8, [1]>" + OUT),
    ("E1005", "%0 = ConstF32(inf) : Tensor<f32, []>" + OUT),
]


@pytest.mark.parametrize(("code", "text"), STRICT, ids=range(len(STRICT)))
def test_the_strict_profile_has_no_such_thing(code, text):
    assert _raised(text, "core-v1").code == code
    if code != "E3006" or "Reshape" not in text:
        parse(text, "core+g")


@pytest.mark.parametrize("line", ["ConstF32(nan)", "ConstF64(-inf)", "ConstTensor([1.0, inf])"])
def test_the_strict_profile_verifies_no_constant_that_its_texts_cannot_say(line):
    kind = {"ConstF32": "f32, []", "ConstF64": "f64, []"}.get(line[:8], "f64, [2]")
    module = parse(f"%0 = {line} : Tensor<{kind}>" + OUT)
    verify(module)
    with pytest.raises(AdjointError, match="E4005"):
        verify(module, "core-v1")


def test_an_unknown_profile_is_an_error():
    assert _raised(X + "outputs: %0", "core-v9").code == "E2002"


# ---- limits


LIMITS = [
    ("E2006", " " * (limits.MAX_TEXT + 1)),
    ("E2006", line(f"Softmax(%0) {{axis: {'[' * 40}{']' * 40}}}")),
    ("E3002", f'%0 = Input() {{name: "x"}} : Tensor<f32, {[1] * 33}>{OUT}'),
    ("E3006", f'%0 = Input() {{name: "x"}} : Tensor<f32, [{2**31}]>{OUT}'),
    ("E3006", f'%0 = Input() {{name: "x"}} : Tensor<f32, [{"9" * 300}]>{OUT}'),
    ("E1005", f"%{'1' * 500} = ConstI64(1) : Tensor<i64, []>\noutputs: %0"),
    ("E2006", line("AdaptiveAvgPool1d(%0) {output_size: 1000000000}")),
]


@pytest.mark.parametrize(("code", "text"), LIMITS, ids=range(len(LIMITS)))
def test_what_a_text_may_ask_for_is_limited(code, text):
    assert _raised(text).code == code


def test_the_numbers_of_a_literal_are_limited():
    text = f"%0 = ConstTensor([{'0, ' * (limits.MAX_LITERAL + 1)}]) : Tensor<i32, [1]>"
    assert _raised(text).code == "E2006"


def test_the_numbers_of_all_literals_together_are_limited():
    kind = TensorType(dtypes.int32, (limits.MAX_LITERAL // 2 + 1,))
    data = bytes(4 * kind.shape[0])
    rows = [Instruction(i, "ConstTensor", (), (data,), kind) for i in range(2)]
    with pytest.raises(AdjointError, match="E2006"):
        verify(Module(tuple(rows), (0,)))


def test_the_instructions_of_a_text_are_limited(monkeypatch):
    monkeypatch.setattr(reader, "MAX_INSTRUCTIONS", 3)
    rows = "".join(f"%{i} = ConstI64(1) : Tensor<i64, []>\n" for i in range(4))
    assert _raised(rows + "outputs: %0").code == "E2006"


def test_a_literal_that_a_strict_gradient_would_need_is_limited():
    text = (
        '%0 = Input() {name: "x"} : Tensor<f32, [2000, 2000]>\n'
        "%1 = Sum(%0, [], false) : Tensor<f32, []>\noutputs: %1"
    )
    with pytest.raises(AutodiffError) as caught:
        differentiate(parse(text), options=GradientOptions(profile="core-v1"))
    assert (caught.value.code, caught.value.category) == ("E5004", "UnsupportedShape")


# ---- modules that were not read from a text


def _module(opcode, operands, attrs):
    kind = TensorType(dtypes.float32, ())
    x = Instruction(0, "Input", (), ("x",), TensorType(dtypes.float32, (2, 3)))
    return Module((x, Instruction(1, opcode, operands, attrs, kind)), (1,))


@pytest.mark.parametrize(
    ("code", "module"),
    [
        ("E2007", _module("Neg", (0, 0), ())),
        ("E2002", _module("Nog", (0,), ())),
        ("E4005", _module("ConstTensor", (), (b"12",))),
        ("E4005", _module("ConstF32", (), ("1",))),
        ("E2001", _module("Sum", (0,), ((0.5,), False))),
        ("E4004", _module("Input", (), ("",))),
    ],
)
def test_a_module_made_by_hand_is_checked_too(code, module):
    with pytest.raises(AdjointError, match=code) as caught:
        verify(module)
    assert caught.value.span is None
    assert caught.value.notes


def test_several_results_are_taken_apart_before_they_are_used():
    text = (
        '%0 = Input() {name: "x"} : Tensor<f32, [2, 2]>\n'
        "%1 = Qr(%0) : (Tensor<f32, [2, 2]>, Tensor<f32, [2, 2]>)\n"
    )
    assert parse(text + "%2 = Part(%1) {index: 1} : Tensor<f32, [2, 2]>\noutputs: %2")
    assert _raised(text + "%2 = Neg(%1) : Tensor<f32, [2, 2]>\noutputs: %2").code == "E2001"
    assert _raised(text + "outputs: %1").code == "E2001"


def test_a_text_error_is_one():
    assert isinstance(_raised("%0 = "), TextError)
