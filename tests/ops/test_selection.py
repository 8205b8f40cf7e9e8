"""topk and kthvalue of long rows, which are not sorted whole: the order of a sort, ties and NaN."""

import numpy as np
import pytest

from adjoint import Tensor, lower
from adjoint.ops.composite.selection import _block_size

ROW = 1200  # elements, of which blocks are looked at first


def in_order(x, count, largest):
    """The first indices of a stable sort, in which all NaN are one and the largest."""
    _, ranks = np.unique(x, return_inverse=True)
    ranks = ranks.reshape(x.shape)
    return np.argsort(-ranks if largest else ranks, axis=-1, kind="stable")[..., :count]


def rows(kind, dtype):
    rng = np.random.default_rng(len(kind))
    made = {
        "apart": lambda: rng.permutation(3 * ROW).reshape(3, ROW) - ROW,
        "ties": lambda: rng.integers(0, 3, (3, ROW)),
        "alike": lambda: np.ones((3, ROW)),
        "special": lambda: rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0], (3, ROW)),
        "nearly all NaN": lambda: np.where(rng.random((3, ROW)) < 0.01, np.inf, np.nan),
        "ends": lambda: rng.choice([np.iinfo(dtype).min, np.iinfo(dtype).max], (3, ROW)),
    }
    return made[kind]().astype(dtype)


CASES = [
    *((kind, "float32") for kind in ("apart", "ties", "alike", "special", "nearly all NaN")),
    ("special", "float16"),
    ("special", "float64"),
    *(("ends", dtype) for dtype in ("int8", "uint32", "int64")),
    ("ties", "bool"),
]


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("count", [1, 5, 9])
@pytest.mark.parametrize(("kind", "dtype"), CASES)
def test_the_first_are_those_of_a_sort(kind, dtype, count, largest):
    assert _block_size(ROW, count)
    x = rows(kind, dtype)
    wanted = in_order(x, count, largest)
    values, places = Tensor(x).topk(count, largest=largest)
    np.testing.assert_array_equal(places.numpy(), wanted)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, wanted, -1))


@pytest.mark.parametrize("size", [ROW, ROW + 1, ROW + 33])
def test_rows_lie_along_any_axis_and_need_not_fill_their_blocks(size):
    x = np.random.default_rng(size).integers(0, 50, (2, size, 3))
    wanted = np.moveaxis(in_order(np.moveaxis(x, 1, -1), 7, False), -1, 1)
    np.testing.assert_array_equal(Tensor(x).topk(7, 1, False).indices.numpy(), wanted)
    seventh = Tensor(x).kthvalue(7, 1)
    np.testing.assert_array_equal(seventh.indices.numpy(), wanted[:, 6])


def test_the_gradient_goes_to_the_elements_that_are_chosen():
    x = Tensor(np.arange(float(ROW)), requires_grad=True)
    (x.topk(3).values * Tensor([1.0, 2.0, 3.0])).sum().backward()
    wanted = np.zeros(ROW)
    wanted[-3:] = 3.0, 2.0, 1.0
    np.testing.assert_array_equal(x.grad.numpy(), wanted)


def test_no_long_row_is_sorted():
    sorts = [t for t in lower(lambda x: x.topk(8))(Tensor.rand(4, 4096)).kernels() if "sort" in t]
    assert sorts
    assert not any("f32[4, 4096]" in text or "16384" in text for text in sorts)
