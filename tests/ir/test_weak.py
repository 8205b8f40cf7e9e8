"""What dies runs no Python code, in which an interrupt would be lost."""

import pickle
import struct
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from adjoint import Tensor, grad, jit
from adjoint.ir.arg import frozen
from adjoint.ir.weak import WeakTable

X = Tensor([1.0, 2.0, 3.0])


def lazy():
    return (X * 2 + 1).exp()


def computed():
    return (X * 2 + 1).exp().realize()


def chain():
    y = X
    for i in range(300):
        y = y + i
    return y


def gradient():
    return grad(lambda x: (x.sin() * x).sum())(X)


def jitted():
    return _step(X)


def marked():
    w = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    (w * X).sum().backward()
    return w


_step = jit(lambda x: (x * 3).softmax(0))


@pytest.mark.parametrize("make", [lazy, computed, chain, gradient, jitted, marked])
def test_no_python_code_runs_when_tensors_nodes_and_blocks_die(make):
    made = [make() for _ in range(20)]
    called = []

    def note(frame, event, _):
        if event == "call":
            called.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        del made
    finally:
        sys.setprofile(None)
    assert called == []


def test_an_equal_node_can_be_built_again_after_the_first_is_gone():
    first = Tensor(np.arange(3.0)) * 2
    again = [(X * 7).uop for _ in range(2)]
    assert again[0] is again[1]
    del again
    assert (X * 7).tolist() == [7.0, 14.0, 21.0]
    assert first.tolist() == [0.0, 2.0, 4.0]


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, float("nan"), -float("nan"), 1e308 * 10])
def test_constants_of_the_same_bits_are_one_node_whatever_object_they_come_in(value):
    (copy,) = struct.unpack("d", struct.pack("d", value))
    assert (X * value).uop is (X * copy).uop
    assert (X * value).uop is not (X * (2.0 if value != 2.0 else 3.0)).uop
    assert (X * 0.0).uop is not (X * -0.0).uop
    arg = (X * value).uop.src[1]
    again = pickle.loads(pickle.dumps(frozen(value)))
    assert hash(again) == hash(frozen(value))
    assert again == frozen(value)
    assert arg is (X * copy).uop.src[1]


def test_a_weak_table_is_read_while_other_threads_add_and_lose_what_is_in_it():
    table, stop, problems = WeakTable(), threading.Event(), []
    kept = [Thing() for _ in range(50)]
    for thing in kept:
        table.add(thing)

    def churn():
        while not stop.is_set():
            passing = [Thing() for _ in range(30)]
            for thing in passing:
                table.add(thing)

    def read():
        for _ in range(300):
            if not set(map(id, kept)) <= {id(thing) for thing in table.all()}:
                problems.append("one is missing")

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            churning = [pool.submit(churn) for _ in range(2)]
            try:
                for reader in [pool.submit(read) for _ in range(2)]:
                    reader.result()
            finally:
                stop.set()
            for thread in churning:
                thread.result()
    finally:
        sys.setswitchinterval(before)
    assert not problems
    assert table.all() == kept


def test_what_is_taken_from_a_weak_table_is_no_longer_in_it():
    table, thing, other = WeakTable(), Thing(), Thing()
    table.add(thing)
    table.add(other)
    del other
    assert table.taken() == [thing]
    assert table.all() == []
    table.add(thing)
    table.add(thing)
    assert table.all() == [thing]


class Thing:
    """Something that can be referred to weakly."""
