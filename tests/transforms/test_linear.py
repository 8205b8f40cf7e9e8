"""linear_transpose: ⟨g, A x⟩ = ⟨Aᵀ g, x⟩ without a point, and an error for what is not linear."""

import numpy as np
import pytest

from adjoint import AutodiffError, ShapeDtype, Tensor, jit, linear_transpose, vmap
from tests.support.tensors import f64

A = np.arange(6.0).reshape(2, 3)


LINEAR = {
    "product": (lambda v: f64(A) @ v, (3,), A),
    "reversed sum": (lambda v: v.flip(0).cumsum(0), (3,), np.tril(np.ones((3, 3)))[:, ::-1]),
    "picked": (lambda v: v[Tensor([2, 0, 2])] * 2, (3,), 2 * np.eye(3)[[2, 0, 2]]),
}


@pytest.mark.parametrize("name", LINEAR)
def test_it_is_the_transposed_matrix(name):
    fn, shape, matrix = LINEAR[name]
    back = linear_transpose(fn, ShapeDtype(shape, "float64"))
    for g in np.eye(len(matrix)):
        np.testing.assert_allclose(back(f64(g))[0].numpy(), matrix.T @ g)
    rows = vmap(lambda g: back(g)[0])(f64(np.eye(len(matrix))))
    np.testing.assert_allclose(rows.numpy(), matrix)
    np.testing.assert_allclose(jit(lambda g: back(g)[0])(f64(g)).numpy(), matrix.T @ g)


def test_trees_of_arguments_and_results():
    fn = lambda p, v: {"sum": p["a"] + 2 * v, "a": p["a"].sum()}  # noqa: E731
    back = linear_transpose(fn, {"a": f64([0, 0])}, f64([0, 0]))
    dp, dv = back({"sum": f64([1, 10]), "a": f64(100)})
    assert dp["a"].tolist() == [101, 110]
    assert dv.tolist() == [2, 20]


@pytest.mark.parametrize(
    "fn", [lambda v: v * v, lambda v: v.sum() * v, lambda v: v.sin(), lambda v: v + 1]
)
def test_what_is_not_linear_is_an_error(fn):
    with pytest.raises(AutodiffError, match=r"E5001.*not linear"):
        linear_transpose(fn, f64([1, 2]))


def test_integers_are_no_arguments():
    with pytest.raises(AutodiffError, match="E5005"):
        linear_transpose(lambda v: v * 2, Tensor([1, 2]))
