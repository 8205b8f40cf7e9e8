"""The special values that the standard fixes for elementwise functions, in float32 and float64."""

import math

import numpy as np
import pytest

import adjoint.tensor.array_api as xp
from adjoint import Tensor

NAN, INF, PI = math.nan, math.inf, math.pi
UNARY = [
    ("abs", -0.0, 0.0),
    ("abs", -INF, INF),
    ("acos", 1.1, NAN),
    ("acos", -1.1, NAN),
    ("acos", 1.0, 0.0),
    ("acosh", 0.5, NAN),
    ("acosh", 1.0, 0.0),
    ("acosh", INF, INF),
    ("asin", 1.1, NAN),
    ("asin", -0.0, -0.0),
    ("asinh", -0.0, -0.0),
    ("asinh", INF, INF),
    ("asinh", -INF, -INF),
    ("atan", -0.0, -0.0),
    ("atan", INF, PI / 2),
    ("atan", -INF, -PI / 2),
    ("atanh", -1.0, -INF),
    ("atanh", 1.0, INF),
    ("atanh", -0.0, -0.0),
    ("atanh", 1.5, NAN),
    ("ceil", -0.0, -0.0),
    ("ceil", -0.5, -0.0),
    ("ceil", INF, INF),
    ("cos", -0.0, 1.0),
    ("cos", INF, NAN),
    ("cosh", 0.0, 1.0),
    ("cosh", -INF, INF),
    ("exp", 0.0, 1.0),
    ("exp", INF, INF),
    ("exp", -INF, 0.0),
    ("expm1", -0.0, -0.0),
    ("expm1", INF, INF),
    ("expm1", -INF, -1.0),
    ("floor", -0.0, -0.0),
    ("floor", -INF, -INF),
    ("log", -1.0, NAN),
    ("log", 0.0, -INF),
    ("log", -0.0, -INF),
    ("log", 1.0, 0.0),
    ("log", INF, INF),
    ("log1p", -2.0, NAN),
    ("log1p", -1.0, -INF),
    ("log1p", -0.0, -0.0),
    ("log1p", INF, INF),
    ("log2", 0.0, -INF),
    ("log2", 8.0, 3.0),
    ("log10", -1.0, NAN),
    ("log10", 0.0, -INF),
    ("negative", 0.0, -0.0),
    ("reciprocal", 0.0, INF),
    ("reciprocal", -0.0, -INF),
    ("reciprocal", -INF, -0.0),
    ("round", -0.0, -0.0),
    ("round", 0.5, 0.0),
    ("round", 1.5, 2.0),
    ("round", -2.5, -2.0),
    ("round", INF, INF),
    ("sign", -0.0, 0.0),
    ("sign", -INF, -1.0),
    ("sin", -0.0, -0.0),
    ("sin", INF, NAN),
    ("sinh", -0.0, -0.0),
    ("sinh", -INF, -INF),
    ("sqrt", -1.0, NAN),
    ("sqrt", -0.0, -0.0),
    ("sqrt", INF, INF),
    ("square", -INF, INF),
    ("tan", -0.0, -0.0),
    ("tan", -INF, NAN),
    ("tanh", -0.0, -0.0),
    ("tanh", INF, 1.0),
    ("tanh", -INF, -1.0),
    ("trunc", -0.5, -0.0),
    ("trunc", -INF, -INF),
]
BINARY = [
    ("add", INF, -INF, NAN),
    ("add", INF, 1.0, INF),
    ("add", -0.0, -0.0, -0.0),
    ("add", -0.0, 0.0, 0.0),
    ("add", 1.0, -1.0, 0.0),
    ("atan2", 1.0, 0.0, PI / 2),
    ("atan2", 0.0, 1.0, 0.0),
    ("atan2", 0.0, -0.0, PI),
    ("atan2", -0.0, -0.0, -PI),
    ("atan2", -0.0, 0.0, -0.0),
    ("atan2", 1.0, INF, 0.0),
    ("atan2", 1.0, -INF, PI),
    ("atan2", INF, INF, PI / 4),
    ("atan2", INF, -INF, 3 * PI / 4),
    ("copysign", 1.0, -0.0, -1.0),
    ("copysign", -2.0, 0.0, 2.0),
    ("copysign", NAN, 1.0, NAN),
    ("divide", INF, INF, NAN),
    ("divide", 0.0, 0.0, NAN),
    ("divide", 1.0, -0.0, -INF),
    ("divide", -1.0, INF, -0.0),
    ("divide", INF, -1.0, -INF),
    ("floor_divide", 1.0, INF, 0.0),
    ("floor_divide", -1.0, INF, -1.0),
    ("floor_divide", 5.0, -2.0, -3.0),
    ("floor_divide", 0.0, 0.0, NAN),
    ("hypot", INF, NAN, INF),
    ("hypot", NAN, -INF, INF),
    ("hypot", NAN, 1.0, NAN),
    ("hypot", 0.0, -3.0, 3.0),
    ("logaddexp", NAN, 1.0, NAN),
    ("logaddexp", INF, 1.0, INF),
    ("logaddexp", -INF, -INF, -INF),
    ("maximum", NAN, 1.0, NAN),
    ("maximum", 1.0, NAN, NAN),
    ("minimum", NAN, 1.0, NAN),
    ("minimum", -INF, 1.0, -INF),
    ("multiply", INF, 0.0, NAN),
    ("multiply", -0.0, 5.0, -0.0),
    ("multiply", -1.0, INF, -INF),
    ("nextafter", NAN, 1.0, NAN),
    ("nextafter", 1.0, 1.0, 1.0),
    ("nextafter", 0.0, -0.0, -0.0),
    ("pow", 1.0, NAN, 1.0),
    ("pow", NAN, 0.0, 1.0),
    ("pow", NAN, 1.0, NAN),
    ("pow", 2.0, INF, INF),
    ("pow", 2.0, -INF, 0.0),
    ("pow", 0.5, INF, 0.0),
    ("pow", 0.5, -INF, INF),
    ("pow", -1.0, INF, 1.0),
    ("pow", INF, -1.0, 0.0),
    ("pow", -INF, 3.0, -INF),
    ("pow", -INF, 2.0, INF),
    ("pow", -INF, -3.0, -0.0),
    ("pow", 0.0, -1.0, INF),
    ("pow", -0.0, 3.0, -0.0),
    ("pow", -0.0, 2.0, 0.0),
    ("pow", -0.0, -3.0, -INF),
    ("pow", -2.0, 0.5, NAN),
    ("remainder", INF, 1.0, NAN),
    ("remainder", 1.0, 0.0, NAN),
    ("remainder", 5.0, -3.0, -1.0),
    ("remainder", -5.0, 3.0, 1.0),
    ("remainder", 1.0, INF, 1.0),
    ("remainder", -1.0, INF, INF),
    ("remainder", -0.0, 1.0, 0.0),
    ("subtract", INF, INF, NAN),
    ("subtract", 0.0, 0.0, 0.0),
]
TESTS = [
    ("equal", NAN, NAN, False),
    ("equal", -0.0, 0.0, True),
    ("not_equal", NAN, NAN, True),
    ("less", NAN, 1.0, False),
    ("less", -INF, INF, True),
    ("greater_equal", NAN, NAN, False),
    ("greater_equal", INF, INF, True),
    ("less_equal", -0.0, 0.0, True),
    ("greater", 0.0, -0.0, False),
]
UNARY_TESTS = [
    ("isfinite", INF, False),
    ("isfinite", NAN, False),
    ("isfinite", 1.0, True),
    ("isinf", -INF, True),
    ("isinf", NAN, False),
    ("isnan", NAN, True),
    ("isnan", INF, False),
    ("signbit", -0.0, True),
    ("signbit", 0.0, False),
    ("signbit", -INF, True),
]
SMOOTH = "acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor log log1p log2 log10 round"
SMOOTH += " sign sin sinh sqrt square tan tanh trunc abs negative reciprocal"


