"""Programs on larger tensors, forward and gradient: CPU agrees with REF."""

import numpy as np
import pytest

from adjoint import Tensor
from tests.agreement.programs import PROGRAMS

SHAPES = {"x": (300, 517), "y": (300, 517), "image": (4, 8, 32, 32), "filters": (16, 8, 3, 3)}
TOLERANCE = {"float32": 2e-5, "float64": 1e-12}


def computed(text, device, dtype):
    """The values and gradients of a program."""
    rng = np.random.default_rng(0)
    leaves = {
        name: Tensor(rng.standard_normal(s).astype(dtype), device=device, requires_grad=True)
        for name, s in SHAPES.items()
    }
    places = Tensor(rng.integers(0, 300, SHAPES["x"]), device=device)
    result = eval(text, {**leaves, "places": places})
    found = [result]
    if result.requires_grad:
        weights = rng.standard_normal(result.shape).astype(result.dtype.np)
        (result * Tensor(weights, device=device)).sum().backward()
        found += [t.grad for t in leaves.values() if t.grad is not None]
    found[0].realize(*found[1:])
    return [t.numpy() for t in found]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_those_of_the_reference(name, dtype):
    wanted, got = (computed(PROGRAMS[name], device, dtype) for device in ("REF", "CPU"))
    tolerance = 2e-3 if "halves" in name else TOLERANCE[dtype]
    for w, g in zip(wanted, got, strict=True):
        assert g.dtype == w.dtype
        scale = np.abs(w).max(initial=1.0)
        np.testing.assert_allclose(g, w, tolerance, tolerance * scale)
