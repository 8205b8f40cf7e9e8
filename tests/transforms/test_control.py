"""Control flow: values and derivatives against unrolled Python, to second order, and vmap."""

import numpy as np
import pytest

import adjoint
from adjoint import (
    AdjointError,
    AutodiffError,
    Tensor,
    associative_scan,
    checkpoint,
    cond,
    dtypes,
    fori_loop,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    scan,
    switch,
    vmap,
    while_loop,
)
from tests.support.tensors import f64

X = np.array([0.5, -1.0, 2.0])
A = np.array([[0.3, -0.2, 0.5], [0.1, 0.4, -0.6], [-0.7, 0.2, 0.1]])


def same(tensor, wanted, rtol=1e-12):
    wanted = wanted.numpy() if isinstance(wanted, Tensor) else wanted
    np.testing.assert_allclose(tensor.numpy(), wanted, rtol=rtol, atol=1e-14)


def agree(fn, plain, *args):
    """Value, both Jacobians and all four second derivatives of two functions of arrays."""
    tensors = [f64(a) for a in args]
    every = tuple(range(len(args)))
    same(fn(*tensors), plain(*tensors))
    for jacobian in (jacrev, jacfwd):
        got, wanted = (jacobian(f, every)(*tensors) for f in (fn, plain))
        for g, w in zip(got, wanted, strict=True):
            same(g, w)
        for outer in (jacrev, jacfwd):
            second = outer(jacobian(fn))(*tensors)
            same(second, outer(jacobian(plain))(*tensors))


def agree_forward(fn, plain, x):
    """Value and the first two derivatives in forward mode."""
    same(fn(x), plain(x))
    same(jacfwd(fn)(x), jacfwd(plain)(x))
    same(jacfwd(jacfwd(fn))(x), jacfwd(jacfwd(plain))(x))


def step(carry, x):
    new = (carry * x).sin() + x
    return new, new * carry


def unrolled(carry, xs, reverse=False):
    rows = []
    order = range(xs.shape[0])
    for i in reversed(order) if reverse else order:
        carry, y = step(carry, xs[i])
        rows.append(y)
    return carry, Tensor.stack(*(rows[::-1] if reverse else rows))


class TestCond:
    @pytest.mark.parametrize("value", [True, False])
    def test_value_and_derivatives_of_the_branch_taken(self, value):
        pred = Tensor(value)
        agree(
            lambda x, y: cond(pred, lambda a, b: a.sin() * b, lambda a, b: a * a - b, x, y),
            lambda x, y: x.sin() * y if value else x * x - y,
            X,
            2 * X,
        )

    def test_the_condition_may_depend_on_the_argument(self):
        fn = lambda x: cond(x.sum() > 0, lambda v: (v**2).sum(), lambda v: v.sum(), x)  # noqa: E731
        same(grad(fn)(f64(X)), 2 * X)
        same(grad(fn)(f64(-X)), np.ones(3))

    def test_a_python_bool_and_a_number_are_conditions(self):
        assert cond(True, lambda: f64(1.0), lambda: f64(2.0)).item() == 1.0
        assert cond(0, lambda: f64(1.0), lambda: f64(2.0)).item() == 2.0

    def test_captured_tensors_get_gradients(self):
        fn = lambda w: cond(Tensor(True), lambda x: (x * w).sum(), lambda x: x.sum(), f64(X))  # noqa: E731
        same(grad(fn)(f64(2 * X)), X)

    def test_captured_parameters_get_their_grad_from_backward(self):
        w = f64(X).requires_grad_()
        cond(Tensor(True), lambda x: (x * w).sum(), lambda x: x.sum(), f64(X)).backward()
        same(w.grad, X)

    def test_pytrees_go_in_and_out(self):
        got = cond(
            Tensor(False),
            lambda p: {"s": p["a"] + p["b"], "n": None},
            lambda p: {"s": p["a"] - p["b"], "n": None},
            {"a": f64(X), "b": f64(2 * X)},
        )
        same(got["s"], -X)
        assert got["n"] is None

    def test_the_branch_not_taken_does_not_spoil_the_gradient(self):
        fn = lambda x: cond(x > 0, lambda v: v.log(), lambda v: v * 2, x)  # noqa: E731
        assert grad(fn)(f64(-1.0)).item() == 2.0

    def test_vmap_with_one_condition_for_all(self):
        got = vmap(lambda x: cond(Tensor(True), lambda v: v * 2, lambda v: -v, x))(f64(A))
        same(got, 2 * A)

    def test_vmap_with_a_condition_per_example(self):
        got = vmap(lambda x: cond(x.sum() > 0.2, lambda v: v * 2, lambda v: -v, x))(f64(A))
        same(got, np.where(A.sum(1, keepdims=True) > 0.2, 2 * A, -A))

    def test_vmap_of_its_gradient_with_a_condition_per_example(self):
        fn = lambda x: cond(x > 0, lambda v: v**3, lambda v: v**2, x)  # noqa: E731
        same(vmap(grad(fn))(f64(X)), np.where(X > 0, 3 * X**2, 2 * X))
        same(grad(lambda x: vmap(fn)(x).sum())(f64(X)), np.where(X > 0, 3 * X**2, 2 * X))

    def test_nested(self):
        def fn(x):
            inner = lambda v: cond(v > 1, lambda u: u**3, lambda u: u**2, v)  # noqa: E731
            return cond(x > 0, inner, lambda v: -v, x)

        got = [grad(fn)(f64(v)).item() for v in (2.0, 0.5, -1.0)]
        assert got == pytest.approx([12.0, 1.0, -1.0])


