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
