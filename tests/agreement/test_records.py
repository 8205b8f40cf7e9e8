"""Every op of the records on CPU against REF: values, gradients, tangents, and errors at run time.

All samples of a record and dtype are one graph, realized at once. Integers and truth values are
equal; a float differs by few units in the last place: relative to itself where an element depends
on one element of each operand, relative to the largest of its array where things are summed.
"""

from contextlib import contextmanager

import numpy as np
import pytest

import adjoint
from adjoint import Device, Tensor, grad, jvp
from adjoint.ir.dtype import dtypes
from tests.ops.cases import RECORDS, adapted, call, dtypes_of, outputs
from tests.ops.coverage import reason_for
from tests.ops.points import points

ULPS = 16
SUMMED = 256  # where derivatives of many elements are added up
LARGE = 100.0  # a larger element does not excuse the others of its array
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
EPS |= {"complex64": 2.0**-23, "complex128": 2.0**-52}

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


@contextmanager
def on(device):
    """Tensors go to that device."""
    before = Device.DEFAULT
    Device.DEFAULT = device
    try:
        yield
    finally:
        Device.DEFAULT = before


def together(named):
    """The values of named tensors, computed in one realize."""
    tensors = list(named.values())
    if tensors:
        tensors[0].realize(*tensors[1:])
    return {name: t.numpy() for name, t in named.items()}


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


def both(make, *args):
    """What is made on REF and on CPU."""
    found = []
    for device in ("REF", "CPU"):
        with on(device), np.errstate(all="ignore"):
            found.append(make(*args))
    assert list(found[0]) == list(found[1])
    return found


def same(wanted, got, where, ulps=ULPS, summed=True):
    assert got.dtype == wanted.dtype, where
    assert got.shape == wanted.shape, where
    if wanted.dtype.name not in EPS:
        np.testing.assert_array_equal(got, wanted, err_msg=where)
        return
    tolerance = ulps * EPS[wanted.dtype.name]
    kind = np.complex128 if wanted.dtype.kind == "c" else np.float64
    wanted, got = wanted.astype(kind), got.astype(kind)
    finite = np.abs(wanted[np.isfinite(wanted)])
    scale = min(finite.max(initial=1.0), LARGE) if summed else 1e-30
    np.testing.assert_allclose(got, wanted, tolerance, tolerance * scale, err_msg=where)


@pytest.mark.parametrize(("record", "dtype"), VALUES)
def test_values_are_those_of_the_reference(record, dtype):
    ref, cpu = both(values, record, dtype)
    for name, wanted in ref.items():
        same(wanted, cpu[name], f"{record.name} as {dtype}, {name}", summed=record.level != "both")


@pytest.mark.parametrize(("record", "dtype"), DERIVATIVES)
def test_derivatives_are_those_of_the_reference(record, dtype):
    ref, cpu = both(gradients, record, dtype)
    for name, wanted in ref.items():
        same(wanted, cpu[name], f"{record.name} as {dtype}, {name}", SUMMED)


@pytest.mark.parametrize(("record", "bad"), LATE)
def test_an_index_out_of_range_is_an_error_when_it_runs(record, bad):
    with on("CPU"), pytest.raises(adjoint.AdjointError) as caught:
        together(dict(enumerate(outputs(call(record, bad)))))
    assert caught.value.code == bad.code
    assert bad.match in str(caught.value)
