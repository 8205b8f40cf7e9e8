"""The garbage collector around graphs: rare or paused inside, and as it was afterwards."""

import gc

import pytest

from adjoint import Tensor, grad
from adjoint.ir.collector import collector_paused, collector_rare


def test_collections_are_rare_inside_grad_and_as_before_afterwards():
    usual, seen = gc.get_threshold(), []

    def fn(x):
        seen.append(gc.get_threshold())
        return (x * x).sum()

    grad(lambda x: grad(fn)(x).sum())(Tensor([1.0, 2.0]))
    assert seen[0][0] > usual[0]
    assert gc.get_threshold() == usual


def test_an_error_restores_the_collector():
    usual = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), collector_rare(), collector_paused():
        1 / 0  # noqa: B018
    assert gc.get_threshold() == usual
    assert gc.isenabled()


def test_thresholds_that_were_chosen_inside_stay():
    usual = gc.get_threshold()
    try:
        with collector_rare():
            gc.set_threshold(1234, 5, 6)
        assert gc.get_threshold() == (1234, 5, 6)
    finally:
        gc.set_threshold(*usual)
