"""How often a training step is traced: once, though its state and gradients appear in step one."""

import inspect
from pathlib import Path

import numpy as np
import pytest

from adjoint import Tensor, jit, nn

README = Path(__file__).parents[3] / "README.md"
OPTIMIZERS = {
    name: kind
    for name, kind in vars(nn.optim).items()
    if inspect.isclass(kind) and issubclass(kind, nn.optim.Optimizer) and hasattr(kind, "pure")
}
ORDERS = ("first", "last", "zeros", "never")  # when gradients are forgotten


def batches(count, *shape):
    rng = np.random.default_rng(0)
    return [Tensor(rng.standard_normal(shape).astype(np.float32)) for _ in range(count)]


def trained(model, optimizer, jitted, order="first"):
    """The losses of four steps, and how often the step was traced."""

    def step(x):
        if order in ("first", "zeros"):
            optimizer.zero_grad(set_to_none=order == "first")
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        if order == "last":
            optimizer.zero_grad()
        return loss

    run = jit(step) if jitted else step
    return [run(x).item() for x in batches(4, 6, 4)], run.traces if jitted else 0


def test_the_step_of_the_readme_is_traced_once():
    program = README.read_text().split("```python\n")[1].split("```")[0]
    names = {}
    exec(program.replace("range(10)", "range(2)").split("accuracy =")[0], names)
    sizes = {len(x) for x, _ in names["loader"]}
    assert names["step"].traces == len(sizes)  # the last batch may be smaller


@pytest.mark.parametrize("kind", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_step_is_traced_once_with_every_optimiser(kind):
    losses = []
    for jitted in (True, False):
        Tensor.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
        found, traces = trained(model, kind(model.parameters(), lr=1e-3), jitted)
        losses.append(found)
        assert traces == jitted
    np.testing.assert_allclose(*losses, rtol=1e-5)


@pytest.mark.parametrize("order", ORDERS)
def test_when_gradients_are_forgotten_changes_no_number(order):
    losses = []
    for jitted in (True, False):
        Tensor.manual_seed(0)
        model = nn.Linear(4, 2)
        found, traces = trained(model, nn.optim.SGD(model.parameters(), lr=0.1), jitted, order)
        losses.append(found)
        assert traces <= (1 if order in ("first", "last") else 2)
    np.testing.assert_allclose(*losses, rtol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_a_step_with_a_batch_norm_is_traced_once(training):
    losses, means = [], []
    for jitted in (True, False):
        Tensor.manual_seed(0)
        norm = nn.BatchNorm1d(5)
        model = nn.Sequential(nn.Linear(4, 5), norm, nn.ReLU(), nn.Linear(5, 2))
        with Tensor.train(training):
            found, traces = trained(model, nn.optim.Adam(model.parameters(), lr=1e-2), jitted)
        losses.append(found)
        means.append(norm.running_mean.numpy())
        assert traces == jitted
    np.testing.assert_allclose(*losses, rtol=1e-4)
    np.testing.assert_allclose(*means, rtol=1e-4, atol=1e-6)


def test_a_gradient_that_is_only_forgotten_is_forgotten_at_every_call():
    w = Tensor([1.0], requires_grad=True)

    @jit
    def forget(x):
        w.grad = None
        return x + 1

    forget(Tensor([1.0]))
    for _ in range(2):
        (w * w).sum().backward()
        assert w.grad.item() == 2
        forget(Tensor([1.0]))
        assert w.grad is None
    assert forget.traces == 1


@pytest.mark.parametrize("inside", [True, False])
def test_a_gradient_read_by_python_alone_is_seen(inside):
    w = Tensor([1.0], requires_grad=True)
    f = jit(lambda x: x if w.grad is None else x + 10)
    assert f(Tensor([1.0])).item() == 1
    if inside:
        jit(lambda: (w * w).sum().backward())()
    else:
        (w * w).sum().backward()
    assert f(Tensor([1.0])).item() == 11
    w.grad = None
    assert f(Tensor([1.0])).item() == 1
    assert f.traces == 2


def test_the_gradient_of_an_argument_read_by_python_alone_is_seen():
    w = Tensor([1.0], requires_grad=True)
    f = jit(lambda x: x * 1 if x.grad is None else x + 10)
    assert f(w).item() == 1
    (w * w).sum().backward()
    assert f(w).item() == 11
