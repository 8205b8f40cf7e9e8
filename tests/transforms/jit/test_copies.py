"""Copies of jitted functions: by pickle, by deepcopy, in another process."""

import copy
import multiprocessing
import pickle

import pytest

from adjoint import Tensor, jit

COPIES = {"pickle": lambda value: pickle.loads(pickle.dumps(value)), "deepcopy": copy.deepcopy}
copied = pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)


@jit
def doubled(x):
    return x * 2


def scaled(x, by):
    return x * by


class Counter:
    def __init__(self):
        self.total = Tensor([0.0])
        self.step = jit(self.run)

    @jit
    def twice(self, x):
        return x * 2 + self.total

    def run(self, x):
        self.total += x
        return self.total * 1


@copied
def test_a_decorated_function_is_copied_like_any_function(copied):
    doubled(Tensor([1.0]))
    assert copied(doubled) is doubled
    assert copied(Counter.twice) is Counter.twice


@copied
def test_one_under_another_name_is_jitted_anew_with_its_options(copied):
    first = jit(scaled, static_argnums=1)
    first.note = "kept"
    assert first(Tensor([3.0]), 2).tolist() == [6.0]
    second = copied(first)
    assert second is not first
    assert (second.traces, second.note) == (0, "kept")
    assert [second(Tensor([3.0]), by).tolist() for by in (2, 5)] == [[6.0], [15.0]]
    assert (first.traces, second.traces) == (1, 2)


@copied
def test_an_objects_jitted_method_is_that_of_its_copy(copied):
    first = Counter()
    first.step(Tensor([1.0]))
    second = copied(first)
    second.step(Tensor([10.0]))
    assert (first.total.tolist(), second.total.tolist()) == ([1.0], [11.0])


def test_another_process_runs_it():
    doubled(Tensor([1.0]))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(doubled, (Tensor([4.0]),)).tolist() == [8.0]
