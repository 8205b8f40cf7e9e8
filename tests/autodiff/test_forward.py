"""push_forward: tangents through graphs, by the same declarations as reverse mode."""

import pytest

from adjoint import AutodiffError
from adjoint.autodiff.forward import push_forward
from adjoint.ir.opdef import expand_composite
from tests.autodiff.inputs import SQUARE, N, T, X, Y, symbol

TEXTBOOK = {
    "Partials, of one operand": (X.tanh(), lambda y: T * (1 - y * y)),
    "Partials that are 1": (X + Y, lambda y: T),
    "Partials that are -1": (Y - X, lambda y: -T),
    "Partials of two operands": (X * Y, lambda y: T * Y),
    "Linear": (X.flip(1), lambda y: T.flip(1)),
    "a sum": (X.reduce_sum((1,)), lambda y: T.reduce_sum((1,))),
    "a result that is the operand": (X, lambda y: T),
    "the same operand twice": (X + X, lambda y: T + T),
}


@pytest.mark.parametrize(("root", "wanted"), TEXTBOOK.values(), ids=TEXTBOOK)
def test_a_declaration_becomes_the_graph_of_the_textbook(root, wanted):
    (tangent,) = push_forward([root], {X: T})
    assert tangent is wanted(root)


def test_both_sides_of_a_product_of_matrices_have_a_part():
    b, tb = symbol("b", 3, 4), symbol("tb", 3, 4)
    (tangent,) = push_forward([X @ b], {X: T, b: tb})
    assert tangent is (T @ b) + (X @ tb)


def test_a_composite_without_a_rule_is_pushed_through_its_body():
    node = X.clamp(-1, 1)
    assert push_forward([node], {X: T}) == push_forward([expand_composite(node)], {X: T})


ZERO = {
    "another leaf": Y.exp(),
    "detach": X.detach(),
    "floor": X.floor(),
    "an integer": X.cast("int32"),
    "a comparison": X < Y,
    "what was an integer": (N + 1).cast("float32"),
}


@pytest.mark.parametrize("node", ZERO.values(), ids=ZERO)
def test_the_tangent_is_zero_of(node):
    assert push_forward([node], {X: T}) == [None]


def test_a_zero_adds_nothing():
    held = X.detach()
    assert push_forward([held * X], {X: T}) == [T * held]


def test_roots_share_what_they_have_in_common():
    shared = X.exp()
    first, second = push_forward([shared, shared.sin()], {X: T})
    assert second is first * shared.cos()


def test_a_tangent_in_the_middle_hides_what_is_below():
    inner = X.exp()
    t = symbol("s", 2, 3)
    assert push_forward([inner * 2], {inner: t, X: T}) == push_forward([inner * 2], {inner: t})


def test_leaves_end_the_walk():
    inner = X.exp()
    assert push_forward([inner.sin()], {X: T}, leaves=[inner]) == [None]


def test_an_op_without_derivative_is_an_error_and_no_zero():
    with pytest.raises(AutodiffError, match="has no derivative") as caught:
        push_forward(list(SQUARE.eig()), {SQUARE: symbol("t", 3, 3, dtype="float64")})
    assert caught.value.code == "E5001"


def test_every_result_of_an_op_has_its_tangent():
    values, vectors = push_forward(
        list(SQUARE.eigh()), {SQUARE: symbol("t", 3, 3, dtype="float64")}
    )
    assert (values.shape, vectors.shape) == ((3,), (3, 3))


def test_depth_is_no_obstacle():
    node = X
    for _ in range(20_000):
        node = node + Y
    assert push_forward([node], {X: T}) == [T]
