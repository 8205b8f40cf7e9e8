"""Scattering to what is one number everywhere: the kernel writes it, nothing else does."""

import numpy as np
import pytest

from adjoint import Tensor, grad, jit, lower
from adjoint.errors import BoundsError

pytestmark = pytest.mark.usefixtures("cpu")
INDEX = np.array([3, 0, 3, 6, 3])


def updates(dtype, *shape):
    return np.random.default_rng(5).integers(1, 5, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "int64"])
@pytest.mark.parametrize("fill", [0, 1, 3])
@pytest.mark.parametrize("width", [1, 5, 130])
def test_sums_start_from_the_number(dtype, fill, width):
    values = updates("float32", len(INDEX), width)
    x, u = Tensor.full((7, width), fill, dtype=dtype), Tensor(values).cast(dtype)
    fn = jit(lambda u, i: Tensor.full((7, width), fill, dtype=dtype).index_add(0, i, u))
    wanted = np.full((7, width), fill, np.float64)
    np.add.at(wanted, INDEX, values)
    for found in (fn(u, Tensor(INDEX)), x.index_add(0, Tensor(INDEX), u)):
        np.testing.assert_array_equal(found.cast("float64").numpy(), wanted)


@pytest.mark.parametrize("fill", [np.nan, -np.inf, -0.0])
def test_special_numbers_stay_where_nothing_is_scattered(fill):
    u = Tensor(np.ones((5, 4), np.float32))
    found = Tensor.full((7, 4), fill).scatter(0, Tensor(INDEX)[:, None].expand(5, 4), u).numpy()
    wanted = np.full((7, 4), fill, np.float32)
    wanted[INDEX] = 1
    assert found.tobytes() == wanted.tobytes()


def test_no_other_step_writes_the_number():
    table, i = Tensor(np.ones((500, 64), np.float32)), Tensor(np.arange(40) * 7 % 500)
    plan = lower(grad(lambda t, i: (t.embedding(i) ** 2).sum()))(table, i).plan
    assert sum(slot.nbytes == 500 * 64 * 4 for slot in plan.slots) <= 2  # the table, its gradient


def test_a_number_that_is_scattered_too_is_read():
    ones = Tensor.ones(5, 4)
    found = ones.index_add(0, Tensor(np.array([1, 1, 0, 4, 1])), ones).numpy()
    np.testing.assert_array_equal(found[:, 0], [2, 4, 1, 1, 2])


def test_no_updates_leave_the_number():
    found = Tensor.full((3, 4), 2.5).index_add(0, Tensor(np.zeros(0, np.int64)), Tensor.zeros(0, 4))
    np.testing.assert_array_equal(found.numpy(), np.full((3, 4), 2.5, np.float32))


def test_an_index_outside_is_still_an_error():
    with pytest.raises(BoundsError, match="7"):
        Tensor.zeros(7, 4).index_add(0, Tensor(np.array([7])), Tensor.ones(1, 4)).numpy()
