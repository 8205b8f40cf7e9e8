"""Corners that are easy to get wrong; see docs/edges.md for the conventions."""

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, dtypes

NAN, INF = float("nan"), float("inf")
AWKWARD = [0.0, -0.0, 1.0, INF, -INF, NAN]


def _same(got, wanted):
    np.testing.assert_array_equal(got.numpy(), np.asarray(wanted, got.dtype.np))


def _with_numpy(function, data):
    with np.errstate(all="ignore"):
        return function(np.array(data, np.float32))


@pytest.mark.parametrize(
    "function",
    [lambda x: x / x, lambda x: x * 0, lambda x: x - x, lambda x: x + 0, lambda x: 0 / x],
    ids=["x/x", "x*0", "x-x", "x+0", "0/x"],
)
def test_float_arithmetic_is_never_folded(function):
    got = function(Tensor(AWKWARD)).numpy()
    wanted = _with_numpy(function, AWKWARD)
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


def test_max_and_min_propagate_nan():
    x = Tensor([[1.0, NAN, 3.0], [1.0, 2.0, 3.0]])
    _same(x.max(1), [NAN, 3])
    _same(x.min(1), [NAN, 1])
    _same(x.max(), NAN)


def test_maximum_and_minimum_propagate_nan():
    _same(Tensor([1.0, NAN]).maximum(Tensor([NAN, 1.0])), [NAN, NAN])
    _same(Tensor([1.0, NAN]).minimum(0), [0, NAN])


def test_argmax_and_argmin_find_the_first_nan():
    x = Tensor([1.0, NAN, 3.0, NAN])
    assert (x.argmax().item(), x.argmin().item()) == (1, 1)


def test_argmax_takes_the_first_of_equal_elements():
    assert Tensor([1.0, 3.0, 3.0]).argmax().item() == 1


def test_sort_puts_nan_last_in_ascending_order():
    values, order = Tensor([2.0, NAN, 1.0, -INF, INF]).sort()
    _same(values, [-INF, 1, 2, INF, NAN])
    assert order.tolist() == [3, 2, 0, 4, 1]


def test_sort_puts_nan_first_in_descending_order():
    values, _ = Tensor([2.0, NAN, 1.0]).sort(descending=True)
    _same(values, [NAN, 2, 1])


@pytest.mark.parametrize("descending", [False, True])
def test_sort_keeps_the_order_of_equal_elements(descending):
    _, order = Tensor([1, 1, 0, 0]).sort(descending=descending)
    assert order.tolist() == ([0, 1, 2, 3] if descending else [2, 3, 0, 1])


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_the_extreme_of_nothing_is_an_error_at_the_call(name):
    with pytest.raises(adjoint.ShapeError, match="empty axis"):
        getattr(Tensor.zeros(0, 3), name)(0)


def test_sums_and_products_of_nothing_are_their_units():
    empty = Tensor.zeros(0, 3)
    assert empty.sum(0).tolist() == [0, 0, 0]
    assert empty.prod(0).tolist() == [1, 1, 1]
    assert empty.any().item() is False
    assert empty.all().item() is True


def test_a_shape_error_is_raised_at_the_call_and_not_at_realize():
    x, y = Tensor.zeros(2, 3), Tensor.zeros(2, 4)
    for wrong in (lambda: x + y, lambda: x @ y, lambda: x.reshape(4), lambda: x.cat(y)):
        with pytest.raises(adjoint.ShapeError):
            wrong()


@pytest.mark.parametrize("index", [3, -4])
def test_a_python_index_out_of_range_is_raised_at_the_call(index):
    with pytest.raises(IndexError, match="out of range"):
        Tensor([1.0, 2.0, 3.0])[index]


@pytest.mark.parametrize("index", [3, -4])
def test_an_index_tensor_out_of_range_is_raised_and_never_read_as_zero(index):
    x = Tensor([1.0, 2.0, 3.0])
    with pytest.raises(adjoint.BoundsError, match="out of range"):
        x[Tensor([0, index])].realize()
    with pytest.raises(adjoint.BoundsError, match="out of range"):
        x.gather(0, Tensor([index])).realize()


@pytest.mark.parametrize("times", [(-1,), (2, -1)])
def test_a_negative_repeat_is_rejected(times):
    with pytest.raises(adjoint.ShapeError, match="E3006"):
        Tensor([[1.0, 2.0]]).repeat(times)


def test_ties_of_topk_come_in_the_order_of_their_indices():
    values, order = Tensor([1.0, 3.0, 3.0, 2.0, 3.0]).topk(4)
    assert (values.tolist(), order.tolist()) == ([3, 3, 3, 2], [1, 2, 4, 3])
    values, order = Tensor([1.0, 0.0, 0.0, 1.0]).topk(3, largest=False)
    assert (values.tolist(), order.tolist()) == ([0, 0, 1], [1, 2, 0])


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([np.float64(1), np.float64(2)], "float64"),
        ([np.int8(1), np.int8(2)], "int8"),
        ([Tensor(1.0), Tensor(2.0)], "float32"),
        ([[Tensor(1)], [Tensor(2)]], "int32"),
        ([np.array([1, 2], np.uint8)], "uint8"),
    ],
    ids=["float64", "int8", "tensors", "nested tensors", "arrays"],
)
def test_lists_of_numpy_scalars_arrays_and_tensors_are_accepted(data, dtype):
    x = Tensor(data)
    assert x.dtype.name == dtype
    assert x.flatten().tolist() == [1, 2]


