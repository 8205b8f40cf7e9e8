"""einops finds Adjoint's backend, whichever of the two is imported first.

The library itself is no dependency of the tests: a package with the one class that backends are
made from stands for it, as einops is written. `make test-clients` runs einops' own tests.
"""

from __future__ import annotations

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.tensor.einops_backend import define_backend
from tests.support.processes import printed

BASE = "class AbstractBackend:\n    framework_name: str\n"


class Backends:
    class AbstractBackend:
        framework_name: str


@pytest.fixture
def backend():
    return define_backend(Backends)()


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "einops"
    folder.mkdir()
    (folder / "__init__.py").write_text("from . import _backends\n")
    (folder / "_backends.py").write_text(BASE)
    return tmp_path


@pytest.mark.parametrize("imports", ["import adjoint, einops", "import einops, adjoint"])
def test_the_backend_is_there_whichever_is_imported_first(package, imports):
    code = (
        f"import sys; sys.path.insert(0, {str(package)!r}); {imports}\n"
        "from einops._backends import AbstractBackend\n"
        "(found,) = AbstractBackend.__subclasses__()\n"
        "print(found.framework_name, found().is_appropriate_type(adjoint.Tensor([1.0])))\n"
        "print([f for f in sys.meta_path if type(f).__module__.startswith('adjoint')])\n"
    )
    assert printed("-c", code).splitlines() == ["adjoint True", "[]"]


def test_importing_adjoint_does_not_import_einops():
    code = "import adjoint, sys; print('einops' in sys.modules)"
    assert printed("-c", code).strip() == "False"


def test_arrays_become_tensors_and_come_back(backend):
    array = np.arange(6.0).reshape(2, 3)
    tensor = backend.from_numpy(array)
    assert isinstance(tensor, Tensor)
    assert tensor.requires_grad
    np.testing.assert_array_equal(backend.to_numpy(tensor), array)
    assert not backend.from_numpy(np.arange(3)).requires_grad
    assert backend.is_appropriate_type(tensor)
    assert not backend.is_appropriate_type(array)


@pytest.mark.parametrize("operation", ["min", "max", "sum", "mean", "prod", "any", "all"])
def test_reductions_are_those_of_numpy(backend, operation):
    array = (
        np.arange(24).reshape(2, 3, 4) > 3 if operation in ("any", "all") else np.ones((2, 3, 4))
    )
    ours = backend.reduce(Tensor(array), operation, (0, 2))
    np.testing.assert_array_equal(ours.numpy(), getattr(array, operation)(axis=(0, 2)))


def test_axes_are_moved_added_repeated_and_joined_as_in_numpy(backend):
    array = np.arange(6).reshape(2, 3)
    x = Tensor(array)
    np.testing.assert_array_equal(backend.transpose(x, (1, 0)).numpy(), array.T)
    np.testing.assert_array_equal(backend.add_axis(x, 1).numpy(), array[:, None])
    np.testing.assert_array_equal(backend.tile(x, (2, 1)).numpy(), np.tile(array, (2, 1)))
    np.testing.assert_array_equal(backend.concat([x, x], 1).numpy(), np.hstack([array, array]))
    stacked = backend.stack_on_zeroth_dimension([x, x])
    np.testing.assert_array_equal(stacked.numpy(), np.stack([array, array]))
    product = backend.einsum("ij,kj->ik", x, x)
    np.testing.assert_array_equal(product.numpy(), array @ array.T)
    np.testing.assert_array_equal(backend.arange(2, 5).numpy(), [2, 3, 4])
    assert not backend.is_float_type(x)
