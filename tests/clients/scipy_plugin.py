"""A pytest plugin that gives SciPy's tests Adjoint for their `xp`, and leaves out the others.

SciPy takes torch with float64 as its default dtype; Adjoint likewise. A test of devices that SciPy
skips for array-api-strict is skipped, too: its special functions are NumPy's for libraries that it
does not know, and what comes back from there is on the default device.
"""

from __future__ import annotations

import sys

import pytest

import adjoint

adjoint.dtypes.default_float = adjoint.float64
adjoint.dtypes.default_int = adjoint.int64


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "xp" not in metafunc.fixturenames:
        return
    sys.modules["scipy.conftest"].xp_known_backends.add("adjoint")
    param = pytest.param(adjoint, id="adjoint", marks=pytest.mark.array_api_backends)
    metafunc.definition.add_marker(pytest.mark.parametrize("xp", [param], indirect=True))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    others = [item for item in items if "xp" not in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if "xp" in getattr(item, "fixturenames", ())]
    for item in items:
        if "devices" in item.fixturenames and _by_numpy(item):
            item.add_marker(pytest.mark.skip(reason="computed by NumPy, for unknown libraries"))


def _by_numpy(item: pytest.Item) -> bool:
    marks = item.iter_markers("skip_xp_backends")
    return any(mark.args[:1] == ("array_api_strict",) for mark in marks)
