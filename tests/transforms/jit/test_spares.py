"""A step that sets tensors writes over their old values only if nothing can see them any more."""

import copy
import threading
import weakref

import numpy as np
import pytest

from adjoint import Tensor, jit, nn
from adjoint.transforms.jit.spares import LARGEST


class Model:
    """Parameters of several shapes, trained by one jitted step; the step returns its loss."""

    def __init__(self, size=4):
        self.weight = Tensor(np.full((size, 3), 0.5, np.float32), requires_grad=True)
        self.bias = Tensor(np.zeros(3, np.float32), requires_grad=True)
        self.count = Tensor([0])
        self.x = Tensor(np.ones((2, size), np.float32)).realize()
        self.optimizer = nn.optim.SGD([self.weight, self.bias], lr=0.125, momentum=0.5)
        self.step = jit(self._step)

    def _step(self, x):
        self.optimizer.zero_grad()
        loss = ((x @ self.weight + self.bias) ** 2).sum()
        loss.backward()
        self.optimizer.step()
        self.count.assign(self.count + 1)
        return loss

    def train(self, steps=1):
        with Tensor.train():
            for _ in range(steps):
                loss = self.step(self.x)
        return loss


# ---- nothing that can be seen changes

HOLDERS = {
    "an array": lambda model: (lambda a: lambda: a)(model.weight.numpy()),
    "an array of the gradient": lambda model: (lambda a: lambda: a)(model.weight.grad.numpy()),
    "the gradient": lambda model: (lambda g: lambda: g.numpy())(model.weight.grad),
    "a node": lambda model: (lambda n: lambda: Tensor(n).numpy())(model.weight.uop),
    "the attributes of a node": lambda model: (lambda a: lambda: a[0].array())(
        model.weight.uop.arg
    ),
    "a buffer": lambda model: (lambda b: lambda: b.array())(model.weight.uop.arg[0]),
    "a detached view": lambda model: (lambda t: lambda: t.numpy())(model.weight.detach().clone()),
    "what is not computed yet": lambda model: (lambda t: lambda: t.numpy())(model.weight * 2),
    "a copy": lambda model: (lambda t: lambda: t.numpy())(copy.copy(model.weight)),
    "another tensor of the value": lambda model: (lambda t: lambda: t.numpy())(+model.weight),
    "the state of the optimizer": lambda model: (lambda t: lambda: t["weight"].numpy())(
        {"weight": Tensor(model.weight.uop)}
    ),
    "another kind of number": lambda model: (lambda t: lambda: t.numpy())(
        model.count.float() + 0.5
    ),
    "the memory as seen by another library": lambda model: (lambda a: lambda: np.asarray(a))(
        memoryview(model.weight.numpy())
    ),
}


@pytest.mark.parametrize("before", [1, 2, 3, 4])
@pytest.mark.parametrize("name", HOLDERS)
def test_what_is_held_stays_as_it_was(name, before):
    model = Model()
    model.train(before)
    found = HOLDERS[name](model)
    expected = np.array(HOLDERS[name](model)())
    model.train(5)
    assert np.array_equal(found(), expected)


@pytest.mark.parametrize("before", [1, 2, 3, 4])
def test_a_node_that_is_referred_to_weakly_is_not_used_again(before):
    model = Model()
    model.train(before)
    found = weakref.ref(model.weight.uop)
    model.train(5)
    assert found() is None


def test_results_of_all_calls_stay_as_they_were():
    model, plain = Model(), Model()
    kept = [model.train() for _ in range(8)]
    plain.step = plain._step
    expected = [plain.train().item() for _ in range(8)]
    assert [loss.item() for loss in kept] == pytest.approx(expected)
    assert len({loss.item() for loss in kept}) > 4


@pytest.mark.parametrize("steps", [1, 2, 5, 6])
def test_parameters_are_those_of_the_same_steps_without_jit(steps):
    model, plain = Model(), Model()
    plain.step = plain._step
    model.train(steps)
    plain.train(steps)
    for name in ("weight", "bias", "count"):
        assert np.allclose(getattr(model, name).numpy(), getattr(plain, name).numpy(), rtol=1e-6)
    assert np.allclose(model.weight.grad.numpy(), plain.weight.grad.numpy(), rtol=1e-6)


