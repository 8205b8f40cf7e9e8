"""Derivatives that users write: custom_vjp, custom_jvp, Operation, stop_gradient."""

import inspect
from functools import partial

import numpy as np
import pytest

from adjoint import ArgumentError, AutodiffError, ShapeError, Tensor
from adjoint.ir.text import text
from adjoint.transforms.control import cond, fori_loop, scan, switch, while_loop
from adjoint.transforms.custom_rules.custom import custom_jvp, custom_vjp, stop_gradient
from adjoint.transforms.custom_rules.operation import Operation
from adjoint.transforms.forward import jvp
from adjoint.transforms.jacobian import hessian, jacrev
from adjoint.transforms.jit.jitted import jit
from adjoint.transforms.reverse import grad, vjp
from adjoint.transforms.vmap import vmap

X = np.array([0.5, 1.0, 2.0])


def f64(*values):
    return Tensor(np.array(values, dtype=np.float64))


@custom_vjp
def ten_sin(x: Tensor, y: Tensor) -> Tensor:
    """sin(x) y, with ten times the gradient of x."""
    return x.sin() * y


ten_sin.defvjp(
    lambda x, y: (ten_sin(x, y), (x, y)),
    lambda kept, g: (10 * g * kept[0].cos() * kept[1], g * kept[0].sin()),
)


@custom_jvp
def three_exp(x: Tensor) -> Tensor:
    return x.exp()


@three_exp.defjvp
def _three_exp(primals, tangents):
    (x,), (t,) = primals, tangents
    return three_exp(x), 3 * t * three_exp(x)


class Pair(Operation):
    """a b and a + b."""

    def execute(self, a, b):
        return a * b, a + b

    def vjp_rule(self, primals, cotangent, output):
        a, b = primals
        g, h = cotangent
        return g * b + h, g * a + h

    def jvp_rule(self, primals, tangents, output):
        (a, b), (s, t) = primals, tangents
        return s * b + a * t, s + t


pair = Pair()


