"""The records as cases: which in which dtypes, and all values and derivatives of one at once."""

import pytest

from adjoint import Tensor, grad, jvp
from adjoint.ir.dtype import dtypes
from tests.ops.cases import RECORDS, adapted, call, dtypes_of, outputs
from tests.ops.coverage import reason_for
from tests.ops.points import points
from tests.support.devices import together

VALUES = [pytest.param(r, d, id=f"{r.name}-{d.short}") for r in RECORDS for d in dtypes_of(r)]
INTEGERS = (("int8", "uint8", "int16", "uint16"), ("int32", "uint32"), ("int64", "uint64"))
HALVES = (("float16", "bfloat16"),)
PAIRS = (("complex64", "complex128"),)
WIDE = (("float64", "float32"),)


def in_turn(record, dtype, groups):
    """Basic arithmetic is tried in every dtype; another op takes turns with the dtypes of a group:
    its kernels are the same but for that arithmetic."""
    own = {d.name for d in dtypes_of(record)}
    known = [[name for name in names if name in own] for names in groups]
    turn = RECORDS.index(record)
    chosen = {names[turn % len(names)] for names in known if names}
    return record.level == "both" or dtype.name in chosen or dtype.name not in sum(groups, ())


def _taking_turns(cases, groups):
    """The cases, of which those are slow whose turn it is not."""
    marks = {True: [], False: pytest.mark.slow}
    return [
        pytest.param(*c.values, id=c.id, marks=marks[in_turn(*c.values, groups)]) for c in cases
    ]


DERIVATIVES = [
    pytest.param(r, d, id=f"{r.name}-{d.short}")
    for r in RECORDS
    for d in (dtypes.float64, dtypes.float32)
    if d in dtypes_of(r) and reason_for(r.name, "first order") is None
]
VALUES_IN_TURNS = _taking_turns(VALUES, INTEGERS + HALVES + PAIRS)
DERIVATIVES_IN_TURNS = _taking_turns(DERIVATIVES, WIDE)
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
