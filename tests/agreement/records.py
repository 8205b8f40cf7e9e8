"""The records as cases: which in which dtypes, and all values and derivatives of one at once."""

import pytest

from adjoint import Tensor, grad, jvp
from adjoint.ir.dtype import dtypes
from tests.ops.cases import RECORDS, adapted, call, dtypes_of, outputs
from tests.ops.coverage import reason_for
from tests.ops.points import points
from tests.support.devices import together

VALUES = [pytest.param(r, d, id=f"{r.name}-{d.short}") for r in RECORDS for d in dtypes_of(r)]
DERIVATIVES = [
    pytest.param(r, d, id=f"{r.name}-{d.short}")
    for r in RECORDS
    for d in (dtypes.float64, dtypes.float32)
    if d in dtypes_of(r) and reason_for(r.name, "first order") is None
]
LATE = [
    pytest.param(r, bad, id=f"{r.name}-{i}")
    for r in RECORDS
    for i, bad in enumerate(r.errors)
    if bad.code == "E6001"
]


def values(record, dtype):
    found = {}
    for number, raw in enumerate(record.samples()):
        for part, result in enumerate(outputs(call(record, adapted(raw, dtype)))):
            if isinstance(result, Tensor):
                found[f"sample {number}, result {part}"] = result
    return together(found)


def gradients(record, dtype):
    found = {}
    for where, point in points(record, dtype):
        inputs = point.tensors
        for i, result in enumerate(grad(point.at, point.argnums)(*inputs)):
            found[f"{where}, gradient {i}"] = result
        directions = [Tensor(d.astype(a.dtype)) for d, a in _pairs(point)]
        found[f"{where}, tangent"] = jvp(point.at, inputs, directions)[1]
    return together(found)


def _pairs(point):
    return zip(point.direction(1), point.arrays, strict=True)