@pytest.mark.parametrize("before", [1, 2, 3])
def test_a_loss_made_before_a_step_has_its_gradient_after_it(before):
    model = Model()
    model.train(before)
    old = model.bias.numpy().copy()
    loss = (model.bias * model.bias).sum()
    model.train(3)
    model.bias.grad = None
    loss.backward()
    assert np.allclose(model.bias.grad.numpy(), 2 * old)


def test_a_value_that_the_user_puts_in_between_stays():
    model = Model()
    model.train(3)
    mine = Tensor(np.full(3, 7.0, np.float32)).realize()
    model.bias.assign(mine)
    model.train(4)
    assert mine.tolist() == [7.0] * 3


def test_two_functions_of_one_state_do_not_write_over_each_other():
    state = Tensor([0.0])
    add, double = jit(lambda x: state.assign(state + x)), jit(lambda x: state.assign(state * x))
    one, two = Tensor([1.0]), Tensor([2.0])
    expected, seen = 0.0, []
    for _ in range(6):
        add(one)
        seen.append((expected + 1, Tensor(state.uop)))
        double(two)
        expected = 2 * (expected + 1)
        seen.append((expected, Tensor(state.uop)))
    assert [tensor.item() for _, tensor in seen] == [value for value, _ in seen]


def test_an_error_inside_a_call_leaves_the_state():
    state, table = Tensor([1.0, 2.0]), Tensor(np.arange(4.0, dtype=np.float32))
    move = jit(lambda i: state.assign(state + table[i]))
    good = Tensor([1, 2])
    for _ in range(4):
        move(good)
    before = state.tolist()
    with pytest.raises(Exception, match=r"index|range"):
        move(Tensor([1, 9]))
    assert state.tolist() == before
    move(good)
    assert state.tolist() == [before[0] + 1, before[1] + 2]


def test_readers_in_other_threads_see_whole_values():
    state, ones = Tensor(np.zeros(64, np.float32)), Tensor(np.ones(64, np.float32)).realize()
    advance = jit(lambda x: state.assign(state + x))
    stop, torn = threading.Event(), []

    def read():
        while not stop.is_set():
            value = state.numpy()
            first = value.copy()
            if len(set(first.tolist())) != 1 or not np.array_equal(first, value):
                torn.append(first)

    threads = [threading.Thread(target=read, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(2000):
        advance(ones)
    stop.set()
    for thread in threads:
        thread.join(600)
    assert not torn
    assert state.tolist() == [2000.0] * 64


# ---- old values are used again


def test_in_steady_state_two_values_change_places():
    model = Model()
    model.train(4)
    seen = []
    for _ in range(6):
        model.train()
        seen.append((id(model.weight.uop), id(model.bias.grad.uop), id(model.count.uop)))
    assert seen[0] == seen[2] == seen[4]
    assert seen[1] == seen[3] == seen[5]
    assert all(a != b for a, b in zip(seen[0], seen[1], strict=True))


def test_what_was_held_is_replaced_and_the_rest_goes_on():
    model = Model()
    model.train(4)
    held = model.weight.uop
    model.train(2)
    seen = []
    for _ in range(4):
        model.train()
        seen.append((id(model.weight.uop), id(model.bias.uop)))
    assert id(held) not in {node for pair in seen for node in pair}
    assert seen[0] == seen[2]
    assert seen[1] == seen[3]


def test_what_is_held_at_every_step_does_not_keep_the_rest_from_being_used_again():
    model, held, seen = Model(), [], []
    for _ in range(10):
        model.train()
        held.append(model.weight.grad.uop)
        seen.append((id(model.weight.uop), id(model.bias.grad.uop)))
    assert len({id(node) for node in held}) == len(held)
    assert seen[5] == seen[7] == seen[9]
    assert seen[4] == seen[6] == seen[8]


@pytest.mark.parametrize(("size", "kept"), [(4, True), (LARGEST // 4, False)])
def test_only_small_values_are_kept_and_gone_with_the_function(size, kept):
    model = Model(size)
    model.train(4)
    old = weakref.ref(model.weight.uop.arg[0])
    model.train()
    assert (old() is not None) == kept
    model.step.clear_cache()
    assert old() is None
