"""Elements that lie some apart, or outside: read and written as NumPy says, and nothing else is
touched."""

import re

import numpy as np
import pytest

from adjoint import Tensor, lower

DTYPES = ["float32", "float64", "int32", "int64", "float16", "int8", "bool"]


def numbers(dtype, *shape):
    random = np.random.default_rng(len(shape))
    return (random.integers(0, 90, shape) % (2 if dtype == "bool" else 100)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", [2, 3, 4, 5])
def test_every_second_element_is_read(dtype, step):
    for size in (1, 5, 16, 31, 33, 64, 100, 257):
        x = numbers(dtype, 3, size)
        for start in range(min(step, size)):
            found = (Tensor(x)[:, start::step] == 1).numpy()
            np.testing.assert_array_equal(found, x[:, start::step] == 1)
            np.testing.assert_array_equal(
                Tensor(x)[:, start::step].contiguous().numpy(), x[:, start::step]
            )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_second_element_is_written(dtype, count):
    for size in (1, 7, 16, 33, 100):
        parts = [
            numbers(dtype, 2, size) ^ (i % 2) if dtype == "bool" else numbers(dtype, 2, size) + i
            for i in range(count)
        ]
        found = Tensor.stack(*map(Tensor, parts), dim=-1).contiguous().numpy()
        np.testing.assert_array_equal(found, np.stack(parts, -1))


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("step", [2, 4])
def test_what_lies_between_keeps_its_value(dtype, step):
    for size in (16, 37, 64, 130):
        x = numbers(dtype, size)
        y = Tensor(x)
        y[::step] *= 3
        wanted = x.copy()
        wanted[::step] *= 3
        np.testing.assert_array_equal(y.numpy(), wanted)


@pytest.mark.parametrize("step", [2, 4])
def test_elements_beyond_a_padding_are_its_value(step):
    for size in (9, 32, 65):
        x = numbers("float32", 5, size)
        found = Tensor(x).pad(((0, 0), (3, 6)), value=7.0)[:, ::step].contiguous().numpy()
        np.testing.assert_array_equal(
            found, np.pad(x, ((0, 0), (3, 6)), constant_values=7)[:, ::step]
        )


@pytest.mark.parametrize("kernel", [2, 4])
def test_pooling_side_by_side_and_its_gradient(kernel):
    x = Tensor(numbers("float32", 2, 3, 24, 40), requires_grad=True)
    y = x.max_pool2d(kernel)
    windows = x.numpy().reshape(2, 3, 24 // kernel, kernel, 40 // kernel, kernel)
    np.testing.assert_array_equal(y.numpy(), windows.max((3, 5)))
    y.sum().backward()
    hits = windows == windows.max((3, 5), keepdims=True)
    wanted = hits / hits.sum((3, 5), keepdims=True)
    np.testing.assert_allclose(x.grad.numpy(), wanted.reshape(x.shape), rtol=1e-6)


def test_where_no_lane_reads_its_address_is_spare_memory():
    """A masked load far outside a buffer would be right, and cost hundreds of cycles."""

    def fn(x, y):
        return x + y.pad(((10, 10), (17, 17)))

    shapes = (40, 64), (20, 30)
    lines = lower(fn)(*(Tensor(np.ones(s, np.float32), device="CPU") for s in shapes)).source()
    assert re.search(
        r"(%v\d+) = select i1 %v\d+, ptr %v\d+, ptr %spare\n.*masked.load.*ptr \1", lines
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "float16"])
def test_parts_of_lines_that_lanes_are_all_outside_of_are_their_fill(dtype):
    for width in (7, 40, 97):
        x = numbers(dtype, 5, width)
        for before, after in ((0, 130), (130, 0), (67, 68), (1, 3)):
            pads = ((2, 3), (before, after))
            found = (Tensor(x).pad(pads) + Tensor(x.dtype.type(1))).numpy()
            np.testing.assert_array_equal(found, np.pad(x, pads) + x.dtype.type(1))
            found = Tensor(x).pad(pads).flip(1).contiguous().numpy()
            np.testing.assert_array_equal(found, np.pad(x, pads)[:, ::-1])
