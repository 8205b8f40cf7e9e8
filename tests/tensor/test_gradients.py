"""Tensor.backward, .grad, .gradient, requires_grad: what seed 003 promises."""

import numpy as np
import pytest

from adjoint import ArgumentError, AutodiffError, ShapeError, Tensor, dtypes, jit, nn, no_grad
from tests.support.tensors import same

X = np.array([1.0, 2.0, 3.0])


def parameter(values=X):
    return Tensor(np.asarray(values, np.float64), requires_grad=True)


class TestBackward:
    def test_it_fills_grad(self):
        x = parameter()
        (x * x).sum().backward()
        same(x.grad, 2 * X)

    def test_it_returns_the_root(self):
        x = parameter()
        loss = x.sum()
        assert loss.backward() is loss

    def test_gradients_accumulate_over_calls(self):
        x = parameter()
        (x * x).sum().backward()
        (x * 3).sum().backward()
        same(x.grad, 2 * X + 3)

    def test_the_same_root_twice_adds_twice(self):
        x = parameter()
        loss = (x * x).sum()
        loss.backward()
        loss.backward()
        same(x.grad, 4 * X)

    def test_setting_grad_to_none_starts_again(self):
        x = parameter()
        (x * x).sum().backward()
        x.grad = None
        x.sum().backward()
        same(x.grad, np.ones(3))

    def test_only_tensors_that_require_it_get_one(self):
        x, y = parameter(), Tensor(X)
        middle = x * y
        middle.sum().backward()
        same(x.grad, X)
        assert y.grad is None
        assert middle.grad is None

    def test_a_tensor_that_is_not_reached_keeps_none(self):
        x, y = parameter(), parameter()
        x.sum().backward()
        assert y.grad is None

    def test_a_tensor_in_the_middle_that_requires_it_gets_one(self):
        x = parameter()
        middle = (x * 2).requires_grad_()
        (middle * middle).sum().backward()
        same(middle.grad, 4 * X)
        same(x.grad, 8 * X)

    def test_an_explicit_cotangent(self):
        x = parameter()
        (x * x).backward(Tensor(np.array([1.0, 10.0, 100.0])))
        same(x.grad, 2 * X * [1, 10, 100])

    def test_the_cotangent_may_be_an_array_or_a_keyword(self):
        x = parameter()
        (x * 2).backward(gradient=np.array([1.0, 0.0, -1.0]))
        same(x.grad, [2.0, 0.0, -2.0])

    def test_two_equal_constants_are_two_parameters(self):
        a = Tensor([1.0, 1.0], requires_grad=True)
        b = Tensor([1.0, 1.0], requires_grad=True)
        (a * 2 + b * 3).sum().backward()
        same(a.grad, [2.0, 2.0])
        same(b.grad, [3.0, 3.0])

    def test_two_equal_fills_are_two_parameters(self):
        a, b = Tensor.ones(2).requires_grad_(), Tensor.ones(2).requires_grad_()
        (a * 2 + b * 3).sum().backward()
        assert a.grad.tolist() == [2.0, 2.0]
        assert b.grad.tolist() == [3.0, 3.0]

    def test_the_gradient_itself_does_not_require_one(self):
        x = parameter()
        (x * x).sum().backward()
        assert x.grad.requires_grad is False

    def test_the_gradient_has_the_parameters_dtype(self):
        x = Tensor([1.0], dtype=dtypes.float16, requires_grad=True)
        (x.cast(dtypes.float32) * 3).sum().backward()
        assert x.grad.dtype is dtypes.float16

    def test_a_size_one_root_that_is_no_scalar_is_refused(self):
        with pytest.raises(AutodiffError, match="only a scalar"):
            parameter([1.0]).sum(keepdim=True).backward()

    def test_a_broadcast_parameter_gets_the_sum(self):
        x = parameter([[1.0], [2.0]])
        (x + Tensor(np.zeros((2, 3)))).sum().backward()
        same(x.grad, [[3.0], [3.0]])

    def test_an_indexed_parameter_gets_zeros_elsewhere(self):
        x = parameter()
        (x[1] * 5).backward()
        same(x.grad, [0.0, 5.0, 0.0])

    def test_a_repeated_index_adds_up(self):
        x = parameter()
        x[Tensor([0, 0, 2])].sum().backward()
        same(x.grad, [2.0, 0.0, 1.0])


