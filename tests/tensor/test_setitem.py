"""`t[i] = v` against NumPy: values, errors, laziness, other holders of the old value, gradients."""

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, dtypes, no_grad
from adjoint.ir.opdef import OPS
from adjoint.ir.values import is_known
from adjoint.tensor.tracing import scope
from tests.tensor.indices import (
    ALL,
    CASES,
    DOTS,
    S,
    as_tensors,
    attempt,
    filled,
    mask,
    random_key,
)


def values_for(rng, shape):
    """Something NumPy can write to a place of this shape: a number, the shape, or a smaller one."""
    yield 7
    own = list(shape[int(rng.integers(0, len(shape) + 1)) :])
    small = [1 if rng.random() < 0.3 else n for n in own]
    yield -1 - filled(*shape)
    yield -1 - filled(*small)


def check(array, key, own_key, value, own_value):
    expected, tensor = array.copy(), Tensor(array)
    expected[key] = value
    tensor[own_key] = own_value
    assert tensor.shape == array.shape
    assert tensor.dtype.np == array.dtype
    np.testing.assert_array_equal(tensor.numpy(), expected)


@pytest.mark.parametrize(("shape", "key"), CASES)
def test_assignment_writes_what_numpy_writes(shape, key):
    array, rng = filled(*shape), np.random.default_rng(0)
    for value in values_for(rng, np.shape(array[key])):
        check(array, key, key, value, value)
        own = Tensor(value) if isinstance(value, np.ndarray) else value
        check(array, key, as_tensors(key), value, own)


@pytest.mark.parametrize("seed", range(10))
def test_random_assignments_agree_with_numpy(seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        shape = tuple(rng.integers(0, 6, rng.integers(1, 5)) + (rng.random() < 0.9))
        array, key = filled(*shape), random_key(rng, shape, wild=0)
        place, failure = attempt(lambda a=array, k=key: a[k])
        if failure is not None:
            continue
        for value in values_for(rng, np.shape(place)):
            check(array, key, as_tensors(key), value, Tensor(value))


ERRORS = [
    ((5,), 5, 0, "E6001", "index 5"),
    ((5,), [9], 0, "E6001", "index 9"),
    ((5,), (0, 0), 0, "E4006", "rank 1"),
    ((5,), S(None, None, 0), 0, "E4008", "step"),
    ((5,), 0.5, 0, "E4011", "got float"),
    ((5,), S(0, 2), [1, 2, 3], "E3001", "[3] does not broadcast to [2]"),
    ((5,), S(0, 0), [1, 2, 3], "E3001", "[3] does not broadcast to [0]"),
    ((5,), [0, 1], [[1], [2]], "E3001", "[2, 1] does not broadcast to [2]"),
    ((5,), mask(5), np.zeros(4, int), "E3001", "does not broadcast"),
    ((5,), 0, [1, 2], "E3001", "[2] does not broadcast to []"),
    ((4, 5), (mask(4), 0), np.zeros((2, 2), int), "E3001", "does not broadcast"),
    ((4, 5), ([0, 1], [0, 1, 2]), 0, "E3001", "[2] and [3]"),
    ((5,), 0, 2**40, "E2006", "not a value of int32"),
    ((5,), 0, float("nan"), "E2001", "not a value of int32"),
    ((5,), 0, "one", "E2001", "str"),
]


@pytest.mark.parametrize(("shape", "key", "value", "code", "words"), ERRORS)
def test_wrong_assignment_is_an_error_at_the_call_and_changes_nothing(
    shape, key, value, code, words
):
    tensor = Tensor(filled(*shape))
    before = tensor.uop
    with pytest.raises(adjoint.AdjointError) as caught:
        tensor[key] = value
    assert caught.value.code == code
    assert words in str(caught.value)
    assert tensor.uop is before


def test_tensor_index_out_of_range_is_an_error_when_run():
    t = Tensor([1, 2, 3])
    t[Tensor([3])] = 0
    with pytest.raises(adjoint.BoundsError) as caught:
        t.realize()
    assert caught.value.code == "E6001"


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (2.7, dtypes.int32, 2),
        (3, dtypes.float32, 3.0),
        (5, dtypes.bool, True),
        (True, dtypes.int8, 1),
    ],
)
def test_value_is_cast_to_the_dtype_of_the_tensor(value, dtype, expected):
    for own in (value, [value], Tensor(value), np.array(value)):
        t = Tensor.zeros(3, dtype=dtype)
        t[1:2] = own
        assert t.dtype is dtype
        assert t.tolist()[1] == expected


