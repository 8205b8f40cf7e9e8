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


class Foreign:
    """Another library's array, of which NumPy makes one if it has the dtype."""

    def __init__(self, tensor):
        self.tensor, self.shape, self.dtype = tensor, tensor.shape, "the library's own"
        self.__dlpack__, self.__dlpack_device__ = tensor.__dlpack__, tensor.__dlpack_device__

    def __array__(self, dtype=None, copy=None):
        if self.tensor.dtype is dtypes.bfloat16:
            raise TypeError("NumPy has no such dtype")
        return self.tensor.numpy()


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int16"])
def test_an_array_of_another_library_is_taken_whatever_its_dtype(dtype):
    given = Tensor([1, 2], dtype=dtype)
    found = Tensor(Foreign(given))
    assert (found.dtype, found.tolist()) == (given.dtype, [1, 2])
    assert Tensor([Foreign(given), Foreign(given)]).tolist() == [[1, 2], [1, 2]]
    scalars = Tensor([Foreign(given[0]), Foreign(given[1])])
    assert (scalars.dtype, scalars.tolist()) == (given.dtype, [1, 2])
    assert Tensor([Foreign(given[0]), given[1]]).tolist() == [1, 2]


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


@pytest.mark.parametrize("x", [Tensor([[1, 2], [3, 4]]).T, Tensor(1.5), Tensor([]), Tensor([True])])
def test_the_bytes_of_a_tensor_are_a_flat_view_in_row_major_order(x):
    assert x._data().format == "B"
    assert bytes(x._data()) == x.numpy().tobytes()


def test_data_is_a_memory_view():
    view = Tensor([[1, 2], [3, 4]]).data()
    assert (view.shape, view.tolist()) == ((2, 2), [[1, 2], [3, 4]])
    assert Tensor([1.0], dtype=dtypes.bfloat16).data().tolist() == [0x3F80]


# ---- memory that another library can write to


class Lax:
    """A consumer that ignores the mark of read-only memory, and writes through the address."""

    def __init__(self, tensor, **named):
        self.array = np.from_dlpack(_Passed(tensor, named))

    def write(self, value):
        address = self.array.__array_interface__["data"][0]
        kind = np.ctypeslib.as_ctypes_type(self.array.dtype)
        (kind * self.array.size).from_address(address)[0] = value


class _Passed:
    def __init__(self, tensor, named):
        self.tensor, self.named = tensor, named

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **named):
        return self.tensor.__dlpack__(**named | self.named)


COPIES = {
    "clone": lambda t: t.clone(),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "asarray": lambda t: adjoint.asarray(t, copy=True),
    "+": lambda t: +t,
    "Tensor()": lambda t: Tensor(t),
    "realized": lambda t: (t * 1).realize(),
    "from_dlpack": lambda t: Tensor.from_dlpack(t, copy=True),
    "numpy copy": lambda t: Tensor(t.numpy().copy()),
}


@pytest.mark.parametrize("leaf", [False, True])
@pytest.mark.parametrize("realized", [False, True])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", COPIES)
def test_what_another_library_writes_changes_no_copy(name, when, realized, leaf):
    t = Tensor([1.0, 2.0], requires_grad=leaf) * 1 if realized else Tensor([1.0, 2.0])
    if realized:
        t.realize()
    made = COPIES[name](t) if when == "before" else None
    foreign = Lax(t)
    made = COPIES[name](t) if made is None else made
    foreign.write(99)
    assert made.tolist() == [1, 2]
    assert t.tolist() == [99, 2]  # shared


@pytest.mark.parametrize("name", COPIES)
def test_what_is_written_to_an_imported_array_changes_no_copy(name):
    array = np.array([1.0, 2.0])
    t = Tensor.from_dlpack(array)
    made = COPIES[name](t)
    array[0] = 99
    assert made.tolist() == [1, 2]


def test_a_gradient_passes_through_a_copy_of_lent_memory():
    w = Tensor([1.0, 2.0], requires_grad=True)
    Lax(w)
    (w.clone() * 3).sum().backward()
    assert w.grad.tolist() == [3, 3]


def test_views_see_the_memory_that_their_base_has_lent():
    t = Tensor([1.0, 2.0, 3.0])
    view = t[:2]
    Lax(t).write(99)
    assert view.tolist() == [99, 2]
    view += 1
    assert t.tolist() == [100, 3, 3]


def test_dlpack_never_copies_where_that_is_forbidden_and_always_where_it_is_asked_for():
    t = Tensor([1.0, 2.0])
    assert np.shares_memory(Lax(t, copy=False).array, t.numpy())
    assert not np.shares_memory(Lax(t, copy=True).array, t.numpy())
    with pytest.raises(BufferError, match="older consumers"):
        t.__dlpack__(copy=False)
    with pytest.raises(BufferError, match="a view"):
        t[:1].__dlpack__(copy=False, max_version=(1, 0))
    with pytest.raises(BufferError):
        t.__dlpack__(dl_device=(2, 0), max_version=(1, 0))
    assert "versioned" not in repr(t.__dlpack__(max_version=(0, 8)))
    assert "versioned" in repr(t.__dlpack__(max_version=(1, 0), stream=None, dl_device=(1, 0)))


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_bfloat16_passes_through_dlpack(version):
    t = Tensor([1.5, -2.0, 3.0], dtype="bfloat16")

    class Passed(_Passed):
        def __dlpack__(self, **named):
            return self.tensor.__dlpack__(max_version=version)

    back = Tensor.from_dlpack(Passed(t, {}))
    assert back.dtype is dtypes.bfloat16
    assert back.tolist() == [1.5, -2, 3]
    with pytest.raises((BufferError, RuntimeError, TypeError)):
        np.from_dlpack(t)  # NumPy knows no bfloat16: it must not read integers