class TestCustomVjp:
    def test_the_value_is_the_functions(self):
        np.testing.assert_array_equal(ten_sin(f64(*X), f64(2.0)).numpy(), np.sin(X) * 2)

    def test_the_function_keeps_its_name_doc_and_signature(self):
        assert ten_sin.__name__ == "ten_sin"
        assert ten_sin.__doc__.startswith("sin(x) y")
        assert list(inspect.signature(ten_sin).parameters) == ["x", "y"]

    def test_grad_uses_the_rule(self):
        got = grad(lambda x: ten_sin(x, f64(2.0)).sum())(f64(*X))
        np.testing.assert_allclose(got.numpy(), 20 * np.cos(X), rtol=1e-15)

    def test_backward_uses_the_rule_and_sums_what_was_broadcast(self):
        x, y = f64(*X).requires_grad_(), f64(2.0).requires_grad_()
        ten_sin(x, y).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 20 * np.cos(X), rtol=1e-15)
        assert y.grad.shape == (1,)
        np.testing.assert_allclose(y.grad.numpy(), [np.sin(X).sum()], rtol=1e-15)

    def test_the_gradient_is_a_graph_that_is_differentiated_again(self):
        twice = grad(lambda x: grad(lambda x: ten_sin(x, f64(1.0)).sum())(x).sum())
        np.testing.assert_allclose(twice(f64(*X)).numpy(), -10 * np.sin(X), rtol=1e-15)

    def test_the_call_is_one_node_in_the_text(self):
        assert "custom_vjp(%0, %1) {function: @ten_sin}" in text(ten_sin(f64(*X), f64(*X)).uop)

    def test_grad_of_vmap_keeps_the_rule(self):
        got = grad(lambda x: vmap(ten_sin)(x, f64(*X)).sum())(f64(*X))
        np.testing.assert_allclose(got.numpy(), 10 * np.cos(X) * X, rtol=1e-15)

    def test_an_argument_that_is_not_mapped_gets_the_sum_over_the_examples(self):
        total = grad(lambda y: vmap(ten_sin, in_axes=(0, None))(f64(*X), y).sum())
        got = total(Tensor(np.float64(2.0)))
        np.testing.assert_allclose(got.numpy(), np.sin(X).sum(), rtol=1e-15)

    def test_vmap_of_grad_equals_a_loop(self):
        got = vmap(grad(ten_sin))(f64(*X), f64(*X))
        np.testing.assert_allclose(got.numpy(), 10 * np.cos(X) * X, rtol=1e-15)

    def test_vmap_twice_and_then_grad(self):
        square = Tensor(np.outer(X, X))
        got = grad(lambda x: vmap(vmap(ten_sin))(x, square).sum())(square)
        np.testing.assert_allclose(got.numpy(), 10 * np.cos(np.outer(X, X)) * np.outer(X, X))

    def test_a_rule_that_is_not_linear_is_applied_per_example(self):
        @custom_vjp
        def clipped(x):
            return x * 1

        def back(kept, g):
            norm = (g * g).sum().sqrt()
            return (g / norm.maximum(1.0),)

        clipped.defvjp(lambda x: (x, None), back)
        cotangent = np.array([[3.0, 4.0], [0.3, 0.4]])
        got = vjp(vmap(clipped), Tensor(cotangent * 0))[1](Tensor(cotangent))[0]
        np.testing.assert_allclose(got.numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-15)

    def test_jacrev_goes_through_it(self):
        got = jacrev(lambda x: ten_sin(x, f64(1.0)))(f64(*X))
        np.testing.assert_allclose(got.numpy(), np.diag(10 * np.cos(X)), rtol=1e-15)

    def test_arguments_and_results_may_be_pytrees(self):
        @custom_vjp
        def split(p):
            return {"sum": p["a"] + p["b"], "difference": p["a"] - p["b"]}

        split.defvjp(
            lambda p: (split(p), None),
            lambda kept, g: ({"a": g["sum"] * 2, "b": None},),
        )
        both = {"a": f64(1.0), "b": f64(2.0)}
        got = grad(lambda p: split(p)["sum"].sum())(both)
        np.testing.assert_array_equal(got["a"].numpy(), [2.0])
        np.testing.assert_array_equal(got["b"].numpy(), [0.0])

    def test_a_result_that_nobody_uses_has_a_zero_cotangent(self):
        seen = []

        @custom_vjp
        def two(x):
            return x * 2, x * 3

        def back(kept, g):
            seen.append(g[1].numpy())
            return (g[0] * 2 + g[1] * 3,)

        two.defvjp(lambda x: (two(x), None), back)
        x = f64(1.0, 2.0).requires_grad_()
        two(x)[0].sum().backward()
        np.testing.assert_array_equal(seen[0], [0.0, 0.0])
        np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0])

    def test_nondiff_arguments_come_in_front_of_the_residuals(self):
        @partial(custom_vjp, nondiff_argnums=(1,))
        def power(x, n):
            return x**n

        power.defvjp(
            lambda x, n: (x**n, x),
            lambda n, x, g: (100 * g * n * x ** (n - 1),),
        )
        got = grad(lambda x: power(x, 3).sum())(f64(*X))
        np.testing.assert_allclose(got.numpy(), 300 * X**2, rtol=1e-14)

    def test_integer_arguments_need_no_cotangent(self):
        @custom_vjp
        def take(table, index):
            return table[index]

        take.defvjp(
            lambda table, index: (table[index], (table, index)),
            lambda kept, g: (kept[0].zeros_like().scatter_reduce(0, kept[1], g, "sum"), None),
        )
        got = grad(lambda t: take(t, Tensor([0, 2, 2])).sum())(f64(*X))
        np.testing.assert_array_equal(got.numpy(), [1.0, 0.0, 2.0])

    def test_python_numbers_stay_what_they_are(self):
        half = Tensor(X.astype(np.float16))
        assert ten_sin(half, 2.0).dtype.name == "float16"

    def test_a_method_can_have_a_rule(self):
        class Layer:
            factor = 3.0

            @partial(custom_vjp, nondiff_argnums=(0,))
            def run(self, x):
                return x * self.factor

        Layer.run.defvjp(
            lambda self, x: (x * self.factor, None),
            lambda self, kept, g: (g * self.factor * 2,),
        )
        got = grad(lambda x: Layer().run(x).sum())(f64(1.0))
        np.testing.assert_array_equal(got.numpy(), [6.0])

    def test_forward_mode_says_what_to_define(self):
        with pytest.raises(AutodiffError, match=r"E5001.*ten_sin(.|\n)*custom_jvp"):
            jvp(ten_sin, (f64(1.0), f64(1.0)), (f64(1.0), f64(1.0)))

    def test_the_wrong_number_of_cotangents_names_the_function_and_the_counts(self):
        bad = custom_vjp(lambda x, y: x * y)
        bad.defvjp(lambda x, y: (x * y, None), lambda kept, g: (g, g, g))
        with pytest.raises(AutodiffError, match=r"E5002.*3 cotangents for 2 arguments"):
            grad(lambda x: bad(x, x).sum())(f64(1.0))

    def test_a_bare_cotangent_is_an_error(self):
        bad = custom_vjp(lambda x: x * 2)
        bad.defvjp(lambda x: (x * 2, None), lambda kept, g: g)
        with pytest.raises(AutodiffError, match=r"Tensor, not a tuple of 1 cotangents"):
            grad(lambda x: bad(x).sum())(f64(1.0))

    def test_a_cotangent_of_the_wrong_shape_is_an_error(self):
        bad = custom_vjp(lambda x: x * 2)
        bad.defvjp(lambda x: (x * 2, None), lambda kept, g: (g.sum(),))
        with pytest.raises(AutodiffError, match=r"E5004.*shape \[\] does not fit"):
            grad(lambda x: bad(x).sum())(f64(*X))

    def test_a_cotangent_in_another_pytree_is_an_error(self):
        bad = custom_vjp(lambda p: p["a"] * 2)
        bad.defvjp(lambda p: (p["a"], None), lambda kept, g: (g,))
        with pytest.raises(ShapeError, match="E3010"):
            grad(lambda p: bad(p).sum())({"a": f64(1.0)})

    def test_fwd_must_return_a_pair(self):
        bad = custom_vjp(lambda x: x * 2)
        bad.defvjp(lambda x: x * 2, lambda kept, g: (g,))
        with pytest.raises(AutodiffError, match=r"\(result, residuals\)"):
            grad(lambda x: bad(x).sum())(f64(1.0))

    def test_a_function_without_a_rule_says_how_to_give_one(self):
        with pytest.raises(AutodiffError, match="defvjp"):
            custom_vjp(lambda x: x)(f64(1.0))

    def test_closing_over_what_needs_a_gradient_is_an_error_and_never_a_silent_zero(self):
        w = f64(2.0).requires_grad_()
        closed = custom_vjp(lambda x: x * w)
        closed.defvjp(lambda x: (x, None), lambda kept, g: (g,))
        with pytest.raises(AutodiffError, match=r"closes over(.|\n)*as an argument"):
            closed(f64(1.0)).sum().backward()

    def test_what_it_closes_over_is_batched(self):
        def example(x, w):
            inner = custom_vjp(lambda x: x * w)
            inner.defvjp(lambda x: (x * w, None), lambda kept, g: (g * w,))
            return inner(x)

        got = vmap(example)(f64(*X), f64(*X))
        np.testing.assert_array_equal(got.numpy(), X * X)

    def test_nondiff_argnums_must_fit(self):
        bad = custom_vjp(lambda x: x, nondiff_argnums=(3,))
        bad.defvjp(lambda x: (x, None), lambda kept, g: (g,))
        with pytest.raises(ArgumentError, match="nondiff_argnums"):
            bad(f64(1.0))

    def test_inside_a_scan_and_a_cond(self):
        def loss(x):
            last, _ = scan(lambda c, _: (ten_sin(c, f64(1.0)), None), x, length=1)
            return cond(Tensor(True), lambda v: ten_sin(v, f64(1.0)).sum(), lambda v: v.sum(), last)

        got = grad(loss)(f64(*X))
        np.testing.assert_allclose(got.numpy(), 100 * np.cos(np.sin(X)) * np.cos(X), rtol=1e-14)

    def test_a_long_chain_of_calls_has_one_node_for_each(self):
        x = f64(1.0)
        for _ in range(500):
            x = ten_sin(x, 1.0)
        assert len(x.uop.toposort()) == 501


