"""A loop and the one that a gradient runs again are one, and give what both gave."""

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, fori_loop, grad, jit, lower, scan, value_and_grad, vmap
from adjoint.stages import ControlStep

pytestmark = pytest.mark.usefixtures("cpu")


def real(*shape, seed=0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return Tensor((values * 0.3).astype(np.float32)).realize()


X, W = real(9, 4, 6), real(6, 6, seed=1)


def cell(w):
    def step(h, x):
        h = (h @ w + x).tanh()
        return h, h * 2

    return step


def loss(w, x, reverse=False):
    h, rows = scan(cell(w), Tensor.zeros(4, 6), x, reverse=reverse)
    return (h * h).sum() + rows.sum()


def loops(fn, *args):
    steps = lower(fn)(*args).plan.steps
    return sum(isinstance(step, ControlStep) for step in steps)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_value_and_its_gradient_go_through_the_loop_once_each_way(reverse):
    def both(w, x):
        return value_and_grad(lambda w: loss(w, x, reverse))(w)

    assert loops(both, W, X) == 2
    value, found = jit(both)(W, X)
    np.testing.assert_array_equal(value.numpy(), jit(lambda: loss(W, X, reverse))().numpy())
    alone = jit(lambda: grad(lambda w: loss(w, X, reverse))(W))()
    np.testing.assert_array_equal(found.numpy(), alone.numpy())


def test_the_gradient_is_right():
    found = grad(lambda w: loss(w, X))(W).numpy().astype(np.float64)
    direction, step = real(6, 6, seed=7).numpy().astype(np.float64), 1e-6
    wide, x = W.numpy().astype(np.float64), Tensor(X.numpy().astype(np.float64))

    def at(side):
        w = Tensor(wide + side * step * direction)
        h, rows = scan(cell(w), Tensor.zeros(4, 6, dtype="float64"), x)
        return float(((h * h).sum() + rows.sum()).numpy())

    wanted = (at(1) - at(-1)) / (2 * step)
    np.testing.assert_allclose((found * direction).sum(), wanted, rtol=1e-4)


def test_loops_with_other_operands_or_bodies_stay_apart():
    other = real(9, 4, 6, seed=5)
    assert loops(lambda w: (loss(w, X), loss(w, other)), W) == 2
    assert loops(lambda w: (loss(w, X), loss(w, X, True)), W) == 2
    assert loops(lambda w: (loss(w, X), scan(lambda h, x: (h + x, h), X[0], X)[0]), W) == 2


def test_loops_that_give_other_rows_of_the_same_states_are_one():
    def one(w):
        return scan(cell(w), Tensor.zeros(4, 6), X)

    def both(w):
        return grad(lambda w: one(w)[0].sum())(w), one(w)[1]

    assert loops(both, W) == 2
    found = jit(both)(W)
    np.testing.assert_array_equal(found[1].numpy(), jit(one)(W)[1].numpy())


def test_loops_inside_loops_are_joined_too():
    many = real(3, 9, 4, 6)

    def outer(w):
        return scan(lambda c, x: (c + grad(lambda w: loss(w, x))(w), c), w, many)[0]

    found = jit(lambda w: value_and_grad(lambda w: (outer(w) ** 2).sum())(w))(W)
    plain = value_and_grad(lambda w: (outer(w) ** 2).sum())(W)
    for mine, right in zip(found, plain, strict=True):
        np.testing.assert_allclose(mine.numpy(), right.numpy(), rtol=1e-5)


def test_effects_happen_once_a_turn():
    seen = []

    def step(h, x):
        adjoint.debug.callback(lambda a: seen.append(float(a.sum())), h)
        return (h * x).tanh(), h

    def both(h):
        return value_and_grad(lambda h: scan(step, h, X)[0].sum())(h)

    jit(both)(X[0])
    assert len(seen) == len(X)


def test_results_that_are_there_already_stay_as_they_are():
    h, rows = scan(cell(W), Tensor.zeros(4, 6), X)
    before = rows.numpy()
    other = scan(cell(W), Tensor.zeros(4, 6), X)
    np.testing.assert_array_equal((h + other[0]).numpy(), 2 * before[-1] / 2)
    np.testing.assert_array_equal(rows.numpy(), before)


def test_a_loop_without_turns_and_one_under_vmap():
    none = X[:0]
    value, found = jit(lambda w: value_and_grad(lambda w: loss(w, none))(w))(W)
    assert float(value.numpy()) == 0.0
    np.testing.assert_array_equal(found.numpy(), np.zeros((6, 6), np.float32))
    many = real(2, 9, 4, 6)
    batched = jit(vmap(lambda x: value_and_grad(lambda w: loss(w, x))(W)))(many)
    for i in range(2):
        value, found = value_and_grad(lambda w: loss(w, many[i]))(W)  # noqa: B023 - called at once
        np.testing.assert_allclose(batched[0].numpy()[i], value.numpy(), rtol=1e-5)
        np.testing.assert_allclose(batched[1].numpy()[i], found.numpy(), rtol=1e-4, atol=1e-5)


def test_counted_loops_are_joined():
    def both(w):
        return value_and_grad(lambda w: fori_loop(0, 5, lambda i, h: (h @ w).tanh(), w).sum())(w)

    assert loops(both, W) == 2
