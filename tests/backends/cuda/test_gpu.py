"""On an NVIDIA GPU: the bits of the CPU for every record, derivative and program; then the driver.

What a library computes is compared to units in the last place.
"""

import os

import numpy as np
import pytest

from adjoint import Device, Tensor, jit
from adjoint.errors import DeviceError
from adjoint.runtime.cuda import problem
from adjoint.runtime.memory import memory_of
from tests.backends.cuda.agreement import in_processes
from tests.support.threads import in_threads

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(problem()), reason=problem() or "there is a GPU"),
]


def test_every_record_and_program_has_the_bits_of_the_cpu():
    found = in_processes(min(os.cpu_count() or 1, 16))
    assert found["wrong"] == {}
    assert found["equal"] > 5000


def test_the_gpu_is_found():
    assert "GPU" in Device.available()


def test_memory_that_is_out_is_an_error_and_then_there_is_some_again():
    with pytest.raises(DeviceError, match="E6004"):
        (Tensor.zeros(1 << 39, device="GPU") + 1).realize()
    assert (Tensor.ones(1 << 20, device="GPU") + 1).sum().item() == 2 << 20


def test_ten_thousand_runs_leave_memory_flat():
    step = jit(lambda x: x * 0.999 + 0.001)
    x = step(Tensor.ones(1000, device="GPU"))
    before = memory_of("GPU").counted()["in use"]
    for _ in range(10_000):
        x = step(x)
    assert memory_of("GPU").counted()["in use"] <= before + 8192


def test_two_threads_use_the_gpu_at_once():
    x = np.arange(5000, dtype=np.float32)

    def work(number):
        want = (Tensor(x, device="CPU") * number).softmax(-1).numpy()
        for _ in range(20):
            found = (Tensor(x, device="GPU") * number).softmax(-1).numpy()
            assert np.array_equal(found, want)

    in_threads(2, work)