@pytest.mark.parametrize(
    "key", [0, S(0, 4, 2), [0, 2], Tensor([0, 2]), mask(4), Tensor(mask(4))], ids=str
)
def test_nan_inf_and_minus_zero_stay_on_both_sides(key):
    old = np.array([np.nan, -0.0, np.inf, 1.0])
    plain = key.numpy() if isinstance(key, Tensor) else key
    for value in (np.nan, -0.0, -np.inf):
        expected, t = old.copy(), Tensor(old)
        expected[plain], t[key] = value, value
        got = t.numpy()
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


@pytest.mark.parametrize("dtype", [dtypes.bool, dtypes.uint8, dtypes.float16, dtypes.complex64])
@pytest.mark.parametrize(
    "key", [1, S(None, None, -1), [2, 0], np.array([True, False, True])], ids=str
)
def test_every_kind_of_dtype_can_be_written(dtype, key):
    expected, value = np.zeros(3, dtype.np), np.ones((), dtype.np)
    expected[key] = value
    t = Tensor.zeros(3, dtype=dtype)
    t[key] = Tensor(value)
    np.testing.assert_array_equal(t.numpy(), expected)


def test_last_of_equal_indices_stays():
    t = Tensor([0, 0, 0])
    t[[1, 1, 1]] = [5, 6, 7]
    assert t.tolist() == [0, 7, 0]


def test_what_was_computed_from_the_old_value_keeps_it_and_a_view_does_not():
    t = Tensor([1, 2, 3])
    lazy, view, copy = t * 10, t[1:], Tensor(t)
    t[1] = 0
    assert t.tolist() == [1, 0, 3]
    assert lazy.tolist() == [10, 20, 30]
    assert view.tolist() == [0, 3]
    assert copy.tolist() == [1, 2, 3]


def test_a_realized_buffer_is_never_written_to():
    t = Tensor([1, 2, 3]).realize()
    seen = t.numpy()
    t[0] = 9
    assert t.tolist() == [9, 2, 3]
    assert seen.tolist() == [1, 2, 3]


def test_a_tensor_can_be_written_over_itself():
    t = Tensor([1, 2, 3, 4])
    t[1:] = t[:-1]
    assert t.tolist() == [1, 1, 2, 3]
    t[::-1] = t
    assert t.tolist() == [3, 2, 1, 1]


@pytest.mark.parametrize("key", [0, S(1, 3), [0, 0, 2], mask(4), (DOTS, None)], ids=str)
def test_in_place_operators_work_on_an_index(key):
    expected, t = filled(4), Tensor(filled(4))
    expected[key] += 3
    t[key] += 3
    expected[key] *= 2
    t[key] *= 2
    np.testing.assert_array_equal(t.numpy(), expected)


def test_in_place_of_another_dtype_is_an_error():
    t = Tensor([1, 2])
    with pytest.raises(adjoint.DTypeError, match="in-place"):
        t[0] += 0.5


def test_assignment_is_lazy():
    t, v = Tensor([1, 2, 3]) + 0, Tensor([4]) + 0
    t[:1] = v
    t[Tensor([2])] = v
    assert not is_known(t.uop)
    assert not is_known(v.uop)
    assert t.tolist() == [4, 2, 4]


