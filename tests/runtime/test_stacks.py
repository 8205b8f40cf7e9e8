"""Kernels in threads whose stacks are small."""

import sys
import threading

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.runtime import stacks


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
def test_the_size_of_a_stack_is_that_of_the_thread():
    found = []
    before = threading.stack_size(1 << 20)
    try:
        thread = threading.Thread(target=lambda: found.append(stacks.stack_size()))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert (1 << 20) - (1 << 16) <= found[0] <= (1 << 20) + (1 << 16)


def test_an_error_on_the_other_stack_is_that_of_the_call(monkeypatch):
    def wrong():
        raise ValueError("wrong")

    monkeypatch.setattr(stacks, "stack_size", lambda: 0)
    monkeypatch.setattr(stacks, "_here", threading.local())
    with pytest.raises(ValueError, match="wrong"):
        stacks.with_room(wrong)
    assert stacks.with_room(lambda: 3) == 3
    assert (Tensor(np.ones((4, 4), np.float32)) @ Tensor(np.eye(4, dtype=np.float32))).sum() == 16
