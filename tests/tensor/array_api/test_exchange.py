"""Exchange with other libraries: DLPack in both directions, and the array protocols."""

import array_api_strict as strict
import numpy as np
import pytest

import adjoint.tensor.array_api as xp
from adjoint import Tensor
from tests.tensor.array_api.oracle import NUMBERS, array, same


@pytest.mark.parametrize("dtype", ["bool", *NUMBERS])
def test_numpy_reads_a_tensor(dtype):
    x = array((2, 3), dtype)
    np.testing.assert_array_equal(np.from_dlpack(Tensor(x)), x)
    assert np.from_dlpack(Tensor(x)).dtype == dtype


@pytest.mark.parametrize("dtype", ["bool", *NUMBERS])
def test_a_tensor_is_made_of_a_numpy_array(dtype):
    x = array((2, 3), dtype)
    same(xp.from_dlpack(x), x)


def test_memory_is_shared_unless_a_copy_is_asked_for():
    x = np.arange(3.0)
    assert np.shares_memory(xp.from_dlpack(x).numpy(), x)
    assert np.shares_memory(xp.from_dlpack(x, copy=False).numpy(), x)
    assert not np.shares_memory(xp.from_dlpack(x, copy=True).numpy(), x)


def test_a_tensor_passes_through_from_dlpack():
    x = Tensor([1.0])
    assert xp.from_dlpack(x) is x
    assert xp.from_dlpack(x, copy=True) is not x


def test_a_lazy_tensor_is_computed_when_it_is_read():
    np.testing.assert_array_equal(np.from_dlpack(Tensor([1.0, 2.0]) + 1), [2.0, 3.0])


def test_arrays_of_another_standard_library_come_in():
    x = strict.asarray([[1.0, 2.0]])
    same(xp.from_dlpack(x), np.array([[1.0, 2.0]]))
    same(xp.asarray(x), np.array([[1.0, 2.0]]))


def test_an_object_without_dlpack_is_an_attribute_error():
    with pytest.raises(AttributeError, match="__dlpack__"):
        xp.from_dlpack([1.0])


def test_the_device_of_the_memory_is_the_host():
    assert Tensor([1.0]).__dlpack_device__() == (1, 0)


def test_code_for_any_standard_library_runs():
    def standardise(x):
        space = x.__array_namespace__()
        centred = x - space.mean(x, axis=0, keepdims=True)
        return centred / space.std(x, axis=0, keepdims=True)

    x = array((5, 3), "float32")
    same(standardise(Tensor(x)), np.asarray(standardise(strict.asarray(x))))
