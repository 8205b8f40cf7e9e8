"""Finding every tensor, also while other threads are busy."""

import gc
import sys
import threading

from adjoint import Tensor, jit
from adjoint.tensor.live_tensors import living


def test_all_tensors_are_found():
    kept = [Tensor([float(i)]) for i in range(50)]
    kept[0].grad = Tensor([1.0])
    found = {id(t) for t in living()}
    assert {id(t) for t in kept} | {id(kept[0].grad)} <= found
    assert all(type(t) is Tensor for t in living())


def test_other_threads_can_go_on_making_tuples():
    kept, stop, wrong = [Tensor([1.0]) for _ in range(30)], threading.Event(), []

    def busy():
        while not stop.is_set():
            try:
                assert len(tuple(x for x in range(50))) == 50
                assert len(tuple(type(t) for t in kept)) == 30
            except SystemError as error:
                wrong.append(error)

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=busy) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(40):
            assert len(living()) >= 30
    finally:
        sys.setswitchinterval(usual)
        stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_the_collector_was_told_to_leave_alone_is_found():
    kept = Tensor([1.0])
    gc.freeze()
    try:
        add = jit(lambda x: kept.assign(kept + x))
        for _ in range(3):
            add(Tensor([2.0]))
        assert id(kept) in {id(t) for t in living()}
        assert kept.tolist() == [7.0]
    finally:
        gc.unfreeze()


def test_what_is_gone_is_forgotten():
    before = len(living())
    made = [Tensor([1.0]) + 1 for _ in range(20)]
    assert len(living()) >= before + 20
    del made
    assert len(living()) == before
