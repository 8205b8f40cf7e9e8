"""The records as cases: which in which dtypes, and all values and derivatives of one at once."""

import pytest

from adjoint import Tensor, grad, jvp
from adjoint.ir.dtype import dtypes
from tests.ops.cases import RECORDS, adapted, call, dtypes_of, outputs
from tests.ops.coverage import reason_for
from tests.ops.points import points
from tests.support.devices import together

VALUES = [pytest.param(r, d, id=f"{r.name}-{d.short}") for r in RECORDS for d in dtypes_of(r)]
WIDTHS = (("int8", "uint8", "int16", "uint16"), ("int32", "uint32"), ("int64", "uint64"))


def in_turn(record, dtype):
    """Basic arithmetic is tried in every dtype; another op takes turns with integers of a width:
    its kernels are the same but for that arithmetic."""
    own = {d.name for d in dtypes_of(record)}
    of_a_width = [[name for name in names if name in own] for names in WIDTHS]
    turn = RECORDS.index(record)
    chosen = {names[turn % len(names)] for names in of_a_width if names}
    return record.level == "both" or dtype.kind not in "iu" or dtype.name in chosen


IN_TURNS = [
    pytest.param(r, d, id=f"{r.name}-{d.short}", marks=[] if in_turn(r, d) else pytest.mark.slow)
    for r in RECORDS
    for d in dtypes_of(r)
]
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
