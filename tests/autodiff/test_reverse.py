"""compute_gradient: which nodes get a gradient, and that it is the one that the records declare.

Equal nodes are one object, so a gradient is compared with the graph that the textbook would write.
The numbers are compared elsewhere: `tests/ops` walks all records.
"""

import gc

import pytest

from adjoint import AutodiffError
from adjoint.autodiff import compute_gradient
from adjoint.ir.opdef import OPS, expand_composite
from adjoint.ir.text import text
from adjoint.ir.uop import live_nodes
from tests.autodiff.inputs import SQUARE, G, N, X, Y, symbol

TEXTBOOK = {
    "Partials, of one operand": (X.tanh(), lambda y: G * (1 - y * y)),
    "Partials that are 1": (X + Y, lambda y: G),
    "Partials that are -1": (Y - X, lambda y: -G),
    "Partials of two operands": (X * Y, lambda y: G * Y),
    "Linear": (X.flip(1), lambda y: G.flip(1)),
    "Diagonal": (X.relu(), lambda y: OPS["relu"].ad.fn(G, y, X)[0]),
    "a result that is the operand": (X, lambda y: G),
    "the same operand twice": (X + X, lambda y: G + G),
}


@pytest.mark.parametrize(("root", "wanted"), TEXTBOOK.values(), ids=TEXTBOOK)
def test_a_declaration_becomes_the_graph_of_the_textbook(root, wanted):
    assert compute_gradient(root, G, [X])[X] is wanted(root)


@pytest.mark.parametrize(
    "seed",
    [symbol("row", 3), G.cast("float64"), None, 1.0],
    ids=["shape", "dtype", "none", "number"],
)
def test_the_gradient_of_the_root_has_its_shape_and_dtype(seed):
    with pytest.raises(AutodiffError, match="E5004"):
        compute_gradient(X * Y, seed, [X])


def test_a_product_of_matrices_has_a_product_for_either_side():
    b, g = symbol("b", 3, 4), symbol("h", 2, 4)
    grads = compute_gradient(X @ b, g, [X, b])
    assert [grads[n].op.name for n in (X, b)] == ["contract", "contract"]
    assert [grads[n].src for n in (X, b)] == [(g, b), (X, g)]


def test_a_composite_without_a_rule_is_differentiated_through_its_body():
    node = X.clamp(-1, 1)
    assert type(node.op.ad).__name__ == "ThroughBody"
    through = compute_gradient(expand_composite(node), G, [X])
    assert compute_gradient(node, G, [X])[X] is through[X]


def test_only_nodes_on_a_path_to_a_target_have_a_gradient():
    inner = X.exp()
    root = inner * Y.sin()
    assert set(compute_gradient(root, G, [X])) == {root, inner, X}


def test_a_target_that_the_root_does_not_need_has_none():
    assert Y not in compute_gradient(X.exp(), G, [X, Y])
    assert set(compute_gradient(X.exp(), G, [Y])) <= {X.exp()}


def test_contributions_are_added_in_the_order_of_the_users():
    a, b, c = X.sin(), X.cos(), X.exp()
    found = compute_gradient((a + b) + c, G, [X])[X]
    parts = [compute_gradient(n, G, [X])[X] for n in (c, b, a)]
    assert found is parts[0] + parts[1] + parts[2]


def test_a_shared_node_is_differentiated_once():
    shared = X.exp()
    grads = compute_gradient(shared * shared.sin(), G, [X])
    assert grads[X] is grads[shared] * shared


ENDS = {
    "detach": X.detach(),
    "floor": X.floor(),
    "an integer": X.cast("int32").cast("float32"),
    "a comparison": (X < Y).cast("float32"),
}


@pytest.mark.parametrize("node", ENDS.values(), ids=ENDS)
def test_a_path_ends_at(node):
    assert X not in compute_gradient(node * 2, G, [X])
    assert compute_gradient(node * X, G, [X])[X] is G * node


def test_an_integer_has_no_gradient_even_if_it_is_asked_for():
    assert N not in compute_gradient(N.cast("float32") * X, G, [N, X])


def test_leaves_end_the_walk():
    inner = X.exp()
    assert set(compute_gradient(inner.sin(), G, [X], leaves=[inner])) == {inner.sin()}
    assert inner in compute_gradient(inner.sin(), G, [X, inner], leaves=[inner])


def test_an_op_without_derivative_is_named_where_a_path_goes_through_it():
    values, _ = SQUARE.eig()
    g = symbol("g", *values.shape, dtype=values.dtype)
    with pytest.raises(AutodiffError, match="has no derivative") as caught:
        compute_gradient(values, g, [SQUARE])
    assert caught.value.code == "E5001"
    assert set(compute_gradient(values, g, [X])) <= {values}


def test_the_results_of_one_op_send_their_gradients_together():
    values, vectors = SQUARE.eigh()
    (both,) = {values.src[0], vectors.src[0]}
    g = symbol("g", dtype="float64")
    root = values.reduce_sum((0,)) + vectors.reduce_sum((0, 1))
    grads = compute_gradient(root, g, [SQUARE])
    assert {values, vectors} <= grads.keys()
    assert both not in grads, "its parts have the gradients"
    assert text(grads[SQUARE]).count("eigh(") == 1


def test_depth_is_no_obstacle():
    node = X
    for _ in range(20_000):
        node = node + Y
    assert compute_gradient(node, G, [X])[X] is G


def test_the_same_graph_has_the_same_gradient_to_the_letter():
    def gradient():
        root = (X.softmax(1) * Y).exp() + X.maximum(Y)
        return text(compute_gradient(root, G, [X])[X])

    assert gradient() == gradient()


def test_nodes_of_the_way_are_not_kept():
    def nodes_after_a_gradient():
        compute_gradient((X * 3.25).softmax(1).log(), G, [X])
        gc.collect()
        return live_nodes()

    before = nodes_after_a_gradient()  # some bodies keep their constants
    assert [nodes_after_a_gradient() for _ in range(3)] == [before] * 3
