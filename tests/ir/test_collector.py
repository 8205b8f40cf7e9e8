"""The garbage collector around graphs: rare or paused inside, and as it was afterwards."""

import gc
from contextlib import nullcontext

import pytest

from adjoint import Tensor, grad, jit
from adjoint.engine import program_cache
from adjoint.engine.graph_key import graph_key
from adjoint.ir.collector import collector_paused, collector_rare


def test_collections_are_rare_inside_grad_and_as_before_afterwards():
    usual, seen = gc.get_threshold(), []

    def fn(x):
        seen.append(gc.get_threshold())
        return (x * x).sum()

    grad(lambda x: grad(fn)(x).sum())(Tensor([1.0, 2.0]))
    assert seen[0][0] > usual[0]
    assert gc.get_threshold() == usual


def test_collections_are_rare_while_jit_traces_and_as_before_afterwards():
    usual, seen = gc.get_threshold(), []

    @jit
    def fn(x):
        seen.append(gc.get_threshold())
        return x * 3

    fn(Tensor([1.0, 2.0], device="CPU"))
    assert seen[0][0] > usual[0]
    assert gc.get_threshold() == usual


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_collected_while_a_program_is_made(fails, monkeypatch):
    seen = []

    def made(name, graph, backend):
        seen.append(gc.isenabled())
        if fails:
            raise KeyboardInterrupt
        return "program"

    x = Tensor([1.0, 2.0], device="CPU").uop
    key = graph_key([x.exp()], [x], "cpu")
    monkeypatch.setattr(program_cache, "_read", lambda *args: None)
    monkeypatch.setattr(program_cache, "_compiled", made)
    with pytest.raises(KeyboardInterrupt) if fails else nullcontext():
        assert program_cache.make(key, [x.exp()], ()) == "program"
    assert (seen, gc.isenabled()) == ([False], True)


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