class TestScan:
    @pytest.mark.parametrize("reverse", [False, True])
    def test_value_and_derivatives_of_the_last_carry(self, reverse):
        agree(
            lambda c, xs: scan(step, c, xs, reverse=reverse)[0],
            lambda c, xs: unrolled(c, xs, reverse)[0],
            0.3,
            X,
        )

    @pytest.mark.parametrize("reverse", [False, True])
    def test_value_and_derivatives_of_the_rows(self, reverse):
        agree(
            lambda c, xs: scan(step, c, xs, reverse=reverse)[1],
            lambda c, xs: unrolled(c, xs, reverse)[1],
            0.3,
            X,
        )

    def test_captured_tensors_get_gradients_to_second_order(self):
        def rnn(w, x):
            return scan(lambda h, row: ((w @ h + row).tanh(), None), f64(X), x)[0].sum()

        def plain(w, x):
            h = f64(X)
            for i in range(3):
                h = (w @ h + x[i]).tanh()
            return h.sum()

        agree(rnn, plain, A, np.cos(A))

    def test_captured_parameters_get_their_grad_from_backward(self):
        w = f64(2.0).requires_grad_()
        scan(lambda c, x: (c * w + x, None), f64(1.0), f64(X))[0].backward()
        same(w.grad, 3 * 2.0**2 + X[0] * 2 * 2.0 + X[1])

    def test_several_carries_and_rows_as_pytrees(self):
        def body(carry, x):
            return {"a": carry["a"] + x[0], "b": (carry["b"][0] * x[1],)}, {"s": carry["a"]}

        init = {"a": f64(0.0), "b": (f64(1.0),)}
        last, rows = scan(body, init, (f64([1.0, 2.0, 3.0]), f64([2.0, 3.0, 4.0])))
        assert last["a"].item() == 6.0
        assert last["b"][0].item() == 24.0
        same(rows["s"], [0.0, 1.0, 3.0])

    def test_an_integer_carry_beside_a_float_one(self):
        def body(carry, x):
            n, total = carry
            return (n + 1, total + x * n.cast("float64")), None

        fn = lambda x: scan(body, (Tensor(0), f64(0.0)), x)[0][1]  # noqa: E731
        assert fn(f64(X)).item() == pytest.approx(X @ np.arange(3))
        same(grad(fn)(f64(X)), np.arange(3.0))
        same(jvp(fn, (f64(X),), (f64(X),))[1], X @ np.arange(3))

    def test_without_rows_it_takes_a_length(self):
        last, rows = scan(lambda c, _: (c * 2, c), f64(1.0), None, length=4)
        assert last.item() == 16.0
        same(rows, [1.0, 2.0, 4.0, 8.0])

    def test_no_steps_give_the_carry_and_empty_rows(self):
        last, rows = scan(step, f64(0.3), f64(np.zeros(0)))
        assert last.item() == 0.3
        assert rows.shape == (0,)

    def test_no_steps_have_the_gradient_of_the_carry(self):
        dc, dx = grad(lambda c, x: scan(step, c, x)[0], (0, 1))(f64(0.3), f64(np.zeros(0)))
        assert dc.item() == 1.0
        assert dx.shape == (0,)
        assert (
            jvp(lambda c: scan(step, c, f64(np.zeros(0)))[0], (f64(1.0),), (f64(2.0),))[1].item()
            == 2.0
        )

    def test_a_gradient_through_rows_that_nobody_uses_is_zero(self):
        fn = lambda x: scan(lambda c, v: (c, v * v), f64(1.0), x)[0]  # noqa: E731
        same(grad(fn)(f64(X)), np.zeros(3))

    def test_vmap_over_carries(self):
        got = vmap(lambda c: scan(step, c, f64(X))[1])(f64(X))
        same(got, np.stack([unrolled(f64(c), f64(X))[1].numpy() for c in X]))

    def test_vmap_over_rows(self):
        got = vmap(lambda xs: scan(step, f64(0.3), xs)[0])(f64(A))
        same(got, [unrolled(f64(0.3), f64(row))[0].item() for row in A])

    def test_vmap_over_a_captured_tensor(self):
        got = vmap(lambda w: scan(lambda c, x: (c * w + x, None), f64(1.0), f64(X))[0])(f64(X))
        same(got, [((w + X[0]) * w + X[1]) * w + X[2] for w in X])

    def test_vmap_of_grad_and_grad_of_vmap(self):
        fn = lambda c, xs: scan(step, c, xs)[0]  # noqa: E731
        wanted = [grad(fn, 1)(f64(c), f64(row)).numpy() for c, row in zip(X, A, strict=True)]
        same(vmap(grad(fn, 1))(f64(X), f64(A)), np.stack(wanted))
        same(grad(lambda xs: vmap(fn)(f64(X), xs).sum())(f64(A)), np.stack(wanted))

    def test_a_scan_in_a_scan(self):
        def outer(carry, row):
            inner = scan(lambda c, x: (c * x + carry, None), carry, row)[0]
            return inner.tanh(), None

        def plain(x):
            carry = f64(0.5)
            for i in range(3):
                inner = carry
                for j in range(3):
                    inner = inner * x[i, j] + carry
                carry = inner.tanh()
            return carry

        agree(lambda x: scan(outer, f64(0.5), x)[0], plain, A)

    def test_grad_inside_a_scan(self):
        descend = lambda x, _: (x - 0.1 * grad(lambda v: (v * v).sum())(x), None)  # noqa: E731
        same(scan(descend, f64(X), None, length=5)[0], X * 0.8**5)

    def test_grad_through_grad_inside_a_scan(self):
        fn = lambda x: scan(  # noqa: E731
            lambda v, _: (v - 0.1 * grad(lambda u: u**3)(v), None), x, None, length=2
        )[0]

        def plain(x):
            for _ in range(2):
                x = x - 0.1 * 3 * x**2
            return x

        agree(fn, plain, 0.7)

    def test_cond_inside_a_scan(self):
        body = lambda c, x: (cond(x > 0, lambda v: v * x, lambda v: v + x, c), None)  # noqa: E731

        def plain(c, xs):
            for i, x in enumerate(X):
                c = c * xs[i] if x > 0 else c + xs[i]
            return c

        agree(lambda c, xs: scan(body, c, xs)[0], plain, 0.3, X)

    def test_checkpoint_inside_a_scan(self):
        agree(
            lambda c, xs: scan(checkpoint(step), c, xs)[0],
            lambda c, xs: unrolled(c, xs)[0],
            0.3,
            X,
        )

    def test_every_step_draws_its_own_numbers(self):
        Tensor.manual_seed(0)
        rows = scan(lambda c, _: (c, Tensor.rand(4)), f64(0.0), None, length=3)[1].numpy()
        assert len(np.unique(rows)) == 12

    def test_every_step_of_every_example_draws_its_own_numbers(self):
        Tensor.manual_seed(0)
        fn = lambda x: scan(lambda c, _: (c, c + Tensor.rand(2)), x, None, length=3)[1]  # noqa: E731
        assert len(np.unique(vmap(fn)(Tensor.zeros(4, 2)).numpy())) == 24

    def test_the_draw_of_the_backward_pass_is_that_of_the_forward_pass(self):
        def fn(x):
            body = lambda c, _: (c, (c * Tensor.rand(2)).sum())  # noqa: E731
            return scan(body, x, None, length=3)[1].sum()

        Tensor.manual_seed(0)
        gradient = grad(fn)(Tensor.ones(2)).numpy()
        Tensor.manual_seed(0)
        assert gradient.sum() == pytest.approx(fn(Tensor.ones(2)).item(), rel=1e-6)

    def test_a_hessian_through_it(self):
        fn = lambda x: scan(step, f64(0.3), x)[0]  # noqa: E731
        plain = lambda x: unrolled(f64(0.3), x)[0]  # noqa: E731
        same(hessian(fn)(f64(X)), hessian(plain)(f64(X)))


