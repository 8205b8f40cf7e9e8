"""Every derivative declared, both modes, against central differences in float64.

For each smooth sample: along a random direction t and under a random cotangent g,
⟨g, f(x+ht) - f(x-ht)⟩ / 2h, ⟨Jᵀg, t⟩ and ⟨g, Jt⟩ are one number.
"""

import numpy as np
import pytest

from adjoint import Tensor, grad, jvp
from tests.ops.coverage import covered
from tests.ops.points import EVERY, dot, points

STEP = 1e-5


def _check(where, point):
    direction = point.direction(1)
    t = [Tensor(d) for d in direction]
    reverse = dot(grad(point.at, point.argnums)(*point.tensors), t).item()
    forward = jvp(point.at, point.tensors, t)[1].item()
    ahead, behind = (point.at(*point.moved(direction, h)).item() for h in (STEP, -STEP))
    scale = 1 + abs(reverse)
    assert abs(forward - reverse) <= 1e-9 * scale, f"{where}: {forward} forward, {reverse} reverse"
    numeric = (ahead - behind) / (2 * STEP)
    assert abs(numeric - reverse) <= 2e-5 * scale, f"{where}: {numeric} numeric, {reverse} reverse"


@pytest.mark.parametrize("record", EVERY)
def test_both_modes_agree_with_central_differences(record):
    covered(record, "first order", lambda: points(record), _check)


HOLOMORPHIC = (
    *("exp", "log", "log2", "log10", "log1p", "expm1", "sqrt", "rsqrt", "reciprocal", "square"),
    *("sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
)


@pytest.mark.parametrize("name", HOLOMORPHIC)
@pytest.mark.parametrize("direction", [1, 1j])
def test_a_derivative_of_complex_numbers_is_right_in_every_quadrant(name, direction):
    x = np.array([a + b * 1j for a in (-2, -0.4, 0.3, 1.7) for b in (-1.5, -0.2, 0.6)])

    def function(z):
        return getattr(z, name)()

    step = 1e-6 * direction
    ahead, behind = (function(Tensor(at)).numpy() for at in (x + step, x - step))
    tangent = Tensor(np.full(x.shape, direction, complex))
    _, found = jvp(function, (Tensor(x),), (tangent,))
    np.testing.assert_allclose(found.numpy(), (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-8)
