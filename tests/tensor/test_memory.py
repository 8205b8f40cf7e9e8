"""Graphs are freed with their last handle: long loops stay flat."""

import gc
import tracemalloc
from itertools import pairwise

import pytest

from adjoint import Tensor
from adjoint.engine.program_cache import PROGRAMS
from adjoint.ir.uop import live_nodes

WARM = 1_500  # steps after which every bounded cache is full
WINDOWS = 5  # the other steps are looked at in so many parts
SLACK = 128  # bytes a step; a lost node is several hundred


def _alive(step, steps):
    """(nodes, bytes) that are alive after the warm-up, and after each window."""
    found, start, length = [], 0, (steps - WARM) // WINDOWS
    tracemalloc.start()
    try:
        for end in range(WARM, steps + 1, length):
            for i in range(start, end):
                step(i)
            gc.collect()
            found.append((live_nodes(), tracemalloc.get_traced_memory()[0]))
            start = end
    finally:
        tracemalloc.stop()
    return found, length


def _assert_flat(step, steps=10_000):
    """What is lost is lost in every window; a table that gets larger once is no leak."""
    found, length = _alive(step, steps)
    assert found[-1][0] <= found[0][0]
    assert min(b - a for (_, a), (_, b) in pairwise(found)) < SLACK * length


def test_building_and_dropping_graphs_is_flat():
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])

    def step(i):
        return ((x + i) * y - x).reshape(1, 2).reduce_sum(1)

    _assert_flat(step)


def test_new_leaves_are_freed():
    _assert_flat(lambda i: (Tensor([1.0, 2.0]) * 2 + i).realize(), 4_000)


def test_an_assign_loop_is_flat():
    p = Tensor([1.0, 2.0])
    _assert_flat(lambda i: p.assign(p * 0.9).realize())


def test_an_assign_loop_of_a_parameter_is_flat():
    p = Tensor([1.0, 2.0], requires_grad=True)
    _assert_flat(lambda i: p.assign(p.detach() * 0.9).realize(), 4_000)


def test_a_rebinding_loop_is_flat():
    held = [Tensor([1.0, 2.0])]

    def step(i):
        held[0] = held[0] * 0.9 + 1
        held[0].realize()

    _assert_flat(step)


def test_an_in_place_loop_is_flat():
    held = [Tensor([1.0, 2.0])]

    def step(i):
        held[0] *= 0.9
        held[0].realize()

    _assert_flat(step, 4_000)


def test_random_draws_are_flat():
    _assert_flat(lambda i: Tensor.rand(4).realize(), 2_000)


def test_errors_keep_no_graph_alive():
    x, y = Tensor([1.0, 2.0]), Tensor([1.0, 2.0, 3.0])

    def step(i):
        with pytest.raises(ValueError, match="E3001"):
            (x * i) + y

    _assert_flat(step, 4_000)


def test_intermediate_values_are_freed_while_a_chain_runs():
    x = Tensor.zeros(1 << 18).realize()  # 1 MiB
    y = x
    for _ in range(64):
        y = y * 1.5 + 1
    tracemalloc.start()
    try:
        y.realize()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20


def test_a_very_deep_graph_is_built_run_and_freed():
    before = live_nodes()
    x = Tensor([0.0])
    for _ in range(20_000):
        x = x + 1
    assert x.item() == 20_000
    del x
    PROGRAMS.clear()  # a program knows the nodes it computes
    gc.collect()
    assert live_nodes() <= before
