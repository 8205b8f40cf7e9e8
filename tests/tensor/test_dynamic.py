"""Methods whose results depend on values, against NumPy; and calls by formula, function or name."""

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.values import is_known

RNG = np.random.default_rng(0)
SPARSE = [
    np.array([1, 0, 2, 0, 3]),
    np.array([[1.0, 0.0, np.nan], [-0.0, 2.0, np.inf]]),
    RNG.random((3, 4, 5)) < 0.3,
    np.zeros((2, 3)),
    np.zeros((0, 3)),
    np.array(5),
    np.array(0),
]


def same(tensor, expected):
    assert tensor.shape == np.shape(expected)
    np.testing.assert_array_equal(tensor.numpy(), expected)


# ---- nonzero and masked_select


@pytest.mark.parametrize("array", SPARSE, ids=lambda a: f"{a.dtype}{a.shape}")
def test_nonzero_is_argwhere(array):
    for got in (Tensor(array).nonzero(), Tensor(array).argwhere()):
        same(got, np.argwhere(array))
        assert got.dtype is dtypes.int64


@pytest.mark.parametrize("array", SPARSE, ids=lambda a: f"{a.dtype}{a.shape}")
@pytest.mark.parametrize("size", [0, 1, 2, 7, 100])
def test_nonzero_of_a_given_size_is_cut_or_filled_and_lazy(array, size):
    x = Tensor(array)
    got = x.nonzero(size=size, fill_value=-1)
    assert array.ndim == 0 or not is_known(got.uop)
    expected = np.full((size, array.ndim), -1)
    rows = np.argwhere(array)[:size]
    expected[: len(rows)] = rows
    same(got, expected)


def test_masked_select_takes_elements_in_order():
    x, mask = RNG.normal(size=(3, 4)), RNG.random((3, 4)) < 0.5
    same(Tensor(x).masked_select(Tensor(mask)), x[mask])
    same(Tensor(x).masked_select(mask), x[mask])


@pytest.mark.parametrize(("shape", "mask"), [((3, 4), (4,)), ((3, 4), (3, 1)), ((4,), (3, 4))])
def test_masked_select_broadcasts_both(shape, mask):
    x, m = RNG.normal(size=shape), RNG.random(mask) < 0.5
    a, b = np.broadcast_arrays(x, m)
    same(Tensor(x).masked_select(Tensor(m)), a[b])


@pytest.mark.parametrize("size", [0, 2, 20])
@pytest.mark.parametrize("shape", [(3, 4), (0, 4)])
def test_masked_select_of_a_given_size_is_lazy(shape, size):
    x, mask = RNG.normal(size=shape), RNG.random(shape) < 0.5
    got = Tensor(x).masked_select(Tensor(mask), size=size, fill_value=9.0)
    assert not is_known(got.uop)
    found = x[mask][:size]
    same(got, np.concatenate([found, np.full(size - len(found), 9.0)]))


@pytest.mark.parametrize("size", [None, 3])
def test_gradient_of_masked_select_goes_to_what_was_taken(size):
    x = Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x.masked_select(Tensor([True, False, False, True]), size=size)
    y.backward(Tensor(np.array([10.0, 20.0, 30.0][: y.shape[0]], np.float32)))
    assert x.grad.tolist() == [10.0, 0.0, 0.0, 20.0]


# ---- unique


@pytest.mark.parametrize(
    "array",
    [
        np.array([3, 1, 2, 1, 3]),
        np.array([[2.5, -1.0], [2.5, 7.0]]),
        np.array([True, False, True]),
        np.array([1 + 2j, 1 - 2j, 1 + 2j]),
        np.zeros((0, 2)),
        np.array(4),
        np.array([np.nan, 1.0, np.nan, -np.inf]),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_unique_is_numpys_with_each_nan_by_itself(array):
    expected = np.unique(array, True, True, True, equal_nan=False)
    x = Tensor(array)
    same(x.unique(), expected[0])
    got = x.unique(True, True, return_index=True)
    for one, other in zip(got, expected, strict=True):
        same(one, other.reshape(one.shape))
    assert got[2].shape == array.shape
    values, counts = x.unique(return_counts=True)
    assert counts.numpy().sum() == array.size
    same(values, expected[0])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "uint64"])
