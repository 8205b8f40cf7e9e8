"""Several GPUs: over two fake ones, each with a memory, kernels and a stream of its own."""

import numpy as np
import pytest

from adjoint import Tensor, jit
from adjoint.engine.program_cache import load_backend
from adjoint.errors import DeviceError
from adjoint.runtime.device import has_tools
from adjoint.runtime.memory import memory_of
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.support.fake_gpu import fake_gpu, fake_gpus

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")


@pytest.fixture(scope="module")
def both():
    with compiled_anew(), fake_gpus(2) as found:
        yield found


@pytest.fixture
def gpus(both):
    for gpu in both:
        del gpu.calls[:]
    return both


def test_a_tensor_is_computed_by_its_gpu(gpus):
    x = Tensor(np.arange(6, dtype=np.float32), device="GPU:1")
    assert (x * 2).numpy().tolist() == [0, 2, 4, 6, 8, 10]
    assert not any(call.startswith("launch") for call in gpus[0].calls)
    assert any(call.startswith("launch") for call in gpus[1].calls)


def test_each_gpu_has_memory_of_its_own(gpus):
    before = [memory_of(device).counted()["in use"] for device in ("GPU", "GPU:1")]
    x = (Tensor.ones(1 << 20, device="GPU:1") + 1).realize()
    after = [memory_of(device).counted()["in use"] for device in ("GPU", "GPU:1")]
    assert after[0] == before[0]
    assert after[1] >= before[1] + (4 << 20)
    assert x.sum().item() == 2 << 20


def test_what_goes_from_gpu_to_gpu_does_not_pass_the_host(gpus):
    x = (Tensor(np.arange(6, dtype=np.float32), device="GPU") + 1).realize()
    del gpus[0].calls[:], gpus[1].calls[:]
    y = x.to("GPU:1").realize()
    assert "copy from another" in gpus[1].calls
    assert not {"read", "write"} & {*gpus[0].calls, *gpus[1].calls}
    assert (y.device, y.tolist()) == ("GPU:1", [1, 2, 3, 4, 5, 6])


def test_a_graph_on_two_gpus_is_cut_between_them(gpus):
    f = jit(lambda x: ((x * 2).to("GPU:1") + 1).to("GPU") * x)
    x = (Tensor([1.0, 2.0, 3.0], device="GPU") + 0).realize()
    for _ in range(3):
        assert f(x).tolist() == [3, 10, 21]


def test_gradients_go_from_gpu_to_gpu(gpus):
    x = Tensor([1.0, 2.0], device="GPU", requires_grad=True)
    ((x.to("GPU:1") * 3).to("CPU") * x.to("CPU")).sum().backward()
    assert x.grad.device == "GPU"
    assert x.grad.tolist() == [6.0, 12.0]


def test_the_same_program_on_both_has_kernels_on_both(gpus):
    for device in ("GPU", "GPU:1"):
        values = np.arange(12, dtype=np.float32).reshape(3, 4)
        assert Tensor(values, device=device).softmax(-1).sum().item() == pytest.approx(3)
    made = [load_backend(name)._kernels._made for name in ("cuda", "cuda:1")]
    assert made[0].keys() & made[1].keys()


def test_a_bad_index_on_the_second_gpu_is_told(gpus):
    x = Tensor([1.0, 2.0], device="GPU:1")
    with pytest.raises(IndexError, match="index 5 is out of range"):
        x[Tensor(np.array([5], np.int32), device="GPU:1")].numpy()


@pytest.mark.parametrize("count", [1, 2])
def test_a_gpu_that_is_not_there_is_an_error_that_says_which_are(count):
    with fake_gpus(count), pytest.raises(DeviceError, match=rf"E6002.*no GPU:7.*{count} GPU"):
        (Tensor([1.0], device="GPU:7") + 1).realize()


def test_one_gpu_is_enough_for_what_is_on_one():
    with compiled_anew(), fake_gpu() as gpu:
        assert (Tensor([1.0], device="GPU:0") + 1).item() == 2
        assert gpu.calls
