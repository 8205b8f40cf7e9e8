"""grad and value_and_grad: which arguments, what comes back, names and signatures, composition."""

import inspect

import numpy as np
import pytest

from adjoint import (
    ArgumentError,
    AutodiffError,
    Tensor,
    dtypes,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    no_grad,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from tests.support.tensors import f64, same

X = np.array([0.5, 1.0, 2.0])
Y = np.array([3.0, -1.0, 0.25])


def product(x, y, scale=1.0):
    """Σ x y, scaled."""
    return (x * y).sum() * scale


class TestArguments:
    def test_the_first_argument_by_default(self):
        same(grad(product)(f64(X), f64(Y)), Y)

    def test_another_argument(self):
        same(grad(product, 1)(f64(X), f64(Y)), X)

    def test_a_negative_number_counts_from_the_end(self):
        same(grad(product, -1)(f64(X), f64(Y)), X)
        same(grad(product, -2)(f64(X), f64(Y)), Y)

    def test_a_tuple_gives_a_tuple_in_its_order(self):
        dy, dx = grad(product, (1, 0))(f64(X), f64(Y))
        same(dy, X)
        same(dx, Y)

    def test_a_tuple_of_one_gives_a_tuple_of_one(self):
        got = grad(product, (0,))(f64(X), f64(Y))
        assert isinstance(got, tuple)
        assert len(got) == 1

    def test_a_negative_and_a_positive_number_together(self):
        dx, dy = grad(product, (0, -1))(f64(X), f64(Y))
        same(dx, Y)
        same(dy, X)

    def test_keyword_arguments_are_passed_on(self):
        same(grad(product)(f64(X), f64(Y), scale=3.0), 3 * Y)

    def test_a_tensor_as_keyword_argument_is_a_constant(self):
        same(grad(product)(f64(X), y=f64(Y)), Y)

    def test_numpy_arrays_and_numbers_are_taken_as_tensors(self):
        same(grad(lambda x: (x * x).sum())(X), 2 * X)
        assert grad(lambda x: x * x)(3.0).item() == 6.0

    def test_an_argument_that_is_not_reached_gets_zeros(self):
        dx, dy = grad(lambda x, y: x.sum(), (0, 1))(f64(X), f64([[1.0, 2.0]]))
        same(dx, np.ones(3))
        assert dy.shape == (1, 2)
        assert dy.dtype is dtypes.float64
        same(dy, [[0.0, 0.0]])

    def test_the_same_tensor_given_twice_is_two_arguments(self):
        x = f64(X)
        dx, dy = grad(lambda a, b: (a * a * b).sum(), (0, 1))(x, x)
        same(dx, 2 * X * X)
        same(dy, X * X)

    def test_a_tensor_that_is_closed_over_is_a_constant(self):
        x = f64(X)
        same(grad(lambda a: (a * x).sum())(x), X)

    def test_other_arguments_may_be_anything(self):
        def power(x, n, name):
            assert name == "cube"
            return (x**n).sum()

        same(grad(power)(f64(X), 3, "cube"), 3 * X * X)

    def test_the_gradient_has_the_dtype_of_its_argument(self):
        x, y = Tensor([1.0], dtype=dtypes.float16), f64([2.0])
        dx, dy = grad(product, (0, 1))(x, y)
        assert (dx.dtype, dy.dtype) == (dtypes.float16, dtypes.float64)


class TestResults:
    def test_value_and_grad_gives_both(self):
        value, gradient = value_and_grad(product)(f64(X), f64(Y))
        assert value.item() == pytest.approx((X * Y).sum())
        same(gradient, Y)

    def test_aux_is_handed_through(self):
        def fn(x):
            return (x * x).sum(), {"twice": x * 2, "name": "aux", "none": None}

        gradient, aux = grad(fn, has_aux=True)(f64(X))
        same(gradient, 2 * X)
        same(aux["twice"], 2 * X)
        assert aux["name"] == "aux"
        assert aux["none"] is None

    def test_value_and_grad_with_aux(self):
        (value, aux), gradient = value_and_grad(lambda x: (x.sum(), x * 3), has_aux=True)(f64(X))
        assert value.item() == 3.5
        same(aux, 3 * X)
        same(gradient, np.ones(3))

    def test_aux_may_be_differentiated_from_outside(self):
        def outer(x):
            gradient, aux = grad(lambda v: ((v**3).sum(), v * v), has_aux=True)(x)
            return (gradient + aux).sum()

        same(grad(outer)(f64(X)), 6 * X + 2 * X)

    def test_the_result_is_lazy_and_a_graph_like_any_other(self):
        gradient = grad(lambda x: x.sin().sum())(f64(X))
        assert gradient.uop.realized is None
        same(gradient * 2, 2 * np.cos(X))

    def test_nothing_is_stored_on_the_arguments(self):
        x = f64(X).requires_grad_()
        grad(lambda v: (v * v).sum())(x)
        assert x.grad is None

    def test_a_stopped_gradient_is_zero(self):
        same(grad(lambda x: (stop_gradient(x) * x).sum())(f64(X)), X)
        same(grad(lambda x: x.detach().sum())(f64(X)), np.zeros(3))

    def test_no_grad_inside_cuts_the_history(self):
        def fn(x):
            with no_grad():
                factor = x * 2
            return (factor * x).sum()

        same(grad(fn)(f64(X)), 2 * X)


class TestSignatures:
    @pytest.mark.parametrize("transform", [grad, value_and_grad])
    def test_the_name_doc_and_signature_stay(self, transform):
        made = transform(product)
        assert made.__name__ == "product"
        assert made.__doc__ == "Σ x y, scaled."
        assert list(inspect.signature(made).parameters) == ["x", "y", "scale"]

    def test_it_is_a_decorator(self):
        @grad
        def cube(x):
            return (x**3).sum()

        same(cube(f64(X)), 3 * X * X)

    def test_a_callable_object_works(self):
        class Cube:
            def __call__(self, x):
                return (x**3).sum()

        same(grad(Cube())(f64(X)), 3 * X * X)


class TestComposition:
    def test_derivatives_of_higher_order(self):
        fn = lambda x: x.sin()  # noqa: E731
        for wanted in (np.cos, lambda v: -np.sin(v), lambda v: -np.cos(v), np.sin):
            fn = grad(fn)
            assert fn(f64(0.7)).item() == pytest.approx(wanted(0.7), rel=1e-13)

    def test_an_inner_gradient_does_not_see_the_outer_variable(self):
        """d/dx [x · d/dy (x + y)] = 1: the two perturbations are not confused."""
        assert grad(lambda x: x * grad(lambda y: x + y)(f64(1.0)))(f64(1.0)).item() == 1.0

    def test_jvp_inside_grad_does_not_confuse_perturbations(self):
        def fn(x):
            return x * jvp(lambda y: x * y, (f64(3.0),), (f64(1.0),))[1]

        assert grad(fn)(f64(5.0)).item() == 10.0

    def test_grad_of_vmap_equals_the_gradient_of_the_sum(self):
        total = lambda x: vmap(lambda row: (row**3).sum())(x).sum()  # noqa: E731
        x = np.arange(6.0).reshape(2, 3)
        same(grad(total)(f64(x)), 3 * x * x)

    def test_a_path_through_many_nodes_needs_no_recursion(self):
        def deep(x):
            for _ in range(3000):
                x = x + 1.0
            return x

        assert grad(deep)(f64(1.0)).item() == 1.0

    def test_many_uses_of_one_value_add_up(self):
        assert grad(lambda x: sum((x * i for i in range(1, 51)), x * 0))(f64(1.0)).item() == 1275.0


class TestArgumentsByName:
    @staticmethod
    def fn(a, b, *, c=1.0):
        return (a * b * c).sum()

    A, B, C = (Tensor(np.array(v, np.float64)) for v in ([1, 2], [3, 4], 5))

    def test_one_name_is_bare(self):
        for transform in (grad, jacrev, jacfwd):
            assert transform(self.fn, argnames="b")(self.A, self.B).tolist() == [1, 2]
            assert transform(self.fn, argnames="b")(self.A, b=self.B).tolist() == [1, 2]
            assert transform(self.fn, argnames="c")(self.A, self.B, c=self.C).item() == 11

    def test_several_are_a_dict(self):
        found = grad(self.fn, argnames=("b", "c"))(self.A, self.B, c=self.C)
        assert found["b"].tolist() == [5, 10]
        assert found["c"].item() == 11

    def test_beside_numbers_they_come_second(self):
        value, (first, named) = value_and_grad(self.fn, 0, argnames=["c"])(self.A, self.B, c=self.C)
        assert value.item() == 55
        assert first.tolist() == [15, 20]
        assert named["c"].item() == 11

    def test_a_hessian_by_name(self):
        found = hessian(lambda a, b: (a * a * b).sum(), argnames="a")(self.A, self.B)
        assert found.tolist() == [[6, 0], [0, 8]]

    @pytest.mark.parametrize("names", ["d", ["b", "d"], "c"])
    def test_a_name_that_the_call_does_not_have_is_an_error(self, names):
        with pytest.raises(ArgumentError, match="E2007"):
            grad(self.fn, argnames=names)(self.A, self.B)

    def test_an_argument_named_twice_is_an_error(self):
        with pytest.raises(ArgumentError, match="twice"):
            grad(self.fn, 1, argnames="b")(self.A, self.B)


class TestWhatIsBesideTheResult:
    X = Tensor(np.array([1.0, 2.0]))

    @staticmethod
    def fn(x):
        return (x**3).sum(), {"rows": x * 2, "name": "cube"}

    @pytest.mark.parametrize(
        "transform", [grad, value_and_grad, jacrev, jacfwd, hessian, jvp, linearize, vjp]
    )
    def test_every_transform_hands_it_on(self, transform):
        if transform is jvp:
            found = jvp(self.fn, (self.X,), (self.X,), has_aux=True)[-1]
        elif transform in (linearize, vjp):
            found = transform(self.fn, self.X, has_aux=True)[-1]
        else:
            found = transform(self.fn, has_aux=True)(self.X)
            found = found[0][1] if transform is value_and_grad else found[1]
        assert found["rows"].tolist() == [2, 4]
        assert found["name"] == "cube"

    def test_the_rest_is_as_without(self):
        value, tangent, _ = jvp(self.fn, (self.X,), (self.X,), has_aux=True)
        assert (value.item(), tangent.item()) == (9, 27)
        assert hessian(self.fn, has_aux=True)(self.X)[0].tolist() == [[6, 0], [0, 12]]
        assert linearize(self.fn, self.X, has_aux=True)[1](self.X).item() == 27

    @pytest.mark.parametrize("transform", [jacrev, jacfwd, hessian, grad])
    def test_a_function_without_it_is_an_error(self, transform):
        with pytest.raises(AutodiffError, match="has_aux"):
            transform(lambda x: x.sum(), has_aux=True)(self.X)


class TestValuesInside:
    """Outside of jit and vmap a function that is differentiated may look at its values."""

    X = Tensor(np.array(3.0))

    def test_a_value_that_is_read_is_a_constant(self):
        assert grad(lambda x: x * x.item())(self.X).item() == 3
        assert jvp(lambda x: x * float(x), (self.X,), (self.X,))[1].item() == 9
        assert vjp(lambda x: x * x.numpy(), self.X)[1](self.X)[0].item() == 9
        assert grad(grad(lambda x: x**2 * float(x)))(self.X).item() == 6

    def test_pythons_if_chooses(self):
        fn = lambda x: x**2 if x > 0 else -x  # noqa: E731
        assert [grad(fn)(Tensor(v)).item() for v in (3.0, -3.0)] == [6, -1]

    def test_realizing_inside_keeps_the_history(self):
        def fn(x):
            y = (x * x).realize()
            z = y * x
            return z * 1 if z.numpy() > 0 else z

        assert grad(fn)(self.X).item() == 27
        assert grad(lambda x: x.realize() * x)(self.X).item() == 6

    def test_an_index_that_is_read(self):
        x = Tensor(np.array([1.0, 3.0, 2.0]))
        assert grad(lambda x: x[x.argmax().item()] ** 2)(x).tolist() == [0, 6, 0]
        assert grad(lambda x: x[x > 1.5].sum())(x).tolist() == [0, 1, 1]

    def test_under_jit_and_vmap_there_is_none(self):
        peeks = grad(lambda x: x * x.item())
        with pytest.raises(AutodiffError, match="not known inside jit"):
            jit(peeks)(self.X)
        with pytest.raises(AutodiffError, match="not known inside vmap"):
            vmap(peeks)(self.X.reshape(1))