def test_unique_of_integers_at_the_ends_of_their_range(dtype):
    info, random = np.iinfo(dtype), np.random.default_rng(0)
    for low, high in ((info.min, info.max), (info.max - 50, info.max), (info.min, info.min + 50)):
        array = random.integers(low, high, 200, dtype, endpoint=True)
        array[:2] = low, high
        expected = np.unique(array, True, True, True)
        got = Tensor(array).unique(True, True, return_index=True)
        for one, other in zip(got, expected, strict=True):
            same(one, other.reshape(one.shape))


INTEGERS = {
    "few values": np.random.default_rng(0).integers(-5, 6, 300),
    "one value": np.full(7, -3, np.int16),
    "one element": np.array([9], np.int32),
    "no element": np.zeros(0, np.int64),
    "all of int8": np.arange(-128, 128, dtype=np.int8)[::-1],
    "far from zero": np.array([2**64 - 1, 2**64 - 3, 2**64 - 1, 2**64 - 2], np.uint64),
    "lowest": np.array([-(2**63), 2 - 2**63, -(2**63)], np.int64),
    "far apart": np.array([2**63 - 1, -(2**63), 0, 0], np.int64),
    "bools": np.array([True, False, True, True]),
}


@pytest.mark.parametrize("array", INTEGERS.values(), ids=INTEGERS)
def test_unique_integers_are_numpys_near_to_one_another_and_apart(array):
    found = Tensor(array).unique(True, True, return_index=True)
    expected = np.unique(array, return_index=True, return_inverse=True, return_counts=True)
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.numpy(), other)


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 3, 5), (0, 3), (3, 0), (1, 1, 1), (4, 1)])
def test_nonzero_of_any_rank_is_argwhere(shape):
    array = np.random.default_rng(1).integers(0, 2, shape)
    for given in (array, array.T, np.zeros(shape), np.ones(shape, bool)):
        assert np.array_equal(Tensor(given).nonzero().numpy(), np.argwhere(given))


def test_unique_inverse_rebuilds_the_tensor():
    x = Tensor([[3, 1], [1, 2]])
    values, inverse = x.unique(return_inverse=True)
    assert values[inverse].tolist() == x.tolist()


def test_unique_of_bfloat16_keeps_the_dtype():
    got = Tensor([2.0, 1.0, 2.0], dtype=dtypes.bfloat16).unique()
    assert got.dtype is dtypes.bfloat16
    assert got.tolist() == [1.0, 2.0]


def test_gradient_of_unique_goes_to_the_first_of_equals():
    x = Tensor([2.0, 1.0, 2.0], requires_grad=True)
    x.unique().backward(Tensor([10.0, 20.0]))
    assert x.grad.tolist() == [20.0, 10.0, 0.0]


# ---- counts


@pytest.mark.parametrize("values", [[0, 1, 1, 3], [], [7]])
@pytest.mark.parametrize("minlength", [0, 2, 10])
def test_bincount_is_numpys(values, minlength):
    array = np.array(values, np.int64)
    same(Tensor(array).bincount(minlength=minlength), np.bincount(array, minlength=minlength))
    weights = np.arange(len(values)) + 0.5
    got = Tensor(array).bincount(Tensor(weights), minlength)
    same(got, np.bincount(array, weights, minlength))
    assert got.dtype is dtypes.float64


def test_bincount_takes_small_and_unsigned_integers():
    array = np.array([200, 3, 200], np.uint8)
    same(Tensor(array).bincount(), np.bincount(array))


def test_gradient_of_bincount_reaches_the_weights():
    w = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    Tensor([1, 0, 1]).bincount(w).backward(Tensor([10.0, 20.0]))
    assert w.grad.tolist() == [20.0, 10.0, 20.0]


def test_one_hot_counts_the_classes_itself():
    same(Tensor([[0, 2], [1, 0]]).one_hot(), np.eye(3)[[[0, 2], [1, 0]]])


def test_one_hot_of_given_classes_is_lazy():
    x = Tensor([0, 2]) + 0
    got = x.one_hot(4)
    assert not is_known(x.uop)
    same(got, np.eye(4)[[0, 2]])


@pytest.mark.parametrize("dim", [None, 0, 1, -1])
def test_repeat_interleave_takes_a_number_for_each_element(dim):
    x = np.arange(6).reshape(2, 3)
    n = x.size if dim is None else x.shape[dim]
    for repeats in (np.arange(n) % 3, np.array([2])):
        expected = np.repeat(x, repeats, dim)
        same(Tensor(x).repeat_interleave(Tensor(repeats), dim), expected)
        same(Tensor(x).repeat_interleave(repeats.tolist(), dim), expected)
    same(Tensor(x).repeat_interleave(2, dim), np.repeat(x, 2, dim))
    same(Tensor(x).repeat_interleave(Tensor(3), dim=dim), np.repeat(x, 3, dim))


