"""Ways to make a jitted function stale: after each it gives what the function gives without jit.

A case makes a function and a way to change what it reads. It is made twice: once called as it is,
once jitted, and both are called and changed alike. What jit cannot watch must warn.
"""

import functools
import math
import operator
import threading
import time
import warnings

import numpy as np
import pytest

from adjoint import Tensor, jit, no_grad
from adjoint.errors import JitWarning
from tests.support.threads import in_threads
from tests.transforms.jit import stale_hidden, stale_names, stale_objects, stale_values
from tests.transforms.jit.stale_case import CASES, UNWATCHED

MODULES = (stale_hidden, stale_names, stale_objects, stale_values)  # which list their cases


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ADJOINT_STALE_FOLDER", str(tmp_path))
    yield
    vars(stale_names).pop("abs", None)


def run(fn, change):
    """What calls give before and after changes."""
    results = []
    for step in ("call", "call", "change", "call", "call", "change", "call"):
        if step == "change":
            change()
        else:
            results.append(fn(Tensor([1.0, 2.0])).tolist())
    return results


@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_what_a_function_reads_is_never_stale(make):
    fn, change = make()
    plain = run(fn, change)
    fn, change = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JitWarning)
        ours = run(jit(fn), change)
    assert ours == plain
    assert len({str(values) for values in plain}) > 1, "the change must change something"


@pytest.mark.parametrize("make", UNWATCHED.values(), ids=UNWATCHED)
def test_what_jit_cannot_watch_is_said_once_and_traced_at_every_call(make):
    jitted = jit(make())
    with pytest.warns(JitWarning, match="cannot watch") as said:
        run(jitted, lambda: None)
    assert [w.message.code for w in said] == ["W8001"]
    assert jitted.traces == 5
    assert jitted.cache_size() == 0


# ---- and the opposite: what need not be looked at


def test_what_a_function_does_not_mention_is_no_reason_to_warn():
    class Trainer:
        def __init__(self):
            self.batches = iter(range(10))
            self.rng = np.random.default_rng(0)
            self.n = 2.0

        def step(self, x):
            return x * self.n

        def fit(self):
            return time.time(), next(self.batches), self.rng.random()

    trainer = Trainer()
    step = jit(trainer.step)
    for _ in range(3):
        assert step(Tensor([1.0])).item() == 2
        trainer.fit()
    assert step.traces == 1


def test_a_pure_library_function_is_no_reason_to_warn():
    f = jit(lambda x: x * math.sqrt(4.0) * np.exp(0.0) * functools.reduce(operator.add, [1, 2]))
    for _ in range(3):
        assert f(Tensor([1.0])).item() == 6
    assert f.traces == 1


@pytest.mark.parametrize("enabled", [True, False])
def test_no_grad_is_part_of_the_key(enabled):
    w = Tensor([1.0], requires_grad=True)
    f = jit(lambda x: x * w)
    f(Tensor([1.0]))
    if not enabled:
        with no_grad():
            assert f(Tensor([1.0])).requires_grad is False
    assert f(Tensor([1.0])).requires_grad is True


def test_a_thread_sees_its_own_local():
    local, found = threading.local(), {}
    local.n = 1.0
    f = jit(lambda x: x * getattr(local, "n", 0.0))

    def work(number):
        n = local.n = float(number + 2)
        found[n] = f(Tensor([1.0])).item()

    assert f(Tensor([1.0])).item() == 1
    in_threads(4, work)
    assert found == {float(n): float(n) for n in range(2, 6)}
    assert f(Tensor([1.0])).item() == 1