class TestHistory:
    def test_it_outlives_realize(self):
        x = parameter()
        y = (x * x).realize()
        y.sum().backward()
        same(x.grad, 2 * X)

    def test_it_outlives_reading_the_loss(self):
        x = parameter()
        loss = (x * x).sum()
        assert loss.item() == 14.0
        loss.backward()
        same(x.grad, 2 * X)

    def test_a_realized_parameter_is_still_one(self):
        x = parameter().realize()
        y = (x * 2).sum()
        x.realize()
        y.backward()
        same(x.grad, [2.0, 2.0, 2.0])

    def test_detach_cuts_it(self):
        x = parameter()
        (x.detach() * x).sum().backward()
        same(x.grad, X)

    def test_detached_values_do_not_require_a_gradient(self):
        assert parameter().detach().requires_grad in (False, None)

    def test_no_grad_cuts_it(self):
        x = parameter()
        with no_grad():
            y = x * 2
        assert y.requires_grad is False
        (x * y).sum().backward()
        same(x.grad, 2 * X)

    def test_no_grad_is_a_decorator(self):
        @no_grad()
        def twice(v):
            return v * 2

        x = parameter()
        (twice(x) + x).sum().backward()
        same(x.grad, np.ones(3))

    def test_no_grad_ends_with_its_block(self):
        x = parameter()
        with no_grad():
            x * 2
        (x * 2).sum().backward()
        same(x.grad, [2.0, 2.0, 2.0])

    def test_assign_stops_it(self):
        x, y = parameter(), Tensor(np.zeros(3))
        y.assign(x * 2)
        with pytest.raises(AutodiffError, match="requires a gradient"):
            y.sum().backward()

    def test_what_was_made_before_an_assignment_keeps_its_gradient(self):
        x = parameter()
        loss = (x * x).sum()
        x.assign(x.detach() * 10)
        assert x.numpy().tolist() == [10.0, 20.0, 30.0]
        assert loss.item() == 14.0

    def test_an_update_step_in_place(self):
        x = parameter()
        (x * x).sum().backward()
        with no_grad():
            x -= 0.1 * x.grad
        x.grad = None
        same(x, 0.8 * X)
        assert x.requires_grad is True
        (x * x).sum().backward()
        same(x.grad, 1.6 * X)

    def test_an_update_step_by_assign(self):
        x = parameter()
        for step in range(3):
            x.grad = None
            (x * x).sum().backward()
            same(x.grad, 2 * X * 0.8**step)
            x.assign(x.detach() - 0.1 * x.grad).realize()
        same(x, X * 0.8**3)

    def test_in_place_arithmetic_of_a_parameter_is_part_of_the_function(self):
        x = Tensor(X)
        w = parameter()
        x *= w
        x += 1
        x.sum().backward()
        same(w.grad, X)


class TestRequiresGrad:
    def test_it_spreads_through_ops(self):
        x, y = parameter(), Tensor(X, requires_grad=False)
        assert (x * y).requires_grad is True
        assert (y * 2).requires_grad is False
        assert (Tensor(X) * y).requires_grad is None

    def test_integers_and_truth_values_do_not_inherit_it(self):
        assert parameter().argmax().requires_grad is False
        assert (parameter() > 1).requires_grad is False

    def test_it_can_be_set_later(self):
        x = Tensor(X)
        assert x.requires_grad is None
        assert x.requires_grad_() is x
        (x * 2).sum().backward()
        same(x.grad, [2.0, 2.0, 2.0])

    def test_what_was_computed_from_a_computed_tensor_before_is_not_reached(self):
        x = Tensor(X) + 1
        y = x * 2
        x.requires_grad_()
        with pytest.raises(AutodiffError, match="requires a gradient"):
            y.sum().backward()

    def test_what_was_made_from_a_stored_tensor_before_is_reached(self):
        x = Tensor(X)
        y = x * 2
        x.requires_grad_()
        y.sum().backward()
        same(x.grad, [2.0, 2.0, 2.0])

    def test_it_can_be_taken_back_and_given_again(self):
        x = parameter()
        x.requires_grad = False
        x.requires_grad = True
        x.requires_grad_()
        (x * 2).sum().backward()
        same(x.grad, [2.0, 2.0, 2.0])

    def test_it_can_be_taken_back(self):
        x, y = parameter(), parameter()
        x.requires_grad = False
        (x * y).sum().backward()
        assert x.grad is None
        same(y.grad, X)

    def test_anything_but_a_truth_value_is_an_error(self):
        with pytest.raises(ArgumentError) as caught:
            Tensor(X).requires_grad = "yes"
        assert caught.value.code == "E2001"

    def test_integers_have_no_gradient(self):
        with pytest.raises(AutodiffError, match="float") as caught:
            Tensor([1, 2], requires_grad=True)
        assert caught.value.code == "E5005"
        assert "cast" in caught.value.help


class TestGradient:
    def test_it_returns_what_backward_would_add(self):
        x = parameter()
        (got,) = (x * x).sum().gradient(x)
        same(got, 2 * X)
        assert x.grad is None

    def test_targets_need_not_require_it(self):
        x, y = Tensor(X), Tensor(2 * X)
        dx, dy = (x * y).sum().gradient(x, y)
        same(dx, 2 * X)
        same(dy, X)

    def test_a_target_in_the_middle(self):
        x = Tensor(X)
        middle = x * x
        (got,) = (middle * 3).sum().gradient(middle)
        same(got, [3.0, 3.0, 3.0])

    def test_zeros_where_no_path_leads(self):
        x, y = Tensor(X), Tensor([[1.0]])
        (got,) = x.sum().gradient(y)
        assert got.shape == (1, 1)
        assert got.item() == 0.0

    def test_with_a_cotangent(self):
        x = Tensor(X)
        (got,) = (x * x).gradient(x, gradient=Tensor(np.array([1.0, 10.0, 100.0])))
        same(got, 2 * X * [1, 10, 100])

    def test_of_a_gradient(self):
        x = Tensor(X)
        (first,) = (x**3).sum().gradient(x)
        (second,) = first.sum().gradient(x)
        same(second, 6 * X)

    def test_of_the_root_itself_is_one(self):
        loss = Tensor(X).sum()
        assert loss.gradient(loss)[0].item() == 1.0


