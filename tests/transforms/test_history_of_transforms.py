"""Results of transforms keep the history of what they are made of, whoever reads them before, and
`no_grad` around a transform ends it without being asked inside."""

import numpy as np
import pytest

from adjoint import (
    Tensor,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linear_transpose,
    linearize,
    nn,
    no_grad,
    tree_map,
    value_and_grad,
    vjp,
    vmap,
)

pytestmark = pytest.mark.usefixtures("cpu")
X, ONES = np.array([0.5, 2.0]), np.ones(2)


def cube(x):
    return (x**3).sum()


# each a function of a tensor that requires a gradient, and what that is of the sum of its result
FORMS = {
    "vmap": (lambda w: vmap(lambda x: x * x)(w), 2 * X),
    "vmap, captured": (lambda w: vmap(lambda x: x * w)(Tensor(X)), 2.5 * ONES),
    "vjp": (lambda w: vjp(lambda x: x * x, w)[0], 2 * X),
    "vjp, the cotangent": (lambda w: vjp(lambda x: x * x, Tensor(X))[1](w)[0], 2 * X),
    "vjp, beside": (lambda w: vjp(lambda x: (x, x * x), w, has_aux=True)[2], 2 * X),
    "jvp": (lambda w: jvp(lambda x: x * x, (w,), (Tensor(ONES),))[1], 2 * ONES),
    "jvp, the tangent": (lambda w: jvp(lambda x: x * x, (Tensor(X),), (w,))[1], 2 * X),
    "linearize": (lambda w: linearize(lambda x: x * x, Tensor(X))[1](w), 2 * X),
    "linear_transpose": (lambda w: linear_transpose(lambda x: x * 3, Tensor(X))(w)[0], 3 * ONES),
    "grad": (lambda w: grad(cube)(w), 6 * X),
    "grad, captured": (lambda w: grad(lambda x: (x * x * w).sum())(Tensor(X)), 2 * X),
    "value, captured": (lambda w: value_and_grad(lambda x: (x * w).sum())(Tensor(X))[0], X),
    "jacrev": (lambda w: jacrev(lambda x: x * x)(w), 2 * ONES),
    "jacfwd": (lambda w: jacfwd(lambda x: x * x)(w), 2 * ONES),
    "hessian": (lambda w: hessian(cube)(w), 6 * ONES),
    "jit of vmap": (jit(vmap(lambda x: x * x)), 2 * X),
    "jit of grad": (jit(grad(cube)), 6 * X),
    "fold": (lambda w: nn.functional.fold(w.reshape(1, 1, 2), (1, 2), 1), ONES),
}


@pytest.mark.parametrize("reads", [False, True], ids=["lazy", "read"])
@pytest.mark.parametrize("form", FORMS)
def test_a_value_that_was_read_has_its_gradient_still(form, reads):
    fn, wanted = FORMS[form]
    w = Tensor(X, requires_grad=True)
    value = fn(w)
    if reads:
        value.numpy()
    (value.sum() + w.sum()).backward()
    np.testing.assert_allclose(w.grad.numpy(), wanted + 1, rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_a_result_inside_no_grad_is_the_same_and_has_no_history(form):
    fn, _ = FORMS[form]
    w = Tensor(X, requires_grad=True)
    with no_grad():
        value = fn(w)
    np.testing.assert_array_equal(value.numpy(), fn(w).numpy())
    assert value.requires_grad is False
    (value.sum() + w.sum()).backward()
    np.testing.assert_array_equal(w.grad.numpy(), ONES)


@pytest.mark.parametrize("requires_grad", [True, None])
def test_a_transform_differentiates_inside_no_grad(requires_grad):
    x = Tensor(X, requires_grad=requires_grad)
    with no_grad():
        np.testing.assert_array_equal(grad(cube)(x).numpy(), 3 * X**2)
        np.testing.assert_array_equal(jit(grad(cube))(x).numpy(), 3 * X**2)
        np.testing.assert_array_equal(vjp(cube, x)[1](Tensor(1.0, dtype="float64"))[0], 3 * X**2)
        np.testing.assert_array_equal(jvp(cube, (x,), (x,))[1].numpy(), (3 * X**3).sum())
        np.testing.assert_array_equal(hessian(cube)(x).numpy(), np.diag(6 * X))
        np.testing.assert_array_equal(linear_transpose(lambda x: x * 2, x)(x)[0], 2 * X)


def test_no_grad_inside_of_what_is_differentiated_inside_no_grad_holds():
    def fn(x):
        with no_grad():
            factor = x * 2
        return (factor * x).sum()

    with no_grad():
        np.testing.assert_array_equal(grad(fn)(Tensor(X)).numpy(), 2 * X)


def test_a_transform_without_a_tensor_that_requires_a_gradient_leaves_it_undecided():
    x = Tensor(X)
    values = vmap(lambda x: x * x)(x), grad(cube)(x), *jvp(cube, (x,), (x,)), vjp(cube, x)[0]
    assert [v.requires_grad for v in values] == [None] * 5


def test_what_a_pure_optimizer_keeps_has_no_history():
    model = nn.Linear(2, 1)
    adam = nn.optim.adam(lr=0.1, weight_decay=0.1)
    state = adam.init(model)
    for _ in range(6):
        grads = grad(lambda m: (m(Tensor(np.ones((3, 2), np.float32))) ** 2).mean())(model)
        model, state = adam.update(grads, state, model)
        slots = [slot for kept in state.slots for slot in kept.values()]
        assert not any(slot.requires_grad for slot in slots)
        Tensor.realize(*model.parameters(), state.step, *slots)
        for slot in slots:
            assert slot.uop.op.name == "buffer"


def test_a_buffer_that_comes_out_of_a_transform_is_no_parameter():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).train()
    doubled = vmap(lambda scale: tree_map(lambda p: p * scale, model))(Tensor([1.0, 2.0]))
    value, moved = jvp(lambda m: tree_map(lambda p: p * 2, m), (model,), (model,))
    given, back = vjp(lambda m: tree_map(lambda p: p * 2, m), model)
    for made in (doubled, value, moved, given, *back(model)):
        assert [n for n, _ in made.named_parameters()] == [n for n, _ in model.named_parameters()]
        assert made[1].running_mean.requires_grad is False
