"""Statistical and utility functions against the oracle."""

import numpy as np
import pytest

import adjoint
import adjoint.tensor.array_api as xp
from adjoint import Tensor
from tests.tensor.array_api.oracle import (
    ALL,
    COMPLEXES,
    FLOATS,
    INTS,
    NUMBERS,
    REALS,
    SIGNED,
    UNSIGNED,
    agree,
    array,
    dtype_named,
    same,
)

AXES = [{}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 2)}, {"keepdims": True}]
AXES += [{"axis": ()}]


@pytest.mark.parametrize("options", AXES)
@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_sums_and_products_agree_with_the_oracle(name, dtype, options):
    agree(name, array((2, 3, 2), dtype, 0, 3), dtype=_summed(dtype), **options)


def _summed(dtype):
    narrow = dict.fromkeys(SIGNED, "int64") | dict.fromkeys(UNSIGNED, "uint64")
    return narrow.get(dtype, dtype)


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("dtype", ["int8", "int64", "float64", "complex64"])
def test_a_named_dtype_is_the_results(name, dtype):
    x = array((4,), "int8", 1, 2)
    wanted = {"sum": np.sum, "prod": np.prod, "cumulative_sum": np.cumsum}.get(name, np.cumprod)
    same(getattr(xp, name)(Tensor(x), dtype=dtype_named(dtype)), wanted(x, dtype=dtype))


@pytest.mark.parametrize("options", AXES)
@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_agree_with_the_oracle(name, dtype, options):
    agree(name, array((2, 3, 2), dtype), dtype=dtype, **options)


@pytest.mark.parametrize("options", AXES[:-1])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("correction", [0.0, 1, 0.5])
def test_var_and_std_agree_with_the_oracle(dtype, correction, options):
    x = array((2, 3, 2), dtype)
    agree("var", x, correction=correction, **options)
    agree("std", x, correction=correction, **options)


@pytest.mark.parametrize("options", AXES)
@pytest.mark.parametrize("dtype", FLOATS + COMPLEXES)
def test_mean_agrees_with_the_oracle(dtype, options):
    agree("mean", array((2, 3, 2), dtype), **options)


def test_corrections_default_to_none():
    x = Tensor([1.0, 2.0, 3.0])
    assert xp.var(x).item() == pytest.approx(2 / 3)
    assert x.var().item() == pytest.approx(1.0)  # the method's default is 1


@pytest.mark.parametrize("initial", [False, True])
@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running_totals_agree_with_the_oracle(name, dtype, initial):
    agree(name, array((4,), dtype, 0, 2), include_initial=initial, dtype=_summed(dtype))
    for axis in (0, 1, -1):
        x = array((2, 3), dtype, 0, 2)
        agree(name, x, axis=axis, include_initial=initial, dtype=_summed(dtype))


def agree_with_numpy(name, x, numpy, **options):
    same(getattr(xp, name)(Tensor(x), **options), numpy)


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_sums_of_nothing_are_neutral(shape):
    x = np.zeros(shape, "float32")
    agree_with_numpy("sum", x, np.float32(0))
    agree_with_numpy("prod", x, np.float32(1))
    agree_with_numpy("any", x, np.False_)
    agree_with_numpy("all", x, np.True_)
    assert np.isnan(xp.mean(Tensor(x)).numpy())


def test_running_totals_of_nothing_keep_their_initial_value():
    x = Tensor(np.zeros((0,), "float32"))
    assert xp.cumulative_sum(x, include_initial=True).tolist() == [0.0]
    assert xp.cumulative_prod(x, include_initial=True).tolist() == [1.0]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("options", AXES)
def test_all_and_any_agree_with_the_oracle(dtype, options):
    x = array((2, 3, 2), dtype, 0, 1)
    agree("all", x, dtype="bool", **options)
    agree("any", x, dtype="bool", **options)


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.0])
def test_truth_of_special_values(value):
    x = np.array([value])
    agree("any", x, dtype="bool")
    agree("all", x, dtype="bool")


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS, *COMPLEXES])
def test_diff_agrees_with_the_oracle(dtype):
    x = array((3, 4), dtype)
    for options in ({}, {"axis": 0}, {"n": 2}, {"n": 5}, {"n": 0}):
        agree("diff", x, dtype=dtype, **options)
    agree("diff", x, prepend=x[:, :1], append=x[:, :2], dtype=dtype)


def test_nan_spreads_through_statistics():
    x = np.array([1.0, np.nan, 2.0], "float32")
    for name in ("sum", "prod", "max", "min", "mean", "var", "std"):
        assert np.isnan(getattr(xp, name)(Tensor(x)).numpy()), name


T = Tensor(np.ones((2, 3), "float32"))
ERRORS = [
    (lambda: xp.sum(T, axis=2), ValueError, "axis 2"),
    (lambda: xp.sum(T, axis=(0, 0)), ValueError, "duplicate"),
    (lambda: xp.max(T[:0], axis=0), ValueError, "empty"),
    (lambda: xp.max(Tensor([1j])), TypeError, "complex"),
    (lambda: xp.cumulative_sum(T), ValueError, "axis"),
    (lambda: xp.cumulative_prod(Tensor(1.0)), ValueError, "axis"),
    (lambda: xp.cumulative_sum(T, axis=2), IndexError, "axis 2"),
    (lambda: xp.var(Tensor([1j])), TypeError, "real"),
    (lambda: xp.diff(Tensor(1.0)), ValueError, "scalar"),
    (lambda: xp.diff(T, n=-1), ValueError, "n is"),
    (lambda: xp.sum([1, 2]), TypeError, "tensor"),
    (lambda: xp.mean(3.0), TypeError, "asarray"),
]


@pytest.mark.parametrize(("call", "kind", "words"), ERRORS)
def test_calls_that_cannot_work_are_errors_at_once(call, kind, words):
    with pytest.raises(kind, match=words) as caught:
        call()
    assert isinstance(caught.value, adjoint.AdjointError)


def test_extra_arguments_are_refused():
    with pytest.raises(TypeError):
        xp.sum(T, 0, None)
    with pytest.raises(TypeError):
        xp.sum(x=T)
    with pytest.raises(TypeError):
        xp.sum(T, keep=True)
