"""Set functions against the oracle."""

import numpy as np
import pytest

import adjoint.tensor.array_api as xp
from adjoint import Tensor
from tests.tensor.array_api.oracle import ALL, agree, array, same

NAMES = ("unique_all", "unique_counts", "unique_inverse")


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", [(7,), (2, 5), (), (0,), (1,)])
def test_unique_functions_agree_with_numpy(dtype, shape):
    x = array(shape, dtype, 0, 3)
    x = np.asarray(np.round(x.real)).astype(dtype) if dtype.startswith(("float", "complex")) else x
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    found = xp.unique_all(Tensor(x))
    for got, wanted in zip(found, (values, first, inverse, counts), strict=True):
        same(got, wanted, dtype if got is found.values else "int64")
    same(xp.unique_values(Tensor(x)), values)
    same(xp.unique_counts(Tensor(x)).counts, counts, "int64")
    same(xp.unique_inverse(Tensor(x)).inverse_indices, inverse, "int64")


def test_results_have_the_standards_field_names():
    x = Tensor([2, 1, 2])
    assert xp.unique_all(x)._fields == ("values", "indices", "inverse_indices", "counts")
    assert xp.unique_counts(x)._fields == ("values", "counts")
    assert xp.unique_inverse(x)._fields == ("values", "inverse_indices")


def test_the_inverse_rebuilds_the_tensor():
    x = Tensor(array((3, 4), "int32"))
    found = xp.unique_inverse(x)
    rebuilt = xp.take(found.values, xp.reshape(found.inverse_indices, (-1,)))
    assert xp.reshape(rebuilt, (3, 4)).tolist() == x.tolist()


def test_every_nan_is_unique_and_zeros_are_one():
    x = Tensor(np.array([np.nan, 0.0, -0.0, np.nan], "float32"))
    found = xp.unique_counts(x)
    assert found.counts.tolist() == [2, 1, 1]
    assert np.isnan(found.values.numpy()).sum() == 2


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("invert", [False, True])
def test_isin_agrees_with_numpy(dtype, invert):
    x, known = array((3, 4), dtype, 0, 9), array((5,), dtype, 0, 9, seed=1)
    known[0] = x[0, 0]
    got = xp.isin(Tensor(x), Tensor(known), invert=invert)
    same(got, np.isin(x, known, invert=invert))


def test_isin_takes_scalars_empty_sets_and_mixed_dtypes():
    x = np.array([1, 2, 3], "int32")
    agree("isin", x, 2, dtype="bool")
    agree("isin", 2, x, dtype="bool")
    same(xp.isin(Tensor(x), Tensor(np.zeros(0, "int32"))), np.array([False] * 3))
    same(xp.isin(Tensor(x), Tensor(np.array([2.0, 2.5]))), np.array([False, True, False]))
    same(xp.isin(Tensor(x), Tensor(np.array([[1], [3]]))), np.array([True, False, True]))


def test_isin_never_finds_nan():
    x = Tensor(np.array([np.nan, 0.0, np.inf]))
    known = Tensor(np.array([np.nan, np.inf, -0.0]))
    assert xp.isin(x, known).tolist() == [False, True, True]


def test_isin_of_two_numbers_is_an_error():
    with pytest.raises(TypeError, match="tensor"):
        xp.isin(1, 2)