def test_gradient_of_repeat_interleave_adds_the_repeats():
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    x.repeat_interleave(Tensor([2, 0, 1])).backward(Tensor([1.0, 10.0, 100.0]))
    assert x.grad.tolist() == [11.0, 0.0, 100.0]


# ---- answers and calls


def test_allclose_is_a_python_bool():
    x = Tensor([1.0, np.nan])
    assert x.allclose(x) is False
    assert x.allclose(x, equal_nan=True) is True
    assert Tensor([1.0]).allclose(Tensor([1.1]), atol=0.2) is True
    assert Tensor([1.0]).allclose(np.array([1.0 + 1e-7])) is True
    assert Tensor([1.0]).allclose(2.0) is False


def test_sequential_applies_in_order():
    got = Tensor([1.0, 2.0]).sequential([lambda x: x * 3, lambda x: x + 1, Tensor.neg])
    assert got.tolist() == [-4.0, -7.0]


def test_alu_applies_an_op_by_name_or_record():
    x = Tensor([1, 2])
    assert x.alu("add", 3).tolist() == [4, 5]
    assert x.alu(OPS["mul"], x).tolist() == [1, 4]
    with pytest.raises(adjoint.UnknownNameError, match="did you mean 'add'"):
        x.alu("addd", x)


@pytest.mark.parametrize(
    ("formula", "shapes"),
    [("ij,jk->ik", [(2, 3), (3, 4)]), ("i,i->", [(3,), (3,)]), ("ij->ji", [(2, 3)])],
)
def test_einsum_is_numpys(formula, shapes):
    arrays = [RNG.normal(size=s) for s in shapes]
    for operands in (list(map(Tensor, arrays)), [list(map(Tensor, arrays))]):
        got = Tensor.einsum(formula, *operands)
        np.testing.assert_allclose(got.numpy(), np.einsum(formula, *arrays), rtol=1e-12)
    got = Tensor.einsum(formula, *map(Tensor, arrays), dtype=dtypes.float32)
    assert got.dtype is dtypes.float32


def test_joining_works_from_the_class_and_with_lists():
    a, b = np.arange(6).reshape(2, 3), -np.arange(6).reshape(2, 3)
    pair = [Tensor(a), Tensor(b)]
    same(Tensor.cat(*pair), np.concatenate([a, b]))
    same(Tensor.cat(*pair, dim=1), np.concatenate([a, b], 1))
    same(Tensor.stack(*pair, dim=1), np.stack([a, b], 1))
    same(Tensor.stack(pair), np.stack([a, b]))
    for got, wanted in zip(
        Tensor.meshgrid(Tensor([1, 2]), Tensor([3, 4, 5])),
        np.meshgrid([1, 2], [3, 4, 5], indexing="ij"),
        strict=True,
    ):
        same(got, wanted)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda x: x.nonzero(size=-1), "E3006"),
        (lambda x: x.masked_select(x), "E2005"),
        (lambda x: x.masked_select([True, False]), "E3001"),
        (lambda x: x.masked_select([True] * 3, size=1.5), "E3006"),
        (lambda x: x.bincount(), "E4011"),
        (lambda x: x.cast("int32").reshape(1, 3).bincount(), "E3002"),
        (lambda x: (x.cast("int32") - 2).bincount(), "E6001"),
        (lambda x: x.cast("int32").bincount(minlength=-1), "E3006"),
        (lambda x: x.cast("int32").bincount([1.0]), "E3003"),
        (lambda x: x.one_hot(), "E4011"),
        (lambda x: (x.cast("int32") - 2).one_hot(), "E6001"),
        (lambda x: x[:0].cast("int32").one_hot(), "E3006"),
        (lambda x: x.repeat_interleave(Tensor([1, 2])), "E3003"),
        (lambda x: x.repeat_interleave(Tensor([1, 2, -1])), "E3006"),
        (lambda x: x.repeat_interleave([0.5, 1.0, 2.0]), "E4011"),
        (lambda x: x.repeat_interleave([[1, 2, 3]]), "E3002"),
        (lambda x: x.repeat_interleave([1, 2, 3], dim=1), "E3004"),
    ],
)
def test_wrong_arguments_are_errors_at_the_call(call, code):
    with pytest.raises(adjoint.AdjointError) as caught:
        call(Tensor([1.0, 2.0, 3.0]))
    assert caught.value.code == code
