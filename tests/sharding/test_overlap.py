"""Collectives run beside kernels: begun when their operands are there, waited for when needed."""

import threading
import time

import numpy as np
import pytest

from adjoint import P, Tensor, distributed, fori_loop, grad, jit, lower
from adjoint.backends.cpu import collectives as rows
from adjoint.errors import CommunicationError
from adjoint.runtime.comm.courier import Courier
from adjoint.stages import HostStep, WaitStep
from tests.sharding.meshes import line, on, values

X = values(8, 256)
WEIGHTS = [values(256, 256, seed=i) * 0.1 for i in range(3)]  # gradients of 256 KB


def loss(weights, x):
    for w in weights:
        x = (x @ w).tanh()
    return (x**2).mean()


def step(weights, x):
    return [w - 0.1 * g for w, g in zip(weights, grad(loss)(weights, x), strict=True)]


def given(n=2):
    mesh = line(n, kind="CPU")
    return [on(mesh, w) for w in WEIGHTS], on(mesh, X, "d")


def numbers(tensors):
    return [t.numpy() for t in tensors]


def test_kernels_stand_between_the_beginning_and_the_end_of_a_gradients_sum():
    steps = lower(step)(*given()).plan.steps
    begun = [i for i, s in enumerate(steps) if isinstance(s, HostStep) and s.ahead]
    ends = [i for i, s in enumerate(steps) if isinstance(s, WaitStep)]
    assert len(begun) == len(ends) == 3
    assert all(e - b > 1 for b, e in zip(begun, ends, strict=True))
    assert ends[0] > begun[-1]  # all gradients are on their way when the first is waited for
    for wait, number in zip(ends, begun, strict=True):
        assert steps[wait].node is steps[number].node


def test_one_that_is_needed_at_once_is_one_step():
    mesh = line(2, kind="CPU")
    x, w = on(mesh, values(256, 256), None, "d"), on(mesh, values(256, 256, seed=1), "d")
    steps = lower(lambda x, w: (x @ w).exp())(x, w).plan.steps
    assert [s.ahead for s in steps if isinstance(s, HostStep)] == [False]
    assert not any(isinstance(s, WaitStep) for s in steps)


def test_compute_goes_on_while_a_sum_is_on_its_way(monkeypatch):
    """The first sum of a member is held until the second has begun, which kernels make: a member
    that waited for the first would never come to it."""
    held, begun, second = [], [], threading.Event()
    speak, begin = rows.speak, Courier.begin

    def slow(node, source, target, place):
        if len(held) < 2:  # the first of either member
            held.append(threading.current_thread().name)
            assert second.wait(20), "nothing was done meanwhile"
        speak(node, source, target, place)

    def counted(self, work):
        begun.append(work)
        if len(begun) >= 4:  # of two members, three each: one has begun two
            second.set()
        return begin(self, work)

    weights, x = given()
    train = jit(step)
    wanted = numbers(train(weights, x))
    monkeypatch.setattr(rows, "speak", slow)
    monkeypatch.setattr(Courier, "begin", counted)
    found = numbers(train(weights, x))
    assert held == ["adjoint-courier"] * 2
    assert len(begun) == 6
    assert all((a == b).all() for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_bits_are_those_of_one_step_after_another(n, monkeypatch):
    weights, x = given(n)
    ahead = numbers(jit(step)(weights, x))

    def at_once(self, work):
        job = begin(self, work)
        job.done.acquire()
        job.done.release()
        return job

    begin = Courier.begin
    monkeypatch.setattr(Courier, "begin", at_once)
    blocking = numbers(jit(lambda w, x: step(w, x))(weights, x))
    assert all((a == b).all() for a, b in zip(ahead, blocking, strict=True))


def test_an_error_on_the_way_is_raised_where_it_is_waited_for_and_the_next_run_works(monkeypatch):
    weights, x = given()
    train = jit(step)
    wanted = numbers(train(weights, x))
    speak, calls = rows.speak, []

    def failing(node, source, target, place):
        calls.append(place)
        if len(calls) == 3:
            raise CommunicationError("E7021", "member 1 has ended")
        speak(node, source, target, place)

    with monkeypatch.context() as patch:
        patch.setattr(rows, "speak", failing)
        with pytest.raises(CommunicationError, match="E7021"):
            train(weights, x)
    assert "test_overlap.py" in calls[0]  # a collective knows the user's line
    for _ in range(2):
        again = numbers(train(weights, x))
        assert all((a == b).all() for a, b in zip(again, wanted, strict=True))


def test_members_that_call_different_sums_are_told_apart_with_their_lines():
    def script():
        mesh = line(2, kind="CPU")
        rows = 256 if distributed.rank() == 0 else 128
        x = on(mesh, values(rows, 256), None, "d")
        (x @ on(mesh, values(256, 256), "d")).exp().realize()

    with pytest.raises(CommunicationError, match="E7020") as caught:
        distributed.simulate(2, script)
    assert str(caught.value).count("test_overlap.py") >= 2


def test_a_loop_around_a_sum_is_native():
    mesh = line(2, kind="CPU")
    w = on(mesh, values(64, 64) * 0.1, "d")
    x = on(mesh, values(4, 64))
    many = jit(lambda x, w: fori_loop(0, 5, lambda i, h: (h @ w).tanh(), x))
    wanted = values(4, 64)
    for _ in range(5):
        wanted = np.tanh(wanted @ (values(64, 64) * 0.1))
    for _ in range(2):
        np.testing.assert_allclose(many(x, w).numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_what_is_under_way_is_left_its_memory_by_an_interrupt():
    courier, go = Courier(), threading.Event()
    courier.begin(lambda: go.wait(20))
    courier.begin(lambda: pytest.fail("it was not to begin"))
    error, begin = KeyboardInterrupt(), time.monotonic()
    time.sleep(0.05)
    courier.give_up(error)
    assert 0.5 < time.monotonic() - begin < 10
    assert error._adjoint_keep == []  # whoever meets it leaves its memory here
    go.set()


def test_a_value_with_no_elements_is_summed():
    mesh = line(2, kind="CPU")
    y = on(mesh, values(0, 4), None, "d") @ on(mesh, values(4, 3), "d")
    assert y.exp().numpy().shape == (0, 3)
    z = Tensor.ones(4, 0).shard(mesh, P("d"))
    assert (z.sum() + 1).item() == 1
