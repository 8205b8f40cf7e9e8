"""A pytest plugin that gives scikit-learn's array-API tests Adjoint as their only namespace.

The tests take their namespaces from generators of `sklearn.utils._array_api`; these are replaced
before a test file is read, and what does not run over a namespace is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sklearn.utils import _array_api

import adjoint


def yield_namespaces(include_numpy_namespaces: bool = True) -> Iterator[str]:
    yield adjoint.__name__


def yield_namespace_device_dtype_combinations(
    include_numpy_namespaces: bool = True,
) -> Iterator[tuple[str, str | None, str]]:
    """Both dtypes, as for the other libraries that know both."""
    yield adjoint.__name__, None, "float64"
    yield adjoint.__name__, None, "float32"


def yield_mixed_namespace_input_permutations() -> Iterator[tuple[object, object, str]]:
    numpy, ours = (
        _array_api.NamespaceAndDevice(name, None) for name in ("numpy", adjoint.__name__)
    )
    yield numpy, ours, "numpy to adjoint"
    yield ours, numpy, "adjoint to numpy"


for replacement in (
    yield_namespaces,
    yield_namespace_device_dtype_combinations,
    yield_mixed_namespace_input_permutations,
):
    setattr(_array_api, replacement.__name__, replacement)


def _of_arrays(item: pytest.Item) -> bool:
    return "adjoint" in getattr(getattr(item, "callspec", None), "id", "")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if not _of_arrays(item)])
    items[:] = [item for item in items if _of_arrays(item)]
