"""`t[i]` against NumPy: values, shapes, errors, laziness, gradients' way."""

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.values import is_known
from adjoint.tensor.tracing import scope

S = slice
ALL = slice(None)
DOTS = Ellipsis


def filled(*shape, dtype=np.int32):
    return np.arange(int(np.prod(shape, dtype=int)), dtype=dtype).reshape(shape)


def mask(*shape, seed=0):
    return np.random.default_rng(seed).random(shape) < 0.5


VECTOR = [
    0, 4, -1, -5, np.int64(2), np.uint8(3), True, False, np.True_, None, DOTS, (), ALL,
    S(1, 3), S(-3, -1), S(None, None, 2), S(None, None, -1), S(None, None, -2), S(4, 0, -1),
    S(3, 3), S(3, 1), S(-100, 100), S(100, -100, -3), S(None, -100, -1), S(1, None, 10),
    S(4, None, 3), S(0, 1, -1), S(np.int8(1), np.int64(4)), S(True, None),
    [0], [4, 0, -1], [], [[0, 1], [2, 3]], [[]], (ALL,), (None, ALL), (ALL, None),
    (None, DOTS, None), (None, None, 2), (DOTS, 2), (2, DOTS), ([1, 2],), ((1, 2),),
    range(3), range(4, 0, -2), range(0), np.array([3, -4]), np.array(2), np.array([[1]], np.uint16),
    [True, False, True, False, True], [False] * 5, [True] * 5, np.array([True] * 5),
    (True, [0, 1]), (True, 2), (False, 2), ([0], True), (True, True), (True, False), (None, True),
    (True, None), (DOTS, True), (True, DOTS), (True, ALL), (ALL, True), ([1, 0], None),
    (None, [1, 0]), (None, [1, 0], None), (None, mask(5)), (mask(5), None), (mask(5), True),
    [np.int64(1), np.int32(2)], np.array([], int), np.array(True), np.array(False),
]  # fmt: skip
MATRIX = [
    0, -1, (0, 0), (-1, -2), (ALL, 0), (0, ALL), (DOTS, 0), (0, DOTS), (ALL, S(None, None, -1)),
    (S(None, None, -1), S(None, None, -2)), (S(1, 3), S(1, 4, 2)), (ALL, None), (None, 0, None, 1),
    (ALL, [0, 2]), ([0, 2], ALL), ([0, 2], [1, 3]), ([[0], [2]], [1, 3]), ([0, 2], 1), (1, [0, 2]),
    (S(1, 3), [0, -1]), ([0, -1], S(1, 3)), (S(None, None, -1), [0, -1]), (None, [0, 1], [2, 3]),
    ([0, 1], None, [2, 3]), ([0, 1], [2, 3], None), ([0, 1], DOTS, [2, 3]), (DOTS, [0, 1], [2, 3]),
    ([0, 1], [2, 3], DOTS), mask(4, 5), mask(4), (mask(4), 0), (0, mask(5)), (ALL, mask(5)),
    (mask(4), ALL), (mask(4), [1]), ([1], mask(5)), (mask(4, 5), None), (None, mask(4, 5)),
    (mask(4, 5), DOTS), (DOTS, mask(4, 5)), (DOTS, mask(5)), (S(1, 3), mask(5)), (True, 0, 1),
    (True, ALL, [0, 1]), (0, True), (ALL, True, 0), (True, mask(4)), (ALL, []), ([], ALL), ([], 0),
    ([], []), (ALL, np.array([[0, 1], [2, 3]])), (np.array([[0, 1], [2, 3]]), ALL), (range(2), 0),
    (range(2), range(2)), ((0, 1), (2, 3)), ((0, 1), ALL), S(5, 2), (S(2, 2), [0, 1]),
    (np.zeros((4, 5), bool)), (np.ones((4, 5), bool)), (ALL, np.zeros(5, bool)), [[0, 1], [2, 3]],
]  # fmt: skip
CUBE = [
    0, (0, 1), (0, 1, 2), (DOTS, 2), (0, DOTS, 2), (ALL, 1), (ALL, ALL, 1), (ALL, 1, ALL),
    (S(None, None, -1), ALL, S(None, None, -1)), (1, S(None, None, 2), S(None, None, -2)),
    ([0, 1], ALL, [0, 1]), ([0, 1], [0, 1], ALL), (ALL, [0, 1], [0, 1]), (0, ALL, [0, 1]),
    ([0, 1], ALL, 0), (ALL, 0, [0, 1]), ([0, 1], 0), (0, [0, 1]), ([0, 1], 0, ALL),
    (ALL, [0, 1], 0), ([[0, 1], [2, 0]], ALL, [[0, 1], [2, 0]]), (ALL, [[0, 1], [2, 0]]),
    (ALL, [[0, 1], [2, 0]], 1), (None, [0, 1], None, [1, 0]), ([0, 1], None, ALL, [1, 0]),
    (mask(3, 4), 0), (mask(3, 4), [0]), (mask(3), ALL, [0]), (ALL, mask(4, 5)), (0, mask(4, 5)),
    (mask(3, 4, 5)), (mask(3), ALL, 0), (mask(3), 0, ALL), (mask(3), None, 0), (0, None, mask(4)),
    (True, 0, [0, 1]), ([0, 2], S(1, None, 2), None, S(None, None, -1)), (DOTS, [3, 0], S(1, 2)),
    (S(0, 0), [0], [1, 2]), (ALL, None, [1, 2], None, [0, 1]), ([2], [3], [4]), (0, 1, [2, 3]),
    (2, [1, 2], S(None, None, -3)), (S(2, None, -2), [1, 2], S(None, None, -3)), (DOTS, None),
    (np.array([0, 2]), S(None), np.array([[1], [2]])), (np.int64(1), [0], np.array(2)),
]  # fmt: skip
FOUR = [
    (0, DOTS, 1), (ALL, [0, 1], ALL, [0, 1]), (0, [0, 1], ALL, [0, 1]), (ALL, 0, [0, 1], 1),
    (ALL, [0, 1], 0, ALL), (ALL, 0, ALL, [0, 1]), (ALL, [[0], [1]], [0, 1], S(None, None, 2)),
    (mask(2, 3), S(1, 3)), (ALL, mask(3, 4), 0),
    (ALL, mask(3, 4), ALL), (1, mask(3, 4), S(None, None, -1)), ([0, 1], DOTS, [2, 3]),
    (ALL, [0, 1], DOTS, [0, 1], ALL), (ALL, [0, 1], [0, 1], ALL), (0, 1, 2, 3), (DOTS, mask(4, 5)),
    (mask(2, 3, 4, 5)), (S(None, None, -1), 0, None, [0, 1], DOTS), (None, 0, DOTS, None),
]  # fmt: skip
SCALAR = [(), DOTS, None, (None, None), True, False, (True, None), (None, True), (DOTS, None),
          np.array(True), (True, False), (False, DOTS)]  # fmt: skip