class TestCustomJvp:
    def test_one_rule_serves_both_modes(self):
        wanted = 3 * np.exp(X)
        tangent = jvp(three_exp, (f64(*X),), (f64(1.0, 1.0, 1.0),))[1]
        np.testing.assert_allclose(tangent.numpy(), wanted, rtol=1e-15)
        got = grad(lambda x: three_exp(x).sum())(f64(*X))
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-15)

    def test_every_order_uses_the_rule(self):
        got = hessian(lambda x: three_exp(x).sum())(f64(*X))
        np.testing.assert_allclose(got.numpy(), np.diag(9 * np.exp(X)), rtol=1e-14)

    def test_vmap_keeps_the_rule_in_both_modes(self):
        rows = Tensor(np.outer(X, X))
        wanted = 3 * np.exp(np.outer(X, X))
        ones = Tensor(np.ones((3, 3)))
        got = jvp(vmap(three_exp), (rows,), (ones,))[1]
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-15)
        got = grad(lambda x: vmap(three_exp)(x).sum())(rows)
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-15)

    def test_arguments_that_do_not_move_have_zero_tangents(self):
        @custom_jvp
        def product(x, y):
            return x * y

        @product.defjvp
        def _rule(primals, tangents):
            (x, y), (s, t) = primals, tangents
            return x * y, 2 * s * y + 5 * x * t

        y = f64(7.0)
        got = jvp(lambda x: product(x, y), (f64(3.0),), (f64(1.0),))[1]
        np.testing.assert_array_equal(got.numpy(), [14.0])
        got = grad(lambda y: product(f64(3.0), y).sum())(y)
        np.testing.assert_array_equal(got.numpy(), [15.0])

    def test_several_results(self):
        @custom_jvp
        def both(x):
            return x.sin(), x.cos()

        @both.defjvp
        def _rule(primals, tangents):
            (x,), (t,) = primals, tangents
            return both(x), (2 * t * x.cos(), -2 * t * x.sin())

        def total(x):
            s, c = both(x)
            return (s * c).sum()

        got = grad(total)(f64(*X))
        np.testing.assert_allclose(got.numpy(), 2 * np.cos(2 * X), rtol=1e-13)

    def test_nondiff_arguments_come_first(self):
        scaled = custom_jvp(lambda n, x: x * n, nondiff_argnums=(0,))
        scaled.defjvp(lambda n, x, t: (x[0] * n, t[0] * n * 10))
        got = grad(lambda x: scaled(2, x).sum())(f64(1.0))
        np.testing.assert_array_equal(got.numpy(), [20.0])

    def test_a_tangent_of_the_wrong_shape_is_an_error(self):
        bad = custom_jvp(lambda x: x * 2)
        bad.defjvp(lambda x, t: (x[0] * 2, t[0].sum()))
        with pytest.raises(AutodiffError, match="does not fit its result"):
            jvp(bad, (f64(*X),), (f64(*X),))

    def test_closing_over_what_moves_is_an_error(self):
        def outer(w):
            inner = custom_jvp(lambda x: x * w)
            inner.defjvp(lambda x, t: (x[0], t[0]))
            return inner(f64(1.0)).sum()

        with pytest.raises(AutodiffError, match="closes over"):
            grad(outer)(f64(2.0))
        with pytest.raises(AutodiffError, match="closes over"):
            jvp(outer, (f64(2.0),), (f64(1.0),))


