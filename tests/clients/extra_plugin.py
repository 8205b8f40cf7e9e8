"""A pytest plugin that gives array-api-extra's tests Adjoint as a backend, and no other.

The suite asks JAX for numbers of 64 bits; so it gets them here.
"""

from __future__ import annotations

import pytest
from array_api_extra._lib._backends import Backend

import adjoint

adjoint.dtypes.default_float = adjoint.float64
adjoint.dtypes.default_int = adjoint.int64

_VALUE = "adjoint"


def _add_backend() -> Backend:
    """One more member of the enumeration that the tests are written over."""
    member = object.__new__(Backend)
    member._name_, member._value_ = "ADJOINT", _VALUE
    Backend._member_map_["ADJOINT"] = Backend._value2member_map_[_VALUE] = member
    return member


ADJOINT = _add_backend()


def pytest_configure(config: pytest.Config) -> None:
    """Warnings are errors, as in the settings that the suite has in its repository."""
    config.addinivalue_line("filterwarnings", "error")
    for mark in ("thread_unsafe", "skip_xp_backend", "xfail_xp_backend", "parallel_threads_limit"):
        config.addinivalue_line("markers", f"{mark}: a mark of the suite")


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "library" in metafunc.fixturenames:
        param = pytest.param(ADJOINT, id="adjoint")
        metafunc.definition.add_marker(pytest.mark.parametrize("library", [param], indirect=True))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    def of_arrays(item: pytest.Item) -> bool:
        return "library" in getattr(item, "fixturenames", ())

    config.hook.pytest_deselected(items=[item for item in items if not of_arrays(item)])
    items[:] = [item for item in items if of_arrays(item)]
