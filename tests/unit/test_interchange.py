"""Values out and in: NumPy, DLPack, pickle, Python numbers, repr."""

import copy
import pickle

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, dtypes


def test_repr_of_a_large_lazy_tensor_computes_nothing():
    x = Tensor.ones(1001) + 1
    assert repr(x) == "Tensor(shape=(1001,), dtype=float32, device='CPU', lazy)"
    assert x.uop.realized is None


def test_repr_of_a_realized_tensor_shows_its_values():
    x = (Tensor([1.0, 2.0]) + 1).realize()
    assert repr(x) == "Tensor([2., 3.], dtype=float32, device='CPU')"


def test_repr_shows_bfloat16():
    assert repr(Tensor([1.5], dtype="bfloat16")).startswith("Tensor([1.5], dtype=bfloat16")


def test_numpy_views_are_read_only_and_share_memory():
    x = (Tensor([1.0, 2.0]) + 1).realize()
    view = x.numpy()
    assert np.shares_memory(view, x.numpy())
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 5


def test_array_protocol_shares_memory_and_copies_on_request():
    x = Tensor([1.0, 2.0])
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert not np.shares_memory(np.array(x, copy=True), x.numpy())
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="copy"):
        x.__array__(np.float64, copy=False)


def test_numpy_leaves_operators_to_the_tensor():
    y = np.ones(2, np.float32) + Tensor([1.0, 2.0])
    assert isinstance(y, Tensor)
    assert y.tolist() == [2, 3]


def test_dlpack_to_numpy_shares_memory():
    x = Tensor([1.0, 2.0])
    assert np.shares_memory(np.from_dlpack(x), x.numpy())


def test_dlpack_for_old_consumers_is_a_copy():
    x = Tensor([1.0, 2.0])
    assert x.__dlpack_device__() == (1, 0)
    assert "dltensor" in repr(x.__dlpack__())


def test_dlpack_from_numpy_shares_memory_unless_told_to_copy():
    source = np.arange(3.0)
    assert np.shares_memory(Tensor.from_dlpack(source).numpy(), source)
    assert not np.shares_memory(Tensor.from_dlpack(source, copy=True).numpy(), source)


def test_from_blob_reads_memory_in_place():
    source = np.arange(6, dtype=np.float32)
    x = Tensor.from_blob(source.ctypes.data, (2, 3))
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.shares_memory(x.numpy(), source)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "complex64"])
def test_pickle_keeps_values_dtype_and_requires_grad(dtype):
    x = Tensor([0, 1, 1], dtype=dtype)
    if x.dtype.is_inexact:
        x.requires_grad_()
    again = pickle.loads(pickle.dumps(x))
    assert (again.tolist(), again.dtype) == (x.tolist(), x.dtype)
    assert again.requires_grad is x.requires_grad


def test_pickle_computes_a_lazy_tensor():
    assert pickle.loads(pickle.dumps(Tensor([1.0]) + 1)).tolist() == [2]


def test_a_deep_copy_is_independent():
    x = Tensor([1.0, 2.0])
    y = copy.deepcopy(x)
    y += 1
    assert (x.tolist(), y.tolist()) == ([1, 2], [2, 3])


def test_a_deep_copy_of_a_parameter_is_another_parameter():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = copy.deepcopy(x)
    assert y.requires_grad
    assert y.uop is not x.uop


def test_one_element_becomes_a_python_number():
    assert int(Tensor(3)) == 3
    assert float(Tensor([[2.5]])) == 2.5
    assert complex(Tensor(1j)) == 1j
    assert bool(Tensor([False])) is False
    assert ["a", "b"][Tensor(1)] == "b"
    assert type(Tensor(3.0, dtype="bfloat16").item()) is float


def test_an_index_must_be_an_integer():
    with pytest.raises(adjoint.DTypeError, match="an index is an integer"):
        [1][Tensor(0.0)]


def test_item_of_many_elements_is_an_error():
    with pytest.raises(adjoint.ShapeError, match="2 elements are not one"):
        Tensor([1, 2]).item()


def test_data_is_a_memory_view():
    view = Tensor([[1, 2], [3, 4]]).data()
    assert (view.shape, view.tolist()) == ((2, 2), [[1, 2], [3, 4]])
    assert Tensor([1.0], dtype=dtypes.bfloat16).data().tolist() == [0x3F80]