class TestOperation:
    def test_seed_addition(self):
        class Add(Operation):
            def execute(self, x, y):
                return x + y

            def vjp_rule(self, primals, cotangent, output):
                return cotangent, cotangent

        got = grad(lambda x, y: Add()(x, y).sum(), (0, 1))(f64(*X), f64(2.0))
        np.testing.assert_array_equal(got[0].numpy(), [1, 1, 1])
        np.testing.assert_array_equal(got[1].numpy(), [3.0])  # y was broadcast three times

    def test_seed_multiplication(self):
        class Mul(Operation):
            def execute(self, x, y):
                return x * y

            def vjp_rule(self, primals, cotangent, output):
                x, y = primals
                return cotangent * y, cotangent * x

        got = grad(lambda x, y: Mul()(x, y).sum(), (0, 1))(f64(*X), f64(2.0))
        np.testing.assert_array_equal(got[0].numpy(), [2, 2, 2])
        np.testing.assert_array_equal(got[1].numpy(), [3.5])

    def test_seed_matmul(self):
        class Matmul(Operation):
            def execute(self, a, b):
                return a @ b

            def vjp_rule(self, primals, cotangent, output):
                a, b = primals
                return cotangent @ b.transpose(), a.transpose() @ cotangent

        a, b = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[5.0, 6.0], [7.0, 8.0]])
        got = grad(lambda a, b: Matmul()(a, b).sum(), (0, 1))(a, b)
        np.testing.assert_array_equal(got[0].numpy(), [[11, 15], [11, 15]])
        np.testing.assert_array_equal(got[1].numpy(), [[4, 4], [6, 6]])

    def test_several_outputs_come_as_a_tuple_in_both_modes(self):
        def own(a, b):
            p, q = pair(a, b)
            return (p * q).sum()

        plain = lambda a, b: ((a * b) * (a + b)).sum()  # noqa: E731
        a, b = f64(*X), f64(3.0, 4.0, 5.0)
        for got, wanted in zip(grad(own, (0, 1))(a, b), grad(plain, (0, 1))(a, b), strict=True):
            np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-15)
        t = (f64(1.0, 2.0, 3.0), f64(1.0, 0.0, 1.0))
        np.testing.assert_allclose(
            jvp(own, (a, b), t)[1].numpy(), jvp(plain, (a, b), t)[1].numpy(), rtol=1e-15
        )

    def test_vmap_and_nesting(self):
        def own(a, b):
            p, q = vmap(pair, in_axes=(0, None))(a, b)
            return (p * q).sum()

        a, b = f64(*X), Tensor(np.float64(3.0))
        plain = lambda a, b: ((a * b) * (a + b)).sum()  # noqa: E731
        got = jacrev(grad(own, (0, 1)), (0, 1))(a, b)
        wanted = jacrev(grad(plain, (0, 1)), (0, 1))(a, b)
        for i in (0, 1):
            for j in (0, 1):
                np.testing.assert_allclose(got[i][j].numpy(), wanted[i][j].numpy(), rtol=1e-14)

    def test_none_is_no_cotangent(self):
        class First(Operation):
            def execute(self, x, y):
                return x * y

            def vjp_rule(self, primals, cotangent, output):
                return cotangent * primals[1], None

        got = grad(lambda x, y: First()(x, y).sum(), (0, 1))(f64(2.0), f64(3.0))
        assert [g.item() for g in got] == [3.0, 0.0]

    def test_the_rule_sees_the_output(self):
        class Exp(Operation):
            def execute(self, x):
                return x.exp()

            def vjp_rule(self, primals, cotangent, output):
                return (cotangent * output,)

        got = grad(lambda x: Exp()(x).sum())(f64(*X))
        np.testing.assert_array_equal(got.numpy(), f64(*X).exp().numpy())

    def test_a_rule_gets_the_keywords_it_names(self):
        class Scale(Operation):
            def execute(self, x, *, by, shift=0.0):
                return x * by + shift

            def vjp_rule(self, primals, cotangent, output, *, by):
                return (cotangent * by,)

        got = grad(lambda x: Scale()(x, by=4.0, shift=1.0).sum())(f64(1.0))
        assert got.item() == 4.0

    def test_execute_may_leave_the_graph_where_values_are_known(self):
        class Cube(Operation):
            def execute(self, x):
                return Tensor(x.numpy() ** 3)

            def vjp_rule(self, primals, cotangent, output):
                return (3 * cotangent * primals[0] ** 2,)

        x = f64(*X).requires_grad_()
        Cube()(x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 3 * X**2, rtol=1e-15)

    def test_a_tangent_rule_alone_gives_reverse_mode_too(self):
        class Square(Operation):
            def execute(self, x):
                return x * x

            def jvp_rule(self, primals, tangents, output):
                return 2 * primals[0] * tangents[0]

        got = grad(lambda x: Square()(x).sum())(f64(*X))
        np.testing.assert_array_equal(got.numpy(), 2 * X)

    def test_errors_name_the_operation(self):
        class Lonely(Operation):
            name = "lonely"

            def execute(self, x):
                return x * 2

        with pytest.raises(AutodiffError, match=r"E5001.*lonely(.|\n)*vjp_rule"):
            grad(lambda x: Lonely()(x).sum())(f64(1.0))
        with pytest.raises(AutodiffError, match=r"E5001.*lonely(.|\n)*jvp_rule"):
            jvp(Lonely(), (f64(1.0),), (f64(1.0),))

    def test_the_wrong_number_of_cotangents_names_the_op_and_the_counts(self):
        class Short(Operation):
            def execute(self, x, y):
                return x * y

            def vjp_rule(self, primals, cotangent, output):
                return (cotangent,)

        with pytest.raises(AutodiffError, match=r"Short: vjp_rule returns 1 cotangents for 2"):
            grad(lambda x: Short()(x, x).sum())(f64(1.0))


