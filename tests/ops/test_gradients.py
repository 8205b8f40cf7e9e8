"""Every derivative declared, both modes, against central differences in float64.

For each smooth sample: along a random direction t and under a random cotangent g,
⟨g, f(x+ht) - f(x-ht)⟩ / 2h, ⟨Jᵀg, t⟩ and ⟨g, Jt⟩ are one number.
"""

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.autodiff.forward import push_forward
from adjoint.autodiff.reverse import compute_gradient
from adjoint.ir.derivative import NotDifferentiable, Stop
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import Sample
from tests.ops.cases import RECORDS, adapted, call, outputs

DIFFERENTIABLE = [
    r for r in RECORDS if "f" in r.kinds and not isinstance(r.ad, (NotDifferentiable, Stop))
]
STEP = 1e-5


def _variables(sample: Sample):
    return [a for a in _flat(sample) if isinstance(a, np.ndarray) and a.dtype.kind == "f"]


def _flat(sample: Sample):
    def walk(value):
        if isinstance(value, (tuple, list)):
            return [leaf for v in value for leaf in walk(v)]
        return [value]

    return walk(sample.args) + walk(list(sample.kwargs.values()))


def _bound(sample: Sample, arrays: list, wrap):
    """The sample with its float arrays replaced, in order."""
    fresh = iter(arrays)

    def walk(value):
        if isinstance(value, (tuple, list)):
            return type(value)(walk(v) for v in value)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            return wrap(next(fresh))
        return value

    return Sample(walk(sample.args), {k: walk(v) for k, v in sample.kwargs.items()})


def _floats(result) -> list[Tensor]:
    return [t for t in outputs(result) if isinstance(t, Tensor) and t.dtype.is_float]


def _objective(record, sample, arrays, weights):
    result = _floats(call(record, _bound(sample, arrays, np.asarray)))
    return sum(float((w * t.numpy()).sum()) for w, t in zip(weights, result, strict=True))


def _check(record, sample, where):
    arrays = _variables(sample)
    tensors = [Tensor(a) for a in arrays]
    result = _floats(call(record, _bound(sample, tensors, lambda t: t)))
    if not arrays or not result:
        return False
    rng = np.random.default_rng(7)
    weights = [rng.standard_normal(t.shape) for t in result]
    directions = [rng.standard_normal(a.shape) for a in arrays]
    ahead = _objective(record, sample, _moved(arrays, directions, STEP), weights)
    behind = _objective(record, sample, _moved(arrays, directions, -STEP), weights)
    reverse = _reverse(tensors, result, weights, directions)
    forward = _forward(tensors, result, weights, directions)
    scale = 1 + abs(reverse)
    assert abs(forward - reverse) <= 1e-9 * scale, f"{where}: {forward} forward, {reverse} reverse"
    numeric = (ahead - behind) / (2 * STEP)
    assert abs(numeric - reverse) <= 2e-5 * scale, f"{where}: {numeric} numeric, {reverse} reverse"
    return True


def _moved(arrays, directions, step):
    return [a + step * d for a, d in zip(arrays, directions, strict=True)]


def _reverse(tensors, result, weights, directions):
    total = 0.0
    for out, weight in zip(result, weights, strict=True):
        targets = [t.uop for t in tensors]
        grads = compute_gradient(out.uop, Tensor(weight).uop, targets)
        for tensor, direction in zip(tensors, directions, strict=True):
            if tensor.uop in grads:
                total += float((Tensor(grads[tensor.uop]).numpy() * direction).sum())
    return total


def _forward(tensors, result, weights, directions):
    given = {t.uop: Tensor(d).uop for t, d in zip(tensors, directions, strict=True)}
    tangents = push_forward([t.uop for t in result], given)
    return sum(
        float((Tensor(t).numpy() * w).sum())
        for t, w in zip(tangents, weights, strict=True)
        if t is not None
    )


@pytest.mark.parametrize("record", [pytest.param(r, id=r.name) for r in DIFFERENTIABLE])
def test_both_modes_agree_with_central_differences(record):
    checked = [
        _check(record, adapted(sample, dtypes.float64), f"{record.name} sample {number}")
        for number, sample in enumerate(record.samples())
        if sample.smooth
    ]
    assert any(checked) or _gives_no_floats(record), f"{record.name} has no smooth float sample"


def _gives_no_floats(record):
    """Whether there is nothing to check: no sample has a float result that depends on a float."""
    samples = [adapted(sample, dtypes.float64) for sample in record.samples()]
    return not any(_variables(s) and _floats(call(record, s)) for s in samples)
