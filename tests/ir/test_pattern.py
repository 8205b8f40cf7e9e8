"""Patterns: what matches, what is bound, how they print."""

import pytest

from adjoint.errors import InternalError
from adjoint.ir.opdef import OPS
from adjoint.ir.pattern import Attr, Var, any_const, bind, fill, matches, variables

x, y, c = Var("x"), Var("y"), any_const("c")
a, b = OPS["input"]("a", (2,), "float32"), OPS["input"]("b", (2,), "float32")
n = OPS["input"]("n", (), "int32")


def found(pattern, node):
    return list(matches(pattern, node))


def test_a_variable_matches_anything_and_binds_it():
    assert found(x, a + b) == [{"x": a + b}]


def test_an_op_matches_its_own_name_only():
    assert found(x.exp(), a.exp()) == [{"x": a}]
    assert found(x.exp(), a.log()) == []


def test_the_same_name_twice_is_the_same_node():
    assert found(x - x, a - a) == [{"x": a}]
    assert found(x - x, a - b) == []


def test_commutative_ops_match_in_both_orders():
    assert found(x.exp() + y, b + a.exp()) == [{"x": a, "y": b}]
    assert found(x + y, a + b) == [{"x": a, "y": b}, {"x": b, "y": a}]
    assert found(x - y, a - b) == [{"x": a, "y": b}]


def test_a_number_matches_a_constant_of_exactly_that_value():
    assert found(x * 0, n * 0) == [{"x": n}]
    assert found(x * 0, n * 1) == []
    assert found(x * 1, a * 1.0) == [{"x": a}]
    assert found(x * True, n * 1) == []
    assert found(x + 0.0, a + -0.0) == []
    assert found(x + -0.0, a + -0.0) == [{"x": a}]


def test_a_nan_matches_a_nan():
    assert found(x + float("nan"), a + float("nan")) == [{"x": a}]


def test_any_const_matches_constants_only():
    assert found(x + c, n + 5)[0]["c"].arg.value == 5
    assert found(x + c, a + b) == []


def test_methods_with_several_operands():
    node = (a < b).where(a, b)
    assert found((x < y).where(x, y), node) == [{"x": a, "y": b}]
    assert found(x.eq(y), a.eq(b))[0] == {"x": a, "y": b}


def test_attributes_are_bound_or_constrained():
    node = a.reshape(2, 1)
    assert found(x.reshape(shape=Attr("s")), node) == [{"x": a, "s": (2, 1)}]
    assert found(x.reshape(shape=(2, 1)), node) == [{"x": a}]
    assert found(x.reshape(shape=(1, 2)), node) == []
    assert found(x.reshape(), node) == [{"x": a}]


def test_the_same_attribute_twice_is_the_same_value():
    twice = x.flip(axis=Attr("d")).flip(axis=Attr("d"))
    node = OPS["input"]("m", (2, 3), "float32")
    assert len(found(twice, node.flip(0).flip(0))) == 1
    assert found(twice, node.flip(0).flip(1)) == []


def test_bind_names_the_whole_node():
    node = a + b
    assert found(bind("whole", x + y), node)[0] == {"whole": node, "x": a, "y": b}


def test_division_is_the_node_it_builds():
    assert found(x / y, a / b) == [{"x": a, "y": b}]


def test_a_template_is_filled_with_nodes_of_the_right_dtype():
    assert fill(x * 2 + y, {"x": n, "y": n}) is n * 2 + n
    assert fill(x.reshape(shape=Attr("s")), {"x": a, "s": (1, 2)}) is a.reshape(1, 2)


def test_patterns_print_as_equations():
    assert str((x * 0 + y) // c) == "((x * 0) + y) // c"
    assert str(-x) == "-x"
    assert str((x < y).where(x, 1)) == "(x < y).where(x, 1)"
    assert str(x.cast(dtype=Attr("d"))) == "x.cast(dtype=d)"


def test_variables_are_found_in_order():
    assert list(variables((y + x) * c + y)) == ["y", "x", "c"]


def test_patterns_have_no_truth_value():
    with pytest.raises(TypeError, match="truth"):
        bool(x < y)


def test_only_patterns_and_numbers_are_operands():
    with pytest.raises(InternalError, match="by name"):
        x.reshape((2, 3))


def test_matching_a_deep_graph_does_not_recurse():
    node = a
    for _ in range(20_000):
        node = node.exp()
    assert len(found(x.exp().exp(), node)) == 1