def _check(got, wanted, dtype):
    value = got.numpy()
    assert value.dtype == dtype
    np.testing.assert_allclose(value, wanted, 1e-6, 0)
    if wanted == 0 and not isinstance(wanted, bool):
        assert np.signbit(value) == np.signbit(wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "x", "wanted"), UNARY)
def test_special_values_of_one_operand(name, x, wanted, dtype):
    _check(getattr(xp, name)(Tensor(np.array(x, dtype))), wanted, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "a", "b", "wanted"), BINARY)
def test_special_values_of_two_operands(name, a, b, wanted, dtype):
    _check(getattr(xp, name)(*(Tensor(np.array(v, dtype)) for v in (a, b))), wanted, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "a", "b", "wanted"), TESTS)
def test_comparisons_of_special_values(name, a, b, wanted, dtype):
    _check(getattr(xp, name)(*(Tensor(np.array(v, dtype)) for v in (a, b))), wanted, "bool")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "x", "wanted"), UNARY_TESTS)
def test_questions_about_special_values(name, x, wanted, dtype):
    _check(getattr(xp, name)(Tensor(np.array(x, dtype))), wanted, "bool")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SMOOTH.split())
def test_nan_stays_nan(name, dtype):
    assert np.isnan(getattr(xp, name)(Tensor(np.array(NAN, dtype))).numpy())
