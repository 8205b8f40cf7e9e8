"""Products that share an operand, and long sums of products: what one kernel does of many."""

from dataclasses import replace

import numpy as np
import pytest

from adjoint import Tensor, grad, jit, lower, value_and_grad, vmap
from adjoint.backends.cpu import BACKEND
from adjoint.engine import passes
from adjoint.engine.program_cache import PROGRAMS
from adjoint.stages import ControlStep
from tests.anew import compiled_anew

pytestmark = [
    pytest.mark.usefixtures("cpu"),
    pytest.mark.skipif(BACKEND.target.tile is None, reason="no fused multiply-adds"),
]


def real(*shape, seed=0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return Tensor((values * 0.3).astype(np.float32)).realize()


T = 11
X, Y, W, V = real(T, 26, 63), real(T, 26, 64, seed=1), real(64, 64, seed=2), real(63, 64, seed=3)


def unrolled(w, v, x):
    h = Tensor.zeros(26, 64)
    for t in range(T):
        h = (h @ w + x[t] @ v).tanh()
    return h


def backwards(w, v, x):
    h = Tensor.zeros(26, 64)
    for t in reversed(range(T)):
        h = (h @ w + x[t] @ v).tanh()
    return h


def weights_left(w, v, x):
    return [(v.T @ x[t].T).tanh() for t in range(T)]


def one_of_two(w, v, x):
    return [x[t] @ v for t in range(0, T, 2)]


def few_of_many(w, v, x):
    return [x[t] @ v for t in range(2)]


def twice(w, v, x):
    return [x[t] @ v + x[t] @ v * 2 for t in range(T)]


def summed(w, v, x):
    return sum((x[t].T @ Y[t] for t in range(1, T)), x[0].T @ Y[0])


def summed_to_another(w, v, x):
    total = v * 2
    for t in reversed(range(T)):
        total = x[t].T @ (Y[t] * t) + total
    return total


def sums_on_the_way(w, v, x):
    """One of the partial sums is read."""
    total, seen = v, None
    for t in range(T):
        total = total + x[t].T @ Y[t]
        seen = total if t == 5 else seen
    return total, seen


def out_of_order(w, v, x):
    return sum((x[(3 * t) % T].T @ Y[t] for t in range(1, T)), x[0].T @ Y[0])


def of_other_sizes(w, v, x):
    total = v * 0
    for t in range(T):
        total = total + (x[t].T @ Y[t] if t % 4 else x[t, :12].T @ Y[t, :12])
    return total


FORMS = [
    unrolled, backwards, weights_left, one_of_two, few_of_many, twice, summed, summed_to_another,
    sums_on_the_way, out_of_order, of_other_sizes,
]  # fmt: skip


def total(fn):
    def one(*args):
        found = fn(*args)
        found = found if isinstance(found, (tuple, list)) else [found]
        return sum((part * part).sum() for part in found)

    return one


HOW = {
    "values": lambda fn: fn,
    "gradient": lambda fn: value_and_grad(total(fn), argnums=(0, 1, 2)),
    "batch": lambda fn: lambda w, v, x: vmap(lambda n: total(fn)(w * n, v * n, x))(W[0, :3]),
}


def leaves_of(tree):
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in leaves_of(part)]
    return [tree.numpy()]


@pytest.fixture
def forced(monkeypatch):
    """Tiles for products of any length; a switch leaves products as they are written."""
    limits = replace(BACKEND.target.limits, tiled_products=1)

    def switch(shared):
        monkeypatch.setattr(BACKEND, "target", replace(BACKEND.target, limits=limits))
        if not shared:
            monkeypatch.setattr(passes, "share_products", lambda roots, target: list(roots))
            monkeypatch.setattr(passes, "sum_products", lambda roots, target: list(roots))
        PROGRAMS.clear()

    with compiled_anew():
        yield switch
    PROGRAMS.clear()


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
@pytest.mark.parametrize("form", FORMS, ids=lambda fn: fn.__name__)
def test_no_bit_changes(form, how, forced):
    fn = how(form)
    forced(True)
    found = leaves_of(jit(fn)(W, V, X))
    forced(False)
    for mine, other in zip(found, leaves_of(jit(fn)(W, V, X)), strict=True):
        assert mine.tobytes() == other.tobytes()


def count(fn, kind):
    steps = lower(fn)(W, V, X).plan.steps
    if kind == "loop":
        return sum(isinstance(step, ControlStep) for step in steps)
    return sum(step.strategy.name == kind for step in steps)


def test_products_of_slices_are_one(forced):
    forced(True)
    assert count(unrolled, "tiles") == T + 1
    assert count(one_of_two, "tiles") == 1
    assert count(few_of_many, "tiles") == 2  # most of it would be for nothing


def test_long_sums_of_products_are_loops(forced):
    forced(True)
    assert count(summed, "loop") == count(summed_to_another, "loop") == 1
    assert count(grad(total(unrolled), argnums=(0, 1)), "loop") == 2
    assert count(of_other_sizes, "loop") == 0


def test_an_infinity_in_one_product_is_where_it_was(forced):
    x = X.numpy().copy()
    x[3, 2, 5] = np.inf
    forced(True)
    mine = jit(summed)(W, V, Tensor(x)).numpy()
    forced(False)
    assert mine.tobytes() == jit(summed)(W, V, Tensor(x)).numpy().tobytes()
