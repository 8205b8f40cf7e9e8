"""On an NVIDIA GPU: the bits of the CPU for every record, derivative and program; then the driver.

What a library computes is compared to units in the last place.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

from adjoint import Device, Tensor, jit
from adjoint.backends.cuda.gpu import the_gpu
from adjoint.cli.program import examples
from adjoint.engine.program_cache import load_backend
from adjoint.errors import DeviceError
from adjoint.runtime.cublaslt import library
from adjoint.runtime.cuda import problem
from adjoint.runtime.memory import memory_of
from tests.backends.cuda.agreement import in_processes
from tests.backends.cuda.other_libraries import FACTS, library_of
from tests.backends.cuda.product_cases import CASES, far
from tests.backends.cuda.training import compared
from tests.support.processes import ROOT, printed
from tests.support.threads import in_threads

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(problem()), reason=problem() or "there is a GPU"),
]


def test_every_record_and_program_has_the_bits_of_the_cpu():
    found = in_processes(min(os.cpu_count() or 1, 16))
    assert found["wrong"] == {}
    assert found["equal"] > 5000


@pytest.mark.skipif(library() is None, reason="cuBLASLt is not installed")
def test_products_and_what_is_done_to_them_are_near_float64():
    for name, case in CASES.items():
        for dtype in case.dtypes if case.plain is not None else ():
            off = far(case, dtype, "GPU")
            assert off <= (4 if len(case.calls) == 1 else 64), (name, dtype)


@pytest.mark.parametrize("name", examples())
def test_an_example_trains_as_on_the_cpu(name):
    assert compared(name).startswith(("equal", "near"))


@pytest.mark.parametrize("name", FACTS)
def test_memory_is_shared_with_other_libraries(name):
    library = library_of(FACTS[name])
    if library is None:
        pytest.skip("the library is not installed")
    FACTS[name](library)


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


# ---- processes

_INTERRUPTED = """
from adjoint import Tensor
x = Tensor.ones(1 << 28, device="GPU").realize()
print("ready", flush=True)
try:
    while True:
        for _ in range(200):
            x = (x.sin() + 1).realize()
        x[0].item()
except KeyboardInterrupt:
    y = Tensor.arange(1000, device="GPU").sum().item()
    print("usable", y, flush=True)
"""
_HOLDING = """
from adjoint import Tensor
x = Tensor.ones(6 << 30, device="GPU").realize()
print("ready", flush=True)
while True:
    x = (x + 1).realize()
"""
_CACHED = """
import sys
from adjoint import Tensor, jit
x = Tensor.ones(300, 50, device="GPU")
print(jit(lambda x: (x * 3).softmax(-1).cumsum(0))(x).sum().item(), "llvmlite" in sys.modules)
"""


@contextmanager
def begun(script):
    """A process that has said that it is ready."""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as made:
        assert made.stdout.readline() == "ready\n"
        yield made
        made.kill()


def test_ctrl_c_leaves_the_gpu_usable():
    with begun(_INTERRUPTED) as process:
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "usable 499500\n"


def test_a_process_that_is_killed_leaves_nothing():
    before = the_gpu().free_bytes()
    with begun(_HOLDING):
        while_it_runs = the_gpu().free_bytes()
    time.sleep(1)
    assert while_it_runs < before - (12 << 30) < the_gpu().free_bytes()


def test_a_second_process_compiles_nothing(tmp_path):
    first, second = (printed("-c", _CACHED, ADJOINT_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.split()[0] == second.split()[0]
    assert (first.split()[1], second.split()[1]) == ("True", "False")


def test_a_kernel_says_how_many_of_its_blocks_a_processor_has():
    kernels = load_backend("cuda")._kernels
    (Tensor.ones(4096, device="GPU") * 3).realize()
    registers, blocks = next(iter(kernels._made.values())).resident(the_gpu())
    assert 0 < registers <= 255
    assert blocks > 0
