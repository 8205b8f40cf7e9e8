"""Wrong use of a transform is an error at the call: a code, the function's name, and a fix."""

import numpy as np
import pytest

from adjoint import (
    AdjointError,
    Tensor,
    associative_scan,
    cond,
    custom_jvp,
    custom_vjp,
    dtypes,
    fori_loop,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    scan,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from tests.support.tensors import f64

X = np.array([0.5, 1.0, 2.0])


def square(x):
    return x * x


def total(x, y=None):
    return x.sum()


def fails(call, code, *words, helps=""):
    """The call raises that code, says these words, and helps."""
    with pytest.raises(AdjointError) as caught:
        call()
    error = caught.value
    assert error.code == code, str(error)
    for word in words:
        assert word in str(error), str(error)
    assert error.help, f"no help: {error}"
    assert helps in error.help, error.help
    return error


class TestGrad:
    def test_a_result_that_is_no_scalar(self):
        fails(lambda: grad(square)(f64(X)), "E5004", "grad of square", "[3]", helps="jacrev")

    def test_a_result_that_is_no_tensor(self):
        fails(lambda: grad(lambda x: (x.sum(), 1))(f64(X)), "E5004", "tuple", helps="has_aux")

    def test_an_integer_result(self):
        fails(lambda: grad(lambda x: x.argmax())(f64(X)), "E5005", "int32", helps="cast")

    def test_an_integer_argument(self):
        fails(lambda: grad(total)(Tensor([1, 2])), "E5005", "grad of total", helps="cast")

    def test_an_argument_that_is_no_tensor(self):
        fails(lambda: grad(total)("text"), "E2001", "grad of total", "str", helps="argnums")

    @pytest.mark.parametrize("argnums", [2, -3, (0, 5)])
    def test_argnums_out_of_range(self, argnums):
        call = lambda: grad(total, argnums)(f64(X), f64(X))  # noqa: E731
        fails(call, "E2007", "grad of total", "2 positional")

    def test_argnums_that_names_one_argument_twice(self):
        fails(lambda: grad(total, (0, -2))(f64(X), f64(X)), "E2007", "grad of total", "twice")

    def test_argnums_that_is_no_number(self):
        fails(lambda: grad(total, "x")(f64(X)), "E2007", "grad of total")

    def test_an_argument_given_by_keyword_cannot_be_differentiated(self):
        fails(lambda: grad(total)(x=f64(X)), "E2007", "0 positional", helps="position")

    def test_aux_without_a_pair(self):
        fails(lambda: grad(total, has_aux=True)(f64(X)), "E5004", "has_aux", helps="return")

    def test_an_op_without_a_derivative_on_the_path(self):
        square_matrix = f64([[1.0, 2.0], [3.0, 5.0]])
        call = lambda: grad(lambda x: x.eigvals().real().sum())(square_matrix)  # noqa: E731
        fails(call, "E5001", "eig", helps="detach")

    def test_an_op_without_a_derivative_off_the_path_is_fine(self):
        other = f64([[1.0, 2.0], [3.0, 5.0]])
        got = grad(lambda x: x.sum() * other.eigvals().real().sum())(f64(X))
        np.testing.assert_allclose(got.numpy(), [6.0, 6.0, 6.0])

    def test_value_and_grad_checks_the_same(self):
        fails(lambda: value_and_grad(square)(f64(X)), "E5004", "square")


class TestJvp:
    def test_a_tangent_of_another_shape(self):
        call = lambda: jvp(square, (f64(X),), (f64([1.0]),))  # noqa: E731
        fails(call, "E5004", "jvp of square", "f64[3]", "f64[1]")

    def test_a_tangent_of_another_dtype(self):
        call = lambda: jvp(square, (f64(X),), (Tensor(X, dtype=dtypes.float32),))  # noqa: E731
        fails(call, "E2004", "jvp of square", "f32", helps=".cast('float64')")

    def test_fewer_tangents_than_primals(self):
        fails(lambda: jvp(total, (f64(X), f64(X)), (f64(X),)), "E3010", "jvp of total")

    def test_a_tangent_tree_of_another_shape(self):
        call = lambda: jvp(lambda p: p["a"], ({"a": f64(X)},), ({"b": f64(X)},))  # noqa: E731
        fails(call, "E3010", "pytrees differ", "'a'", "'b'")

    @pytest.mark.parametrize("both", [(f64(X), (f64(X),)), ((f64(X),), f64(X))])
    def test_primals_and_tangents_are_tuples(self, both):
        fails(lambda: jvp(square, *both), "E2001", "tuples", helps="(x,)")

    def test_linearize_checks_its_tangents(self):
        program = linearize(square, f64(X))[1]
        fails(lambda: program(f64([[1.0]])), "E5004", "linearize of square")
        fails(lambda: program(f64(X), f64(X)), "E3010", "linearize of square")


class TestVjp:
    def test_a_cotangent_of_another_shape(self):
        pullback = vjp(square, f64(X))[1]
        fails(lambda: pullback(f64([1.0])), "E5004", "vjp of square", "f64[3]", "f64[1]")

    def test_a_cotangent_of_another_dtype(self):
        pullback = vjp(square, f64(X))[1]
        call = lambda: pullback(Tensor(X, dtype=dtypes.float32))  # noqa: E731
        fails(call, "E2004", "vjp of square", helps=".cast('float64')")

    def test_a_cotangent_tree_of_another_shape(self):
        pullback = vjp(lambda x: (x, x), f64(X))[1]
        fails(lambda: pullback(f64(X)), "E3010", "vjp of", "tuple")


class TestJacobians:
    @pytest.mark.parametrize("transform", [jacrev, jacfwd, hessian])
    def test_an_integer_argument(self, transform):
        fails(lambda: transform(total)(Tensor([1, 2])), "E5005", "total", helps="cast")

    @pytest.mark.parametrize("transform", [jacrev, jacfwd])
    def test_an_integer_result(self, transform):
        fails(lambda: transform(lambda x: x.argmax())(f64(X)), "E5005", "int32")

    @pytest.mark.parametrize("transform", [jacrev, jacfwd])
    def test_argnums_out_of_range(self, transform):
        fails(lambda: transform(square, 1)(f64(X)), "E2007", "square")


class TestVmap:
    def test_fewer_entries_in_in_axes_than_arguments(self):
        call = lambda: vmap(total, in_axes=(0,))(f64(X), f64(X))  # noqa: E731
        fails(call, "E3010", "vmap of total", "1 entries for 2")

    def test_an_axis_that_the_argument_does_not_have(self):
        fails(lambda: vmap(total, in_axes=1)(f64(X)), "E3004", "vmap of total", "axis 1")

    def test_a_scalar_argument(self):
        fails(lambda: vmap(total)(f64(1.0)), "E3002", "vmap of total", helps="None")

    def test_axes_of_different_sizes(self):
        call = lambda: vmap(total)(f64(X), f64([1.0, 2.0]))  # noqa: E731
        fails(call, "E3003", "vmap of total", "[2, 3]", helps="size")

    def test_a_tree_that_does_not_fit_the_argument(self):
        call = lambda: vmap(total, in_axes=({"b": 0},))({"a": f64(X)})  # noqa: E731
        fails(call, "E3010", "vmap of total", "prefix")

    def test_an_axis_that_is_no_number(self):
        fails(
            lambda: vmap(total, in_axes="x")(f64(X)), "E2001", "vmap of total", "'x'", helps="int"
        )

    def test_nothing_mapped_and_no_size(self):
        call = lambda: vmap(total, in_axes=None)(f64(X))  # noqa: E731
        fails(call, "E3003", "nothing is mapped", helps="axis_size")

    def test_a_size_that_differs_from_the_arguments(self):
        fails(lambda: vmap(total, axis_size=4)(f64(X)), "E3003", "[3, 4]")

    def test_out_axes_none_for_a_result_that_is_mapped(self):
        fails(lambda: vmap(square, out_axes=None)(f64(X)), "E3010", "vmap of square", "out_axes")

    def test_out_axes_out_of_range(self):
        fails(lambda: vmap(square, out_axes=2)(f64(X)), "E3004", "vmap of square", "axis 2")

    def test_out_axes_that_do_not_fit_the_result(self):
        fails(lambda: vmap(square, out_axes=(0, 0))(f64(X)), "E3010", "vmap of square")

    def test_an_unknown_kind_of_randomness(self):
        fails(lambda: vmap(square, randomness="some"), "E2008", "different, same, error")

    def test_a_result_that_is_no_tensor(self):
        fails(lambda: vmap(lambda x: "text")(f64(X)), "E2001", "str")


class TestTracedValues:
    @pytest.mark.parametrize("read", [float, bool, lambda t: t.item(), lambda t: t.numpy()])
    def test_reading_a_value_inside_vmap(self, read):
        def peek(x):
            read(x.sum())
            return x.sum()

        fails(lambda: vmap(peek)(f64([X])), "E5004", "vmap of peek", "not known", helps="cond")
        fails(lambda: vmap(grad(peek))(f64([X])), "E5004", "vmap of peek", "not known")

    def test_a_python_if_on_a_traced_value(self):
        def branchy(x):
            return x.sum() if x.sum() > 0 else -x.sum()

        fails(lambda: vmap(branchy)(f64([X])), "E5004", "vmap of branchy", helps="cond")
        fails(lambda: jit(grad(branchy))(f64(X)), "E5004", "jit of branchy", helps=".where()")
        fails(lambda: scan(lambda c, x: (branchy(x), c), f64(0.0), f64([X])), "E5004", "scan")

    def test_a_python_while_on_a_traced_value(self):
        def loops(x):
            while x < 3:
                x = x * 2
            return x

        fails(lambda: vmap(loops)(f64([1.0])), "E5004", "vmap of loops", helps="while")

    def test_realize_and_tolist(self):
        for read in (lambda t: t.realize(), lambda t: t.tolist(), str):
            call = lambda read=read: vmap(lambda x: (read(x * 2), x.sum())[1])(f64([X]))  # noqa: E731
            if read is str:
                call()  # a printed tensor is lazy text, not a value
            else:
                fails(call, "E5004", "not known")

    def test_the_user_line_is_named(self):
        def peek(x):
            y = x * 2
            return y.sum() * y.sum().item()

        error = fails(lambda: vmap(peek)(f64([X])), "E5004")
        assert "test_wrong_use.py" in str(error)

    def test_a_value_outside_may_be_read_inside(self):
        known = f64(2.0)
        got = grad(lambda x: x.sum() * known.item())(f64(X))
        np.testing.assert_array_equal(got.numpy(), [2.0, 2.0, 2.0])

    @pytest.mark.parametrize(
        "transform",
        [
            lambda fn: grad(fn)(f64(X)),
            lambda fn: vmap(fn)(f64([X])),
            lambda fn: jvp(fn, (f64(X),), (f64(X),)),
            lambda fn: vjp(fn, f64(X)),
            lambda fn: scan(lambda c, x: (c, fn(x)), f64(0.0), f64([X])),
            lambda fn: cond(Tensor(True), fn, total, f64(X)),
            lambda fn: while_loop(lambda v: v < 0, lambda v: v + fn(v), f64(1.0)),
        ],
        ids=["grad", "vmap", "jvp", "vjp", "scan", "cond", "while_loop"],
    )
    def test_a_value_that_leaks_out_says_where_it_is_from(self, transform, request):
        leaked = []

        def leak(x):
            leaked.append(x * 2)
            return x.sum()

        transform(leak)
        where = ("traced inside", request.node.callspec.id, "test_wrong_use.py")
        fails(lambda: leaked[0].numpy(), "E5004", *where, helps="return it")
        fails(lambda: (leaked[0] + 1).sum().item(), "E5004", *where, helps="return it")

    def test_the_argument_itself_leaks(self):
        leaked = []
        grad(lambda x: (leaked.append(x), x.sum())[1])(f64(X))
        fails(lambda: leaked[0].numpy(), "E5004")


class TestCustomRules:
    def test_a_reverse_rule_with_too_few_cotangents(self):
        @custom_vjp
        def product(x, y):
            return x * y

        product.defvjp(lambda x, y: (x * y, (x, y)), lambda kept, g: (g * kept[1],))
        call = lambda: grad(lambda x: product(x, x).sum())(f64(X))  # noqa: E731
        fails(call, "E5002", "custom_vjp product", "1 cotangents for 2", helps="None")

    def test_a_reverse_rule_that_returns_no_tuple(self):
        @custom_vjp
        def double(x):
            return x * 2

        double.defvjp(lambda x: (x * 2, None), lambda kept, g: g * 2)
        fails(lambda: grad(lambda x: double(x).sum())(f64(X)), "E5002", "double", helps="tuple")

    def test_a_forward_rule_that_returns_no_pair(self):
        @custom_vjp
        def double(x):
            return x * 2

        double.defvjp(lambda x: x * 2, lambda kept, g: (g * 2,))
        call = lambda: grad(lambda x: double(x).sum())(f64(X))  # noqa: E731
        fails(call, "E5002", "double", "residuals", helps="return")

    def test_a_tangent_rule_that_returns_no_pair(self):
        @custom_jvp
        def double(x):
            return x * 2

        double.defjvp(lambda primals, tangents: tangents[0] * 2)
        call = lambda: jvp(double, (f64(X),), (f64(X),))  # noqa: E731
        fails(call, "E5002", "double", "tangent", helps="return")

    def test_no_rule_yet(self):
        fails(lambda: custom_vjp(square)(f64(X)), "E5001", "square", helps="defvjp")
        fails(lambda: custom_jvp(square)(f64(X)), "E5001", "square", helps="defjvp")


class TestControlFlow:
    def test_branches_of_different_shapes(self):
        call = lambda: cond(Tensor(True), lambda x: x, lambda x: x.sum(), f64(X))  # noqa: E731
        fails(call, "E3003", "cond", "branches", "f64[3]", "f64[]")

    def test_branches_of_different_dtypes(self):
        call = lambda: cond(True, lambda x: x, lambda x: x.cast("float32"), f64(X))  # noqa: E731
        fails(call, "E2004", "cond", helps=".cast('float64')")

    def test_branches_of_different_trees(self):
        call = lambda: cond(Tensor(True), lambda x: (x,), lambda x: [x], f64(X))  # noqa: E731
        fails(call, "E3010", "cond", "tuple(*)", "list(*)")

    def test_a_condition_that_is_no_scalar(self):
        call = lambda: cond(f64(X) > 1, square, square, f64(X))  # noqa: E731
        fails(call, "E3002", "cond", "[3]", helps=".where()")

    def test_a_carry_that_changes_its_dtype(self):
        call = lambda: scan(lambda c, x: (c + x, None), Tensor(0), f64(X))  # noqa: E731
        fails(call, "E2004", "scan of", "carry", "i32", "f64", helps="cast")

    def test_a_carry_that_changes_its_shape(self):
        call = lambda: scan(lambda c, x: (c.expand(2), None), f64(0.0), f64(X))  # noqa: E731
        fails(call, "E3003", "scan of", "carry", "f64[]", "f64[2]")

    def test_a_carry_that_changes_its_tree(self):
        call = lambda: scan(lambda c, x: ((c, c), None), f64(0.0), f64(X))  # noqa: E731
        fails(call, "E3010", "scan of", "tuple(*, *)")

    def test_a_step_that_returns_no_pair(self):
        fails(lambda: scan(lambda c, x: c, f64(0.0), f64(X)), "E3010", "(carry, y)", helps="None")

    def test_rows_of_different_lengths(self):
        call = lambda: scan(lambda c, x: (c, x), f64(0.0), (f64(X), f64([1.0])))  # noqa: E731
        fails(call, "E3003", "scan of", "[1, 3]", helps="length")

    def test_nothing_to_scan_over(self):
        fails(lambda: scan(lambda c, x: (c, x), f64(0.0)), "E3003", "nothing", helps="length=")

    def test_a_scalar_to_scan_over(self):
        fails(lambda: scan(lambda c, x: (c, x), f64(0.0), f64(1.0)), "E3002", "scan of", "scalar")

    def test_a_loop_value_that_changes_its_type(self):
        call = lambda: fori_loop(0, 3, lambda i, v: v + 0.5, Tensor(1))  # noqa: E731
        fails(call, "E2004", "carry", "i32", helps="cast")

    def test_a_while_value_that_changes_its_type(self):
        call = lambda: while_loop(lambda v: v < 3, lambda v: v + 0.5, Tensor(1))  # noqa: E731
        fails(call, "E2004", "while_loop", "i32", helps="cast")

    def test_a_while_value_that_changes_its_tree(self):
        call = lambda: while_loop(lambda v: v < 3, lambda v: (v,), Tensor(1))  # noqa: E731
        fails(call, "E3010", "while_loop", "tuple(*)")

    def test_a_while_condition_that_is_no_scalar(self):
        call = lambda: while_loop(lambda v: v < 3, lambda v: v + 1, f64(X))  # noqa: E731
        fails(call, "E3002", "while_loop", helps=".any()")

    def test_an_associative_function_that_changes_the_tree(self):
        call = lambda: associative_scan(lambda a, b: (a, b), f64(X))  # noqa: E731
        fails(call, "E3010", "associative_scan of", "tuple(*, *)")

    def test_a_python_if_inside_a_loop(self):
        call = lambda: scan(lambda c, x: (c if x > 0 else -c, None), f64(1.0), f64(X))  # noqa: E731
        fails(call, "E5004", "scan of", helps="cond")
