"""jacrev, jacfwd, hessian: by hand, against each other, and of pytrees."""

import inspect

import numpy as np
import pytest

from adjoint import grad, hessian, jacfwd, jacrev, vmap
from tests.support.tensors import f64

X = np.array([0.5, 1.0, 2.0])
A = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
BOTH = pytest.mark.parametrize("jacobian", [jacrev, jacfwd])


def same(tensor, wanted):
    np.testing.assert_allclose(tensor.numpy(), wanted, rtol=1e-13, atol=1e-14)


@BOTH
class TestJacobian:
    def test_of_a_linear_map_is_its_matrix(self, jacobian):
        same(jacobian(lambda x: f64(A) @ x)(f64(X)), A)

    def test_of_an_elementwise_function_is_diagonal(self, jacobian):
        same(jacobian(lambda x: x.sin())(f64(X)), np.diag(np.cos(X)))

    def test_of_a_scalar_is_the_gradient(self, jacobian):
        same(jacobian(lambda x: (x**3).sum())(f64(X)), 3 * X * X)

    def test_of_a_scalar_with_respect_to_a_scalar_has_no_axes(self, jacobian):
        got = jacobian(lambda x: x**3)(f64(2.0))
        assert got.shape == ()
        assert got.item() == 12.0

    def test_has_the_results_axes_then_the_arguments(self, jacobian):
        got = jacobian(lambda x: x.permute(1, 0))(f64(A))
        wanted = np.einsum("jk,il->ijlk", np.eye(3), np.eye(2)).transpose(1, 0, 2, 3)
        assert got.shape == (3, 2, 2, 3)
        same(got, wanted)

    def test_with_respect_to_another_argument(self, jacobian):
        same(jacobian(lambda x, y: x * y, 1)(f64(X), f64(2 * X)), np.diag(X))

    def test_with_respect_to_several_arguments(self, jacobian):
        dx, dy = jacobian(lambda x, y: x * y, (0, 1))(f64(X), f64(2 * X))
        same(dx, np.diag(2 * X))
        same(dy, np.diag(X))

    def test_of_pytrees_is_a_tree_of_trees(self, jacobian):
        got = jacobian(lambda p: {"y": p["a"] * p["b"], "z": p["a"]})({"a": f64(X), "b": f64(3.0)})
        same(got["y"]["a"], 3 * np.eye(3))
        same(got["y"]["b"], X)
        same(got["z"]["a"], np.eye(3))
        same(got["z"]["b"], np.zeros(3))

    def test_keyword_arguments_and_name(self, jacobian):
        def scaled(x, *, by):
            return x * by

        made = jacobian(scaled)
        same(made(f64(X), by=4.0), 4 * np.eye(3))
        assert made.__name__ == "scaled"
        assert list(inspect.signature(made).parameters) == ["x", "by"]

    def test_can_be_mapped(self, jacobian):
        got = vmap(jacobian(lambda x: x**2))(f64(A))
        same(got, [np.diag(2 * row) for row in A])

    def test_of_an_empty_argument_is_empty(self, jacobian):
        got = jacobian(lambda x: x * 2)(f64(np.zeros((0,))))
        assert got.shape == (0, 0)

    def test_of_a_constant_is_zero(self, jacobian):
        same(jacobian(lambda x: f64([1.0, 2.0]))(f64(X)), np.zeros((2, 3)))


def curved(x):
    return (x.sin() * x.flip(0)).sum() + (x.prod()).exp()


def test_rows_and_columns_agree():
    fn = lambda x: (f64(A) @ x.softmax()).tanh()  # noqa: E731
    np.testing.assert_allclose(
        jacrev(fn)(f64(X)).numpy(), jacfwd(fn)(f64(X)).numpy(), rtol=1e-13, atol=1e-16
    )


class TestHessian:
    def test_of_a_quadratic_form_is_its_matrix(self):
        q = A.T @ A
        same(hessian(lambda x: (x @ f64(q) @ x) / 2)(f64(X)), q)

    def test_of_a_polynomial_by_hand(self):
        got = hessian(lambda v: v[0] ** 2 * v[1])(f64([3.0, 5.0]))
        same(got, [[10.0, 6.0], [6.0, 0.0]])

    @pytest.mark.parametrize("outer", [jacrev, jacfwd])
    @pytest.mark.parametrize("inner", [jacrev, jacfwd])
    def test_every_pair_of_modes_gives_it(self, outer, inner):
        same(outer(inner(curved))(f64(X)), hessian(curved)(f64(X)).numpy())

    def test_it_is_symmetric(self):
        got = hessian(curved)(f64(X)).numpy()
        np.testing.assert_allclose(got, got.T, rtol=1e-13)

    def test_of_several_arguments_has_a_block_for_each_pair(self):
        blocks = hessian(lambda x, y: (x * x * y).sum(), (0, 1))(f64(X), f64(2 * X))
        same(blocks[0][0], np.diag(4 * X))
        same(blocks[0][1], np.diag(2 * X))
        same(blocks[1][0], np.diag(2 * X))
        same(blocks[1][1], np.zeros((3, 3)))

    def test_of_a_dict(self):
        blocks = hessian(lambda p: (p["a"] ** 2 * p["b"]).sum())({"a": f64(X), "b": f64(3.0)})
        same(blocks["a"]["a"], 6 * np.eye(3))
        same(blocks["a"]["b"], 2 * X)
        same(blocks["b"]["b"], 0.0)

    def test_a_hessian_vector_product_needs_no_hessian(self):
        v = f64([1.0, -1.0, 2.0])
        product = grad(lambda x: (grad(curved)(x) * v).sum())(f64(X))
        same(product, hessian(curved)(f64(X)).numpy() @ v.numpy())

    def test_third_derivatives(self):
        got = jacfwd(hessian(lambda x: (x**4).sum()))(f64(X))
        wanted = np.zeros((3, 3, 3))
        wanted[range(3), range(3), range(3)] = 24 * X
        same(got, wanted)