class TestForiLoop:
    def test_value_and_derivatives_with_python_bounds(self):
        def plain(x):
            for i in range(2, 6):
                x = (x * i).sin()
            return x

        agree(lambda x: fori_loop(2, 6, lambda i, v: (v * i).sin(), x), plain, X)

    def test_no_steps_if_the_bounds_meet_or_cross(self):
        for upper in (3, 1):
            same(fori_loop(3, upper, lambda i, v: v * 2, f64(X)), X)

    def test_tensor_bounds(self):
        got = fori_loop(Tensor(1), Tensor(4), lambda i, v: v * i, f64(1.0))
        assert got.item() == 6.0

    def test_forward_mode_with_tensor_bounds(self):
        def plain(x):
            for i in range(3):
                x = x * x + i
            return x

        n = Tensor(3)
        agree_forward(lambda x: fori_loop(0, n, lambda i, v: v * v + i, x), plain, f64(0.4))

    def test_reverse_mode_with_tensor_bounds_is_an_error_with_a_fix(self):
        with pytest.raises(AutodiffError, match="no reverse mode") as caught:
            grad(lambda x: fori_loop(0, Tensor(3), lambda i, v: v * v, x))(f64(0.4))
        assert "Python ints" in caught.value.help

    def test_vmap_with_bounds_per_example(self):
        got = vmap(lambda n, x: fori_loop(0, n, lambda i, v: v * 2, x))(
            Tensor([0, 3, 1]), f64([1.0, 1.0, 5.0])
        )
        same(got, [1.0, 8.0, 10.0])

    def test_captured_tensors_get_gradients(self):
        fn = lambda w: fori_loop(0, 3, lambda i, v: v * w, f64(2.0))  # noqa: E731
        assert grad(fn)(f64(3.0)).item() == 54.0

    def test_nested(self):
        def fn(x):
            return fori_loop(0, 3, lambda i, v: fori_loop(0, 2, lambda j, u: u * x + j, v), x)

        def plain(x):
            v = x
            for _ in range(3):
                for j in range(2):
                    v = v * x + j
            return v

        agree(fn, plain, 0.7)

    def test_every_step_draws_its_own_numbers(self):
        Tensor.manual_seed(0)
        pair = fori_loop(0, 2, lambda i, v: (v[1], Tensor.rand(4)), (Tensor.zeros(4),) * 2)
        assert (pair[0].numpy() != pair[1].numpy()).all()

    def test_pytrees_are_carried(self):
        body = lambda i, p: {"a": p["a"] + p["b"], "b": p["b"]}  # noqa: E731
        got = fori_loop(0, 3, body, {"a": 1.0, "b": 2.0})
        assert got["a"].item() == 7.0


