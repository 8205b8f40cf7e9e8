"""The text of a module: what is printed, what may be written, and that reading gives it back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjoint.ir.dtype import ALL, dtypes
from adjoint.module import Instruction, Module, TensorType, parse
from adjoint.module.generic import generic_opcodes
from adjoint.module.instruction import Span
from adjoint.module.numbers import exact, literal_array, literal_bytes, number_text
from adjoint.module.opcode import OPCODES
from tests.module.mutations import EXAMPLE, HAND_WRITTEN


def test_a_module_prints_to_the_text_it_was_read_from():
    assert parse(EXAMPLE, "core-v1").text() == EXAMPLE
    assert parse(EXAMPLE.encode()).text() == EXAMPLE
    assert str(parse(EXAMPLE)) == EXAMPLE


def test_every_kind_of_argument_survives_printing():
    module = parse(HAND_WRITTEN)
    again = parse(module.text())
    assert again == module
    assert again.text() == module.text()
    assert "Slice(%15, [0:2:1, 1:4:2])" in module.text()
    assert "Conv2d(%3, %4, [1, 2], Custom([[1, 1], [0, 2]]))" in module.text()


def test_words_as_ids_become_integers_past_those_the_text_has():
    text = '%a = Input() {name: "x"} : Tensor<f32, []>\n%7 = Neg(%a) : Tensor<f32, []>\noutputs: %7'
    module = parse(text)
    assert [ins.id for ins in module.instructions] == [8, 7]
    assert module.instructions[1].operands == (8,)


def test_comments_blank_lines_and_trailing_commas_are_read_over():
    text = """
    # a comment
    %0 = Input() {name: "x",} : Tensor<f32, [2, 3,]>  # another
    /* and one
       over lines */
    %1 = Sum(%0, [0, 1,], false,) : Tensor < f32 , [ ] >
    outputs: %1,
    """
    assert parse(text).text() == (
        '%0 = Input() {name: "x"} : Tensor<f32, [2, 3]>\n'
        "%1 = Sum(%0, [0, 1], false) : Tensor<f32, []>\noutputs: %1\n"
    )


def test_duplicates_survive():
    text = EXAMPLE.replace("%3 = BinOp(Add, %0, %2)", "%3 = BinOp(Mul, %0, %1)")
    assert parse(text).text() == text


@pytest.mark.parametrize("name", ['a"b', "tab\tnew\nline\rback\\slash", "ünïcödé ☃", " "])
def test_any_name_is_escaped_and_read_back(name):
    module = Module((Instruction(0, "Input", (), (name,), TensorType(dtypes.float32, ())),), (0,))
    again = parse(module.text())
    assert again.inputs[0].attrs == (name,)
    assert len(module.text().splitlines()) >= 2


def test_the_place_of_each_instruction_is_known():
    spans = [ins.span for ins in parse("\n  " + EXAMPLE).instructions]
    assert spans[:2] == [Span(2, 3), Span(3, 1)]


@pytest.mark.parametrize("width", [32, 64])
@given(data=st.data())
def test_a_float_prints_to_text_with_the_same_bits(width, data):
    value = data.draw(st.floats(width=width, allow_nan=False))
    dtype = dtypes.float32 if width == 32 else dtypes.float64
    text = f"%0 = ConstF{width}({number_text(value, dtype)}) : Tensor<f{width}, []>\noutputs: %0"
    read = parse(text).instructions[0].attrs[0]
    assert np.array(read, dtype.np).tobytes() == np.array(value, dtype.np).tobytes()


@pytest.mark.parametrize("dtype", list(ALL), ids=lambda d: d.short)
def test_a_literal_of_every_dtype_has_the_same_bits_after_printing(dtype):
    values = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype.np)
    if dtype.kind == "f":
        values = np.array([[0.1, -0.0, np.inf], [-np.inf, np.nan, 3.0e4]]).astype(dtype.np)
    if dtype.kind == "c":
        values = np.array([[0.1 + 2j, -0.0, 1e-7j], [1, complex(np.inf, -1), 5]]).astype(dtype.np)
    kind = TensorType(dtype, (2, 3))
    row = Instruction(0, "ConstTensor", (), (literal_bytes(values, dtype),), kind)
    again = parse(Module((row,), (0,)).text()).instructions[0]
    assert again.attrs == row.attrs
    assert literal_array(again.attrs[0], dtype, (2, 3)).tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("literal", "shape"),
    [("5", []), ("[5]", [1]), ("[[5], [6]]", [2, 1]), ("[]", [0]), ("[[], []]", [2, 0])],
)
def test_literals_have_the_shape_of_their_lists(literal, shape):
    text = f"%0 = ConstTensor({literal}) : Tensor<i32, {shape}>\noutputs: %0\n"
    assert parse(text).text() == text


def test_an_empty_literal_ends_at_its_first_empty_dimension():
    text = "%0 = ConstTensor([]) : Tensor<i32, [0, 3]>\noutputs: %0\n"
    assert parse(text).text() == text


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (1.0, dtypes.float32, "1.0"),
        (0.1, dtypes.float32, "0.1"),
        (1e-10, dtypes.float32, "1e-10"),
        (1e22, dtypes.float64, "1e+22"),
        (-0.0, dtypes.float64, "-0.0"),
        (float("inf"), dtypes.float32, "inf"),
        (-7, dtypes.int64, "-7"),
        (True, dtypes.bool_, "true"),
        (1.0009765625, dtypes.float16, "1.001"),
        (1 - 2j, dtypes.complex64, "complex(1.0, -2.0)"),
    ],
)
def test_numbers_print_as_short_as_their_dtype_allows(value, dtype, text):
    assert number_text(value, dtype) == text


def test_a_number_is_rounded_to_its_dtype_when_it_is_read():
    assert exact(0.1, dtypes.float32) == float(np.float32(0.1))


def test_opcodes_have_one_name_each():
    generic = generic_opcodes()
    assert not OPCODES.keys() & generic.keys()
    assert len({op.record for op in generic.values()}) == len(generic)
    assert {"Softmax", "TensorGather", "TensorConv2d", "Part", "Cast"} <= generic.keys()


def test_every_opcode_says_what_it_does_and_what_its_derivative_is():
    for op in (*OPCODES.values(), *generic_opcodes().values()):
        assert op.doc.endswith((".", "…")), op.name
        assert op.rule, op.name
