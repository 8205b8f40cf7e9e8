"""Hand-built kernels go through a backend: what its memory is like and who compiles are its own."""

import numpy as np
import pytest

from adjoint import AdjointError, Tensor
from adjoint.backends.cpu import backend as cpu
from adjoint.engine.program_cache import load_backend
from adjoint.target import TARGETS
from tests.handbuilt.building import DEVICES, INT, Build, floats, ran, saxpy, total

COMPILED = [device for device in DEVICES if device != "REF"]


@pytest.mark.parametrize("device", COMPILED)
def test_a_second_call_compiles_nothing(device, monkeypatch):
    backend = load_backend(TARGETS[device].backend)
    kernel, asked = total(5).g.compile(device), []
    kernel(np.zeros(1, np.float32), floats(5))
    monkeypatch.setattr(backend, "compile", lambda *args: asked.append(args))
    out = kernel(np.zeros(1, np.float32), np.ones(5, np.float32))
    assert out[0] == 5
    assert asked == []


@pytest.mark.parametrize(("size", "quick"), [(30, True), (30_000, False)])
def test_a_kernel_with_much_to_do_is_compiled_with_care(size, quick, monkeypatch):
    seen, own = [], cpu.compile_sources
    noted = lambda asked: (seen.extend(quick for _, quick in asked), own(asked))[1]  # noqa: E731
    monkeypatch.setattr(cpu, "compile_sources", noted)
    saxpy(size).g.compile("CPU")(*np.ones((4, size), np.float32))
    assert seen == [quick]


@pytest.mark.parametrize("device", DEVICES)
def test_results_and_operands_may_be_strided_or_lie_in_one_another(device):
    kernel = saxpy(4).g.compile(device)
    whole = np.zeros((4, 2), np.float32)
    kernel(whole[:, 1], np.arange(8, dtype=np.float32)[::2], *np.ones((2, 4), np.float32))
    np.testing.assert_array_equal(whole, [[0, 1], [0, 3], [0, 5], [0, 7]])
    line = np.arange(5, dtype=np.float32)
    kernel(line[1:], line[:4], np.zeros(4, np.float32), np.ones(1, np.float32))
    assert line.tolist() == [0, 0, 1, 2, 3]


@pytest.mark.parametrize("device", DEVICES)
def test_an_index_that_leaves_memory_is_an_error(device):
    b = Build()
    out, x = b.out(INT), b.buffer(INT)
    b.store(out, b.load(x, b.n(0)), b.n(7))
    kernel, memory = b.g.compile(device), np.zeros(3, np.int32)
    kernel(memory, np.array([2], np.int32))
    assert memory.tolist() == [0, 0, 7]
    for bad in (3, -1, 2**31 - 1):
        with pytest.raises(AdjointError, match="E6001"):
            kernel(memory, np.array([bad], np.int32))
    kernel(memory, np.array([1], np.int32))
    assert memory.tolist() == [0, 7, 7]


def test_an_empty_result_on_every_device():
    b = Build()
    out = b.out(INT)
    when = b.when(b.n(False, "bool"))
    b.store(out, b.n(0), b.n(1))
    b.end(when)
    assert ran(b, np.zeros(0, np.int32))[0].size == 0


@pytest.mark.parametrize("device", DEVICES)
def test_arrays_and_tensors_of_any_device_are_given_together(device):
    kernel = saxpy(3).g.compile(device)
    out = np.zeros(3, np.float32)
    for where in DEVICES:
        kernel(out, Tensor([1.0, 2.0, 3.0], device=where), np.ones(3, np.float32), out[:1] * 0 + 2)
        assert out.tolist() == [3, 5, 7]
        out[...] = 0


def test_the_error_about_a_device_names_those_that_run_kernels():
    with pytest.raises(AdjointError, match="REF, CPU, C, GPU, not on DISK"):
        saxpy(3).g.compile("DISK")