EMPTY = [ALL, DOTS, None, S(0, 5), S(None, None, -1), [], (ALL, 0), (ALL, [0, 1]), (ALL, [[0, 1]]),
         np.zeros(0, bool), np.zeros((0, 3), bool), (ALL, mask(3)), ([], 1), ([], ALL), (ALL, -1),
         (S(1, 2), S(None, None, 2)), ([], [])]  # fmt: skip
BY_SHAPE = {
    (5,): VECTOR,
    (4, 5): MATRIX,
    (3, 4, 5): CUBE,
    (2, 3, 4, 5): FOUR,
    (): SCALAR,
    (0, 3): EMPTY,
}
CASES = [
    pytest.param(shape, key, id=f"{'x'.join(map(str, shape))}-{number}")
    for shape, keys in BY_SHAPE.items()
    for number, key in enumerate(keys)
]


def as_tensors(key):
    """The same index with its arrays and lists as tensors."""
    if isinstance(key, tuple):
        return tuple(as_tensors(k) if not isinstance(k, tuple) else k for k in key)
    if isinstance(key, (np.ndarray, np.bool_)):
        return Tensor(np.asarray(key))
    if isinstance(key, list):
        return Tensor(np.asarray(key, dtype=None if key and np.size(key) else np.int64))
    return key


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


def random_key(rng, shape, wild=0.02):
    """An index tuple; now and then out of range or with too many entries."""
    key, axis = [], 0
    places = tuple(rng.integers(0, 4, rng.integers(0, 3)))
    while axis < len(shape) and rng.random() < 0.85:
        entry, took = random_entry(rng, shape, axis, places, wild)
        key.append(entry)
        axis += took
    if rng.random() < 0.3:
        key.insert(int(rng.integers(0, len(key) + 1)), DOTS)
    if rng.random() < wild:
        key.append(0)
    return tuple(key)


def random_entry(rng, shape, axis, places, wild):
    n = shape[axis]
    kind = rng.choice(
        ["int", "slice", "new", "array", "mask", "bool"], p=[0.2, 0.3, 0.1, 0.25, 0.13, 0.02]
    )
    low, high = (-n - 1, n + 1) if rng.random() < wild or n == 0 else (-n, n)
    if kind == "int":
        return int(rng.integers(low, high)), 1
    if kind == "slice":
        ends = [None if rng.random() < 0.3 else int(rng.integers(-n - 3, n + 4)) for _ in range(2)]
        return S(*ends, [None, 1, 2, 3, -1, -2, -7][rng.integers(7)]), 1
    if kind == "new":
        return None, 0
    if kind == "array":
        return rng.integers(low, high, places), 1
    if kind == "bool":
        return bool(rng.integers(2)), 0
    rank = int(rng.integers(1, len(shape) - axis + 1))
    sizes = shape[axis : axis + rank]
    return rng.random(sizes) < rng.choice([0.0, 0.3, 1.0]), rank


def attempt(fn):
    try:
        return fn(), None
    except (IndexError, ValueError, TypeError) as error:
        return None, error


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
    chosen = x > 2
    got = x[chosen]
    assert got.shape == (2,)
    assert is_known(chosen.uop)
    assert not is_known(x.uop)
    assert got.tolist() == [3, 4]


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