@pytest.mark.parametrize("key", ["m", ("m", ALL), (DOTS, "m", ALL), (S(0, 4), "m")], ids=str)
@pytest.mark.parametrize("value", [0, [0], [5, 6, 7]], ids=str)
def test_mask_with_a_value_that_does_not_depend_on_the_count_is_not_computed(key, value):
    array, where = filled(4, 3), mask(4)
    key = tuple(
        "m" if isinstance(k, str) else k for k in (key if isinstance(key, tuple) else (key,))
    )
    if key == (S(0, 4), "m"):
        where = mask(3)
    m = Tensor(where) & True
    expected, t = array.copy(), Tensor(array)
    if key == (S(0, 4), "m") and value == [5, 6, 7]:
        value = [[5], [6], [7], [8]]
    expected[tuple(where if isinstance(k, str) else k for k in key)] = value
    t[tuple(m if isinstance(k, str) else k for k in key)] = value
    assert not is_known(m.uop)
    np.testing.assert_array_equal(t.numpy(), expected)


def test_mask_with_one_value_per_element_is_filled_in_order():
    t = Tensor([1, 2, 3, 4])
    t[t > 2] = [7, 8]
    assert t.tolist() == [1, 2, 7, 8]


def test_slice_assignment_is_one_choice():
    t = Tensor(filled(4, 5))
    t[1:3, ::2] = 0
    assert [n.op.name for n in t.uop.toposort()].count("where") == 1
    assert {n.op.name for n in t.uop.toposort()} <= {
        "buffer",
        "const",
        "pad_constant",
        "where",
        "expand",
    }


@pytest.mark.parametrize("key", [1, S(None, None, 2), [2, 0], [2, 2], mask(4, seed=3)], ids=str)
def test_gradient_divides_between_the_old_value_and_the_new(key):
    place = filled(4)[key]
    old = Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    new = Tensor(np.ones(np.shape(place), np.float32), requires_grad=True)
    t = old * 1
    t[key] = new
    assert t.requires_grad is True
    g = np.array([10.0, 20.0, 30.0, 40.0], np.float32)
    t.backward(Tensor(g))
    kept = g.copy()
    kept[key] = 0
    np.testing.assert_array_equal(old.grad.numpy(), kept)
    last = np.zeros(4, int)
    last[key] = np.arange(np.size(place)).reshape(np.shape(place))
    stays = last[key] == np.arange(np.size(place)).reshape(np.shape(place))
    np.testing.assert_array_equal(new.grad.numpy(), np.where(stays, g[key], 0))


def test_value_that_requires_a_gradient_makes_the_tensor_require_it():
    t = Tensor.zeros(3)
    t[0] = Tensor(1.0, requires_grad=True)
    assert t.requires_grad is True


def test_under_no_grad_the_flag_stays():
    t, w = Tensor.zeros(3), Tensor([1.0, 2.0], requires_grad=True)
    with no_grad():
        t[0] = Tensor(1.0, requires_grad=True)
        w[0] = 5.0
    assert t.requires_grad is None
    assert w.requires_grad is True
    w.backward(Tensor([1.0, 2.0]))
    assert w.grad.tolist() == [1.0, 2.0]


def test_two_parameters_written_to_the_same_constant_stay_two():
    a, b = (Tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    a[:], b[:] = 0, 0
    (a * 2 + b * 3).backward(Tensor([1.0, 1.0]))
    assert (a.grad.tolist(), b.grad.tolist()) == ([2.0, 2.0], [3.0, 3.0])


def test_a_tensor_from_outside_refuses_what_is_known_only_inside_a_transform():
    t = Tensor([1.0, 2.0])

    def write():
        with scope("grad") as inner:
            x = Tensor(OPS["input"]("x", (), "float32", t.device))
            inner.variables.add(x.uop)
            t[0] = x

    with pytest.raises(adjoint.AdjointError, match="from outside"):
        write()
    assert t.tolist() == [1, 2]
