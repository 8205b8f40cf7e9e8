"""Running statistics: buffers that training changes, by every way that training is written."""

import numpy as np
import pytest

from adjoint import AutodiffError, Tensor, grad, jit, nn, tree_map, value_and_grad, vmap


@pytest.fixture
def x():
    return Tensor(np.linspace(-1, 1, 8).reshape(4, 2).astype(np.float32))


def loss(model, x):
    return (model(x) ** 2).mean()


class Normed(nn.Module):
    def __init__(self):
        self.inner, self.norm, self.outer = nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)

    def forward(self, x):
        return self.outer(self.norm(self.inner(x)).relu())


def updated(model, x, steps=1):
    """What the running statistics become."""
    h = model.inner(x).numpy()
    mean, var = np.zeros(3), np.ones(3)
    for _ in range(steps):
        mean, var = 0.9 * mean + 0.1 * h.mean(0), 0.9 * var + 0.1 * h.var(0, ddof=1)
    return mean, var


def check_statistics(model, mean, var, count):
    np.testing.assert_allclose(model.norm.running_mean.numpy(), mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.norm.running_var.numpy(), var, rtol=1e-4, atol=1e-5)
    assert model.norm.num_batches_tracked.item() == count


def test_running_statistics_follow_training_in_jit_as_an_argument(x):
    model = Normed().train()
    wanted = updated(model, x, 3)
    call = jit(lambda m, x: m(x))
    for _ in range(3):
        call(model, x)
    check_statistics(model, *wanted, 3)
    assert call.cache_size() == 1


def test_running_statistics_follow_training_in_jit_from_outside(x):
    model = Normed().train()
    wanted = updated(model, x, 3)
    call = jit(lambda x: model(x))
    for _ in range(3):
        call(x)
    check_statistics(model, *wanted, 3)


def test_running_statistics_follow_grad(x):
    model = Normed().train()
    wanted = updated(model, x)
    grads = grad(loss)(model, x)
    check_statistics(model, *wanted, 1)
    assert not grads.norm.running_mean.numpy().any()


def test_running_statistics_follow_jitted_functional_training(x):
    @jit
    def step(model, x):
        value, grads = value_and_grad(loss)(model, x)
        return value, tree_map(lambda p, g: p - 0.0 * g, model, grads)

    model = Normed().train()
    wanted = updated(model, x, 3)
    for _ in range(3):
        _, model = step(model, x)
    check_statistics(model, *wanted, 3)
    assert model.norm.running_mean.requires_grad is False
    assert model.norm.num_batches_tracked.dtype.name == "int64"
    assert len(model.parameters()) == 6
    assert step.cache_size() == 1


def test_running_statistics_follow_jitted_training_with_an_optimiser(x):
    model = Normed().train()
    optimiser = nn.optim.SGD(model.parameters(), lr=0.0)
    wanted = updated(model, x, 3)

    @jit
    def step(model, x):
        optimiser.zero_grad()
        value = loss(model, x)
        value.backward()
        optimiser.step()
        return value

    for _ in range(3):
        step(model, x)
    check_statistics(model, *wanted, 3)


def test_running_statistics_do_not_pile_up_without_an_optimiser(x):
    model = Normed().train()
    wanted = updated(model, x, 40)
    for _ in range(40):
        model(x)
    node, depth = model.norm.running_mean.uop, 0
    while node.op.name == "assign" and node.realized is None:
        node, depth = node.src[0], depth + 1
    assert depth < 20
    check_statistics(model, *wanted, 40)


def test_an_optimiser_computes_waiting_statistics_with_its_step(x):
    model = Normed().train()
    optimiser = nn.optim.SGD(model.parameters(), lr=0.1)
    loss(model, x).backward()
    optimiser.step()
    assert model.norm.running_mean.uop.op.name == "buffer"


def test_running_statistics_inside_vmap_are_an_error(x):
    model = Normed().train()
    rows = x.reshape(2, 2, 2)
    with pytest.raises(AutodiffError, match="running statistics cannot be updated inside vmap"):
        vmap(lambda m, x: m(x), in_axes=(None, 0))(model, rows)
    assert vmap(lambda m, x: m(x), in_axes=(None, 0))(model.eval(), rows).shape == (2, 2, 1)