class TestWhileLoop:
    def test_the_number_of_steps_depends_on_the_value(self):
        assert while_loop(lambda v: v < 100, lambda v: v * 3, f64(1.0)).item() == 243.0

    def test_no_step_if_the_condition_fails_at_once(self):
        assert while_loop(lambda v: v < 0, lambda v: v * 3, f64(1.0)).item() == 1.0

    def test_forward_mode(self):
        plain = lambda x: x * 27  # noqa: E731
        fn = lambda x: while_loop(lambda v: v < 20, lambda v: v * 3, x)  # noqa: E731
        agree_forward(fn, plain, f64(1.0))

    def test_forward_mode_of_a_nonlinear_step_with_a_captured_tensor(self):
        def fn(x):
            return while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, (s[1] * x).sin()), (0, x))[1]

        def plain(x):
            v = x
            for _ in range(3):
                v = (v * x).sin()
            return v

        agree_forward(fn, plain, f64(0.7))

    def test_reverse_mode_is_an_error_with_a_fix(self):
        with pytest.raises(AutodiffError, match="no reverse mode") as caught:
            grad(lambda x: while_loop(lambda v: v < 20, lambda v: v * 3, x))(f64(1.0))
        assert caught.value.code == "E5001"
        assert "while_loop" in str(caught.value)
        assert "scan" in caught.value.help

    def test_reverse_mode_of_something_beside_it_works(self):
        def fn(x):
            steps = while_loop(lambda n: n < 3, lambda n: n + 1, Tensor(0))
            return x * steps.cast("float64")

        assert grad(fn)(f64(2.0)).item() == 3.0

    def test_vmap_goes_on_until_the_last_is_done(self):
        got = vmap(lambda x: while_loop(lambda v: v < 10, lambda v: v * 2, x))(
            f64([1.0, 3.0, 20.0])
        )
        same(got, [16.0, 12.0, 20.0])

    def test_vmap_over_a_captured_limit(self):
        fn = lambda n: while_loop(lambda v: v < n, lambda v: v * 2, f64(1.0))  # noqa: E731
        same(vmap(fn)(f64([1.0, 5.0, 30.0])), [1.0, 8.0, 32.0])

    def test_vmap_of_its_tangent(self):
        def slope(x):
            return jvp(
                lambda u: while_loop(lambda v: v < 10, lambda v: v * v, u), (x,), (f64(1.0),)
            )[1]

        same(vmap(slope)(f64([2.0, 3.0, 20.0])), [4 * 2.0**3, 4 * 3.0**3, 1.0])

    def test_a_while_in_a_while(self):
        def body(state):
            i, total = state
            inner = while_loop(lambda s: s[0] < i, lambda s: (s[0] + 1, s[1] + 1), (0, total))[1]
            return i + 1, inner

        got = while_loop(lambda s: s[0] < 4, body, (Tensor(0), Tensor(0)))[1]
        assert got.item() == 6

    def test_random_numbers_inside_are_an_error(self):
        with pytest.raises(AutodiffError, match="random") as caught:
            while_loop(lambda v: v < 1, lambda v: v + Tensor.rand(), Tensor(0.0))
        assert "fori_loop" in caught.value.help


