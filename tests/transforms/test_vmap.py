"""vmap: axes in and out, nesting, composition with derivatives, randomness."""

import dataclasses
import inspect

import numpy as np
import pytest

from adjoint import AutodiffError, Tensor, grad, jacrev, jvp, value_and_grad, vmap
from tests.support.tensors import f64

A = np.arange(6.0).reshape(2, 3) + 0.5
B = np.cos(np.arange(6.0)).reshape(2, 3)
V = np.array([1.0, -2.0, 0.5])


def same(tensor, wanted):
    np.testing.assert_allclose(tensor.numpy(), wanted, rtol=1e-13, atol=1e-15)


@dataclasses.dataclass
class Both:
    x: object
    y: object


class TestAxesIn:
    def test_one_number_is_for_all_arguments(self):
        same(vmap(lambda a, b: a @ b)(f64(A), f64(B)), (A * B).sum(1))
        same(vmap(lambda a, b: a @ b, in_axes=1)(f64(A), f64(B)), (A * B).sum(0))

    def test_one_entry_per_argument(self):
        same(vmap(lambda a, b: a @ b, in_axes=(0, 1))(f64(A), f64(B.T)), (A * B).sum(1))

    def test_a_list_of_entries(self):
        same(vmap(lambda a, b: a @ b, in_axes=[0, None])(f64(A), f64(V)), A @ V)

    def test_none_is_not_mapped(self):
        same(vmap(lambda a, v: a @ v, in_axes=(0, None))(f64(A), f64(V)), A @ V)
        same(vmap(lambda v, a: a @ v, in_axes=(None, 0))(f64(V), f64(A)), A @ V)

    def test_negative_axes_count_from_the_end(self):
        same(vmap(lambda a: a.sum(), in_axes=-1)(f64(A)), A.sum(0))
        same(vmap(lambda a: a.sum(), in_axes=-2)(f64(A)), A.sum(1))

    def test_a_prefix_tree(self):
        tree = {"w": f64(A), "b": f64(V)}
        got = vmap(lambda p: p["w"] @ p["b"], in_axes=({"w": 0, "b": None},))(tree)
        same(got, A @ V)

    def test_a_prefix_covers_a_whole_branch(self):
        tree = ({"x": f64(A), "y": f64(B)}, f64(V))
        got = vmap(lambda t: (t[0]["x"] * t[0]["y"]) @ t[1], in_axes=((0, None),))(tree)
        same(got, (A * B) @ V)

    def test_a_dataclass_of_axes(self):
        got = vmap(lambda p: p.x @ p.y, in_axes=(Both(0, None),))(Both(f64(A), f64(V)))
        same(got, A @ V)

    def test_keyword_arguments_are_mapped_over_their_first_axis(self):
        same(vmap(lambda a, b: a @ b)(f64(A), b=f64(B)), (A * B).sum(1))

    def test_numpy_arrays_are_mapped_too(self):
        same(vmap(lambda a: a.sum())(A), A.sum(1))

    def test_values_that_are_not_mapped_may_be_anything(self):
        same(vmap(lambda a, n: a**n, in_axes=(0, None))(f64(A), 2), A**2)

    def test_a_tensor_that_is_closed_over_is_shared(self):
        v = f64(V)
        same(vmap(lambda a: a @ v)(f64(A)), A @ V)

    def test_the_size_is_given_where_nothing_is_mapped(self):
        got = vmap(lambda v: v * 2, in_axes=None, axis_size=4)(f64(V))
        same(got, np.tile(2 * V, (4, 1)))

    def test_no_examples_give_an_empty_result(self):
        assert vmap(lambda a: a.sum())(f64(np.zeros((0, 3)))).shape == (0,)


class TestAxesOut:
    @pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
    def test_the_axis_goes_where_it_is_told(self, axis):
        outer = vmap(lambda a: a.unsqueeze(0) * a.unsqueeze(1), out_axes=axis)(f64(A))
        wanted = np.stack([np.outer(row, row) for row in A], axis=axis)
        same(outer, wanted)

    def test_each_result_has_its_own(self):
        x, y = vmap(lambda a: (a, a * 2), out_axes=(0, 1))(f64(A))
        same(x, A)
        same(y, 2 * A.T)

    def test_a_prefix_tree(self):
        got = vmap(lambda a: {"x": a, "y": (a, a)}, out_axes={"x": 0, "y": 1})(f64(A))
        same(got["x"], A)
        same(got["y"][0], A.T)

    def test_none_keeps_a_result_that_is_the_same_for_all(self):
        v = f64(V)
        x, y = vmap(lambda a: (a, v * 2), out_axes=(0, None))(f64(A))
        assert x.shape == (2, 3)
        same(y, 2 * V)

    def test_a_result_that_is_not_mapped_is_repeated(self):
        v = f64(V)
        same(vmap(lambda a: v)(f64(A)), np.tile(V, (2, 1)))


class TestNesting:
    def test_two_axes(self):
        table = vmap(vmap(lambda x, y: x * y, in_axes=(None, 0)), in_axes=(0, None))
        same(table(f64(V), f64(B[0])), np.outer(V, B[0]))

    def test_inner_axes_are_those_of_one_example(self):
        x = np.arange(24.0).reshape(2, 3, 4)
        got = vmap(vmap(lambda a: a.sum(), in_axes=1), in_axes=0)(f64(x))
        same(got, x.sum(1))

    def test_three_deep(self):
        x = np.arange(24.0).reshape(2, 3, 4)
        same(vmap(vmap(vmap(lambda a: a * a)))(f64(x)), x * x)

    def test_an_inner_vmap_over_a_captured_example(self):
        got = vmap(lambda a: vmap(lambda s: s * a.sum())(f64(V)))(f64(A))
        same(got, np.outer(A.sum(1), V))

    def test_matrix_products_under_two_vmaps(self):
        x = np.sin(np.arange(24.0)).reshape(2, 3, 2, 2)
        y = np.cos(np.arange(12.0)).reshape(3, 2, 2)
        got = vmap(vmap(lambda a, b: a @ b), in_axes=(0, None))(f64(x), f64(y))
        same(got, x @ y)


