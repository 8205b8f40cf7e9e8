"""Sums of columns on a GPU: what is one kernel, what is stored, and the bits of the CPU."""

import ml_dtypes
import numpy as np
import pytest

from adjoint import Tensor, lower, nn
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.support.fake_gpu import fake_gpu

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")


@pytest.fixture(scope="module")
def gpu():
    with compiled_anew(), fake_gpu() as found:
        yield found


def floats(*shape, dtype=np.float32):
    return np.random.default_rng(2).standard_normal(shape).astype(dtype)


def kernels(fn, *arrays):
    """The lines of a schedule that are kernels."""
    lines = lower(fn)(*[Tensor(a, device="GPU") for a in arrays]).schedule().splitlines()
    return [line for line in lines if line.startswith("kernel")]


def on_both(fn, *arrays):
    return [fn(*[Tensor(a, device=d) for a in arrays]).numpy().tobytes() for d in ("GPU", "CPU")]


@pytest.mark.parametrize("lines", [8192, 12544, 33000])
def test_a_shorter_last_block_is_summed_with_the_others(gpu, lines):
    x = floats(lines, 40)
    assert len(kernels(lambda x: x.sum(0), x)) == 2  # blocks, and their sum
    found, wanted = on_both(lambda x: x.sum(0), x)
    assert found == wanted


def test_products_fill_up_with_ones(gpu):
    found, wanted = on_both(lambda x: (x * 0.001 + 1).prod(0), floats(9000, 24))
    assert found == wanted


def four_sums(x, y):
    return x.sum(0), (x * y).sum(0), (x * x).sum(0), (x - y).sum(0)


@pytest.mark.parametrize("lines", [8192, 12544])
def test_all_sums_of_one_value_are_one_kernel(gpu, lines):
    arrays = floats(lines, 64), floats(lines, 64)[::-1].copy()
    assert len(kernels(four_sums, *arrays)) == 2  # blocks, and their sums
    for number in range(4):
        found, wanted = on_both(lambda x, y, n=number: four_sums(x, y)[n], *arrays)
        assert found == wanted


def test_what_is_cast_to_be_wider_is_stored_as_it_was(gpu):
    def centred(x, y):
        h = ((x * y).tanh() * y).cast("float32")
        return h.sum(0), (h - h.sum(0)).cast("bfloat16")

    arrays = [floats(12544, 64, dtype=ml_dtypes.bfloat16)] * 2
    text = lower(centred)(*[Tensor(a, device="GPU") for a in arrays]).schedule()
    assert "f32[12544, 64]" not in text
    for number in range(2):
        found, wanted = on_both(lambda x, y: centred(x, y)[number], *arrays)  # noqa: B023
        assert found == wanted


def gradients(device):
    """Of a batch norm in bfloat16 with a relu behind it, by all that it has."""
    norm = nn.BatchNorm2d(16, device=device)
    x = Tensor(floats(16, 16, 24, 24, dtype=ml_dtypes.bfloat16), device=device)
    x.requires_grad_()
    loss = (norm(x).relu().cast("float32") * 0.25).sum()
    loss.backward()
    return [t.numpy().tobytes() for t in (loss, x.grad, norm.weight.grad, norm.bias.grad)]


def test_a_batch_norm_has_the_bits_of_the_cpu(gpu):
    assert gradients("GPU") == gradients("CPU")
