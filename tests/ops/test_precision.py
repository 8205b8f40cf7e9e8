"""Gradients in float32, float16 and bfloat16 against the float64 gradient at the same point.

The point is rounded first and the weights are exact in every dtype, so what is left is the error of
the op and of its derivative. It is measured against the largest element of the gradient:
max |g - g64| ≤ tolerance · (1 + max |g64|).
"""

import numpy as np
import pytest

from adjoint import Tensor, dtypes, grad
from tests.ops.coverage import NARROW, covered
from tests.ops.points import EVERY, points

# About eight units in the last place of each dtype (2⁻²³, 2⁻¹⁰, 2⁻⁷ a unit).
TOLERANCE = {"float32": 1e-6, "float16": 4e-3, "bfloat16": 2e-2}


def _check_against(exact, dtype):
    def check(where, point):
        got = grad(point.at, point.argnums)(*point.tensors)
        at = [Tensor(np.asarray(a, np.float64)) for a in point.arrays]
        wanted = grad(exact[where].at, point.argnums)(*at)
        for place, (g, w) in enumerate(zip(got, wanted, strict=True)):
            assert g.dtype is point.tensors[place].dtype, f"{where}: {g.dtype}"
            there = np.isfinite(w.numpy())  # a point may be rounded onto a pole
            value, true = g.numpy().astype(np.float64)[there], w.numpy()[there]
            scale = 1 + np.abs(true).max(initial=0)
            error = np.abs(value - true).max(initial=0) / scale
            assert error <= TOLERANCE[dtype], f"{where} in {dtype}, argument {place}: {error}"

    return check


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("record", EVERY)
def test_a_narrow_gradient_is_the_wide_one_rounded(record, dtype):
    with np.errstate(all="ignore"):
        exact = dict(points(record))
    narrow = lambda: points(record, getattr(dtypes, dtype))  # noqa: E731
    covered(record, dtype, narrow, _check_against(exact, dtype))


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("device", ["CPU", "REF"])
def test_distances_of_16_bits_stay_in_range_and_are_rounded_once(kind, device):
    x = Tensor([[300.0, 400.0], [3.0, 4.0]], dtype=kind, device=device)
    for p, far in (
        (2, 500.0),
        (3, (300.0**3 + 400.0**3) ** (1 / 3)),
        (1, 700.0),
        (float("inf"), 400.0),
    ):
        found = x.cdist(x * 0, p=p)
        assert found.dtype is x.dtype
        wanted = Tensor([[far, far], [far / 100, far / 100]], dtype=kind)
        np.testing.assert_allclose(found.float().numpy(), wanted.float().numpy(), rtol=1e-7)
    assert np.isfinite(grad(lambda x: x.cdist(x[1:]).float().sum())(x).float().numpy()).all()


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("device", ["CPU", "REF"])
def test_sinc_of_16_bits_is_rounded_once(kind, device):
    x = Tensor(np.linspace(-8, 8, 201), dtype=kind, device=device)
    exact = np.sinc(x.double().numpy())
    step = {"float16": 2.0**-11, "bfloat16": 2.0**-8}[kind]
    found = x.sinc().double().numpy()
    assert (np.abs(found - exact) <= 1.01 * step * np.abs(exact) + 1e-7).all()
    slope = grad(lambda x: x.sinc().double().sum())(x).double().numpy()
    exact = grad(lambda x: x.sinc().sum())(x.double()).numpy()
    assert (np.abs(slope - exact) <= 1.01 * step * np.abs(exact) + 1e-6).all()


@pytest.mark.parametrize("device", ["CPU", "REF"])
@pytest.mark.parametrize(("kind", "places"), [("float32", (1e5, 1e15)), ("float64", (1e5, 1e120))])
def test_the_derivatives_of_sinc_far_from_zero_are_those_of_its_formula(kind, places, device):
    x = Tensor(np.array(places), dtype=kind, device=device)  # even numbers: sin(πx) is 0
    slope = grad(lambda x: x.sinc().sum())
    bend = grad(lambda x: slope(x).sum())
    exact = x.double().numpy()
    np.testing.assert_allclose(slope(x).numpy(), 1 / exact, rtol=1e-6)
    np.testing.assert_allclose(bend(x).numpy(), -2 / exact / exact, rtol=1e-6)
    third = grad(lambda x: bend(x).sum())(x).numpy()
    np.testing.assert_allclose(third, -(np.pi**2) / exact, rtol=1e-6)
