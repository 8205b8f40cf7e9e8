"""What NumPy says the rows of `cpu_own_workloads.py` are: values in float64, and gradients.

A gradient is compared along one random direction, in which every parameter has its share, with the
central difference of NumPy's values: the distance of the two is what a gradient that is wrong by
that share of its norm, in one parameter, would give.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cpu_numpy import Ops
from cpu_workloads import BETA1, Arrays, Workload

_STEP = 1e-5  # of a parameter's size


def own_error(w: Workload, found: Arrays, params: Arrays, inputs: Arrays) -> float:
    """The largest distance of a result from NumPy's, as a share of its norm."""
    values = {k: np.asarray(v, np.float64) for k, v in found.items()}
    expected = np.asarray(w.forward(Ops, params, inputs))
    value = values["loss" if w.optimizer else "value"]
    size = float(np.linalg.norm(expected))
    worst = float(np.linalg.norm(value - expected)) / size
    if params:
        worst = max(worst, _along(w, _gradients(w, values, params), params, inputs))
    return worst if np.isfinite(worst) else float("inf")


def _gradients(w: Workload, values: Arrays, params: Arrays) -> Arrays:
    """As they were found; from the first step of an optimizer, as it must have seen them."""
    if not w.optimizer:
        return {k: values[k] for k in params}
    if w.optimizer == "adam":
        return {k: values[f"mean {k}"] / (1 - BETA1) for k in params}
    return {k: (params[k] - values[k]) / w.rate for k in params}


def _along(w: Workload, grads: Arrays, params: Arrays, inputs: Arrays) -> float:
    random = np.random.default_rng(11)
    sizes = {k: float(np.linalg.norm(g)) for k, g in grads.items()}
    if min(sizes.values()) == 0:
        return float("inf")
    directions = {k: random.standard_normal(g.shape) / sizes[k] for k, g in grads.items()}
    step = _STEP * min(sizes[k] * max(0.01, float(np.abs(p).mean())) for k, p in params.items())

    def at(side: int) -> Any:
        moved = {k: p + side * step * directions[k] for k, p in params.items()}
        return np.sum(np.asarray(w.forward(Ops, moved, inputs)) * inputs.get("cotangent", 1.0))

    expected = (at(1) - at(-1)) / (2 * step)
    mine = sum(float((grads[k] * directions[k]).sum()) for k in params)
    return abs(mine - expected)