class TestStopGradient:
    def test_no_gradient_passes(self):
        got = grad(lambda x: (stop_gradient(x) * x).sum())(f64(*X))
        np.testing.assert_array_equal(got.numpy(), X)

    def test_every_leaf_of_a_tree(self):
        tree = {"a": f64(1.0), "b": [f64(2.0), 3]}

        def total(tree):
            still = stop_gradient(tree)
            return (still["a"] * still["b"][0] * tree["a"]).sum()

        assert stop_gradient(tree)["b"][1] == 3
        assert grad(lambda a: total(tree | {"a": a}))(f64(1.0)).item() == 2.0


WEIGHTS = Tensor([2.0, 3.0])


@custom_vjp
def weighed(x):
    return x * WEIGHTS + Tensor(1.0)


weighed.defvjp(lambda x: (weighed(x), None), lambda kept, g: (g * 7,))


@custom_jvp
def weighed_forward(x):
    return x * WEIGHTS + Tensor(1.0)


weighed_forward.defjvp(lambda primals, tangents: (weighed_forward(*primals), tangents[0] * 7))
CONTROLLED = {
    "cond": (lambda f, x: cond(x.sum() > 0, f, lambda x: x, x), 7),
    "switch": (lambda f, x: switch(Tensor(1), [lambda x: x, f], x), 7),
    "scan": (lambda f, x: scan(lambda c, _: (f(c), None), x, None, length=2)[0], 49),
    "fori_loop": (lambda f, x: fori_loop(0, 2, lambda i, c: f(c), x), 49),
}


