"""Derivatives that were wrong once: each in its smallest form, with its class."""

from dataclasses import dataclass, field
from itertools import product

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
    dtypes,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    trace,
    tree_map,
    value_and_grad,
    vjp,
    vmap,
)
from adjoint.ir.dtype import ALL
from tests.support.tensors import f64

INTEGERS = [d.name for d in ALL if d.is_int]
FLOATS = [d.name for d in ALL if d.is_float]


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


class TestSecondDerivativesAtCorners:
    @pytest.mark.parametrize("x", [[0, 0, 3], [2, 0, 3, 0], [0, 2, 0, 0, 1], [1, 2, 3], [0, 0, 0]])
    @pytest.mark.parametrize("reverse", [False, True])
    def test_of_running_products_count_every_pair(self, x, reverse):
        n, weights = len(x), np.arange(1.0, len(x) + 1)
        wanted = np.zeros((n, n))
        for i in range(n):
            inside = range(n - 1, i - 1, -1) if reverse else range(i + 1)
            for j, k in product(inside, inside):
                rest = [x[m] for m in inside if m not in (j, k)]
                wanted[j, k] += weights[i] * np.prod(rest) * (j != k)
        found = hessian(lambda x: (x.scan_prod(0, reverse) * f64(weights)).sum())(f64(x))
        np.testing.assert_allclose(found.numpy(), wanted, atol=1e-12)

    @pytest.mark.parametrize("x", [[0, 0, 3, 1], [0, 0, 0], [2, 0, 5], [0, 0]])
    def test_of_products_and_the_third(self, x):
        def wanted(*left_out):
            rest = [v for m, v in enumerate(x) if m not in left_out]
            return np.prod(rest) if len(set(left_out)) == len(left_out) else 0

        size = range(len(x))
        second = hessian(lambda v: v.prod())
        assert second(f64(x)).tolist() == [[wanted(j, k) for k in size] for j in size]
        third = jacfwd(second)(f64(x)).tolist()
        assert third == [[[wanted(j, k, m) for m in size] for k in size] for j in size]

    def test_a_batch_of_running_products_is_differentiated_again(self):
        x = f64([[0, 0, 3], [2, 0, 1]])
        whole = grad(lambda x: (vmap(grad(lambda r: r.cumprod(0).sum()))(x) ** 2).sum())(x)
        rows = [grad(lambda r: (grad(lambda r: r.cumprod(0).sum())(r) ** 2).sum())(r) for r in x]
        np.testing.assert_allclose(whole.numpy(), np.stack([r.numpy() for r in rows]))

    @pytest.mark.parametrize("x", [[0, 0], [1, 0], [0.3, -2]])
    def test_the_square_of_a_length_is_smooth(self, x):
        eye = [[2.0, 0.0], [0.0, 2.0]]
        squares = {
            "power": lambda x: x.vector_norm() ** 2,
            "square": lambda x: x.norm().square(),
            "product": lambda x: x.norm() * x.norm(),
            "absolute": lambda x: (x.abs() ** 2).sum(),
            "distance": lambda x: (x.reshape(1, 2).cdist(f64([[0, 0]])) ** 2).sum(),
        }
        for name, fn in squares.items():
            np.testing.assert_allclose(hessian(fn)(f64(x)).numpy(), eye, 1e-12, 1e-12, err_msg=name)

    def test_the_square_of_a_deviation_is_the_variance(self):
        x = f64([1, 1, 1])
        found, wanted = (hessian(fn)(x) for fn in (lambda x: x.std() ** 2, lambda x: x.var()))
        np.testing.assert_allclose(found.numpy(), wanted.numpy())

    def test_a_length_has_no_second_derivative_at_zero(self):
        assert np.isnan(hessian(lambda x: x.vector_norm())(f64([0, 0])).numpy()).all()
        assert grad(lambda x: x.vector_norm())(f64([0, 0])).tolist() == [0, 0]

    @pytest.mark.parametrize("x", [0.0, -0.0, 2.0, -1.5])
    @pytest.mark.parametrize("n", range(5))
    def test_of_powers_by_the_rule(self, x, n):
        once = grad(lambda x: x**n)
        assert once(f64(x)).item() == pytest.approx(n * x ** max(n - 1, 0))
        assert grad(once)(f64(x)).item() == pytest.approx(n * (n - 1) * x ** max(n - 2, 0))

    @pytest.mark.parametrize("base", [-2.0, 0.0, 2.0])
    @pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0])
    def test_of_powers_by_both_are_symmetric(self, base, exponent):
        found = hessian(lambda a, b: a**b, (0, 1))(f64(base), f64(exponent))
        assert found[0][1].item() == pytest.approx(found[1][0].item())
        if base > 0:
            mixed = base ** (exponent - 1) * (1 + exponent * np.log(base))
            assert found[0][1].item() == pytest.approx(mixed)

    def test_a_scatter_of_products_with_zeros(self):
        places = Tensor([0, 0, 0, 1])

        def fn(u):
            return (f64([2, 3]).scatter(0, places, u, "multiply") * f64([1, 10])).sum()

        assert hessian(fn)(f64([0, 0, 5, 0])).tolist() == [
            [0, 10, 0, 0],
            [10, 0, 0, 0],
            [0, 0, 0, 0],
            [0, 0, 0, 0],
        ]