class TestWrongUse:
    def test_a_root_that_is_no_scalar(self):
        x = parameter()
        with pytest.raises(AutodiffError, match="3 elements") as caught:
            (x * 2).backward()
        assert caught.value.code == "E5004"
        assert "backward" in str(caught.value)
        assert "gradient=" in caught.value.help

    def test_an_integer_root(self):
        with pytest.raises(AutodiffError, match="float") as caught:
            parameter().argmax().backward()
        assert caught.value.code == "E5005"
        assert caught.value.help

    def test_nothing_below_requires_a_gradient(self):
        with pytest.raises(AutodiffError, match="requires a gradient") as caught:
            Tensor(X).sum().backward()
        assert caught.value.code == "E5005"
        assert "requires_grad=True" in caught.value.help

    def test_a_second_backward_through_a_detached_loss(self):
        x = parameter()
        loss = (x * x).sum()
        loss.backward()
        with pytest.raises(AutodiffError, match="requires a gradient"):
            loss.detach().backward()

    def test_a_cotangent_of_another_shape(self):
        with pytest.raises(ShapeError, match="shapes differ") as caught:
            (parameter() * 2).backward(Tensor(np.ones(2)))
        assert caught.value.code == "E3003"

    def test_an_integer_target(self):
        with pytest.raises(AutodiffError) as caught:
            Tensor(X).sum().gradient(Tensor([1, 2]))
        assert caught.value.code == "E5005"

    def test_a_failed_backward_leaves_grad_alone(self):
        x = parameter()
        with pytest.raises(AutodiffError):
            (x * 2).backward()
        assert x.grad is None


# ---- a leaf that is written between the loss and backward


def _between(write):
    a, b = (Tensor(v, requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))
    y = (a * b).sum()
    write(a)
    y.backward()
    return a, b


BETWEEN = {
    "assign": lambda a: a.assign(a.detach() * 2),
    "assign and realize": lambda a: a.assign(a.detach() * 2).realize(),
    "assign twice": lambda a: (a.assign(a.detach() * 2).realize(), a.assign([5.0, 5.0])),
    "+=": lambda a: a.__iadd__(1),
    "*= itself": lambda a: a.__imul__(a),
    "setitem": lambda a: a.__setitem__(0, 9.0),
    "a view": lambda a: a.reshape(2, 1)[1].assign([7.0]),
    "detach": lambda a: a.detach().__setitem__(0, 9.0),
    "replace": lambda a: a.replace(Tensor([8.0, 8.0])),
    "jit": lambda a: jit(lambda: a.assign(a * 3))(),
    "jit argument": lambda a: jit(lambda p: p.assign(p * 3))(a),
}


@pytest.mark.parametrize("name", BETWEEN)
def test_a_leaf_written_before_backward_has_the_gradient_at_the_value_that_was_used(name):
    a, b = _between(BETWEEN[name])
    assert (a.grad.tolist(), b.grad.tolist()) == ([3, 4], [1, 2])
    a.grad = None
    (a * a).sum().backward()
    assert a.grad.tolist() == [2 * v for v in a.tolist()]


def test_an_optimiser_step_between_two_losses_leaves_both_gradients():
    a = Tensor([1.0, 2.0], requires_grad=True)
    opt = nn.optim.SGD([a], lr=0.5)
    first, second = (a * a).sum(), (a * 3).sum()
    first.backward()
    opt.step()
    assert a.tolist() == [0, 0]
    opt.zero_grad()
    second.backward()
    assert a.grad.tolist() == [3, 3]


def test_a_path_belongs_to_the_first_value_of_a_leaf_that_it_meets():
    a, b = (Tensor([v], requires_grad=True) for v in (2.0, 5.0))
    old = a * 10
    a *= b
    (old + a * a).sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([10 + 20], [40])


def test_gradients_of_named_targets_are_found_by_what_was_used():
    a = Tensor([1.0, 2.0], requires_grad=True)
    y = (a * a).sum()
    a.assign([7.0, 7.0])
    assert y.gradient(a)[0].tolist() == [2, 4]


def test_old_values_of_a_leaf_are_not_kept():
    a = Tensor([1.0], requires_grad=True)
    for _ in range(5):
        a.assign(a.detach() + 1).realize()
    assert len(a._past) < 3
