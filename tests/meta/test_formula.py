"""Graphs as mathematics, written down by hand."""

import pytest

from adjoint.autodiff.reverse import compute_gradient
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from docs.formula import expression, formula


def _input(name, *shape, dtype=dtypes.float32):
    return OPS["input"](name, shape, dtype, None)


A, B, X, V = _input("a", 2, 3), _input("b", 2, 3), _input("x", 2, 3), _input("v", 3)
N = _input("n", 2, 3, dtype=dtypes.int32)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (A + B, "a + b"),
        (A - (B - X), "a − b + x"),
        (A * (B + X), "a · (b + x)"),
        (A * (B * X), "a · b · x"),
        (A / (B * X), "a / (b · x)"),
        (A / B / X, "a / (b · x)"),
        (A * (1 / B), "a / b"),
        (-A * -B, "a · b"),
        (A * -B, "−a · b"),
        (A - -B, "a + b"),
        (-(A + B), "−(a + b)"),
        ((-A) ** 2, "(−a)²"),
        (A * A * A, "a³"),
        ((A + B) * (A + B), "(a + b)²"),
        (A**B, "a^b"),
        (A ** (B - 1), "a^(b − 1)"),
        (A**3 * 2.5, "2.5 · a³"),
        (A.rsqrt() * B, "b / √a"),
        ((A + 1).sqrt(), "√(a + 1)"),
        (A + A, "2 · a"),
        (A - 0.0, "a"),
        (A * 1.0, "a"),
        (A + -1.5, "a − 1.5"),
        (A * 0.6931471805599453, "ln 2 · a"),
        (A.exp() / (A.exp() + 1), "exp(a) / (exp(a) + 1)"),
        (abs(A), "|a|"),
        (A.floor(), "⌊a⌋"),
        (A.maximum(B), "max(a, b)"),
    ],
)
def test_arithmetic_has_the_fewest_brackets(node, text):
    assert expression(node) == text


@pytest.mark.parametrize(
    ("node", "text"),
    [
        ((A > 0).where(B, 0), "where(a > 0, b, 0)"),
        (A.eq(B).where(A, B), "where(a = b, a, b)"),
        ((A < B) & (A.isnan() | (B <= 1)), "(a < b ∧ (isnan(a) ∨ b ≤ 1))"),
        (~(A < B), "¬(a < b)"),
        ((A < B).cast(dtypes.float32), "[a < b]"),
        (N.cast(dtypes.float32) + A, "n + a"),
        (A.cast(dtypes.int32), "int32(a)"),
    ],
)
def test_conditions(node, text):
    assert expression(node) == text


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (X.reduce_sum(), "Σ(x)"),
        (X.reduce_sum(1), "Σ₁(x)"),
        ((-X).reduce_sum(1), "−Σ₁(x)"),
        (X - X.reduce_sum(1, True), "x − Σ₁(x)"),
        (X.max(0), "max₀(x)"),
        (V.expand(2, 3), "expand(v, [2, 3])"),
        (X * V, "x · v"),
        (X * (1 / V), "x / v"),
        (X.permute(1, 0), "xᵀ"),
        (X.permute(1, 0).contract(X, "mk,kn->mn"), 'contract(xᵀ, x, "mk,kn->mn")'),
        (X.shrink(((0, 1), (1, 3))), "x[:1, 1:]"),
        (X.reshape(6), "reshape(x, shape=[6])"),
        (X.reshape(2, 1, 3), "x"),
        (V.reshape(3, 1) - V, "v[:, None] − v"),
        (X.pad_constant((1, 0), (0, 0)), "pad(x, before=[1, 0], after=[0, 0])"),
        (X.softmax(0), "softmax(x, axis=0)"),
        (X.triu(), "where(i₀ ≤ i₁, x, 0)"),
    ],
)
def test_axes_are_shown_where_they_matter(node, text):
    assert expression(node) == text


def test_a_term_that_is_used_twice_gets_a_name():
    e = (X - 1).exp()
    assert formula({"y": e / (1 + e)}) == ["u = exp(x − 1)", "y = u / (1 + u)"]


def test_a_short_term_is_repeated_instead():
    assert formula({"y": X.exp() / (1 + X.exp())}) == ["y = exp(x) / (1 + exp(x))"]


def test_names_given_are_kept_and_not_taken_again():
    e = (X - 1).exp() + _input("u", 2, 3)
    assert formula({"p": e, "q": -e}, {_input("u", 2, 3): "u"}) == [
        "v = exp(x − 1) + u",
        "p = v",
        "q = −v",
    ]


def test_the_gradient_of_tanh_is_the_textbook_s():
    y, g = X.tanh(), _input("g", 2, 3)
    dx = compute_gradient(y, g, [X])[X]
    assert formula({"dx": dx}, {X: "x", y: "y", g: "g"}) == ["dx = g · (1 − y²)"]


def test_the_gradients_of_a_product_of_matrices():
    b = _input("b", 3, 4)
    y, g = X @ b, _input("g", 2, 4)
    grads = compute_gradient(y, g, [X, b])
    assert formula({"dx": grads[X], "db": grads[b]}, {y: "y"}) == [
        'dx = contract(g, b, "mn,kn->mk")',
        'db = contract(x, g, "mk,mn->kn")',
    ]


def test_a_broadcast_operand_s_gradient_is_a_sum():
    y, g = X * V, _input("g", 2, 3)
    assert formula({"dv": compute_gradient(y, g, [V])[V]}) == ["dv = Σ₀(g · x)"]


def test_a_deep_graph_is_no_obstacle():
    y = X
    for _ in range(3000):
        y = y.sin()
    assert expression(y).count("sin(") == 3000
