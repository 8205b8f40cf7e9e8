"""What devices are called and what they have; errors for those that are not there."""

import pytest

from adjoint import Device
from adjoint.errors import DeviceError
from adjoint.runtime import cuda, cuda_calls, device
from adjoint.runtime.cuda_calls import remedy


def test_the_processor_has_a_name_and_memory():
    facts = Device.facts("CPU")
    assert facts.device == "CPU"
    assert facts.name
    assert "\n" not in facts.name
    assert facts.memory >= 0
    assert Device.facts("cpu:0") == facts


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(cuda, "problem", lambda: "")
    for module in (cuda, cuda_calls):
        monkeypatch.setattr(module, "device_count", lambda: 2)
    told = lambda number: (f"fake {number}", 1 << 30, "9.0")  # noqa: E731
    monkeypatch.setattr(cuda_calls, "described", told)


def test_every_gpu_has_a_name_memory_and_a_capability(two_gpus):
    facts = Device.facts("cuda:1")
    assert (facts.device, facts.name, facts.memory) == ("GPU:1", "fake 1", 1 << 30)
    assert facts.capability == "9.0"
    assert {"GPU", "GPU:1"} <= set(Device.available())


def test_a_gpu_behind_the_last_is_an_error(two_gpus):
    with pytest.raises(DeviceError, match=r"E6002.*GPU:2"):
        device.runnable("GPU:2")


@pytest.mark.parametrize(
    ("driver", "count", "word"),
    [
        (cuda_calls._NO_DRIVER, 0, "install"),
        ("the NVIDIA driver is too old: it lacks cuInit", 0, "update"),
        (object(), 0, "CUDA_VISIBLE_DEVICES"),
        (object(), 1, "update"),
    ],
)
def test_every_problem_has_a_remedy(monkeypatch, driver, count, word):
    monkeypatch.setattr(cuda_calls, "driver_library", lambda: driver)
    monkeypatch.setattr(cuda_calls, "device_count", lambda: count)
    assert word in remedy()
    assert "device='CPU'" in remedy()
