"""Derivatives that were wrong once: each in its smallest form, with its class."""

import numpy as np
import pytest

from adjoint import (
    AutodiffError,
    DTypeError,
    Operation,
    Tensor,
    backward_on_trace,
    cond,
    custom_vjp,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    trace,
    value_and_grad,
    vjp,
    vmap,
)
from adjoint.ir.dtype import ALL

INTEGERS = [d.name for d in ALL if d.is_int]
FLOATS = [d.name for d in ALL if d.is_float]


def f64(values):
    return Tensor(np.asarray(values, np.float64))


def whole(x):
    return x.cast("int32").cast("float32")


class TestForwardModeEndsAtIntegers:
    X = Tensor([1.7, -2.3])
    T = Tensor([1.0, 1.0])

    @pytest.mark.parametrize("kind", [*INTEGERS, "bool"])
    def test_a_cast_has_no_tangent(self, kind):
        fn = lambda x: x.cast(kind).cast("float32")  # noqa: E731
        assert jvp(fn, (self.X,), (self.T,))[1].tolist() == [0, 0]
        assert linearize(fn, self.X)[1](self.T).tolist() == [0, 0]
        assert jacfwd(fn)(self.X).tolist() == [[0, 0], [0, 0]]
        assert jit(lambda x: jvp(fn, (x,), (self.T,))[1])(self.X).tolist() == [0, 0]

    def test_a_hessian_sees_a_constant(self):
        found = hessian(lambda x: (whole(x) * x**2).sum())(self.X)
        assert found.tolist() == [[2, 0], [0, -4]]

    def test_an_index_made_by_a_cast_is_an_index(self):
        x, t = Tensor([1.7, 0.2]), Tensor([1.0, 2.0])
        assert jvp(lambda x: x[x.cast("int32")], (x,), (t,))[1].tolist() == [2, 1]

    def test_a_condition_made_by_a_cast_chooses(self):
        fn = lambda x: cond(x[0].cast("bool"), lambda z: 2 * z, lambda z: z, x)  # noqa: E731
        assert jvp(fn, (self.X,), (self.T,))[1].tolist() == [2, 2]


class TestIntegerInputs:
    """They have no gradient: None from what gives one per input, an error from what names them."""

    def test_vjp_has_none_for_them(self):
        _, pullback = vjp(
            lambda i, b, x: i * x + b * x, Tensor([1, 2]), Tensor([True, False]), f64([1, 1])
        )
        di, db, dx = pullback(f64([1, 1]))
        assert di is None
        assert db is None
        assert dx.tolist() == [2, 2]

    def test_backward_on_trace_has_none_for_them(self):
        i, x = Tensor([1, -2]), Tensor([3.0, 4.0])
        di, dx = backward_on_trace(trace(lambda i, x: (i * x).sum(), i, x))
        assert di is None
        assert dx.tolist() == [1, -2]

    def test_an_integer_that_is_its_own_result_has_none(self):
        assert vjp(lambda i: i, Tensor([1]))[1](Tensor([1])) == (None,)

    def test_a_tree_keeps_its_places(self):
        _, pullback = vjp(lambda p: p["w"] * p["n"], {"w": f64(2), "n": Tensor(3)})
        (found,) = pullback(f64(1))
        assert found["n"] is None
        assert found["w"].item() == 3

    @pytest.mark.parametrize("transform", [grad, value_and_grad, jacrev, jacfwd, hessian])
    def test_what_is_asked_for_by_name_is_an_error(self, transform):
        with pytest.raises(AutodiffError, match="E5005"):
            transform(lambda i: (i * 2.0).sum())(Tensor([1, 2]))


class TestComplexNumbers:
    Z = Tensor(np.array([1 + 2j, 3 - 1j]))

    @pytest.mark.parametrize("kind", INTEGERS + FLOATS)
    def test_a_cast_to_a_real_dtype_is_an_error_that_names_real(self, kind):
        with pytest.raises(DTypeError, match="imaginary part") as caught:
            self.Z.cast(kind)
        assert caught.value.code == "E2005"
        assert ".real()" in caught.value.help

    def test_a_cast_to_bool_asks_whether_it_is_zero(self):
        assert Tensor(np.array([0j, 1j])).cast("bool").tolist() == [False, True]

    def test_a_real_operand_sees_the_real_part_of_its_cotangent(self):
        x, c = f64([1, 2]), Tensor(np.array([2 + 3j, 1j]))
        assert grad(lambda x: (x * c).real().sum())(x).tolist() == [2, 0]
        assert grad(lambda x: (x * c).imag().sum())(x).tolist() == [3, 1]
        assert grad(lambda x: x.cast("complex128").real().sum())(x).tolist() == [1, 1]

    def test_the_gradient_of_a_complex_result_is_an_error(self):
        for transform in (grad, value_and_grad):
            with pytest.raises(AutodiffError, match="complex128") as caught:
                transform(lambda z: (z * z).sum())(self.Z)
            assert caught.value.code == "E5005"
            assert ".real()" in caught.value.help

    def test_backward_of_a_complex_root_is_an_error(self):
        x = f64([1, 2])
        x.requires_grad = True
        with pytest.raises(AutodiffError, match="complex128"):
            (x * self.Z).sum().backward()
        (x * self.Z).sum().backward(Tensor(1j))
        assert x.grad.tolist() == [-2, 1]  # Re(i z)

    def test_backward_on_trace_needs_a_cotangent_for_one(self):
        made = trace(lambda z: (z * z).sum(), self.Z)
        with pytest.raises(AutodiffError, match="complex128"):
            backward_on_trace(made)
        assert backward_on_trace(made, np.array(1 + 0j))[0].tolist() == [2 + 4j, 6 - 2j]


class TestCotangentsOfRules:
    @staticmethod
    def with_rule(shape):
        @custom_vjp
        def double(x):
            return x * 2

        double.defvjp(lambda x: (x * 2, None), lambda kept, g: (Tensor.ones(*shape) * 2,))
        return double

    @pytest.mark.parametrize(
        "shape", [(1, 2, 3), (4, 2, 3), (3,), (1, 3), (2, 1), (), (3, 2), (6,)]
    )
    def test_another_shape_than_the_primal_is_an_error(self, shape):
        with pytest.raises(AutodiffError, match="does not fit its primal") as caught:
            grad(lambda x: self.with_rule(shape)(x).sum())(Tensor.ones(2, 3))
        assert caught.value.code == "E5004"
        assert "[2, 3]" in caught.value.help

    def test_under_vmap_it_is_one_too(self):
        with pytest.raises(AutodiffError, match="does not fit its primal"):
            vmap(grad(lambda x: self.with_rule((1, 3))(x).sum()))(Tensor.ones(2, 3))

    def test_an_operation_may_leave_the_sum_over_a_broadcast_to_the_engine(self):
        class Add(Operation):
            def execute(self, a, b):
                return a + b

            def vjp_rule(self, primals, cotangent, output):
                return cotangent, cotangent

        found = grad(lambda b: Add()(Tensor.ones(4, 3), b).sum())(Tensor.ones(3))
        assert found.tolist() == [4, 4, 4]
