"""A sample as a point: a scalar function of float arrays, to be differentiated by the transforms.

The function weighs every float result with fixed random weights and adds up. A complex array is two
float arrays, its real and its imaginary part; so is a complex result. What may live here: how
samples become points. What may not: any one check.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from adjoint import Device, Tensor
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.opdef import OpDef, Sample
from tests.ops.cases import RECORDS, adapted, call, outputs

EVERY = [pytest.param(record, id=record.name) for record in RECORDS]
SEED = 7


def smooth_samples(record: OpDef, dtype: DType) -> list[tuple[int, Sample]]:
    """The samples at which a difference quotient means something, with their numbers."""
    wide = record.name == "double" and dtype is dtypes.float64  # in others it is a conversion
    if dtype.kind not in record.kinds and not wide:
        return []
    return [(i, adapted(s, dtype)) for i, s in enumerate(record.samples()) if s.smooth]


def is_variable(value) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fcV"


@dataclass
class Point:
    """An op at a sample: `at(*tensors)` is a scalar, `arrays` is where."""

    record: OpDef
    sample: Sample
    dtype: DType = dtypes.float64
    arrays: list = field(init=False)
    weights: list = field(init=False)

    def __post_init__(self):
        leaves = [a for a in _flat((self.sample.args, self.sample.kwargs)) if is_variable(a)]
        self.arrays = [part for a in leaves for part in _parts(a)]
        rng = np.random.default_rng(SEED)
        shapes = [t.shape for t in self.results(*map(Tensor, self.arrays))]
        self.weights = [np.round(16 * rng.standard_normal(s)) / 16 for s in shapes]

    def results(self, *tensors):
        """The float results at these values."""
        at = bound(self.sample, tensors)
        found = [t for t in outputs(call(self.record, at)) if isinstance(t, Tensor)]
        return [part.to(Device.DEFAULT) for t in found for part in _float_parts(t)]

    def at(self, *tensors):
        """The weighted sum of the results."""
        pairs = zip(self.results(*tensors), self.weights, strict=True)
        terms = [(y * Tensor(w).cast(y.dtype)).sum() for y, w in pairs]
        return sum(terms[1:], terms[0])

    @property
    def says_nothing(self) -> bool:
        """Nothing to differentiate, or nothing with respect to which."""
        return not self.arrays or not self.weights

    @property
    def tensors(self) -> list:
        return [Tensor(a) for a in self.arrays]

    @property
    def argnums(self) -> tuple[int, ...]:
        return tuple(range(len(self.arrays)))

    def direction(self, seed: int) -> list:
        """A random array beside each of `arrays`."""
        rng = np.random.default_rng(seed)
        return [rng.standard_normal(a.shape) for a in self.arrays]

    def moved(self, direction: list, step: float) -> list:
        """The tensors a step along a direction."""
        return [Tensor(a + step * d) for a, d in zip(self.arrays, direction, strict=True)]


def dot(a, b):
    """⟨a, b⟩ over lists of tensors."""
    terms = [(x * y).sum() for x, y in zip(a, b, strict=True)]
    return sum(terms[1:], terms[0])


def points(record: OpDef, dtype: DType = dtypes.float64) -> list[tuple[str, Point]]:
    """Every smooth sample of a record that has something to differentiate, with its name."""
    every = [
        (f"{record.name} sample {i}", Point(record, sample, dtype))
        for i, sample in smooth_samples(record, dtype)
    ]
    return [(where, point) for where, point in every if not point.says_nothing]


def _flat(value):
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in _flat(v)]
    if isinstance(value, dict):
        return [leaf for v in value.values() for leaf in _flat(v)]
    return [value]


def _parts(array):
    if array.dtype.kind == "c":
        rng = np.random.default_rng(array.size)  # off the real axis, where a conjugate would hide
        return [array.real.copy(), array.imag + 0.1 * rng.standard_normal(array.shape)]
    return [array]


def _float_parts(tensor):
    if tensor.dtype.is_complex:
        return [tensor.real(), tensor.imag()]
    return [tensor] if tensor.dtype.is_float else []


def bound(sample: Sample, tensors) -> Sample:
    """The sample with its float and complex arrays replaced, in order."""
    fresh = iter(tensors)

    def walk(value):
        if isinstance(value, (tuple, list)):
            return type(value)(walk(v) for v in value)
        if isinstance(value, dict):
            return {k: walk(v) for k, v in value.items()}
        if not is_variable(value):
            return value
        return next(fresh).complex(next(fresh)) if value.dtype.kind == "c" else next(fresh)

    return Sample(walk(sample.args), walk(sample.kwargs))