class TestDerivatives:
    def test_of_grad_gives_gradients_per_example(self):
        got = vmap(grad(lambda w, x: (w @ x).tanh()), in_axes=(None, 0))(f64(V), f64(A))
        wanted = [(1 - np.tanh(V @ row) ** 2) * row for row in A]
        same(got, wanted)

    def test_of_value_and_grad(self):
        value, gradient = vmap(value_and_grad(lambda x: (x**2).sum()))(f64(A))
        same(value, (A**2).sum(1))
        same(gradient, 2 * A)

    def test_grad_of_it_sums_over_examples_for_what_is_shared(self):
        total = lambda w: vmap(lambda x: (w * x).sum())(f64(A)).sum()  # noqa: E731
        same(grad(total)(f64(V)), A.sum(0))

    def test_jvp_of_it(self):
        fn = vmap(lambda x: x.softmax() @ f64(V))
        value, tangent = jvp(fn, (f64(A),), (f64(B),))
        rows = [jvp(lambda x: x.softmax() @ f64(V), (f64(a),), (f64(b),)) for a, b in zip(A, B)]  # noqa: B905
        same(value, [r[0].item() for r in rows])
        same(tangent, [r[1].item() for r in rows])

    def test_grad_of_vmap_of_grad(self):
        inner = vmap(grad(lambda x: (x**3).sum()))
        same(grad(lambda x: inner(x).sum())(f64(A)), 6 * A)

    def test_vmap_of_vmap_of_grad(self):
        same(vmap(vmap(grad(lambda x: x**3)))(f64(A)), 3 * A * A)

    def test_jacobian_of_it_is_block_diagonal(self):
        got = jacrev(vmap(lambda x: x.sum()))(f64(A))
        wanted = np.zeros((2, 2, 3))
        wanted[0, 0] = wanted[1, 1] = 1
        same(got, wanted)


class TestRandomness:
    def test_every_example_draws_its_own_numbers(self):
        Tensor.manual_seed(0)
        got = vmap(lambda x: x + Tensor.rand(4))(Tensor.zeros(3, 4)).numpy()
        assert len(np.unique(got)) == 12

    def test_the_same_numbers_for_all_if_asked(self):
        Tensor.manual_seed(0)
        got = vmap(lambda x: x + Tensor.rand(4), randomness="same")(Tensor.zeros(3, 4)).numpy()
        assert (got == got[0]).all()
        assert len(np.unique(got[0])) == 4

    def test_the_same_numbers_are_those_without_vmap(self):
        Tensor.manual_seed(3)
        got = vmap(lambda x: x + Tensor.rand(4), randomness="same")(Tensor.zeros(2, 4)).numpy()
        Tensor.manual_seed(3)
        np.testing.assert_array_equal(got[0], Tensor.rand(4).numpy())

    def test_an_error_if_asked(self):
        with pytest.raises(AutodiffError, match="random numbers") as caught:
            vmap(lambda x: x + Tensor.rand(4), randomness="error")(Tensor.zeros(3, 4))
        assert caught.value.code == "E5004"
        assert caught.value.help

    def test_no_draw_is_no_error(self):
        same(vmap(lambda x: x * 2, randomness="error")(f64(A)), 2 * A)

    def test_nested_maps_draw_for_every_pair(self):
        Tensor.manual_seed(0)
        got = vmap(vmap(lambda x: x + Tensor.rand(2)))(Tensor.zeros(3, 4, 2)).numpy()
        assert len(np.unique(got)) == 24

    def test_two_draws_of_one_example_differ(self):
        Tensor.manual_seed(0)
        got = vmap(lambda x: x + Tensor.rand(2) - Tensor.rand(2))(Tensor.zeros(3, 2)).numpy()
        assert (got != 0).all()

    def test_normal_draws_and_dropout_differ_too(self):
        Tensor.manual_seed(0)
        normal = vmap(lambda x: x + Tensor.randn(8))(Tensor.zeros(2, 8)).numpy()
        assert (normal[0] != normal[1]).all()
        with Tensor.train():
            kept = vmap(lambda x: x.dropout(0.5))(Tensor.ones(2, 64)).numpy()
        assert (kept[0] != kept[1]).any()

    def test_the_seed_decides(self):
        draws = []
        for _ in range(2):
            Tensor.manual_seed(5)
            draws.append(vmap(lambda x: x + Tensor.rand(4))(Tensor.zeros(3, 4)).numpy())
        np.testing.assert_array_equal(*draws)


def test_the_function_keeps_its_name_and_signature():
    def scale(x, factor=2.0):
        """x scaled."""
        return x * factor

    made = vmap(scale)
    assert made.__name__ == "scale"
    assert made.__doc__ == "x scaled."
    assert list(inspect.signature(made).parameters) == ["x", "factor"]


def test_conditions_per_example_go_through_where():
    got = vmap(lambda x: (x > 2).where(x, -x))(f64(A))
    same(got, np.where(A > 2, A, -A))


def test_indexing_with_an_index_per_example():
    got = vmap(lambda row, i: row[i])(f64(A), Tensor([2, 0]))
    same(got, [A[0, 2], A[1, 0]])
