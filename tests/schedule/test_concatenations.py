"""Concatenations of many operands: in levels, each of kernels that read a few."""

import numpy as np
import pytest

from adjoint import Tensor, grad, jit, lower

pytestmark = pytest.mark.usefixtures("cpu")
FEW = 8


def parts(count, shape=(2, 3), dtype="float32"):
    return [Tensor(np.full(shape, i + 1, dtype)) for i in range(count)]


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("count", [16, 17, 64, 65, 300])
def test_parts_stand_in_their_order(count, dim):
    rng = np.random.default_rng(count)
    arrays = [rng.random((2, 1 + i % 3, 2) if dim == 1 else (2, 2, 2)) for i in range(count)]
    joined = Tensor.cat(*map(Tensor, arrays), dim=dim)
    np.testing.assert_array_equal(joined.numpy(), np.concatenate(arrays, dim))


@pytest.mark.parametrize("dtype", ["bool", "int64", "float16", "complex64"])
def test_elements_keep_their_dtype(dtype):
    given = parts(100, dtype=dtype)
    wanted = np.stack([x.numpy() for x in given])
    found = jit(lambda *xs: Tensor.stack(xs))(*given)
    assert found.dtype == given[0].dtype
    np.testing.assert_array_equal(found.numpy(), wanted)


def test_no_kernel_reads_many_operands():
    schedule = lower(lambda *xs: Tensor.stack(xs) * 2)(*parts(1000)).schedule()
    kernels = [line for line in schedule.splitlines() if line.startswith("kernel")]
    reads = [line.count(",") for line in kernels]  # the first of a kernel's slots is written
    assert max(reads) <= FEW
    assert sum(reads) < 1000 * 1.25


def test_a_gradient_goes_to_every_part():
    weights = np.arange(40.0)
    grads = grad(lambda xs: (Tensor.stack(xs) * Tensor(weights)).sum())([Tensor(1.0)] * 40)
    np.testing.assert_array_equal([g.item() for g in grads], weights)
