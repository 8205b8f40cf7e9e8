"""`t[i]` against NumPy: values, shapes, errors, laziness, gradients' way."""

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.values import is_known
from adjoint.tensor.tracing import scope
from tests.tensor.indices import ALL, CASES, DOTS, S, as_tensors, attempt, filled, mask, random_key


def check(array, tensor, key, numpy_key):
    expected, got = array[numpy_key], tensor[key]
    assert got.shape == np.shape(expected)
    assert got.dtype is tensor.dtype
    np.testing.assert_array_equal(got.numpy(), expected)


def test_there_are_enough_written_cases():
    assert len(CASES) >= 150


@pytest.mark.parametrize(("shape", "key"), CASES)
def test_index_means_what_it_means_in_numpy(shape, key):
    array = filled(*shape)
    check(array, Tensor(array), key, key)


@pytest.mark.parametrize(("shape", "key"), CASES)
def test_arrays_in_an_index_can_be_tensors(shape, key):
    array = filled(*shape)
    check(array, Tensor(array), as_tensors(key), key)


def forgiven_by_numpy(array, key, error):
    """NumPy does not look at indices that no element is read with; Adjoint does."""
    return error is not None and error.code == "E6001" and array[key].size == 0


@pytest.mark.parametrize("seed", range(20))
def test_random_indices_agree_with_numpy_in_value_shape_and_failure(seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        shape = tuple(rng.integers(0, 6, rng.integers(1, 5)) + (rng.random() < 0.9))
        array, key = filled(*shape), random_key(rng, shape)
        expected, failure = attempt(lambda a=array, k=key: a[k])
        for own in (key, as_tensors(key)):
            got, error = attempt(lambda a=array, k=own: Tensor(a)[k].numpy())
            if failure is None and forgiven_by_numpy(array, key, error):
                continue
            assert (failure is None) == (error is None), f"{shape} {own} {failure!r} {error!r}"
            if failure is None:
                assert got.shape == np.shape(expected), f"{shape} {own}"
                np.testing.assert_array_equal(got, expected)


ERRORS = [
    ((5,), 5, "E6001", "index 5"),
    ((5,), -6, "E6001", "index -6"),
    ((5,), [0, 5], "E6001", "index 5"),
    ((5,), np.array([-6]), "E6001", "axis 0 of size 5"),
    ((2, 5), (0, [7]), "E6001", "axis 1 of size 5"),
    ((0, 3), 0, "E6001", "empty"),
    ((5,), 10**30, "E6001", "out of range"),
    ((5,), (0, 0), "E4006", "2 indices for a tensor of rank 1"),
    ((), 0, "E4006", "rank 0"),
    ((), ALL, "E4006", "rank 0"),
    ((5,), (mask(5), 0), "E4006", "rank 1"),
    ((5,), mask(5, 1), "E4006", "rank 1"),
    ((5, 2), (DOTS, DOTS), "E4006", "Ellipsis"),
    ((5,), S(None, None, 0), "E4008", "step"),
    ((5,), 1.0, "E4011", "got float"),
    ((5,), np.float32(1), "E4011", "got float32"),
    ((5,), [1.0], "E4011", "float64 values"),
    ((5,), np.array([]), "E4011", "float64 values"),
    ((5,), "a", "E4011", "got str"),
    ((5,), {1: 2}, "E4011", "got dict"),
    ((5,), S("a", None), "E4011", "a slice is made of ints"),
    ((5,), S(0.5, None), "E4011", "a slice is made of ints"),
    ((5,), [[0, 1], [2]], "E4011", "got list"),
    ((5,), [slice(None)], "E4011", "object values"),
    ((5,), [2**70], "E4011", "object values"),
    ((5,), mask(4), "E3003", "mask of shape [4]"),
    ((4, 5), mask(5, 4), "E3003", "[4, 5]"),
    ((4, 5), ([0, 1], [0, 1, 2]), "E3001", "[2] and [3]"),
]


@pytest.mark.parametrize(("shape", "key", "code", "words"), ERRORS)
def test_wrong_index_is_an_error_at_the_call(shape, key, code, words):
    with pytest.raises(adjoint.AdjointError) as caught:
        Tensor(filled(*shape))[key]
    assert caught.value.code == code
    assert words in str(caught.value)


def test_float_tensor_is_no_index():
    with pytest.raises(adjoint.DTypeError, match="float32 values") as caught:
        Tensor([1, 2, 3])[Tensor([1.0])]
    assert caught.value.code == "E4011"


@pytest.mark.parametrize("bad", [3, -4])
def test_tensor_index_out_of_range_is_an_error_when_run(bad):
    got = Tensor([1, 2, 3])[Tensor([0, bad])]
    with pytest.raises(adjoint.BoundsError) as caught:
        got.realize()
    assert caught.value.code == "E6001"


@pytest.mark.parametrize("dtype", [dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64])
def test_narrow_negative_tensor_index_counts_from_the_end_of_a_long_axis(dtype):
    array = filled(300)
    got = Tensor(array)[Tensor([-1, -100, 5], dtype=dtype)]
    np.testing.assert_array_equal(got.numpy(), array[[-1, -100, 5]])


@pytest.mark.parametrize("dtype", [dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64])
def test_unsigned_tensor_index(dtype):
    got = Tensor([1, 2, 3])[Tensor([2, 0], dtype=dtype)]
    assert got.tolist() == [3, 1]


def test_list_of_tensors_is_an_index():
    assert Tensor([1, 2, 3])[[Tensor(2), Tensor(0)]].tolist() == [3, 1]


def test_scalar_tensor_is_a_slice_bound():
    assert Tensor([1, 2, 3])[Tensor(1) :].tolist() == [2, 3]


def test_basic_index_is_movement_alone():
    node = Tensor(filled(4, 5))[::-1, None, 1:4:2].uop
    assert {n.op.name for n in node.toposort()} == {"buffer", "shrink", "flip", "reshape"}


def test_whole_slice_builds_nothing():
    t = Tensor(filled(4, 5))
    assert t[:, ...].uop is t.uop


def test_index_with_tensors_is_lazy():
    x, i = Tensor(filled(5)) + 0, Tensor([0, 1]) + 1
    got = x[i]
    assert not is_known(x.uop)
    assert not is_known(i.uop)
    assert got.tolist() == [1, 2]


def test_mask_is_computed_and_the_values_are_not():
    x = Tensor(filled(5)) + 0
    y, chosen = x * 3, x > 2
    got = y[chosen]
    assert got.shape == (2,)
    assert is_known(chosen.uop)
    assert is_known(x.uop)  # on the way to the mask, and still held
    assert not is_known(y.uop)
    assert got.tolist() == [9, 12]


@pytest.mark.parametrize("flag", [True, False, None])
@pytest.mark.parametrize("key", [0, S(1, 3), [0, 1], np.array([True, False, True])])
def test_result_requires_a_gradient_as_its_source_does(flag, key):
    x = Tensor([1.0, 2.0, 3.0], requires_grad=flag)
    assert x[key].requires_grad is flag


@pytest.mark.parametrize(
    "key",
    [0, S(None, None, -2), [0, 0, 2], np.array([True, False, True]), (None, [1, -1]), DOTS],
    ids=str,
)
def test_gradient_is_added_where_an_element_was_read(key):
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x[key]
    g = 1 + filled(*y.shape, dtype=np.float32)
    y.backward(Tensor(g))
    expected = np.zeros(3, np.float32)
    np.add.at(expected, key, g)
    np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_special_floats_survive():
    array = np.array([np.nan, -0.0, np.inf, -np.inf])
    got = Tensor(array)[[0, 1, 2, 3, 1]].numpy()
    np.testing.assert_array_equal(got, array[[0, 1, 2, 3, 1]])
    assert np.signbit(got[1])


def test_mask_that_is_not_known_inside_a_transform_is_an_error_with_a_fix():
    with scope("grad") as inner:
        x = Tensor(OPS["input"]("x", (3,), "float32", Tensor([0.0]).device))
        inner.variables.add(x.uop)
        assert x[1:].shape == (2,)
        with pytest.raises(adjoint.AutodiffError, match="not known inside grad"):
            x[x > 0]


def test_iteration_unpacks_the_first_axis():
    a, b = Tensor([[1, 2], [3, 4]])
    assert (a.tolist(), b.tolist()) == ([1, 2], [3, 4])
