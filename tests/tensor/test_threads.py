"""Many threads build and realize graphs at once: answers are right and equal nodes stay one."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from adjoint import Tensor, no_grad
from adjoint.tensor.lift import grad_enabled

THREADS = 8
ROUNDS = 30


def _together(work):
    """`work(i)` on every thread, all starting at the same moment."""
    gate = threading.Barrier(THREADS)

    def start(i):
        gate.wait()
        return work(i)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(start, range(THREADS)))


def _chain(x, steps=50):
    for k in range(steps):
        x = (x * 1.25 + k) - x
    return x


def test_threads_that_build_the_same_graph_get_the_same_node():
    for _ in range(ROUNDS):
        x = Tensor([1.0, 2.0])
        nodes = _together(lambda i, x=x: _chain(x).uop)
        assert all(node is nodes[0] for node in nodes)


def test_threads_that_realize_the_same_graph_get_the_same_values():
    for _ in range(ROUNDS):
        x = Tensor([1.0, 2.0])
        wanted = _chain(x.numpy().copy())
        for got in _together(lambda i, x=x: _chain(x).numpy()):
            np.testing.assert_array_equal(got, wanted)


def test_threads_that_realize_one_handle_agree():
    for _ in range(ROUNDS):
        y = _chain(Tensor([1.0, 2.0]))
        first, *others = _together(lambda i, y=y: y.realize().tolist())
        assert all(other == first for other in others)


def test_threads_with_different_graphs_do_not_mix():
    def work(i):
        results = []
        for k in range(ROUNDS):
            x = Tensor(np.full(4, i * 100 + k, np.float32))
            results.append((x * 2 + i).tolist() == [(i * 100 + k) * 2 + i] * 4)
        return all(results)

    assert all(_together(work))


def test_building_and_dropping_under_contention_keeps_nodes_unique():
    x = Tensor([1.0, 2.0])

    def work(i):
        return all((x * k).uop is (x * k).uop for _ in range(ROUNDS) for k in range(20))

    assert all(_together(work))


def test_fresh_tensors_of_different_threads_are_different_nodes():
    made = [t for batch in _together(lambda i: [Tensor.zeros(2) for _ in range(50)]) for t in batch]
    assert len({t.uop for t in made}) == THREADS * 50


def test_no_two_threads_draw_the_same_numbers():
    Tensor.manual_seed(3)
    draws = _together(lambda i: [tuple(Tensor.rand(4).tolist()) for _ in range(10)])
    assert len({d for batch in draws for d in batch}) == THREADS * 10


def test_no_grad_holds_for_its_own_thread_only():
    x = Tensor([1.0], requires_grad=True)

    def work(i):
        if i % 2:
            with no_grad():
                return grad_enabled.get() is False and (x * i).requires_grad is False
        return grad_enabled.get() is True and (x * i).requires_grad is True

    assert all(_together(work))


def test_threads_train_models_of_their_own_at_once():
    def work(i):
        p = Tensor([float(i)], requires_grad=True)
        for _ in range(ROUNDS):
            p.grad = None
            ((p - 3) * (p - 3)).sum().backward()
            p.assign(p - 0.25 * p.grad).realize()
        return p.item()

    np.testing.assert_allclose(_together(work), 3, atol=1e-5)