def test_the_gradient_of_a_max_over_70_000_equal_halves_keeps_its_mass():
    x = Tensor(np.ones(70_000, np.float16), requires_grad=True)
    x.max().backward()
    gradient = x.grad.numpy().astype(np.float64)
    assert (gradient > 0).all()
    assert gradient.sum() == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize(
    ("data", "gradient"),
    [
        ([2.0, 3.0, 4.0], [12, 8, 6]),
        ([2.0, 0.0, 4.0], [0, 8, 0]),
        ([0.0, 0.0, 4.0], [0, 0, 0]),
    ],
)
def test_the_gradient_of_a_product_is_right_with_zeros(data, gradient):
    x = Tensor(data, requires_grad=True)
    x.prod().backward()
    assert x.grad.tolist() == gradient


def test_setting_an_item_leaves_other_uses_alone():
    x = Tensor([1.0, 2.0, 3.0])
    view, scaled, other = x[1:], x * 10, Tensor(x.uop)
    x[0] = 7
    assert x.tolist() == [7, 2, 3]
    assert view.tolist() == [2, 3]
    assert scaled.tolist() == [10, 20, 30]
    assert other.tolist() == [1, 2, 3]


def test_setting_an_item_does_not_reach_the_array_it_came_from():
    source = np.zeros(3, np.float32)
    x = Tensor(source)
    seen = x.numpy()
    x[1] = 5
    assert x.tolist() == [0, 5, 0]
    assert source.tolist() == seen.tolist() == [0, 0, 0]


def test_a_realize_never_changes_another_tensor():
    x = Tensor([1.0, 2.0])
    y = x + 1
    z = y * 2
    p = Tensor([5.0, 6.0])
    q = p * 1
    p.assign(p + y)
    before = (y.uop, z.uop, q.uop, x.uop)
    p.realize()
    assert (y.uop, z.uop, q.uop, x.uop) == before
    assert all(t.uop.realized is None for t in (y, z, q))
    assert (x.tolist(), y.tolist(), z.tolist()) == ([1, 2], [2, 3], [4, 6])
    assert (p.tolist(), q.tolist()) == ([7, 9], [5, 6])


@pytest.mark.parametrize("name", ["floordiv", "idiv", "mod", "fmod"])
def test_an_integer_divided_by_zero_gives_zero(name):
    assert getattr(Tensor([7, -7, 0]), name)(Tensor([0, 0, 0])).tolist() == [0, 0, 0]


def test_shifts_beyond_the_width_give_what_single_steps_would():
    x = Tensor([-5, 5], dtype="int8")
    assert (x << 8).tolist() == [0, 0]
    assert (x >> 100).tolist() == [-1, 0]
    assert (Tensor([255], dtype="uint8") >> 8).tolist() == [0]


def test_a_float_saturates_into_an_integer_and_nan_becomes_zero():
    x = Tensor([300.7, -300.7, INF, -INF, NAN, 1.9, -1.9])
    assert x.cast("int8").tolist() == [127, -128, 127, -128, 0, 1, -1]
    assert x.cast("uint8").tolist() == [255, 0, 255, 0, 0, 1, 0]
    assert Tensor([1e30]).cast("int64").tolist() == [2**63 - 1]


def test_integers_wrap_into_narrower_ones():
    assert Tensor([300, -1]).cast("uint8").tolist() == [44, 255]


def test_uint64_with_int64_is_float64():
    both = Tensor([1], dtype="uint64") + Tensor([1], dtype="int64")
    assert both.dtype is dtypes.float64


def test_of_equal_scatter_indices_the_last_stays():
    out = Tensor.zeros(3).scatter(0, Tensor([1, 1, 1]), Tensor([5.0, 6.0, 7.0]))
    assert out.tolist() == [0, 7, 0]


def test_a_sum_of_bools_is_a_count():
    assert Tensor([True] * 300).sum().item() == 300


def test_negative_zero_survives():
    assert np.signbit(Tensor([-0.0]).numpy())[0]
    assert np.signbit((-Tensor([0.0])).numpy())[0]
    assert Tensor.full((1,), -0.0).uop is not Tensor.full((1,), 0.0).uop


@pytest.mark.parametrize("mode", ["linear", "nearest", "nearest-exact"])
def test_a_long_axis_is_resized_by_places_that_int32_does_not_hold(mode):
    n = 60_000
    x = Tensor(np.arange(n, dtype=np.float64))
    for size in (70_001, 50_001):
        i = np.arange(size, dtype=np.int64)
        wanted = {
            "linear": (((2 * i + 1) * n - size) / (2 * size)).clip(0, n - 1),
            "nearest": i * n // size,
            "nearest-exact": (2 * i + 1) * n // (2 * size),
        }
        found = x.interpolate((size,), mode).numpy()
        np.testing.assert_allclose(found, wanted[mode], atol=1e-9)


def test_a_scatter_takes_every_unsigned_index_as_it_is_given():
    x = Tensor(np.zeros((3, 5), np.float32))
    given = Tensor(np.array([[0, 4], [2, 3], [1, 1]], np.uint8))
    index = (given < 3).where(given + 1, given)
    found = x.scatter_add(1, index, Tensor(np.ones((3, 2), np.float32))).numpy()
    np.testing.assert_array_equal(found, [[0, 1, 0, 0, 1], [0, 0, 0, 2, 0], [0, 0, 2, 0, 0]])