class TestAssociativeScan:
    @pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 8, 13])
    def test_running_sums_of_every_length(self, count):
        x = np.cos(np.arange(count))
        same(associative_scan(lambda a, b: a + b, f64(x)), np.cumsum(x))

    def test_products_backwards(self):
        got = associative_scan(lambda a, b: a * b, f64(X), reverse=True)
        same(got, np.cumprod(X[::-1])[::-1])

    @pytest.mark.parametrize("axis", [0, 1, -1])
    def test_along_an_axis(self, axis):
        got = associative_scan(lambda a, b: a + b, f64(A), axis=axis)
        same(got, np.cumsum(A, axis))

    def test_an_operation_that_does_not_commute(self):
        """Affine maps x → a x + b, composed left to right: a linear recurrence."""
        a, b = np.array([0.5, -1.0, 2.0, 0.3, 1.5]), np.array([1.0, 2.0, -1.0, 0.5, 0.0])
        compose = lambda p, q: (q[0] * p[0], q[0] * p[1] + q[1])  # noqa: E731
        got = associative_scan(compose, (f64(a), f64(b)))[1]
        state, wanted = 0.0, []
        for slope, shift in zip(a, b, strict=True):
            state = slope * state + shift
            wanted.append(state)
        same(got, wanted)

    def test_derivatives_to_second_order(self):
        agree(
            lambda x: associative_scan(lambda a, b: a * b, x),
            lambda x: Tensor.stack(x[0], x[0] * x[1], x[0] * x[1] * x[2]),
            X,
        )

    def test_vmap(self):
        got = vmap(lambda x: associative_scan(lambda a, b: a.maximum(b), x))(f64(A))
        same(got, np.maximum.accumulate(A, 1))

    def test_integers(self):
        got = associative_scan(lambda a, b: a + b, Tensor([1, 2, 3, 4]))
        assert got.tolist() == [1, 3, 6, 10]
        assert got.dtype is dtypes.int32


def test_a_loop_of_many_steps_needs_no_recursion():
    fn = lambda x: fori_loop(0, 5000, lambda i, v: v * 1.0001, x)  # noqa: E731
    assert grad(fn)(f64(1.0)).item() == pytest.approx(1.0001**5000)


BRANCHES = [lambda x: x * 2, lambda x: x.sin(), lambda x: x**3, lambda x: x.exp(), lambda x: x * 0]


