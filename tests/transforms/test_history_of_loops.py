"""Results of control flow keep the history of what they are made of, whoever reads them before."""

import numpy as np
import pytest

from adjoint import Tensor, cond, fori_loop, no_grad, scan, switch, while_loop

pytestmark = pytest.mark.usefixtures("cpu")
X = np.random.default_rng(0).standard_normal((4, 2, 3)).astype(np.float32)
W = np.random.default_rng(1).standard_normal((3, 3)).astype(np.float32)


def scanned(w):
    return scan(lambda h, x: ((h @ w + x).tanh(), h), Tensor.zeros(2, 3), Tensor(X))[0].sum()


FORMS = {
    "scan, captured": scanned,
    "scan, rows": lambda w: scan(lambda h, x: (h, x * 2), w[0], w)[1].sum(),
    "scan, carried": lambda w: scan(lambda h, x: (h * x.sum(), h), w, Tensor(X))[0].sum(),
    "fori_loop": lambda w: fori_loop(0, 3, lambda i, h: (h @ w).tanh(), w).sum(),
    "cond": lambda w: cond(Tensor(True), lambda: (w * 3).sum(), lambda: w.sum()),
    "cond, operands": lambda w: cond(Tensor(True), lambda v: (v * 3).sum(), lambda v: v.sum(), w),
    "switch": lambda w: switch(1, [lambda v: v.sum(), lambda v: (v * v).sum()], w),
    "while_loop, bounded": lambda w: while_loop(
        lambda v: v.sum() > 1e9, lambda v: v * 2, w, max_iterations=3
    ).sum(),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_value_that_was_read_has_its_gradient_still(form):
    fn, found = FORMS[form], []
    for reads in (False, True):
        w = Tensor(W, requires_grad=True)
        value = fn(w)
        if reads:
            value.numpy()
        value.backward()
        found.append(w.grad.numpy())
    np.testing.assert_array_equal(*found)


def test_results_say_that_they_have_a_history():
    w = Tensor(W, requires_grad=True)
    assert scanned(w).requires_grad
    assert not scanned(Tensor(W)).requires_grad
    with no_grad():
        assert not scanned(w).requires_grad


def test_whole_numbers_have_none():
    w = Tensor(W, requires_grad=True)
    counted, kept = fori_loop(0, 3, lambda i, c: (c[0] + 1, c[1] * 2), (Tensor(0), w))
    assert not counted.requires_grad
    assert kept.requires_grad
