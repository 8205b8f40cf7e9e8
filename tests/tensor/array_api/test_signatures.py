"""Every function of the standard exists, with the parameters that the standard gives it."""

import inspect

import array_api_strict as strict
import pytest

import adjoint.tensor.array_api as xp

# The oracle's own administration is not in the standard.
NOT_STANDARD = {
    "ArrayAPIStrictFlags",
    "Device",
    "__version__",
    "get_array_api_strict_flags",
    "reset_array_api_strict_flags",
    "set_array_api_strict_flags",
}
NAMES = [("", n) for n in strict.__all__ if n not in NOT_STANDARD]
NAMES += [("linalg", n) for n in strict.linalg.__all__]
NAMES += [("fft", n) for n in strict.fft.__all__]
LATER = {"eig", "eigvals"}  # in the standard since 2025.12, not yet in the oracle


def _pair(space, name):
    mine, other = (getattr(m, space) if space else m for m in (xp, strict))
    return getattr(mine, name), getattr(other, name)


@pytest.mark.parametrize(("space", "name"), NAMES)
def test_every_name_of_the_standard_exists(space, name):
    assert hasattr(getattr(xp, space) if space else xp, name)


@pytest.mark.parametrize(
    ("space", "name"),
    [
        (s, n)
        for s, n in NAMES
        if inspect.isfunction(getattr(getattr(strict, s or "abs"), n, None))
        or inspect.isfunction(getattr(strict, n, None))
    ],
)
def test_parameters_have_the_standards_names_kinds_and_order(space, name):
    mine, other = (
        [(p.name, p.kind) for p in inspect.signature(f).parameters.values()]
        for f in _pair(space, name)
    )
    assert mine == other


@pytest.mark.parametrize("name", sorted(LATER))
def test_functions_new_in_2025_12_take_one_tensor(name):
    (parameter,) = inspect.signature(getattr(xp.linalg, name)).parameters.values()
    assert parameter.kind is inspect.Parameter.POSITIONAL_ONLY


@pytest.mark.parametrize(
    ("space", "name", "defaults"),
    [
        ("", "var", {"axis": None, "correction": 0.0, "keepdims": False}),
        ("", "std", {"axis": None, "correction": 0.0, "keepdims": False}),
        ("", "sort", {"axis": -1, "descending": False, "stable": True}),
        ("", "argsort", {"axis": -1, "descending": False, "stable": True}),
        ("", "concat", {"axis": 0}),
        ("", "meshgrid", {"indexing": "xy"}),
        ("", "linspace", {"dtype": None, "device": None, "endpoint": True}),
        ("", "cumulative_sum", {"axis": None, "dtype": None, "include_initial": False}),
        ("", "astype", {"copy": True, "device": None}),
        ("", "diff", {"axis": -1, "n": 1, "prepend": None, "append": None}),
        ("", "searchsorted", {"side": "left", "sorter": None}),
        ("linalg", "svd", {"full_matrices": True}),
        ("linalg", "qr", {"mode": "reduced"}),
        ("linalg", "matrix_norm", {"keepdims": False, "ord": "fro"}),
        ("linalg", "vector_norm", {"axis": None, "keepdims": False, "ord": 2}),
    ],
)
def test_defaults_are_the_standards(space, name, defaults):
    function = getattr(getattr(xp, space) if space else xp, name)
    found = {
        p.name: p.default
        for p in inspect.signature(function).parameters.values()
        if p.default is not p.empty
    }
    assert found == defaults


@pytest.mark.parametrize("name", [n for s, n in NAMES if not s and callable(getattr(strict, n))])
def test_every_function_says_what_it_does(name):
    assert getattr(xp, name).__doc__