class TestWhatARuleTakesFromOutsideIsNotAskedFor:
    """A loop or a branch has as operands all that its functions use; constants need no rule."""

    @pytest.mark.parametrize("function", [weighed, weighed_forward], ids=["vjp", "jvp"])
    @pytest.mark.parametrize("name", CONTROLLED)
    def test_in_reverse_mode(self, name, function):
        run, slope = CONTROLLED[name]
        f = lambda x: run(function, x).sum()  # noqa: E731
        x = Tensor([3.0, 5.0])
        assert grad(f)(x).tolist() == [slope, slope]
        assert jit(grad(f))(x).tolist() == [slope, slope]
        assert vmap(grad(f))(Tensor([[3.0, 5.0]])).tolist() == [[slope, slope]]

    @pytest.mark.parametrize("name", [*CONTROLLED, "while_loop"])
    def test_in_forward_mode(self, name):
        def twice(f, x):
            count = lambda c: (c[0] + 1, f(c[1]))  # noqa: E731
            return while_loop(lambda c: c[0] < 2, count, (Tensor(0), x))[1]

        run, slope = CONTROLLED.get(name, (twice, 49))
        x = Tensor([3.0, 5.0])
        moved = jvp(lambda x: run(weighed_forward, x), (x,), (Tensor([1.0, 10.0]),))[1]
        assert moved.tolist() == [slope, 10 * slope]

    def test_its_own_derivative_is_still_an_error(self):
        def f(w):
            outside = custom_vjp(lambda x: x * w)
            outside.defvjp(lambda x: (outside(x), None), lambda kept, g: (g,))
            return cond(w.sum() > 0, outside, lambda x: x, Tensor([1.0, 1.0])).sum()

        with pytest.raises(AutodiffError, match="E5001"):
            grad(f)(Tensor([1.0, 2.0]))