class TestSwitch:
    @pytest.mark.parametrize("i", range(5))
    @pytest.mark.parametrize("count", [1, 2, 3, 5])
    def test_value_and_gradient_are_those_of_the_branch(self, i, count):
        i %= count
        fn = lambda x, i: switch(i, BRANCHES[:count], x).sum()  # noqa: E731
        wanted = grad(lambda x: BRANCHES[i](x).sum())(f64(X)).numpy()
        index = Tensor(i)
        assert fn(f64(X), index).item() == BRANCHES[i](f64(X)).sum().item()
        np.testing.assert_allclose(grad(fn)(f64(X), index).numpy(), wanted)
        np.testing.assert_allclose(jit(grad(fn))(f64(X), index).numpy(), wanted)

    def test_one_index_per_example(self):
        index, x = Tensor([4, 1, 2]), f64(X)
        got = vmap(lambda i, v: switch(i, BRANCHES, v))(index, x)
        np.testing.assert_allclose(got.numpy(), [0, np.sin(X[1]), X[2] ** 3])
        slopes = vmap(grad(lambda v, i: switch(i, BRANCHES, v)))(x, index)
        np.testing.assert_allclose(slopes.numpy(), [0, np.cos(X[1]), 3 * X[2] ** 2])

    def test_a_negative_index_counts_from_the_end(self):
        assert switch(-2, BRANCHES, f64(1)).item() == pytest.approx(np.e)

    @pytest.mark.parametrize("i", [5, -6])
    def test_an_index_that_names_no_branch_is_an_error(self, i):
        with pytest.raises(AdjointError, match="E6001"):
            switch(Tensor(i), BRANCHES, f64(X)).numpy()

    def test_wrong_use(self):
        with pytest.raises(AdjointError, match="E2007"):
            switch(0, [], f64(X))
        with pytest.raises(AdjointError, match="one integer"):
            switch(Tensor(0.5), BRANCHES, f64(X))
        with pytest.raises(AdjointError, match="one integer"):
            switch(Tensor([0, 1]), BRANCHES, f64(X))


class TestMap:
    @pytest.mark.parametrize("size", [None, 1, 2, 3, 7])
    def test_it_is_vmap_one_after_the_other(self, size):
        fn = lambda p: {"y": p["a"].sum() * p["b"]}  # noqa: E731
        trees = {"a": f64(A), "b": f64(X)}
        wanted = vmap(fn)(trees)["y"].numpy()
        np.testing.assert_allclose(adjoint.map(fn, trees, size)["y"].numpy(), wanted)
        total = lambda t, over: over(t)["y"].sum()  # noqa: E731
        found = grad(lambda t: total(t, lambda t: adjoint.map(fn, t, size)))(trees)
        by_vmap = grad(lambda t: total(t, vmap(fn)))(trees)
        for name in trees:
            np.testing.assert_allclose(found[name].numpy(), by_vmap[name].numpy())

    @pytest.mark.parametrize("size", [0, -1, 1.5, True])
    def test_a_batch_size_that_is_none_is_an_error(self, size):
        with pytest.raises(AdjointError, match="batch_size"):
            adjoint.map(lambda x: x, f64(X), size)


class TestBoundedWhile:
    @staticmethod
    def grown(x, most=10):
        return while_loop(lambda v: v < 100.0, lambda v: v * v, x, max_iterations=most)

    def test_reverse_mode_undoes_the_steps_that_were_taken(self):
        assert grad(self.grown)(f64(3)).item() == pytest.approx(8 * 3**7)
        assert grad(grad(self.grown))(f64(3)).item() == pytest.approx(56 * 3**6)
        assert grad(self.grown)(f64(200)).item() == 1

    def test_it_stops_at_the_latest_after_so_many(self):
        assert self.grown(f64(3), 1).item() == 9
        assert self.grown(f64(3), 0).item() == 3

    def test_every_example_takes_its_own_number(self):
        x = f64([3, 20, 200])
        assert vmap(self.grown)(x).tolist() == [6561, 400, 200]
        assert vmap(grad(self.grown))(x).tolist() == [17496, 40, 1]
        assert grad(lambda x: vmap(self.grown)(x).sum())(x).tolist() == [17496, 40, 1]

    @pytest.mark.parametrize("most", [-1, 2.5, True, "3"])
    def test_a_limit_that_is_none_is_an_error(self, most):
        with pytest.raises(AdjointError, match="max_iterations"):
            self.grown(f64(3), most)