class TestBranchesThatAreNotTaken:
    X = (4.0, -1.0, 0.0)

    @staticmethod
    def root(x):
        return cond(x > 0, lambda z: z.sqrt(), lambda z: 2 * z, x)

    def test_under_vmap_they_add_nothing(self):
        x, wanted = f64(self.X), [0.25, 2, 2]
        total = lambda x: vmap(self.root)(x).sum()  # noqa: E731
        assert grad(total)(x).tolist() == wanted
        assert jit(grad(total))(x).tolist() == wanted
        assert vmap(grad(self.root))(x).tolist() == wanted
        assert hessian(total)(x).numpy().diagonal().tolist() == [-1 / 32, 0, 0]

    def test_under_two_vmaps_they_add_nothing(self):
        x = f64([self.X, self.X])
        assert grad(lambda x: vmap(vmap(self.root))(x).sum())(x).tolist() == [[0.25, 2, 2]] * 2

    def test_to_what_all_examples_share_they_add_nothing(self):
        def total(w):
            side = lambda x: cond(x > 0, lambda z: (z * w).sqrt(), lambda z: w * 3, x)  # noqa: E731
            return vmap(side)(f64(self.X)).sum()

        assert grad(total)(f64(2)).item() == pytest.approx(0.5 * 4 / 8**0.5 + 6)


class TestEqualValues:
    EYE = np.eye(3)

    def test_vectors_of_equal_values_have_no_derivative(self):
        for fn in (lambda x: x.eigh()[1], lambda x: x.svd()[0], lambda x: x.svd()[2]):
            found = grad(lambda x, fn=fn: (fn(x) * f64(np.arange(9.0).reshape(3, 3))).sum())(
                f64(self.EYE)
            )
            assert np.isnan(found.numpy()).any()

    def test_the_values_alone_do(self):
        for fn in (lambda x: x.eigvalsh(), lambda x: x.svdvals()):
            found = grad(lambda x, fn=fn: (fn(x) ** 2).sum())(f64(self.EYE))
            np.testing.assert_allclose(found.numpy(), 2 * self.EYE, atol=1e-15)

    @pytest.mark.parametrize("name", ["max", "min", "cummax", "cummin"])
    def test_a_nan_takes_the_gradient_in_both_modes(self, name):
        x, t = f64([1, np.nan, 2]), f64([1, 10, 100])
        fn = (lambda x: getattr(x, name)(0)) if "cum" in name else (lambda x: getattr(x, name)())
        pick = lambda x: fn(x)[0][-1] if isinstance(fn(x), tuple) else fn(x).flatten()[-1]  # noqa: E731
        assert jvp(pick, (x,), (t,))[1].item() == 10
        assert vjp(pick, x)[1](f64(1))[0].tolist() == [0, 1, 0]

    def test_a_scattered_nan_takes_it_too(self):
        u = f64([1, np.nan])
        fn = lambda u: f64([0.0]).scatter_reduce(0, Tensor([0, 0]), u, "amax").sum()  # noqa: E731
        assert jvp(fn, (u,), (f64([1, 10]),))[1].item() == 10
        assert grad(fn)(u).tolist() == [0, 1]

    @pytest.mark.parametrize("name", ["fmax", "fmin"])
    def test_what_is_not_nan_takes_it_from_fmax(self, name):
        x, y = f64([1, np.nan, np.nan]), f64([np.nan, 2, np.nan])
        fn = lambda x, y: getattr(x, name)(y).nansum()  # noqa: E731
        dx, dy = grad(fn, (0, 1))(x, y)
        assert dx.tolist()[:2] == [1, 0]
        assert dy.tolist()[:2] == [0, 1]


