"""vjp, jvp, linearize: values by hand, both modes transposes of each other, pytrees, aux."""

import numpy as np
import pytest

from adjoint import AutodiffError, Tensor, dtypes, grad, jvp, linearize, vjp, vmap
from tests.support.tensors import f64, same

X = np.array([0.5, 1.0, 2.0])
T = np.array([1.0, -2.0, 0.5])


class TestJvp:
    def test_value_and_tangent(self):
        value, tangent = jvp(lambda x: x.sin(), (f64(X),), (f64(T),))
        same(value, np.sin(X))
        same(tangent, np.cos(X) * T)

    def test_tangents_of_several_arguments_add_up(self):
        got = jvp(lambda x, y: x * y, (f64(X), f64(T)), (f64(T), f64(X)))[1]
        same(got, T * T + X * X)

    def test_a_result_that_does_not_depend_has_a_zero_tangent(self):
        constant = f64([1.0, 2.0])
        got = jvp(lambda x: (x, constant), (f64(X),), (f64(T),))[1]
        same(got[1], np.zeros(2))

    def test_an_integer_argument_takes_any_tangent(self):
        index = Tensor([2, 0])
        got = jvp(lambda x, i: x[i], (f64(X), index), (f64(T), index))[1]
        same(got, T[[2, 0]])

    def test_an_integer_result_has_a_zero_tangent(self):
        got = jvp(lambda x: x.argmax(), (f64(X),), (f64(T),))[1]
        assert got.item() == 0

    def test_numpy_tangents_are_cast_to_their_primal(self):
        got = jvp(lambda x: x * 2, (Tensor([1.0, 2.0]),), (np.array([1.0, 3.0]),))[1]
        assert got.dtype is dtypes.float32
        assert got.tolist() == [2.0, 6.0]

    def test_lists_of_primals_work(self):
        assert jvp(lambda x: x * x, [f64(3.0)], [f64(1.0)])[1].item() == 6.0

    def test_jvp_of_jvp(self):
        inner = lambda x: jvp(lambda v: v**3, (x,), (f64(1.0),))[1]  # noqa: E731
        assert jvp(inner, (f64(2.0),), (f64(1.0),))[1].item() == 12.0

    def test_jvp_of_vmap_is_vmap_of_jvp(self):
        fn = lambda row: row.softmax()  # noqa: E731
        x, t = f64(np.outer(X, T)), f64(np.outer(T, X))
        a = jvp(vmap(fn), (x,), (t,))[1]
        b = vmap(lambda row, d: jvp(fn, (row,), (d,))[1])(x, t)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13)


class TestVjp:
    def test_value_and_pullback(self):
        value, pullback = vjp(lambda x: x.sin(), f64(X))
        same(value, np.sin(X))
        same(pullback(f64(T))[0], np.cos(X) * T)

    def test_the_pullback_gives_one_cotangent_per_argument(self):
        _, pullback = vjp(lambda x, y: x * y, f64(X), f64(T))
        dx, dy = pullback(f64([1.0, 10.0, 100.0]))
        same(dx, T * [1, 10, 100])
        same(dy, X * [1, 10, 100])

    def test_the_pullback_can_be_called_again(self):
        _, pullback = vjp(lambda x: x**2, f64(X))
        same(pullback(f64(T))[0], 2 * X * T)
        same(pullback(f64(2 * T))[0], 4 * X * T)

    def test_cotangents_of_several_results_add_up(self):
        _, pullback = vjp(lambda x: (x * 2, x * x), f64(X))
        same(pullback((f64(T), f64(X)))[0], 2 * T + 2 * X * X)

    def test_an_argument_that_is_not_reached_gets_zeros(self):
        _, pullback = vjp(lambda x, y: x, f64(X), f64([[1.0]]))
        same(pullback(f64(T))[1], [[0.0]])

    def test_a_result_that_is_the_argument(self):
        _, pullback = vjp(lambda x: (x, x), f64(X))
        same(pullback((f64(T), f64(X)))[0], T + X)

    def test_an_integer_result_takes_a_cotangent_and_gives_nothing(self):
        _, pullback = vjp(lambda x: (x * 2, x.argmax()), f64(X))
        same(pullback((f64(T), Tensor(0, dtype=dtypes.int32)))[0], 2 * T)

    def test_aux_is_handed_through(self):
        value, pullback, aux = vjp(lambda x: (x.sum(), x * 3), f64(X), has_aux=True)
        assert value.item() == 3.5
        same(aux, 3 * X)
        same(pullback(f64(1.0))[0], np.ones(3))

    def test_a_number_is_a_cotangent_of_a_scalar(self):
        _, pullback = vjp(lambda x: x.sum(), f64(X))
        same(pullback(2.0)[0], 2 * np.ones(3))

    def test_the_pullback_can_be_differentiated(self):
        _, pullback = vjp(lambda x: x**2, f64(X))
        same(grad(lambda g: pullback(g)[0].sum())(f64(T)), 2 * X)

    def test_the_pullback_can_be_mapped(self):
        _, pullback = vjp(lambda x: x**2, f64(X))
        same(vmap(lambda g: pullback(g)[0])(f64(np.eye(3))), np.diag(2 * X))


@pytest.mark.parametrize("fn", [lambda x: x.softmax(), lambda x: x.cumsum(0), lambda x: x @ x])
def test_both_modes_are_transposes(fn):
    x = f64(X)
    value, pullback = vjp(fn, x)
    g = f64(np.cos(np.arange(value.numel())).reshape(value.shape))
    left = (g * jvp(fn, (x,), (f64(T),))[1]).sum().item()
    right = (pullback(g)[0] * f64(T)).sum().item()
    assert left == pytest.approx(right, rel=1e-13)


class TestLinearize:
    def test_the_tangent_program_is_that_of_jvp(self):
        value, fn_jvp = linearize(lambda x: x.exp().sum(), f64(X))
        assert value.item() == pytest.approx(np.exp(X).sum())
        assert fn_jvp(f64(T)).item() == pytest.approx((np.exp(X) * T).sum())

    def test_it_is_linear(self):
        _, fn_jvp = linearize(lambda x: x.tanh(), f64(X))
        left = fn_jvp(f64(2 * T + X)).numpy()
        right = 2 * fn_jvp(f64(T)).numpy() + fn_jvp(f64(X)).numpy()
        np.testing.assert_allclose(left, right, rtol=1e-13)

    def test_several_arguments_and_results(self):
        value, fn_jvp = linearize(lambda x, p: {"y": x * p["w"]}, f64(X), {"w": f64(T)})
        same(value["y"], X * T)
        same(fn_jvp(f64(T), {"w": f64(X)})["y"], T * T + X * X)

    def test_the_function_is_traced_once(self):
        calls = []

        def fn(x):
            calls.append(1)
            return x * x

        _, fn_jvp = linearize(fn, f64(X))
        fn_jvp(f64(T)).realize()
        fn_jvp(f64(X)).realize()
        assert len(calls) == 1

    def test_it_can_be_mapped_over_tangents(self):
        _, fn_jvp = linearize(lambda x: x**2, f64(X))
        same(vmap(fn_jvp)(f64(np.eye(3))), np.diag(2 * X))

    def test_a_tangent_of_another_shape_is_an_error(self):
        _, fn_jvp = linearize(lambda x: x**2, f64(X))
        with pytest.raises(AutodiffError, match="linearize of") as caught:
            fn_jvp(f64([1.0]))
        assert caught.value.code == "E5004"
