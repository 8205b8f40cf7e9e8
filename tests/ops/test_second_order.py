"""Second derivatives of every op, in all four pairs of modes, in float64 and complex128.

For each smooth sample φ(x) = ⟨w, f(x)⟩ and two random directions s and t, the number s·H·t comes
from reverse over reverse, forward over reverse, reverse over forward and forward over forward.
All four are one number, and that of the central difference of ⟨∇φ, s⟩ along t.
"""

import pytest

from adjoint import Tensor, dtypes, grad, jvp
from tests.ops.coverage import covered, not_complex
from tests.ops.points import EVERY, dot, points

STEP = 1e-5
BETWEEN_MODES = 1e-8  # relative to 1 + |the number|
TO_DIFFERENCE = 1e-4


def _check(where, point):
    s, t = ([Tensor(d) for d in point.direction(seed)] for seed in (1, 2))
    gradient = grad(point.at, point.argnums)

    def pulled(*x):
        return dot(gradient(*x), s)

    def pushed(*x):
        return jvp(point.at, x, s)[1]

    computed = {
        "reverse over reverse": dot(grad(pulled, point.argnums)(*point.tensors), t).item(),
        "forward over reverse": jvp(pulled, point.tensors, t)[1].item(),
        "reverse over forward": dot(grad(pushed, point.argnums)(*point.tensors), t).item(),
        "forward over forward": jvp(pushed, point.tensors, t)[1].item(),
    }
    first = computed["reverse over reverse"]
    scale = 1 + abs(first)
    for pair, value in computed.items():
        assert abs(value - first) <= BETWEEN_MODES * scale, f"{where}, {pair}: {computed}"
    ahead, behind = (pulled(*point.moved(point.direction(2), h)).item() for h in (STEP, -STEP))
    numeric = (ahead - behind) / (2 * STEP)
    assert abs(numeric - first) <= TO_DIFFERENCE * scale, f"{where}: {numeric} and {computed}"


@pytest.mark.parametrize("record", EVERY)
def test_four_pairs_of_modes_agree_and_are_the_difference(record):
    covered(record, "second order", lambda: points(record), _check)


@pytest.mark.parametrize("record", [p for p in EVERY if not not_complex(p.values[0])])
def test_four_pairs_of_modes_agree_on_complex_numbers(record):
    covered(record, "complex", lambda: points(record, dtypes.complex128), _check)