def test_a_mask_of_unknown_count_says_what_has_a_fixed_length():
    with pytest.raises(AutodiffError, match="masked_select"):
        jit(lambda x: x[x > 0])(Tensor([1.0, -1.0]))
    fixed = jit(lambda x: x.masked_select(x > 0, size=2))
    assert fixed(Tensor([1.0, -1.0, 2.0])).tolist() == [1, 2]
    assert fixed(Tensor([1.0, -1.0, -2.0])).tolist() == [1, 0]


class TestArgumentsThatAreNoTensors:
    X = Tensor([1.5, -2.5])

    def test_a_dtype_is_a_leaf(self):
        cast = jit(lambda x, kind: (x.cast(kind), kind))
        for kind in (dtypes.int32, dtypes.float64, dtypes.int32):
            found, same = cast(self.X, kind)
            assert found.dtype is kind is same
        assert cast.traces == 2
        assert vmap(lambda x, kind: x.cast(kind), in_axes=(0, None))(self.X, dtypes.int8).tolist()
        assert tree_map(lambda leaf: leaf, [dtypes.int8]) == [dtypes.int8]

    def test_a_dataclass_may_have_fields_that_its_constructor_does_not_take(self):
        @dataclass(frozen=True)
        class Scaled:
            x: object
            by: float = field(init=False, default=2.0)

        scaled = Scaled(self.X)
        object.__setattr__(scaled, "by", 3.0)
        assert jit(lambda s: s.x * s.by)(scaled).tolist() == [4.5, -7.5]
        assert tree_map(lambda leaf: leaf, scaled).by == 3.0

    @pytest.mark.parametrize("base", [int, float, str])
    def test_attributes_of_a_value_of_a_users_subclass_are_read_anew(self, base):
        class Named(base):
            pass

        def named(by):
            value = Named("2")
            value.by = by
            return value

        one = named(2.0)
        captured = jit(lambda x: x * one.by)
        given, fixed = jit(lambda x, n: x * n.by), jit(lambda x, n: x * n.by, static_argnums=1)
        assert captured(self.X).tolist() == given(self.X, one).tolist() == [3, -5]
        one.by = 4.0
        assert captured(self.X).tolist() == given(self.X, one).tolist() == [6, -10]
        assert [fixed(self.X, named(by)).tolist() for by in (2.0, 4.0)] == [[3, -5], [6, -10]]

    def test_a_number_of_elements_is_a_number(self):
        half = jit(lambda x, n: x.sum() / n)
        assert [half(self.X, self.X.size).item() for _ in range(3)] == [-0.5] * 3
        assert half.traces == 1


class TestWhatACapturedViewIsAViewOf:
    """A call that writes to the view keeps what was written to the rest since the trace."""

    @pytest.mark.parametrize(
        "made",
        [
            pytest.param(lambda x: x + 1, id="not computed when it is traced"),
            pytest.param(lambda x: (x + 1).realize(), id="computed"),
            pytest.param(lambda x: (x.__setitem__(0, 2.0), x)[1], id="written before"),
            pytest.param(lambda x: x.clone(), id="a copy"),
        ],
    )
    def test_other_elements_keep_what_was_written_to_them(self, made):
        ones = [1.0, 1.0, 1.0, 1.0]
        base, wanted = made(Tensor(ones)), made(Tensor(ones)).tolist()
        view = base[::2]
        step = jit(lambda: view.add_(1) + 0)
        for value in (5.0, 6.0, 7.0):
            step()
            base[1] = value
            wanted = [wanted[0] + 1, value, wanted[2] + 1, wanted[3]]
            assert base.tolist() == wanted
        step()
        assert base.tolist() == [wanted[0] + 1, 7, wanted[2] + 1, wanted[3]]
        assert step.traces == 1

    def test_equal_values_are_told_apart(self):
        x = Tensor([0.0, 0.0])
        one, other = x + 1, x + 1
        first, second = one[:1], other[:1]
        step = jit(lambda: (first.add_(1), second.add_(10))[0] + 0)
        step()
        one[1], other[1] = 5.0, 7.0
        step()
        assert (one.tolist(), other.tolist()) == ([3, 5], [21, 7])
