"""An error names the op, its operands with shape and dtype, the user's line, the rule, a help."""

import traceback

import pytest

import adjoint
from adjoint import Tensor


def _message(call):
    with pytest.raises(adjoint.AdjointError) as caught:
        call()
    return str(caught.value)


def test_a_matmul_error_reads_as_the_style_guide_shows_it():
    x = Tensor.zeros(32, 64)
    w = Tensor.zeros(128, 10)
    lines = _message(lambda: x @ w).splitlines()
    assert lines[0] == "E3003: matmul: inner dimensions differ"
    assert lines[1].split()[:3] == ["lhs", "f32[32,", "64]"]
    assert lines[1].endswith("x = Tensor.zeros(32, 64)")
    assert lines[2].split()[:3] == ["rhs", "f32[128,", "10]"]
    assert lines[2].endswith("w = Tensor.zeros(128, 10)")
    assert lines[3] == "help: 64 must equal 128"


def test_operands_are_shown_with_the_file_and_line_that_made_them():
    x = Tensor.zeros(2, 3)
    line = traceback.extract_stack()[-1].lineno - 1
    assert f"test_messages.py:{line}   x = Tensor.zeros(2, 3)" in _message(
        lambda: x + Tensor([1, 2])
    )


def test_a_transposed_operand_is_suggested():
    x, w = Tensor.zeros(2, 3), Tensor.zeros(5, 3)
    assert "did you mean to transpose the right operand (.T)?" in _message(lambda: x @ w)


def test_broadcasting_names_the_dimension_and_both_shapes():
    message = _message(lambda: Tensor.zeros(2, 3) + Tensor.zeros(2, 4))
    assert message.startswith("E3001: add: ")
    assert "dimension 1" in message
    assert "[2, 3] incompatible with [2, 4]" in message
    assert "help: sizes must be equal or 1" in message


def test_a_dtype_error_lists_what_is_allowed_and_how_to_get_there():
    message = _message(lambda: Tensor([1.0]) << Tensor([1.0]))
    assert "float32 is not allowed; allowed: signed int, unsigned int" in message
    assert "help: cast first: .cast('" in message


def test_a_device_error_says_how_to_move():
    message = _message(lambda: Tensor([1.0], device="CPU") * Tensor([1.0], device="REF"))
    assert "operands are on different devices: CPU, REF" in message
    assert "help: move them together first: .to('CPU')" in message


def test_an_error_that_shows_when_it_runs_names_the_line_that_built_the_node():
    picked = Tensor([1.0, 2.0]).gather(0, Tensor([5]))
    message = _message(picked.realize)
    assert message.startswith("E6001: gather: index 5 is out of range for axis 0 of size 2")
    assert "test_messages.py" in message


def test_an_error_inside_a_composite_shows_the_users_operands():
    x = Tensor.zeros(2, 3)
    message = _message(lambda: x.softmax(axis=5))
    assert "axis 5 is out of range for rank 2" in message
    assert "x = Tensor.zeros(2, 3)" in message


def test_a_mistyped_argument_shows_the_signature():
    message = _message(lambda: Tensor([1.0]).softmax(dimension=0))
    assert message.startswith("E2007: softmax: takes (")
    assert "axis=-1" in message


def test_a_mistyped_method_gets_a_suggestion():
    assert "did you mean 'softmax'?" in _message(lambda: Tensor([1.0]).sofmax)
    assert "did you mean" not in _message(lambda: Tensor([1.0]).zzzzzz)


def test_the_traceback_shows_the_public_name_of_the_error():
    try:
        Tensor.zeros(2) + Tensor.zeros(3)
    except adjoint.AdjointError as error:
        shown = traceback.format_exception_only(error)[0]
    assert shown.startswith("adjoint.ShapeError: E3001: add")
