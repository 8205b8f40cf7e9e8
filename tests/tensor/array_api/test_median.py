"""`adjoint.median` is NumPy's; the method `x.median` stays torch's."""

import numpy as np
import pytest

import adjoint
from adjoint import AdjointError, Tensor, dtypes, grad, jit, vmap


def _values(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("device", ["CPU", "REF"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (2, 0), (0, 1, 2)])
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 3, 4), (1, 1, 1)])
def test_the_median_is_numpys(shape, axis, keepdims, device):
    x = _values(*shape)
    found = adjoint.median(Tensor(x, device=device), axis=axis, keepdims=keepdims).numpy()
    wanted = np.median(x, axis=axis, keepdims=keepdims)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-7)


@pytest.mark.parametrize("kind", ["bool", "int8", "uint64", "int64", "float16", "bfloat16"])
def test_whole_numbers_are_averaged_as_floats(kind):
    x = Tensor([[0, 1, 1, 0], [1, 1, 0, 1]]).cast(kind)
    y = adjoint.median(x, axis=1)
    assert y.tolist() == [0.5, 1.0]
    assert y.dtype is (x.dtype if x.dtype.is_float else dtypes.default_float)


@pytest.mark.parametrize("row", [[1.0, np.nan, 3.0], [np.nan] * 2, [np.inf, -np.inf], [np.inf] * 3])
def test_nan_wins_and_infinities_are_numbers(row):
    found = adjoint.median(Tensor(row)).numpy()
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, np.median(np.array(row)))


def test_the_largest_number_does_not_overflow_alone():
    most = float(np.finfo(np.float32).max)
    assert adjoint.median(Tensor([most] * 3)).item() == most


def test_scalars_empty_batches_and_empty_axes():
    assert adjoint.median(Tensor(2.5)).item() == 2.5
    assert adjoint.median(Tensor.zeros(0, 3), axis=1).shape == (0,)
    with pytest.raises(AdjointError, match="empty axis"):
        adjoint.median(Tensor.zeros(0, 3), axis=0)
    with pytest.raises(IndexError, match="axis 2"):
        adjoint.median(Tensor.zeros(2, 3), axis=2)
    with pytest.raises(TypeError, match="real numbers"):
        adjoint.median(Tensor([1j]))


def test_it_is_differentiated_compiled_and_batched():
    x = Tensor([[3.0, 1.0, 2.0, 4.0], [9.0, 8.0, 7.0, 6.0]])
    assert grad(lambda a: adjoint.median(a[0]))(x).tolist() == [[0.5, 0, 0.5, 0], [0] * 4]
    assert jit(lambda a: adjoint.median(a, axis=1))(x).tolist() == [2.5, 7.5]
    assert vmap(adjoint.median)(x).tolist() == [2.5, 7.5]


def test_options_have_both_names_and_the_method_stays_torchs():
    x = Tensor([[3.0, 1.0, 2.0, 4.0]])
    assert adjoint.median(x, 1).tolist() == adjoint.median(x, dim=1).tolist() == [2.5]
    assert adjoint.median(x, dim=1, keepdim=True).shape == (1, 1)
    values, places = x.median(1)
    assert (values.tolist(), places.tolist()) == ([2.0], [2])
    assert x.median().item() == 2.0
