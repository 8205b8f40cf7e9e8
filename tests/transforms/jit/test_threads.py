"""Jitted functions called from several threads: no update is lost, and none waits for ever."""

import sys
import warnings

import numpy as np
import pytest

from adjoint import Tensor, jit, nn
from tests.support.threads import in_threads

THREADS, CALLS = 4, 50


@pytest.fixture(autouse=True)
def _switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("warm", [True, False])
def test_no_update_of_captured_state_is_lost(warm):
    state, one = Tensor([0.0]), Tensor([1.0])
    update = jit(lambda x: state.assign(state + x))
    if warm:
        update(Tensor([0.0]))
    in_threads(THREADS, lambda n: [update(one) for _ in range(CALLS)])
    assert state.item() == THREADS * CALLS
    assert update.traces == 1


def test_no_update_is_lost_between_two_functions_of_one_state():
    state, one = Tensor([0.0]), Tensor([1.0])
    add = jit(lambda x: state.assign(state + x))
    take = jit(lambda x: state.assign(state - 2 * x))
    in_threads(THREADS, lambda n: [(add if n % 2 else take)(one) for _ in range(CALLS)])
    assert state.item() == 2 * CALLS - 2 * 2 * CALLS


def test_no_update_of_an_argument_is_lost():
    state, one = Tensor([0.0]), Tensor([1.0])
    update = jit(lambda s, x: s.assign(s + x))
    in_threads(THREADS, lambda n: [update(state, one) for _ in range(CALLS)])
    assert state.item() == THREADS * CALLS


def test_no_update_in_a_container_is_lost():
    kept = {"state": Tensor([0.0])}

    @jit
    def update(x):
        kept["state"] = kept["state"] + x

    one = Tensor([1.0])
    in_threads(THREADS, lambda n: [update(one) for _ in range(CALLS)])
    assert kept["state"].item() == THREADS * CALLS


def test_no_update_is_lost_while_other_shapes_are_traced():
    state = Tensor([0.0])
    update = jit(lambda x: state.assign(state + x.sum()))

    def work(n):
        for i in range(8):
            update(Tensor(np.ones(n * 8 + i + 1, np.float32)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        in_threads(THREADS, work)
    assert state.item() == sum(range(1, THREADS * 8 + 1))


def test_functions_that_only_read_are_right_while_others_trace_and_update():
    state = Tensor([1.0, 2.0])
    read, same = jit(lambda x: state * 0 + x), jit(lambda x: x * 2)
    found = []

    def work(n):
        for i in range(CALLS):
            if n == 0:
                jit(lambda x: state.assign(state + x))(Tensor([1.0, 1.0]))
            else:
                x = Tensor([float(i), 1.0])
                found.append((read(x).tolist(), same(x).tolist(), i))

    in_threads(THREADS, work)
    assert all(a == [i, 1] and b == [2 * i, 2] for a, b, i in found)
    assert state.tolist() == [1 + CALLS, 2 + CALLS]


def test_nested_functions_do_not_wait_for_one_another():
    one, other = Tensor([0.0]), Tensor([0.0])
    inner = jit(lambda x: one.assign(one + x))
    reverse = jit(lambda x: other.assign(other + x))
    forth = jit(lambda x: (inner(x), reverse(x))[1])
    back = jit(lambda x: (reverse(x), inner(x))[1])
    x = Tensor([1.0])
    in_threads(THREADS, lambda n: [(forth if n % 2 else back)(x) for _ in range(CALLS)])
    assert one.item() == other.item() == THREADS * CALLS


def test_what_a_thread_does_without_jit_is_not_taken_for_what_another_traces():
    elsewhere = Tensor([0.0]).realize()

    def work(n):
        for i in range(20):
            if n == 0:
                elsewhere.assign(elsewhere + 1).realize()
            else:
                jit(lambda x, i=i: x + i)(Tensor([1.0]))

    in_threads(2, work)
    assert elsewhere.item() == 20


def test_a_model_is_trained_by_several_threads_as_by_one():
    Tensor.manual_seed(0)
    model = nn.Linear(2, 1)
    optimizer = nn.optim.SGD(model.parameters(), lr=0.0)
    count = Tensor([0.0])

    @jit
    def step(x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        count.assign(count + 1)
        return loss

    x = Tensor([[1.0, 2.0]])
    expected = (model(x) ** 2).mean().item()
    losses = []
    in_threads(THREADS, lambda n: losses.extend(step(x).item() for _ in range(20)))
    assert count.item() == 80
    np.testing.assert_allclose(losses, expected, rtol=1e-6)
    assert step.traces == 1
