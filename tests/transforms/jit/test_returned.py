"""A function fills results of earlier calls anew only if nothing can see them any more."""

import copy
import threading
import weakref

import numpy as np
import pytest

from adjoint import DeviceError, Tensor, Variable, jit
from adjoint.transforms.jit.spares import LARGEST

SHAPES = {"w": (4, 3), "b": (3,), "scale": ()}


def parameters():
    return {k: Tensor(np.full(s, 0.5, np.float32)).realize() for k, s in SHAPES.items()}


def update(params, x):
    loss = ((x @ params["w"] + params["b"]) * params["scale"]).sum()
    return loss, {k: v * 0.5 + 1 for k, v in params.items()}


class Loop:
    """Parameters that are donated to a step and come back from it."""

    def __init__(self, donated=True):
        self.params, self.x = parameters(), Tensor(np.ones((2, 4), np.float32)).realize()
        self.step = jit(update, donate_argnums=(0,) if donated else ())
        self.loss = None

    def run(self, steps=1):
        for _ in range(steps):
            self.loss, self.params = self.step(self.params, self.x)
        return self

    def nodes(self):
        return [id(self.loss.uop), *(id(v.uop) for v in self.params.values())]


def expected(steps):
    params, loss = {k: np.full(s, 0.5) for k, s in SHAPES.items()}, 0
    for _ in range(steps):
        loss = ((np.ones((2, 4)) @ params["w"] + params["b"]) * params["scale"]).sum()
        params = {k: v * 0.5 + 1 for k, v in params.items()}
    return loss, params


@pytest.mark.parametrize("donated", [True, False])
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 7])
def test_values_are_those_of_the_same_steps_in_numpy(steps, donated):
    loop = Loop(donated).run(steps)
    loss, params = expected(steps)
    assert loop.loss.item() == pytest.approx(loss)
    for key, value in params.items():
        assert np.allclose(loop.params[key].numpy(), value)


@pytest.mark.parametrize("donated", [True, False])
def test_two_generations_of_nodes_take_turns(donated):
    loop = Loop(donated).run(3)
    first = loop.nodes()
    second = loop.run().nodes()
    assert not {*first} & {*second}
    assert loop.run().nodes() == first
    assert loop.run().nodes() == second


def test_sizes_that_vary_are_those_of_the_results_before():
    rows = Variable("rows", 1, 64)
    twice = jit(lambda x: (x * 2, x.sum()), dynamic={"x": {0: rows}})
    for count in (3, 5, 3, 3, 3, 5, 5, 5):
        x = Tensor(np.ones((count, 2), np.float32))
        found, total = twice(x)
        assert found.shape == (count, 2)
        assert found.tolist() == [[2.0, 2.0]] * count
        assert (found[1:].shape, total.item()) == ((count - 1, 2), 2.0 * count)


HOLDERS = {
    "a tensor": lambda t: (lambda t: lambda: t.numpy())(t),
    "a copy": lambda t: (lambda t: lambda: t.numpy())(copy.copy(t)),
    "an array": lambda t: (lambda a: lambda: a)(t.numpy()),
    "a node": lambda t: (lambda n: lambda: Tensor(n).numpy())(t.uop),
    "attributes": lambda t: (lambda a: lambda: a[0].array())(t.uop.arg),
    "a buffer": lambda t: (lambda b: lambda: b.array())(t.uop.arg[0]),
    "a view": lambda t: (lambda v: lambda: v.numpy())(t.reshape(-1)),
    "what is not computed yet": lambda t: (lambda v: lambda: v.numpy())(t * 2),
    "memory of another library": lambda t: (lambda a: lambda: a)(np.from_dlpack(t)),
}


@pytest.mark.parametrize("before", [1, 2, 3, 4])
@pytest.mark.parametrize("name", HOLDERS)
def test_what_is_held_stays_as_it_was(name, before):
    loop = Loop(donated=False).run(before)
    held = [HOLDERS[name](t) for t in (loop.loss, *loop.params.values())]
    values = [np.array(HOLDERS[name](t)()) for t in (loop.loss, *loop.params.values())]
    loop.run(5)
    assert all(np.array_equal(a(), b) for a, b in zip(held, values, strict=True))


@pytest.mark.parametrize("before", [1, 2, 3, 4])
def test_losses_that_are_collected_stay_while_parameters_are_filled_anew(before):
    loop, found = Loop().run(before), []
    for _ in range(6):
        found.append(loop.run().loss)
    wanted = [expected(before + 1 + n)[0] for n in range(6)]
    assert [loss.item() for loss in found] == pytest.approx(wanted)
    nodes = loop.nodes()[1:]
    loop.run(2)
    assert loop.nodes()[1:] == nodes


def test_a_loss_that_is_read_at_every_step_is_right():
    loop = Loop()
    for step in range(1, 9):
        assert loop.run().loss.item() == pytest.approx(expected(step)[0])


@pytest.mark.parametrize("before", [1, 2, 3, 4])
def test_what_was_donated_says_so_for_as_long_as_it_is_held(before):
    loop = Loop().run(before)
    old = loop.params
    loop.run(4)
    with pytest.raises(DeviceError, match="E6003"):
        old["w"].numpy()
    with pytest.raises(DeviceError, match="E6003"):
        loop.step(old, loop.x)


def test_a_node_that_is_referred_to_weakly_is_not_used_again():
    loop = Loop().run(3)
    found = weakref.ref(loop.params["w"].uop)
    loop.run(5)
    assert found() is None


def test_results_of_one_function_can_be_donated_to_another():
    double = jit(lambda w: w * 2, donate_argnums=0)
    loop = Loop().run(3)
    for _ in range(4):
        w = expected(3)[1]["w"]
        loop.params["w"] = double(loop.params["w"])
        assert np.allclose(loop.params["w"].numpy(), 2 * w)
        loop = Loop().run(3)


def test_large_results_are_not_kept():
    large = jit(lambda x: (x + 1, x.sum()))
    x = Tensor(np.ones(LARGEST // 4 + 16, np.float32)).realize()
    for _ in range(4):
        found, total = large(x)
    gone = weakref.ref(found.uop.arg[0])
    del found
    assert gone() is None
    assert total.item() == x.shape[0]


def test_threads_share_no_result():
    step = jit(lambda x, y: (x * y, x + y))
    wrong = []

    def work(number):
        x, y = Tensor([float(number)] * 3).realize(), Tensor([2.0, 3.0, 4.0]).realize()
        for _ in range(200):
            product, total = step(x, y)
            if product.tolist() != [2.0 * number, 3.0 * number, 4.0 * number]:
                wrong.append(number)
            if total.tolist() != [number + 2.0, number + 3.0, number + 4.0]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_call_that_failed_takes_nothing_with_it():
    pick = jit(lambda x, i: (x[i], x + 1))
    x, good, bad = Tensor([1.0, 2.0]), Tensor([1, 0]), Tensor([1, 7])
    for _ in range(3):
        assert pick(x, good)[0].tolist() == [2.0, 1.0]
        with pytest.raises(IndexError):
            pick(x, bad)
