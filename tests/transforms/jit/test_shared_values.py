"""Tensors that share their memory, and values computed before a trace, are told apart."""

import copy

import numpy as np
import pytest

from adjoint import Tensor, jit, nn

pytestmark = pytest.mark.usefixtures("cpu")


def parameter():
    return Tensor(np.full(3, 2.0), requires_grad=True)


def loaded(p):
    module = nn.Module()
    module.w = Tensor(np.zeros(3), requires_grad=True)
    module.load_state_dict({"w": p.detach()})
    return module.w


COPIES = {
    "clone": lambda p: p.detach().clone(),
    "clone, realized": lambda p: p.detach().clone().realize(),
    "clone, then marked": lambda p: p.detach().clone().realize().requires_grad_(),
    "Parameter": lambda p: nn.Parameter(p.detach().clone()),
    "deepcopy": copy.deepcopy,
    "Tensor": lambda p: Tensor(p.detach()),
    "contiguous": lambda p: p.detach().contiguous(),
    "assign": lambda p: Tensor(np.zeros(3)).assign(p.detach()),
    "assign, marked": lambda p: Tensor(np.zeros(3), requires_grad=True).assign(p.detach()),
    "copy_": lambda p: Tensor(np.zeros(3)).copy_(p.detach()),
    "load_state_dict": loaded,
}


@pytest.mark.parametrize("first", ["original", "copy"])
@pytest.mark.parametrize("written", ["original", "copy"])
@pytest.mark.parametrize("way", COPIES)
def test_a_jitted_step_that_writes_to_a_tensor_leaves_its_copy_alone(way, written, first):
    p = parameter()
    a = COPIES[way](p)
    a.realize()
    order = [p, a] if first == "original" else [a, p]
    changed = p if written == "original" else a

    @jit
    def step():
        total = order[0].sum() + order[1].sum() * 100
        if first == "copy":
            total = order[1].sum() + order[0].sum() * 100
        changed.assign(changed.detach() * 2)
        return total

    found = [step().item() for _ in range(3)]
    assert found == ([606, 612, 624] if written == "original" else [606, 1206, 2406])


@pytest.mark.parametrize("stepped", [lambda f: f, jit], ids=["lazy", "jit"])
@pytest.mark.parametrize("way", COPIES)
def test_the_gradient_of_a_tensor_is_not_that_of_its_copy(way, stepped):
    p = parameter()
    a = COPIES[way](p)
    a.realize()
    p.realize()

    @stepped
    def step():
        (p * 3 + a * 5).sum().backward()

    step()
    assert p.grad.tolist() == [3, 3, 3]
    assert a.grad is None or a.grad.tolist() == [5, 5, 5]


def test_a_moving_average_beside_a_step_does_not_hold_up_the_training():
    def losses(stepped):
        Tensor.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 2))
        optimizer = nn.optim.SGD(model.parameters(), lr=0.1)
        average = nn.optim.EMA(model.parameters(), 0.9)

        @stepped
        def step(x):
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            average.update()
            return loss

        x = Tensor.ones(8, 4)
        return [step(x).item() for _ in range(4)], [a.numpy() for a in average.averages]

    (wanted, averages), (found, made) = losses(lambda f: f), losses(jit)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert found[-1] < found[0]
    for a, b in zip(averages, made, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("requires_grad", [True, None])
def test_what_was_computed_from_a_captured_tensor_before_is_computed_again(requires_grad):
    w = Tensor([1.0, 2.0], requires_grad=requires_grad)
    before = (w * w).sum()
    assert before.item() == 5

    @jit
    def penalty():
        return (w * w).sum()

    assert penalty().item() == 5
    w.assign(Tensor([0.0, 3.0]))
    assert penalty().item() == 9
    assert before.item() == 5
