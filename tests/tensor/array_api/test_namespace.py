"""The namespace itself: versions, inspection, what Tensor says of it, the records beside it."""

import inspect

import numpy as np
import pytest

import adjoint
import adjoint.tensor.array_api as xp
from adjoint import Tensor
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS


def test_a_tensor_names_its_namespace():
    assert Tensor([1.0]).__array_namespace__() is xp
    assert xp.__array_api_version__ == "2025.12"


@pytest.mark.parametrize("version", ["2021.12", "2023.12", "2025.12"])
def test_versions_that_are_known_give_the_namespace(version):
    assert Tensor([1.0]).__array_namespace__(api_version=version) is xp


def test_a_version_that_is_not_known_is_a_value_error():
    with pytest.raises(ValueError, match="2099"):
        Tensor([1.0]).__array_namespace__(api_version="2099.01")


@pytest.mark.parametrize("name", xp.STANDARD)
def test_every_name_of_the_standard_is_public_in_adjoint(name):
    assert getattr(adjoint, name) is getattr(xp, name)


def test_records_beside_the_standard_are_functions_too():
    x = Tensor([-1.0, 2.0])
    assert adjoint.relu(x).tolist() == [0.0, 2.0]
    assert adjoint.sub(x, 1).tolist() == [-2.0, 1.0]
    assert "relu" in xp.PUBLIC
    assert xp.relu.__name__ == "relu"


def test_no_function_of_the_standard_is_hidden_by_a_record():
    for name in xp.STANDARD:
        if inspect.isfunction(getattr(xp, name)):  # a record's function is made in records.py
            own = inspect.unwrap(getattr(xp, name))
            assert name in OPS or own.__module__.startswith("adjoint.tensor.array_api."), name
        function = getattr(xp, name)
        if inspect.isfunction(function):
            assert function.__module__.startswith("adjoint.tensor.array_api"), name


def test_python_types_are_not_hidden():
    assert not {"float", "int", "list", "str"} & set(xp.PUBLIC)


def test_inspection_says_what_there_is():
    info = xp.__array_namespace_info__()
    assert info.capabilities()["data-dependent shapes"] is True
    assert info.capabilities()["boolean indexing"] is True
    assert info.default_device() in info.devices()
    assert info.default_dtypes()["integral"] is dtypes.int32
    assert info.default_dtypes()["real floating"] is dtypes.float32
    assert info.default_dtypes()["indexing"] is dtypes.int64
    assert isinstance(info.devices(), list)


@pytest.mark.parametrize("device", xp.__array_namespace_info__().devices())
def test_every_listed_device_can_be_given(device):
    assert xp.zeros((2,), device=device).device == device


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("bool", {"bool"}),
        ("signed integer", {"int8", "int16", "int32", "int64"}),
        ("real floating", {"float32", "float64"}),
        (("bool", "complex floating"), {"bool", "complex64", "complex128"}),
    ],
)
def test_inspection_lists_the_dtypes_of_a_kind(kind, names):
    found = xp.__array_namespace_info__().dtypes(kind=kind)
    assert set(found) == names
    assert all(getattr(xp, n) is d for n, d in found.items())


def test_inspection_leaves_out_dtypes_beyond_the_standard():
    assert not {"float16", "bfloat16"} & set(xp.__array_namespace_info__().dtypes())


def test_transposes_swap_axes():
    x = np.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(Tensor(x).mT.numpy(), np.swapaxes(x, -1, -2))
    np.testing.assert_array_equal(Tensor(x[0]).T.numpy(), x[0].T)


def test_mt_of_a_vector_is_an_error():
    with pytest.raises(adjoint.ShapeError, match="matrices"):
        _ = Tensor([1.0]).mT


def test_to_device_moves():
    assert Tensor([1.0]).to_device("REF").device == "REF"


def test_size_is_a_number_and_device_a_name():
    x = Tensor([[1.0, 2.0]])
    assert x.size == 2
    assert isinstance(x.device, str)


def test_the_origin_of_a_node_is_the_function_that_was_called():
    assert xp.multiply(Tensor([1.0]), 2).uop.origin.method == "multiply"


def test_gradients_pass_through_namespace_functions():
    x = Tensor([1.0, 2.0], requires_grad=True)
    assert xp.sum(xp.square(x)).requires_grad is True
    assert xp.sum(xp.square(Tensor([1.0], requires_grad=False))).requires_grad is False
