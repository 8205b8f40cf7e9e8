"""Handles that change their own shape or history, and those that cannot."""

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, grad, jit, vmap

X = np.arange(6.0, dtype=np.float32).reshape(2, 1, 3)
TURNS = {
    "squeeze_": (lambda x: x.squeeze_(), lambda x: x.squeeze()),
    "squeeze_ of one": (lambda x: x.squeeze_(1), lambda x: x.squeeze(1)),
    "squeeze_ by name": (lambda x: x.squeeze_(dim=-2), lambda x: x.squeeze(-2)),
    "squeeze_ of none": (lambda x: x.squeeze_(0), lambda x: x),
    "unsqueeze_": (lambda x: x.unsqueeze_(0), lambda x: x.unsqueeze(0)),
    "unsqueeze_ at the end": (lambda x: x.unsqueeze_(dim=-1), lambda x: x.unsqueeze(-1)),
    "twice": (lambda x: x.squeeze_(1).t_(), lambda x: x.squeeze(1).t()),
}


@pytest.mark.parametrize("name", TURNS)
def test_the_tensor_itself_has_the_new_shape(name):
    turned, wanted = TURNS[name]
    x = Tensor(X)
    assert turned(x) is x
    np.testing.assert_array_equal(x.numpy(), wanted(Tensor(X)).numpy())
    x += 1
    np.testing.assert_array_equal(x.numpy(), wanted(Tensor(X + 1)).numpy())


@pytest.mark.parametrize("name", TURNS)
def test_a_view_goes_on_sharing_with_its_base(name):
    turned, wanted = TURNS[name]
    base = Tensor(np.stack([X, X]))
    view, other = base[1], base[1]
    inner = view[0]
    turned(view)
    view *= 10
    np.testing.assert_array_equal(base.numpy(), np.stack([X, X * 10]))
    np.testing.assert_array_equal(other.numpy(), X * 10)
    np.testing.assert_array_equal(inner.numpy(), X[0] * 10)
    base[1] = Tensor(X + 7)
    np.testing.assert_array_equal(view.numpy(), wanted(Tensor(X + 7)).numpy())
    inner.zero_()
    left = np.concatenate([np.zeros_like(X[:1]), X[1:] + 7])
    np.testing.assert_array_equal(view.numpy(), wanted(Tensor(left)).numpy())


def test_a_view_whose_base_is_gone_turns_too():
    view = Tensor(np.stack([X, X]))[1]
    view.squeeze_()
    view += 1
    np.testing.assert_array_equal(view.numpy(), X[:, 0] + 1)


def test_an_expanded_view_still_cannot_be_written():
    view = Tensor([[1.0], [2.0]]).expand(2, 3)
    assert view.t_().shape == (3, 2)
    with pytest.raises(AdjointError, match="E4012"):
        view[0] = 5


def test_matrices_vectors_and_scalars_are_transposed_in_place():
    assert Tensor([[1, 2], [3, 4]]).t_().tolist() == [[1, 3], [2, 4]]
    assert Tensor([1, 2]).t_().tolist() == [1, 2]
    assert Tensor(3).t_().item() == 3
    with pytest.raises(AdjointError, match="two axes"):
        Tensor(X).t_()


def test_a_wrong_axis_changes_nothing():
    x = Tensor(X)
    with pytest.raises(IndexError, match="axis 7"):
        x.unsqueeze_(7)
    assert x.shape == X.shape


def test_gradients_pass_through():
    w = Tensor([1.0, 2.0], requires_grad=True)
    y = w * 3
    y.unsqueeze_(0)
    (y * y).sum().backward()
    assert w.grad.tolist() == [18.0, 36.0]


def test_what_others_need_as_it_is_does_not_turn():
    base = Tensor(X)
    view = base[0]
    with pytest.raises(AdjointError, match=r"E4012.*views are read from it"):
        base.squeeze_()
    assert (base.shape, view.shape) == (X.shape, (1, 3))
    with pytest.raises(AdjointError, match=r"E4012.*gradients have its shape"):
        Tensor(X, requires_grad=True).squeeze_()
    del view
    assert base.squeeze_().shape == (2, 3)


@pytest.mark.parametrize("run", [jit, vmap, lambda f: grad(lambda a: f(a).sum())])
def test_inside_a_transform_only_what_was_made_there_turns(run):
    outside = Tensor(X)

    def turns_own(a):
        b = a * 2
        return b.unsqueeze_(0)

    def turns_other(a):
        return a * outside.unsqueeze_(0).sum()

    x = Tensor([1.0, 2.0])
    assert run(turns_own)(x).size == 2
    with pytest.raises(AdjointError, match=r"E4012.*outside of the transform"):
        run(turns_other)(x)
    assert outside.shape == X.shape


def test_arguments_of_compiled_functions_turn_at_every_call():
    turned = jit(lambda a: a.unsqueeze_(0) * 2)
    for first in (1.0, 2.0, 3.0):
        x = Tensor([first, 2.0])
        assert turned(x).tolist() == [[2 * first, 4.0]]
        assert x.tolist() == [[first, 2.0]]


def test_a_compiled_function_sees_that_what_it_captured_has_turned():
    outside = Tensor([1.0, 2.0])
    scaled = jit(lambda a: a * outside)
    a = Tensor([3.0, 4.0])
    assert [scaled(a).shape for _ in range(2)] == [(2,), (2,)]
    outside.unsqueeze_(-1)
    assert scaled(a).tolist() == [[3.0, 4.0], [6.0, 8.0]]


def test_a_detached_tensor_has_no_history():
    w = Tensor([1.0, 2.0], requires_grad=True)
    h = w * 2
    kept = h * 3
    assert h.detach_() is h
    assert h.requires_grad is False
    v = Tensor([1.0, 1.0], requires_grad=True)
    (h * v).sum().backward()
    assert w.grad is None
    assert v.grad.tolist() == [2.0, 4.0]
    kept.sum().backward()
    assert w.grad.tolist() == [6.0, 6.0]


def test_a_parameter_that_is_detached_gets_no_gradient():
    w = Tensor([1.0, 2.0], requires_grad=True).detach_()
    v = Tensor([1.0, 1.0], requires_grad=True)
    (w * v).sum().backward()
    assert w.grad is None
    assert (w.requires_grad, w.tolist()) == (False, [1.0, 2.0])


def test_views_are_not_detached_in_place():
    w = Tensor([1.0, 2.0], requires_grad=True)
    h = w * 2
    part = h[:1]
    for shared in (h, part):
        with pytest.raises(AdjointError, match=r"E4012.*other tensors show"):
            shared.detach_()
    part.sum().backward()
    assert w.grad.tolist() == [2.0, 0.0]
